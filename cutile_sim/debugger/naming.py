"""Which values of the kernel the variables of its Python source hold, at every statement.

Tile IR names nothing. So the source is walked as the front-end walked it, statement by statement, and each expression
is looked up among the operations at its place (`makers`), each loop's and branch's variables among what that carries
(`carried`, `loop_names`). Where either is in doubt the variable is `Missing` there, with the reason.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from cutile_sim.debugger.bindings import (
    Binding,
    Carried,
    Held,
    Items,
    Known,
    Missing,
    Names,
    joined,
    settled,
)
from cutile_sim.debugger.carried import Row, solve
from cutile_sim.debugger.loop_names import counted, endless, unrolled
from cutile_sim.debugger.makers import UNROLLED, Makers, endings
from cutile_sim.debugger.meaning import Expressions
from cutile_sim.debugger.positions import Frame, Positions
from cutile_sim.debugger.pysource import names_assigned
from cutile_sim.tileir.core import Op

_UNFOLLOWED = Missing("how the function was called is not followed")


@dataclass
class Exits:
    """The variables where statements end otherwise than by going on."""

    breaks: list[Names] = field(default_factory=list)
    continues: list[Names] = field(default_factory=list)
    returns: list[Binding] = field(default_factory=list)


class Naming:
    """The variables of a kernel and of the functions inlined into it.

    Attributes:
        before: For each statement of each frame, the variables ahead of it.
        in_turn: For each loop, the variables when it begins a turn.
    """

    def __init__(self, positions: Positions, arguments: Names) -> None:
        self.positions = positions
        self.makers = Makers(positions)
        self.before: dict[tuple[Frame, ast.AST], Names] = {}
        self.in_turn: dict[tuple[Frame, ast.AST], Names] = {}
        self._results: dict[Frame, Binding] = {}
        if positions.kernel is not None and positions.kernel.source is not None:
            names = positions.kernel.source.parameters
            self.run(positions.kernel, {n: arguments.get(n, Missing("the launch does not say")) for n in names})
        for frame in positions.frames.values():  # callers come before those they call
            if frame.source is not None and frame not in self._results:
                self.run(frame, dict.fromkeys(frame.source.parameters, _UNFOLLOWED), None)

    def at(self, frame: Frame, node: ast.AST | None, in_turn: bool) -> Names:
        """The variables ahead of a statement, or, at a loop, when it begins a turn. Empty where nothing is known."""
        if node is None:
            return {}
        known = self.in_turn.get((frame, node)) if in_turn else None
        return known if known is not None else self.before.get((frame, node), {})

    def run(self, frame: Frame, arguments: Names, times: int | None = 1) -> Binding:
        """Walk a function, whose call was written out so many times; what it returns."""
        if frame in self._results:
            return self._results[frame]
        self._results[frame] = Missing("the function calls itself")
        assert frame.source is not None
        _Walk(self, frame, times).function(arguments)
        return self._results[frame]

    def finish(self, frame: Frame, returned: list[Binding]) -> None:
        """Note what a function returns: one thing, or results of the loop that stands for returns in its middle."""
        result = joined("", *returned) if returned else Known(None)
        if isinstance(result, Missing) or any(isinstance(settled(r), Missing) for r in returned):
            assert frame.source is not None
            made = self.positions.control(frame, frame.source.node, ("loop",))
            if len(made) == 1:
                result = self._returned(made[0], returned)
        self._results[frame] = result

    def _returned(self, op: Op, returned: list[Binding]) -> Binding:
        """What a function with several returns returns."""
        parts = [r.items if isinstance(r, Items) else (r,) for r in map(settled, returned)]
        if len({len(p) for p in parts}) != 1 or len({isinstance(settled(r), Items) for r in returned}) != 1:
            return Missing("its returns differ in kind")
        breaks = endings(op, "break")
        rows = [Row({str(n): item for n, item in enumerate(p)}, breaks) for p in parts]
        items: list[Binding] = [Missing("which return it is from cannot be told") for _ in parts[0]]

        def found(name: str, column: int) -> None:
            items[int(name)] = Held((op.results[column],))

        solve([str(n) for n in range(len(items))], op.results, rows, self.makers, found)
        return Items(tuple(items)) if isinstance(settled(returned[0]), Items) else items[0]


class _Walk:
    """Walks one function of one call chain."""

    def __init__(self, naming: Naming, frame: Frame, times: int | None) -> None:
        self.naming = naming
        self.frame = frame
        self.makers = naming.makers
        self.positions = naming.positions
        self.expressions = Expressions(frame, naming.makers, naming.positions, naming.run, times)

    def function(self, arguments: Names) -> None:
        assert self.frame.source is not None
        node = self.frame.source.node
        exits = Exits()
        names = dict(arguments)
        if isinstance(node, ast.Lambda):
            self.naming.before[self.frame, node.body] = names
            exits.returns.append(self._value(node.body, names))
        else:
            self._body(node.body, names, exits)
        self.naming.finish(self.frame, exits.returns)

    def _body(self, body: list[ast.stmt], names: Names, exits: Exits) -> Names | None:
        """Walk statements; the variables after them, None where they never go on."""
        at: Names | None = names
        for statement in body:
            if at is None:
                return None
            self.naming.before[self.frame, statement] = at
            at = self._statement(statement, dict(at), exits)
        return at

    def _statement(self, node: ast.stmt, names: Names, exits: Exits) -> Names | None:
        value = self._value
        if isinstance(node, ast.Assign):
            made = value(node.value, names)
            for target in node.targets:
                self._bind(target, made, names)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, value(node.value, names), names)
        elif isinstance(node, ast.AugAssign):
            self._bind(node.target, value(node, names), names)
        elif isinstance(node, ast.Return):
            exits.returns.append(Known(None) if node.value is None else value(node.value, names))
            return None
        elif isinstance(node, (ast.Break, ast.Continue)):
            (exits.breaks if isinstance(node, ast.Break) else exits.continues).append(names)
            return None
        elif isinstance(node, ast.If):
            return self._if(node, names, exits)
        elif isinstance(node, (ast.For, ast.While)):
            return self._loop(node, names, exits)
        elif isinstance(node, ast.Expr):
            value(node.value, names)
        elif isinstance(node, ast.With):
            return self._body(node.body, names, exits)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names[node.name] = Missing("it is a function")
        return names

    def _value(self, node: ast.expr | ast.AugAssign, names: Names) -> Binding:
        try:
            if isinstance(node, ast.AugAssign):
                return self.expressions.updated(node, names)
            return self.expressions.of(node, names)
        except RecursionError:
            return Missing("its expression is nested too deeply")

    def _bind(self, target: ast.expr, made: Binding, names: Names) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = made
        elif isinstance(target, (ast.Tuple, ast.List)):
            whole = isinstance(made, Items) and len(made.items) == len(target.elts)
            for number, part in enumerate(target.elts):
                if isinstance(made, Items) and whole:
                    self._bind(part, made.items[number], names)
                else:
                    self._bind(part, made if isinstance(made, Missing) else Missing("its part of the tuple"), names)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, Missing("its part of the tuple is not followed"), names)

    # Branches

    def _if(self, node: ast.If, names: Names, exits: Exits) -> Names | None:
        test = self._value(node.test, names)
        made = self.positions.control(self.frame, node, ("if",))
        taken = None if made else self._taken(node, test)
        if taken is not None:
            return self._body(taken, names, exits)
        then = self._body(node.body, dict(names), exits)
        otherwise = self._body(node.orelse, dict(names), exits)
        if then is None or otherwise is None:
            (op,) = made if len(made) == 1 else (None,)
            after = then if otherwise is None else otherwise
            return after if after is None or op is None or not op.results else self._met(op, [after], after)
        after = {n: joined(n, then[n], otherwise[n]) for n in then if n in otherwise}
        after |= {n: Missing("it is assigned in one branch alone") for n in {*then} ^ {*otherwise}}
        return after if len(made) != 1 else self._met(made[0], [then, otherwise], after)

    def _taken(self, node: ast.If, test: Binding) -> list[ast.stmt] | None:
        """The branch that the compiler took of a condition known to it; None where that cannot be told."""
        if isinstance(test, Known):
            return node.body if test.value else node.orelse
        if self.expressions.times != 1:
            return None  # may differ from turn to turn
        has_then, has_else = (self._has_code(body) for body in (node.body, node.orelse))
        if has_then != has_else:
            return node.body if has_then else node.orelse
        return None

    def _has_code(self, body: list[ast.stmt]) -> bool:
        if not body:
            return False
        first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
        return any(
            entry.frame is self.frame and first <= entry.statement.line <= last
            for place in self.positions.places.values()
            for entry in place.entries
        )

    def _met(self, op: Op, ways: list[Names], after: Names) -> Names:
        """Variables after a branch: what an operation's results say, else what is the same on all ways."""
        ends = [r.ops[-1].inputs for r in op.regions if r.ops[-1].name == "yield"]
        if len(ends) != len(ways):
            return after
        rows = [Row(way, [end]) for way, end in zip(ways, ends, strict=True)]
        changed = [n for n, binding in after.items() if len(ways) == 1 or isinstance(binding, Missing)]

        def found(name: str, column: int) -> None:
            after[name] = Held((op.results[column],))

        solve(changed, op.results, rows, self.makers, found)
        return after

    # Loops

    def _loop(self, node: ast.For | ast.While, names: Names, exits: Exits) -> Names | None:
        items = self._value(node.iter, names) if isinstance(node, ast.For) else None
        made = self.positions.control(self.frame, node, ("for",) if isinstance(node, ast.For) else ("loop",))
        assigned = names_assigned([node] if isinstance(node, ast.For) else node.body)
        is_unrolled = not made and isinstance(node, ast.For)
        carried = {n: Carried(n, is_unrolled) for n in assigned}
        turn: Names = {**names, **carried}
        inner = Exits(returns=exits.returns)
        self.naming.in_turn[self.frame, node] = dict(turn)
        if isinstance(node, ast.While):
            self._value(node.test, turn)
            if not (isinstance(node.test, ast.Constant) and node.test.value):
                inner.breaks.append(dict(turn))
        else:
            counter = made[0].regions[0].arguments[0] if len(made) == 1 else None
            self._bind(node.target, Held((counter,)) if counter is not None else UNROLLED, turn)
        times = self.expressions.times
        if not made:
            turns = None if items is None else _length(items)
            self.expressions.times = None if turns is None or times is None else turns * times
        end = self._body(node.body, turn, inner)
        self.expressions.times = times
        ends = [*inner.continues, *([end] if end is not None else [])]
        if len(made) != 1:
            after = unrolled(carried, names, ends, inner.breaks)
        elif isinstance(node, ast.For):
            after = counted(made[0], carried, names, [*ends, *inner.breaks], self.makers)
        else:
            after = endless(made[0], carried, names, ends, inner.breaks, self.makers)
        return after if not node.orelse else self._body(node.orelse, after, exits)


def _length(items: Binding) -> int | None:
    """How many turns an unrolled loop over this has."""
    items = settled(items)
    return len(items.items) if isinstance(items, Items) else None
