"""A launch plan: a function's structured code laid out flat, made once per compiled kernel.

Structured control flow becomes jumps, so that a running group is no more than a program counter and slots. Whatever
depends on nothing but the launch's parameters moves into a prologue that runs once a launch. A value's slot is cleared
after its last use.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.instructions import Branch, Halt, Instruction, Join, Jump, Run
from cutile_sim.engine.steps import (
    Step,
    advance,
    can_reuse,
    captured,
    computes_in_place,
    constant_step,
    counter_test,
    move,
    observed,
    observed_move,
    op_step,
    release,
    reusing_step,
    shift_bound,
    uses_of,
)
from cutile_sim.engine.structure import homes, is_uniform, leaves, reads_memory, stop_flag, tile_bytes
from cutile_sim.engine.widen import widen
from cutile_sim.errors import UnsupportedError
from cutile_sim.tileir.core import Function, Op, Region, Value
from cutile_sim.tileir.types import TileType, Type
from ir_passes.grid_axes import grid_axes

Number = bool | int | float
"""The value of a launch parameter; an address for a pointer."""


@dataclass
class Plan:
    """A function ready to run.

    Attributes:
        live_bytes: Where the most bytes of tiles live at once: those of one block, by the axes of the grid that they
            depend on (bits of `ir_passes.grid_axes`). For sizing batches.
        shadow: Where the second slots of an observed plan begin.
        begun: The slots of the last launch after its prologue, none of which anybody writes to, and the numbers that
            they follow from.
    """

    parameters: tuple[Value, ...]
    prologue: Run
    code: list[Instruction]
    slot_count: int
    live_bytes: Mapping[int, int]
    shadow: int
    begun: tuple[tuple[Any, ...], list[Any]] | None = None

    @property
    def may_wait(self) -> bool:
        """Whether a block may wait for another one."""
        return any(isinstance(i, Jump) and i.may_wait for i in self.code)


def make_plan(function: Function, *, observed: bool = False, in_order: bool = False) -> Plan:
    """Lay out a function: as fast as possible, or so that an observer sees every operation.

    `in_order` leaves what depends on nothing but the launch's parameters where it stands.

    Raises UnsupportedError, with the line, for an operation that cannot be simulated.
    """
    for op in function.walk():
        if op.spec.meaning.unsupported:
            raise UnsupportedError(f"{op.name} cannot run here: {op.spec.meaning.unsupported}", location=op.location)
    return _Planner(function, observed, in_order).plan()


class _Planner:
    def __init__(self, function: Function, observed: bool, in_order: bool) -> None:
        self.function = function
        self.observed = observed
        self.in_order = in_order
        self.code: list[Instruction] = []
        self.run = Run()
        self.prologue = Run()
        self.slot_count = function.value_count
        self.position = 0
        self.uniform: set[Value] = set(function.parameters)
        self.uses = uses_of(function.walk())
        self.users: dict[Value, list[Op]] = {}
        for op in function.walk():
            for value in op.inputs:
                self.users.setdefault(value, []).append(op)
        self.home = homes(function.body)
        self.deferred: dict[Value, Op] = {}
        self.born: dict[int, int] = {}
        self.last_use: dict[int, int] = {}
        self.sizes: dict[int, int] = {}
        self.loops: list[tuple[int, int]] = []
        self.marks: list[tuple[Run, int, int]] = []
        self.makers: dict[Value, Op] = {v: op for op in function.walk() for v in op.results}
        self.axes: dict[int, int] = {v.index: a for v, a in grid_axes(function).items()}
        self.weight = 1

    def plan(self) -> Plan:
        self._region(self.function.body, _Targets())
        self._emit(Halt())
        live = self._releases()
        shadow = self.slot_count
        count = 2 * shadow if self.observed else shadow
        return Plan(self.function.parameters, self.prologue, self.code, count, live, shadow)

    # Emission

    def _emit(self, instruction: Instruction) -> int:
        """Close the current run, append an instruction, and return its index."""
        self._close()
        self.code.append(instruction)
        self.position += 1
        return len(self.code) - 1

    def _close(self) -> None:
        if self.run.steps:
            self.code.append(self.run)
            self.run = Run()

    def _here(self) -> int:
        self._close()
        return len(self.code)

    def _step(self, step: Step, op: Op | None, reads: Iterable[int], writes: Iterable[int]) -> None:
        for slot in reads:
            self.last_use[slot] = self.position
        for slot in writes:
            self.born.setdefault(slot, self.position)
            self.last_use[slot] = max(self.last_use.get(slot, 0), self.position)
        self.run.steps.append(step)
        self.run.ops.append(op)
        self.run.count += self.weight if op is not None else 0
        self.marks.append((self.run, len(self.run.steps), self.position))
        self.position += 1

    def _move(self, sources: Iterable[Value], targets: Iterable[Value]) -> None:
        src, dst = [v.index for v in sources], [v.index for v in targets]
        if not src:
            return

        self._note_sizes(targets)
        self._step(observed_move(src, dst) if self.observed else move(src, dst), None, src, dst)

    def _note_sizes(self, values: Iterable[Value]) -> None:
        for value in values:
            self.sizes[value.index] = tile_bytes(value, self.makers.get(value))

    # Operations

    def _region(self, region: Region, targets: _Targets) -> None:
        for op in region.ops:
            self._op(op, targets)

    def _op(self, op: Op, targets: _Targets) -> None:
        handler = _CONTROL.get(op.name)
        if handler is not None:
            handler(self, op, targets)
            return
        if not self.in_order and is_uniform(op, self.uniform):
            self.uniform.update(op.results)
            self.prologue.steps.append(self._made(op))
            self.prologue.ops.append(op)
            return
        if self._waits_for_store(op):
            self.deferred[op.results[0]] = op
            return
        self._note_sizes(op.results)
        for nested in (o for region in op.regions for o in region.ops):
            self._hoist(nested)
        late = next((self.deferred.pop(v) for v in op.inputs if v in self.deferred), None)
        reads = [v.index for v in (*op.inputs, *captured(op), *(late.inputs if late else ()))]
        self._step(self._made(op, late), op, reads, [v.index for v in op.results])
        self.run.count += self.weight if late is not None else 0

    def _made(self, op: Op, deferred: Op | None = None) -> Step:
        step = op_step(op, self.uses, deferred)
        return observed(op, step) if self.observed else step

    def _waits_for_store(self, op: Op) -> bool:
        """Whether an elementwise operation's only use is to be stored, so that it may be computed into memory."""
        if self.observed or not computes_in_place(op) or not isinstance(kind := op.results[0].type, TileType):
            return False
        element = kind.element
        users = self.users.get(op.results[0], [])
        return (
            isinstance(element, ElementType)
            and element.storage == element.carrier
            and len(users) == 1
            and users[0].name == "store_view_tko"
            and users[0].operands["tile"] is op.results[0]
            and self.home[users[0]] is self.home[op]
        )

    def _hoist(self, op: Op) -> None:
        """Constants inside a reduction's body: its steps read them from the prologue's slots."""
        if op.name == "constant":
            self.uniform.update(op.results)
            self.prologue.steps.append(op_step(op, self.uses))
            self.prologue.ops.append(op)

    def _if(self, op: Op, targets: _Targets) -> None:
        condition = op.inputs[0]
        self.last_use[condition.index] = self.position
        branch = Branch(condition.index, -1, op)
        self._emit(branch)
        inner = _Targets(yields=op.results, loop=targets.loop, leave=targets.leave)
        self._region(op.regions[0], inner)
        self._close()
        jump = Jump(-1, op)
        falls = not leaves(op.regions[0])
        if falls:
            self._emit(jump)
        branch.target = self._here()
        if len(op.regions) > 1:
            self._region(op.regions[1], inner)
        jump.target = self._here()
        self._emit(Join())

    def _for(self, op: Op, targets: _Targets) -> None:
        lower, upper, step = (op.operands[n] for n in ("lower_bound", "upper_bound", "step"))
        initial = op.operands["init_values"]
        assert isinstance(lower, Value) and isinstance(upper, Value) and isinstance(step, Value)
        assert isinstance(initial, tuple)
        start: tuple[Value, ...] = (lower, *initial)
        unsigned = bool(op.attributes["unsigned_cmp"])
        may_widen = self._steps_by_one(step) and not unsigned and not self.observed
        wide = widen(op, self.makers, self._fresh) if may_widen else None
        if wide is not None:
            self.uses = self.uses.and_of(wide[0].walk())
            start = self._several_turns(*wide, start, upper)
        self._turns(op, start, upper, step, unsigned)
        self._move(op.regions[0].arguments[1:], op.results)

    def _several_turns(
        self, loop: Op, before: list[Op], turns: int, start: tuple[Value, ...], upper: Value
    ) -> tuple[Value, ...]:
        """Run a widened loop while enough turns are left; the values that hold its counter and what it carries."""
        self.weight = 0
        for maker in before:
            self._op(maker, _Targets())
        last, step = self._fresh(upper.type, upper), self._fresh(upper.type, upper)
        self._step(shift_bound(upper.index, 1 - turns, last.index), None, (upper.index,), (last.index,))
        self._step(constant_step(turns, upper.index, step.index), None, (upper.index,), (step.index,))
        first = len(self.code) + bool(self.run.steps)
        self.weight = turns
        self._turns(loop, start, last, step, False)
        self.weight = 1
        for instruction in self.code[first:]:
            if isinstance(instruction, Run):
                instruction.fallback = len(self.code) - 1
        return loop.regions[0].arguments

    def _turns(self, op: Op, start: tuple[Value, ...], upper: Value, step: Value, unsigned: bool) -> None:
        """Lay out a counted loop. Afterwards the arguments of its region hold the counter and what it carries."""
        region = op.regions[0]
        counter = region.arguments[0]
        self._move(start, region.arguments)
        head = self._here()
        begin = self.position
        test = self._fresh(upper.type, upper)
        less = counter_test(counter.index, upper.index, test.index, unsigned)
        self._step(less, None, (counter.index, upper.index), (test.index,))
        branch = Branch(test.index, -1, op)
        self.last_use[test.index] = self.position
        self._emit(branch)
        latch = _Latch(op, region.arguments[1:])
        flag = stop_flag(region)
        if flag is not None:
            left = self._leave_if(flag, op)
            region = Region(region.arguments, region.ops[1:])
        self._region(region, _Targets(loop=latch))
        latch.resolve(self._here())
        self._emit(Join())
        self._step(advance(counter.index, step.index), None, (counter.index, step.index), (counter.index,))
        may_wait = flag is not None and reads_memory(region)
        carried = tuple(v.index for v in region.arguments[1:])
        self._emit(Jump(head, op, is_back=True, may_wait=may_wait, carried=carried))
        self.loops.append((begin, self.position))
        for value in (upper, step, *region.arguments):
            self.last_use[value.index] = self.position
        branch.target = self._here()
        if flag is not None:
            left.target = branch.target
        self._emit(Join())

    def _leave_if(self, flag: Value, op: Op) -> Jump:
        """A jump, taken where the flag holds, whose target is still to be set."""
        self.last_use[flag.index] = self.position
        skip = Branch(flag.index, -1, op)
        self._emit(skip)
        jump = Jump(-1, op)
        self._emit(jump)
        skip.target = self._here()
        return jump

    def _fresh(self, kind: Type, like: Value) -> Value:
        """A new value of the plan's own, which depends on the block as `like` does."""
        value = Value(self.slot_count, kind)
        self.slot_count += 1
        self.axes[value.index] = self.axes.get(like.index, 0)
        return value

    def _steps_by_one(self, step: Value) -> bool:
        maker = self.makers.get(step)
        return maker is not None and maker.name == "constant" and bool((maker.attributes["value"] == 1).all())

    def _loop(self, op: Op, targets: _Targets) -> None:
        initial = op.operands["init_values"]
        assert isinstance(initial, tuple)
        region = op.regions[0]
        self._move(initial, region.arguments)
        head = self._here()
        start = self.position
        self._emit(Join())
        latch = _Latch(op, region.arguments)
        leave = _Latch(op, op.results)
        self._region(region, _Targets(loop=latch, leave=leave))
        latch.resolve(self._here())
        self._emit(Join())
        carried = tuple(v.index for v in region.arguments)
        self._emit(Jump(head, op, is_back=True, may_wait=reads_memory(region), carried=carried))
        self.loops.append((start, self.position))
        for value in region.arguments:
            self.last_use[value.index] = self.position
        leave.resolve(self._here())
        self._emit(Join())

    def _yield(self, op: Op, targets: _Targets) -> None:
        self._move(op.inputs, targets.yields)

    def _continue(self, op: Op, targets: _Targets) -> None:
        assert targets.loop is not None
        self._leave_to(op, targets.loop)

    def _break(self, op: Op, targets: _Targets) -> None:
        assert targets.leave is not None
        self._leave_to(op, targets.leave)

    def _leave_to(self, op: Op, latch: _Latch) -> None:
        self._move(op.inputs, latch.values)
        jump = Jump(-1, op)
        self._emit(jump)
        latch.jumps.append(jump)

    def _return(self, op: Op, targets: _Targets) -> None:
        self._emit(Halt())

    # Liveness

    def _with_shadows(self, slots: list[int]) -> tuple[int, ...]:
        return (*slots, *(self.slot_count + i for i in slots)) if self.observed else tuple(slots)

    def _releases(self) -> dict[int, int]:
        """Clear each slot after its last use. Returns what lives where most bytes live at once."""
        fixed = {v.index for v in self.uniform}
        for slot, born in self.born.items():
            for start, end in self.loops:
                if born < start <= self.last_use[slot] < end:
                    self.last_use[slot] = end
        by_position: dict[int, list[int]] = {}
        places = [position for _, _, position in self.marks]
        changes: list[list[tuple[int, int]]] = [[] for _ in range(self.position + 2)]
        for slot, last in self.last_use.items():
            if slot in fixed or slot not in self.born:
                continue
            after = bisect_left(places, last)
            if after < len(places):
                by_position.setdefault(places[after], []).append(slot)
            if size := self.sizes.get(slot, 0):
                axes = self.axes.get(slot, 0)
                changes[self.born[slot]].append((axes, size))
                changes[last + 1].append((axes, -size))
        for run, index, position in reversed(self.marks):
            dead = by_position.get(position)
            if dead:
                op = run.ops[index - 1]
                if op is not None and not self.observed and can_reuse(op, dead):
                    run.steps[index - 1] = reusing_step(op, self.uses, {*dead})
                run.steps.insert(index, release(self._with_shadows(dead)))
                run.ops.insert(index, None)
        live: dict[int, int] = {}
        peak: dict[int, int] = {}
        for here in changes:
            for axes, size in here:
                live[axes] = live.get(axes, 0) + size
            if sum(live.values()) > sum(peak.values()):
                peak = dict(live)
        return peak


@dataclass
class _Latch:
    """Where a loop's `continue`s or `break`s go: they move their operands into `values` and jump."""

    op: Op
    values: tuple[Value, ...]
    jumps: list[Jump] = field(default_factory=list)

    def resolve(self, target: int) -> None:
        for jump in self.jumps:
            jump.target = target


@dataclass
class _Targets:
    """Where the terminators of a region lead."""

    yields: tuple[Value, ...] = ()
    loop: _Latch | None = None
    leave: _Latch | None = None


_CONTROL: dict[str, Callable[[_Planner, Op, _Targets], None]] = {
    "if": _Planner._if,
    "for": _Planner._for,
    "loop": _Planner._loop,
    "yield": _Planner._yield,
    "continue": _Planner._continue,
    "break": _Planner._break,
    "return": _Planner._return,
}

CONTROL_OPS = frozenset(_CONTROL)
"""Operations that the plan lays out itself; all others have a function in `cutile_sim.ops`."""
