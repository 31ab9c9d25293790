"""Follows a kernel's code once for all blocks: block ids, turns of loops and lanes are symbols.

Each operation is met once, however often it runs: `Event` holds its operands as terms, and the condition under which it
is reached. A loop's carried number that grows by the same amount each turn becomes a polynomial of the turn; any other
is an unknown within what its type, or its last operation, allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from cutile_sim.tileir.core import Function, Op, Region, Value
from ir_passes.symbolic.carried import (
    grown,
    growth,
    hull,
    in_range,
    lane_free,
    placeholder,
    stays_in_range,
    symbols_of,
    unwrapped,
)
from ir_passes.symbolic.conditions import (
    ALWAYS,
    NEVER,
    Condition,
    at_least,
    both,
    either,
    larger,
    negate,
    polys_of,
    unknowns,
)
from ir_passes.symbolic.events import Event, Launch, Trace
from ir_passes.symbolic.lists import read_words
from ir_passes.symbolic.numbers import as_condition, chosen, decided
from ir_passes.symbolic.reductions import combined
from ir_passes.symbolic.results import Results, not_followed
from ir_passes.symbolic.solve import never_negative
from ir_passes.symbolic.terms import ZERO, Poly, Symbol, quotient
from ir_passes.symbolic.values import (
    NOTHING,
    Followed,
    unknown,
)
from ir_passes.symbolic.words import line_of


@dataclass
class _Loop:
    """A loop that is being followed."""

    again: list[tuple[Condition, tuple[Followed, ...]]] = field(default_factory=list)
    ends: list[tuple[Condition, tuple[Followed, ...]]] = field(default_factory=list)


def follow(function: Function, launch: Launch) -> Trace:
    """Follow a function's code from its entry."""
    return _Executor(function, launch).trace


