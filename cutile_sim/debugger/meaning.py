"""What the expressions of a kernel's source stand for."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from cutile_sim.debugger.bindings import (
    NO_OPERATION,
    NOT_ASSIGNED,
    ArrayArgument,
    Binding,
    Carried,
    Held,
    Items,
    Known,
    Missing,
    Names,
    settled,
)
from cutile_sim.debugger.makers import AXIS_OPERATIONS, Makers
from cutile_sim.debugger.positions import Frame, Positions
from cutile_sim.debugger.pysource import start_of

_FOLDED: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
"""Operators on constants, which give the compiler what they give Python."""
_AXIS_ARGUMENT = {"bid": 0, "num_blocks": 0, "num_tiles": 1}
"""Which argument of a function says the axis."""
MAX_DEPTH = 20
"""How many calls are followed one inside the other; cuTile inlines recursion that is far deeper."""
MAX_TURNS = 10_000
"""How many turns of an unrolled loop are counted."""
_AN_ALIAS = Missing("it is another name for a variable of an unrolled loop")


class Expressions:
    """Evaluates the expressions of one frame to bindings, and walks the functions that they call.

    `times` is how often the compiler wrote out what is walked now, in loops that it unrolled; None where not known.
    """

    def __init__(
        self,
        frame: Frame,
        makers: Makers,
        positions: Positions,
        run: Callable[[Frame, Names, int | None], Binding],
        times: int | None,
    ) -> None:
        self.times = times
        self.frame = frame
        self.makers = makers
        self.positions = positions
        self.run = run

    def of(self, node: ast.expr, names: Names) -> Binding:
        """What an expression stands for where the variables are `names`."""
        if isinstance(node, ast.Constant):
            return Known(node.value)
        if isinstance(node, ast.Name):
            return self._name(node, names)
        if isinstance(node, (ast.Tuple, ast.List)):
            return Items(tuple(self.of(item, names) for item in node.elts))
        if isinstance(node, ast.NamedExpr):
            made = self.of(node.value, names)
            names[node.target.id] = made
            return made
        if isinstance(node, ast.Call):
            return self._call(node, names)
        parts = [self.of(part, names) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        if isinstance(node, ast.Attribute):
            return self._attribute(node, parts[0])
        if isinstance(node, ast.Subscript):
            return self._subscript(node, parts)
        if isinstance(node, ast.IfExp) and isinstance(parts[0], Known):
            return parts[1] if parts[0].value else parts[2]
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp)) and all(
            isinstance(p, Known) for p in parts
        ):
            return _folded(node, [p.value for p in parts if isinstance(p, Known)])
        if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp)):
            return self.makers.result(self.frame, node, self.times, self._named_operands(node, names))
        return Missing("such an expression is not followed")

    def updated(self, node: ast.AugAssign, names: Names) -> Binding:
        """What `target op= value` assigns."""
        value = self.of(node.value, names)
        old = self._name(node.target, names) if isinstance(node.target, ast.Name) else NO_OPERATION
        if isinstance(old, Known) and isinstance(value, Known) and type(node.op) in _FOLDED:
            return _apply(type(node.op), old.value, value.value)
        operands = [old, value] if isinstance(node.value, ast.Name) else [old]
        return self.makers.result(self.frame, node, self.times, tuple(settled(o) for o in operands))

    def _name(self, node: ast.Name, names: Names) -> Binding:
        binding = names.get(node.id)
        if binding is None:
            return Missing(f"it comes from {node.id}, which is no variable of the function that names it")
        if isinstance(binding, Carried) and binding.is_unrolled:
            return _AN_ALIAS
        if isinstance(binding, Held) and len(binding.values) > 1:
            return _AN_ALIAS
        return binding

    def _named_operands(self, node: ast.expr, names: Names) -> tuple[Binding, ...]:
        """Operands that are variables: an operation of the expression takes these very values."""
        if isinstance(node, ast.BinOp):
            sides: list[ast.expr] = [node.left, node.right]
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            sides = [node.left, *node.comparators]
        else:
            return ()
        return tuple(settled(names[s.id]) for s in sides if isinstance(s, ast.Name) and s.id in names)

    def _attribute(self, node: ast.Attribute, owner: Binding) -> Binding:
        owner = settled(owner)
        if isinstance(owner, ArrayArgument) and node.attr == "ndim" and owner.shape:
            return Known(len(owner.shape))
        if isinstance(owner, ArrayArgument) and node.attr == "shape":
            return Items(tuple(Known(n) for n in owner.shape))
        if isinstance(owner, Held) and node.attr == "T":
            return self.makers.result(self.frame, node, self.times)
        return NO_OPERATION

    def _subscript(self, node: ast.Subscript, parts: list[Binding]) -> Binding:
        whole, at = settled(parts[0]), parts[1] if len(parts) > 1 else NOT_ASSIGNED
        if isinstance(whole, Items):
            if isinstance(at, Known) and isinstance(at.value, int) and -len(whole.items) <= at.value < len(whole.items):
                return whole.items[at.value]
            return Missing("which item of the tuple it is is not known")
        return self.makers.result(self.frame, node, self.times)

    # Calls

    def _call(self, node: ast.Call, names: Names) -> Binding:
        positional = [self.of(a, names) for a in node.args]
        by_name = {k.arg: self.of(k.value, names) for k in node.keywords}
        if isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Name):
            self.of(node.func.value, names)
        callees = self.positions.callees(self.frame, start_of(node))
        if callees:
            return self._called(node, callees, positional, by_name)
        function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if function == "static_iter" and len(positional) == 1:
            return positional[0]
        if function == "range" and function not in names:
            return _range(positional)
        if function in _AXIS_ARGUMENT and any(
            op.name in AXIS_OPERATIONS for op in self.positions.at.get((self.frame, start_of(node)), ())
        ):
            number = _AXIS_ARGUMENT[function]
            axis = by_name.get("axis", positional[number] if len(positional) > number else NOT_ASSIGNED)
            if isinstance(axis, Known) and isinstance(axis.value, int):
                return self.makers.selected(self.frame, node, self.times, axis.value)
            return Missing("its axis is not known")
        return self.makers.result(self.frame, node, self.times, is_method=_is_method(node, names))

    def _called(
        self, node: ast.Call, callees: list[Frame], positional: list[Binding], by_name: dict[str | None, Binding]
    ) -> Binding:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
        if len(callees) > 1:
            callees = [f for f in callees if f.function == called]
        if len(callees) != 1 or callees[0].source is None or callees[0].depth > MAX_DEPTH:
            return Missing("what the call returns cannot be told")
        arguments = callees[0].source.node.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        given: Names = {}
        if not any(isinstance(a, ast.Starred) for a in node.args) and None not in by_name:
            given = dict(zip(names, positional, strict=False)) | {k: v for k, v in by_name.items() if k is not None}
        every = callees[0].source.parameters
        passed = {n: given.get(n, Missing("how it was passed is not followed")) for n in every}
        return self.run(callees[0], passed, self.times)


def _is_method(node: ast.Call, names: Names) -> bool:
    """Whether a call is one of a tile's or an array's methods, not of a function in a module."""
    if not isinstance(node.func, ast.Attribute):
        return False
    owner: ast.expr = node.func.value
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    return not isinstance(owner, ast.Name) or owner.id in names


def _range(limits: list[Binding]) -> Binding:
    """The numbers of a range that the compiler knows."""
    known = [b.value for b in map(settled, limits) if isinstance(b, Known) and type(b.value) is int]
    if len(known) != len(limits) or not 1 <= len(known) <= 3 or (len(known) == 3 and not known[2]):
        return NO_OPERATION
    numbers = range(*known)
    return Items(tuple(map(Known, numbers))) if len(numbers) <= MAX_TURNS else NO_OPERATION


def _folded(node: ast.expr, values: list[Any]) -> Binding:
    """The result of operators on constants."""
    if isinstance(node, ast.BoolOp):
        wanted = isinstance(node.op, ast.Or)
        return Known(next((v for v in values if bool(v) is wanted), values[-1]))
    if isinstance(node, ast.Compare):
        return NO_OPERATION if len(node.ops) > 1 else _apply(type(node.ops[0]), *values)
    assert isinstance(node, (ast.BinOp, ast.UnaryOp))
    return _apply(type(node.op), *values)


def _apply(kind: type[ast.AST], *values: Any) -> Binding:
    if kind not in _FOLDED or not all(isinstance(v, (bool, int, float, type(None))) for v in values):
        return NO_OPERATION
    try:
        return Known(_FOLDED[kind](*values))
    except (ArithmeticError, TypeError):
        return NO_OPERATION
