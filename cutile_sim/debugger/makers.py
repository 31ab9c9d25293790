"""Which operation an expression of the source became.

Debug information gives an operation the place where its expression begins. Several expressions may begin at one place
(`a` and `a + b`, `x` and `x.astype(t)`), and some become no operation of their own: a product may be fused into a sum,
a constant folded, an unused result dropped. So the operations at a place are only taken for an expression if their
kinds, number and operands fit; in doubt there is none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from cutile_sim.debugger.bindings import NO_OPERATION, Binding, Held, Items, Missing
from cutile_sim.debugger.positions import Frame, Positions
from cutile_sim.debugger.pysource import start_of
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import TokenType

_OPERATORS: dict[type[ast.AST], frozenset[str]] = {
    ast.Add: frozenset(("addf", "addi", "fma", "offset")),
    ast.Sub: frozenset(("subf", "subi", "fma")),
    ast.Mult: frozenset(("mulf", "muli")),
    ast.Div: frozenset(("divf",)),
    ast.MatMult: frozenset(("mmaf", "mmai")),
    ast.BitAnd: frozenset(("andi",)),
    ast.BitOr: frozenset(("ori",)),
    ast.BitXor: frozenset(("xori",)),
    ast.LShift: frozenset(("shli",)),
    ast.RShift: frozenset(("shri",)),
    ast.Pow: frozenset(("pow",)),
}
_COMPARISONS = frozenset(("cmpf", "cmpi"))
_CHOICES = frozenset(("if", "select"))
_LOGIC = frozenset(("if", "andi", "ori", "select"))
_ADAPTERS = frozenset(("reshape", "broadcast", "assume", "itof", "ftoi", "ftof", "exti", "trunci"))
"""Operations that bring an operand into the form that another operation wants."""
UNROLLED = Missing("its loop is unrolled, and its value in this turn cannot be told")
_SEVERAL = Missing("the operations at its place do not say which of them makes it")

Expression = ast.expr | ast.AugAssign


class Makers:
    """Finds the results of expressions."""

    def __init__(self, positions: Positions) -> None:
        self.positions = positions
        self.of_value: dict[Value, Op] = {v: op for op in positions.order for v in op.results}
        self._passed: dict[Value, Value] = dict(_passed_on(positions))

    def result(
        self,
        frame: Frame,
        node: Expression,
        times: int | None,
        operands: tuple[Binding, ...] = (),
        is_method: bool = False,
    ) -> Binding:
        """What an expression's own operation results in.

        Args:
            times: How often the compiler wrote the expression out, in loops that it unrolled; None where not known.
            operands: What is known of its operands.
            is_method: Whether it calls a method of a tile or an array, rather than a function of a module.
        """
        found = [
            op
            for op in self.positions.at.get((frame, start_of(node)), ())
            if _data(op) and op.name not in ("for", "loop") and not self.positions.in_reduction(op)
        ]
        via = _library_function(node)
        if not any(self.positions.places[op].via == via for op in found) and not is_method:
            via = None
        found = [op for op in found if self.positions.places[op].via == via]
        if times == 1:
            return self._one(found, node, via, operands)
        turns = self._turns(found, times)
        if turns is None:
            return UNROLLED
        each = [self._one(turn, node, via, operands) for turn in turns]
        return Held(tuple(v for r in each if isinstance(r, Held) for v in r.values)) if _all_held(each) else UNROLLED

    def selected(self, frame: Frame, node: Expression, times: int | None, number: int) -> Binding:
        """The result of that number, of an expression whose operation results in one number an axis."""
        found = [op for op in self.positions.at.get((frame, start_of(node)), ()) if op.name in AXIS_OPERATIONS]
        if not found:
            return NO_OPERATION
        if len(found) != times or not 0 <= number < len(found[0].results):
            return _SEVERAL if times == 1 else UNROLLED
        return Held(tuple(op.results[number] for op in found))

    def _turns(self, found: list[Op], times: int | None) -> list[list[Op]] | None:
        """The operations of each turn of unrolled loops; None unless all turns have the same, and in order.

        Constants are left out: they are moved ahead of all turns.
        """
        found = [op for op in found if op.name != "constant"]
        if times is None or not found or len(found) % times or any(self.positions.places[op].is_moved for op in found):
            return None
        size = len(found) // times
        turns = [found[at : at + size] for at in range(0, len(found), size)]
        names = [[op.name for op in turn] for turn in turns]
        return turns if all(n == names[0] for n in names) else None

    def _one(self, found: list[Op], node: Expression, via: str | None, operands: tuple[Binding, ...]) -> Binding:
        """What an expression results in, of the operations at its place."""
        kinds = _kinds(node)
        mine = found if kinds is None else [op for op in found if op.name in kinds]
        if not mine:
            return NO_OPERATION
        rivals = _rivals(node, kinds, via)
        if kinds is None:
            return self._result(mine[-1]) if rivals == 1 and self._all_lead_to(mine) else _SEVERAL
        fits = mine[-1] is found[-1] if rivals is None else len(mine) == rivals
        return self._checked(mine[-1], operands) if fits else _SEVERAL

    def bare(self, value: Value) -> Value:
        """A value without the promises (`assume`) that were put on it, and without loops around it that never turn."""
        while True:
            maker = self.of_value.get(value)
            if maker is not None and maker.name == "assume":
                value = maker.inputs[0]
            elif value in self._passed:
                value = self._passed[value]
            else:
                return value

    def _checked(self, op: Op, operands: tuple[Binding, ...]) -> Binding:
        """The result of an operation, if all that is known of the operands fits."""
        taken = {self._plain(v) for v in op.inputs}
        for operand in operands:
            known = operand.values if isinstance(operand, Held) else ()
            if len(known) == 1 and self._plain(known[0]) not in taken:
                return NO_OPERATION
        return self._result(op)

    def _plain(self, value: Value) -> Value:
        while (maker := self.of_value.get(value)) is not None and maker.name in _ADAPTERS:
            value = maker.inputs[0]
        return value

    def _result(self, op: Op) -> Binding:
        values = _data(op)
        return Held((values[0],)) if len(values) == 1 else Items(tuple(Held((v,)) for v in values))

    def _all_lead_to(self, ops: list[Op]) -> bool:
        """Whether the last operation takes, directly or not, what all the others make."""
        reached: set[Op] = {ops[-1]}
        for op in reversed(ops):
            if op not in reached:
                return False
            for outer in [op, *(o for region in op.regions for o in region.ops)]:
                reached.update(m for v in outer.inputs if (m := self.of_value.get(v)) is not None)
        return True


def _all_held(results: list[Binding]) -> bool:
    return all(isinstance(r, Held) for r in results)


def _data(op: Op) -> list[Value]:
    """An operation's results but tokens."""
    return [v for v in op.results if not isinstance(v.type, TokenType)]