class _Executor:
    def __init__(self, function: Function, launch: Launch) -> None:
        self.used = {v for op in function.walk() for v in op.inputs}
        self.values: dict[Value, Followed] = dict(zip(function.parameters, launch.parameters, strict=True))
        self.events: list[Event] = []
        self.loops: list[_Loop] = []
        self.exits: dict[Symbol, list[Condition]] = {}
        self.results = Results(launch)
        given = both(*(at_least(size, 1) for size in launch.grid))
        self._region(function.body, given)
        self.trace = Trace(self.events, self.results.blocks, self.exits, given)

    # Regions: each returns the path on which control goes on behind it (None: on none), and what was yielded.

    def _region(self, region: Region, path: Condition) -> tuple[Condition | None, tuple[Followed, ...]]:
        for op in region.ops:
            operands = tuple(self.values[v] for v in op.inputs)
            if op.name == "yield":
                return path, operands
            if op.name in ("continue", "break"):
                loop = self.loops[-1]
                (loop.again if op.name == "continue" else loop.ends).append((path, operands))
                return None, ()
            if op.name == "return":
                return None, ()
            after = self._op(op, operands, path)
            if after is None or after == NEVER:
                return None, ()
            path = after
        return path, ()

    def _op(self, op: Op, operands: tuple[Followed, ...], path: Condition) -> Condition | None:
        self.events.append(Event(op, operands, path))
        if op.name == "if":
            return self._if(op, as_condition(operands[0]), path)
        if op.name == "for":
            return self._for(op, operands, path)
        if op.name == "loop":
            return self._while(op, operands, path)
        if op.name == "assert":
            return both(path, *lane_free(as_condition(operands[0])))
        if op.name in ("reduce", "scan"):
            results = self._combine(op, operands, path)
        elif (words := read_words(self.events[-1])) is not None:
            results = [words, NOTHING]
        else:
            results = self.results.of(op, operands, list(polys_of(path)))
        self.values.update(zip(op.results, results, strict=True))
        return path

    def _combine(self, op: Op, operands: tuple[Followed, ...], path: Condition) -> Sequence[Followed]:
        mark = len(self.events)

        def run(values: Sequence[Followed]) -> Sequence[Followed]:
            del self.events[mark:]
            self.values.update(zip(op.regions[0].arguments, values, strict=True))
            return self._region(op.regions[0], path)[1]

        return combined(op, operands, run, list(polys_of(path)), lambda result: not_followed(op, operands, result))

    # Control flow

    def _if(self, op: Op, condition: Condition, path: Condition) -> Condition | None:
        facts = list(polys_of(path))
        condition = decided(condition, facts)
        ways: list[tuple[Condition, tuple[Followed, ...]]] = []
        given: list[Condition] = []
        for region, holds in zip(op.regions, (condition, negate(condition)), strict=False):
            entry = both(path, holds)
            if entry == NEVER:
                continue
            after, yielded = self._region(region, entry)
            if after is not None:
                ways.append((after, yielded))
                given.append(holds)
        if len(op.regions) == 1 and condition != ALWAYS:
            ways.append((both(path, negate(condition)), ()))
            given.append(negate(condition))
        if not ways:
            return None
        if len(ways) == 1:
            self.values.update(zip(op.results, ways[0][1], strict=True))
            return ways[0][0]
        for i, result in enumerate(op.results):
            value = chosen(condition, ways[0][1][i], ways[1][1][i])
            self.values[result] = (
                unknown(result.type, f"a choice at {line_of(op)}", data=False) if value is None else value
            )
        if all(after == both(path, holds) for (after, _), holds in zip(ways, given, strict=True)):
            return path
        return either(ways[0][0], ways[1][0])

    def _for(self, op: Op, operands: tuple[Followed, ...], path: Condition) -> Condition | None:
        lower, upper, step = operands[:3]
        initial = operands[3:]
        assert isinstance(lower, Poly) and isinstance(upper, Poly) and isinstance(step, Poly)
        facts = list(polys_of(path))
        unsigned = bool(op.attributes["unsigned_cmp"])
        counted = never_negative(step - 1, facts) and (
            not unsigned or (never_negative(lower, facts) and never_negative(upper, facts))
        )
        last = upper - 1 - lower
        turn = Symbol(f"turn of the loop at {line_of(op)}", "turn", 0, inf)
        region = op.regions[0]
        if counted:
            least = max(step.bounds[0], 1)
            turn.high = last.bounds[1] // least if last.bounds[1] < inf else inf
            turn.facts = (last - step * turn,)
            if turn.high < 0:
                self.values.update(zip(op.results, initial, strict=True))
                return path
            self.values[region.arguments[0]] = lower + step * turn
            trips = larger(ZERO, quotient(last + step, step))
            path_inside = both(path, at_least(last, 0))
        else:
            self.values[region.arguments[0]] = unknown(
                region.arguments[0].type, f"the counter of the loop at {line_of(op)}", data=False
            )
            trips = None
            path_inside = path
        carried = region.arguments[1:]
        steps, again = self._carry(op, region, carried, initial, turn, path_inside, counted=counted)
        for result, argument, first, step_by in zip(op.results, carried, initial, steps, strict=True):
            if step_by is not None and (trips is not None or step_by == ZERO):
                self.values[result] = grown(first, step_by, trips if trips is not None else ZERO, result, facts)
            else:
                values = [values[carried.index(argument)] for _, values in again]
                self.values[result] = hull(op, result, [first, *values])
        return path

    def _while(self, op: Op, initial: tuple[Followed, ...], path: Condition) -> Condition | None:
        region = op.regions[0]
        turn = Symbol(f"turn of the loop at {line_of(op)}", "turn", 0, inf)
        self._carry(op, region, region.arguments, initial, turn, path, counted=False)
        ends = self._ends
        if not ends:
            return None
        if len(ends) == 1 and not unknowns(ends[0][0]):
            self.values.update(zip(op.results, ends[0][1], strict=True))
            if any(symbols_of(self.values[r]) & {turn} for r in op.results if r in self.used):
                return ends[0][0]
            return path
        inside = {turn, *(s for v in region.arguments for s in symbols_of(self.values[v]))}
        for i, result in enumerate(op.results):
            values = [values[i] for _, values in ends]
            if len(values) == 1 and not inside & symbols_of(values[0]):
                self.values[result] = values[0]
            else:
                self.values[result] = hull(op, result, values)
        return path

    def _carry(
        self,
        op: Op,
        region: Region,
        carried: tuple[Value, ...],
        initial: tuple[Followed, ...],
        turn: Symbol,
        path: Condition,
        *,
        counted: bool,
    ) -> tuple[list[Poly | None], list[tuple[Condition, tuple[Followed, ...]]]]:
        """Follow a loop's body: what it carries grows by how much each turn (None: not known), and its `continue`s."""
        fresh = [placeholder(op, v, first) for v, first in zip(carried, initial, strict=True)]
        inside = {s for f in fresh for s in symbols_of(f)}
        again, _ = self._body(region, carried, fresh, path, turn, record=False)
        steps = [
            growth(v, f, [values[i] for _, values in again], inside, turn)
            for i, (v, f) in enumerate(zip(carried, fresh, strict=True))
        ]
        facts = list(polys_of(path))
        starts: list[Followed] = []
        for i, (v, first, step) in enumerate(zip(carried, initial, steps, strict=True)):
            if step is None:
                starts.append(hull(op, v, [first, *(values[i] for _, values in again)]))
            elif counted or step == ZERO:
                starts.append(grown(first, step, Poly.of(turn), v, facts))
            else:
                starts.append(unwrapped(first, step, turn))
        if not counted:
            turn.facts = tuple(
                fact
                for v, start, step in zip(carried, starts, steps, strict=True)
                if step is not None and step != ZERO and isinstance(start, Poly)
                for fact in in_range(v, start)
            )
        mark = len(self.events)
        again, ends = self._body(region, carried, starts, path, turn, record=True)
        if turn.facts and not counted and not stays_in_range(carried, steps, again):
            # It may wrap: then the turn says nothing of it.
            turn.facts = ()
            del self.events[mark:]
            starts = [
                hull(op, v, [NOTHING]) if step not in (None, ZERO) and isinstance(start, Poly) else start
                for v, start, step in zip(carried, starts, steps, strict=True)
            ]
            again, ends = self._body(region, carried, starts, path, turn, record=True)
        self._ends = ends
        return steps, again

    def _body(
        self,
        region: Region,
        carried: tuple[Value, ...],
        starts: Sequence[Followed],
        path: Condition,
        turn: Symbol,
        *,
        record: bool,
    ) -> tuple[list[tuple[Condition, tuple[Followed, ...]]], list[tuple[Condition, tuple[Followed, ...]]]]:
        self.values.update(zip(carried, starts, strict=True))
        mark = len(self.events)
        loop = _Loop()
        self.loops.append(loop)
        self._region(region, path)
        self.loops.pop()
        if not record:
            del self.events[mark:]
        self.exits[turn] = [condition for condition, _ in loop.ends]
        return loop.again, loop.ends
