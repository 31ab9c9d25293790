"""Names and expressions for sizes that a proof leaves open."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from cutile_sim.errors import UsageError
from cutile_sim.launch import check_grid
from ir_passes.symbolic import Poly, Symbol, quotient
from ir_passes.symbolic.evaluate import value_of

_MAX_LENGTH = 2**31 - 1


class Names:
    """Names in expressions for sizes, and what they stand for."""

    def __init__(self, multiples: Mapping[str, int]) -> None:
        self.multiples = multiples
        self.known: dict[str, Poly] = {}

    def check_all_used(self) -> None:
        for name in self.multiples:
            if name not in self.known:
                raise UsageError(f"no size is called {name!r}, of which a multiple is asked for")

    def grid(self, grid: Any) -> tuple[Poly, Poly, Poly]:
        parts = (grid,) if isinstance(grid, (int, str)) else tuple(grid)
        if not any(isinstance(p, str) for p in parts):
            x, y, z = check_grid(grid)
            return Poly.of(x), Poly.of(y), Poly.of(z)
        if not 1 <= len(parts) <= 3:
            raise UsageError(f"the grid has {len(parts)} dimensions, but a launch takes one to three")
        known = set(self.known)
        found = [self.term(p) for p in parts] + [Poly.of(1)] * (3 - len(parts))
        if new := [name for name in self.known if name not in known]:
            raise UsageError(
                f"the grid depends on {new[0]!r}, which is part of no size: give the size of an array, too"
            )
        return found[0], found[1], found[2]

    def term(self, text: Any) -> Poly:
        """A number or an expression. Raises UsageError."""
        if isinstance(text, int):
            return Poly.of(text)
        try:
            tree = ast.parse(str(text).strip(), mode="eval").body
        except SyntaxError:
            raise UsageError(f"{text!r} is no expression: write names, numbers, + - * // and cdiv(a, b)") from None
        return self._term(tree, text)

    def _term(self, node: ast.expr, text: str) -> Poly:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return Poly.of(node.value)
        if isinstance(node, ast.Name):
            return self._symbol(node.id)
        if isinstance(node, ast.BinOp):
            a, b = self._term(node.left, text), self._term(node.right, text)
            if isinstance(node.op, ast.Add):
                return a + b
            if isinstance(node.op, ast.Sub):
                return a - b
            if isinstance(node.op, ast.Mult):
                return a * b
            if isinstance(node.op, ast.FloorDiv) and b.bounds[0] >= 1:
                return quotient(a, b)
        if _is_cdiv(node):
            a, b = (self._term(n, text) for n in node.args)  # type: ignore[attr-defined]
            if b.bounds[0] >= 1:
                return quotient(a + b - 1, b)
        raise UsageError(f"{text!r} is more than names, numbers, + - * // and cdiv(a, b), with divisors of 1 or more")

    def _symbol(self, name: str) -> Poly:
        if name not in self.known:
            unit = self.multiples.get(name, 1)
            if unit < 1:
                raise UsageError(f"{name} is to be a multiple of {unit}, which is less than 1")
            self.known[name] = Poly.of(Symbol(name, "parameter", 1, _MAX_LENGTH // unit, unit=unit)) * unit
        return self.known[name]

    def value(self, text: Any, numbers: Mapping[str, int]) -> int:
        """An expression's value for numbers by name."""
        by_symbol = {}
        for name, poly in self.known.items():
            for atom in poly.atoms:
                assert isinstance(atom, Symbol)
                by_symbol[atom] = numbers.get(name, atom.unit) // atom.unit
        return value_of(self.term(text), by_symbol)


def _is_cdiv(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "cdiv"
        and len(node.args) == 2
        and not node.keywords
    )