def _passed_on(positions: Positions) -> Iterator[tuple[Value, Value]]:
    """What loops that never turn carry, and what it is: so are functions written that return in their middle."""
    for op in positions.order:
        if op.name == "loop" and not endings(op, "continue"):
            initial = op.operands["init_values"]
            assert isinstance(initial, tuple)
            yield from zip(op.regions[0].arguments, initial, strict=True)


def endings(loop: Op, name: str) -> list[tuple[Value, ...]]:
    """The operands of every `continue` or `break` of a loop."""
    found: list[tuple[Value, ...]] = []
    pending = list(loop.regions[0].ops)
    while pending:
        op = pending.pop()
        if op.name == name:
            found.append(op.inputs)
        if op.name not in ("for", "loop"):
            pending.extend(inner for region in op.regions for inner in region.ops)
    return found


AXIS_OPERATIONS = ("get_tile_block_id", "get_num_tile_blocks", "get_index_space_shape")
"""Operations with one result an axis, of which an expression asks for one."""


def _library_function(node: Expression) -> str | None:
    """The function of cuTile's library that a call may go through."""
    if not isinstance(node, ast.Call):
        return None
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)


def _kinds(node: Expression) -> frozenset[str] | None:
    """The operations of which the last of an expression is one; None where it may be any."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return _OPERATORS.get(type(node.op))
    if isinstance(node, ast.Compare):
        return _COMPARISONS if len(node.ops) == 1 else None
    if isinstance(node, ast.IfExp):
        return _CHOICES
    return _LOGIC if isinstance(node, ast.BoolOp) else None


def _rivals(node: Expression, kinds: frozenset[str] | None, via: str | None) -> int | None:
    """How many expressions begin at the same place and could become the same operations, this one among them; None
    where that cannot be said.
    """
    count = 1
    inner = _first_part(node)
    while inner is not None and start_of(inner) == start_of(node):
        if not isinstance(inner, (ast.Name, ast.Constant)) and not _is_plain_name(inner):
            theirs = _kinds(inner)
            if kinds is not None and theirs is not None:
                count += bool(kinds & theirs)
            elif kinds is not None or via is None:
                return None
            elif via == _library_function(inner):
                count += 1
        inner = _first_part(inner)
    return count


def _is_plain_name(node: ast.expr) -> bool:
    """A name with dots, such as `ct.sum`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _first_part(node: ast.AST) -> ast.expr | None:
    """The part of an expression that stands first, if it may be computed by operations."""
    if isinstance(node, ast.BinOp | ast.Compare):
        return node.left
    if isinstance(node, ast.BoolOp):
        return node.values[0]
    if isinstance(node, ast.IfExp):
        return node.body
    if isinstance(node, ast.Call):
        return node.func
    if isinstance(node, ast.Attribute | ast.Subscript):
        return node.value
    return None
