"""Terms with numbers or other terms put in for symbols."""

from __future__ import annotations

from collections.abc import Mapping

from ir_passes.symbolic.conditions import (
    All,
    Any,
    AtLeastZero,
    Condition,
    Truth,
    Unknown,
    at_least,
    both,
    choice,
    either,
)
from ir_passes.symbolic.terms import Atom, Choice, Poly, Quotient, Symbol, UndeterminedError, quotient


def value_of(poly: Poly, numbers: Mapping[Symbol, int]) -> int:
    """The polynomial's value. Raises UndeterminedError where it depends on a symbol that has none."""
    total = 0
    for monomial, coefficient in poly.terms.items():
        for atom in monomial:
            coefficient *= _atom(atom, numbers)
        total += coefficient
    return total


def _atom(atom: Atom, numbers: Mapping[Symbol, int]) -> int:
    if isinstance(atom, Symbol):
        found = numbers.get(atom)
        if found is None:
            raise UndeterminedError(atom.why or atom.name)
        return found
    if isinstance(atom, Quotient):
        bottom = value_of(atom.bottom, numbers)
        if bottom < 1:
            raise UndeterminedError("a division by zero")
        return value_of(atom.top, numbers) // bottom
    assert isinstance(atom, Choice)
    return value_of(atom.then if holds(atom.condition, numbers) else atom.otherwise, numbers)


def holds(condition: Condition, numbers: Mapping[Symbol, int]) -> bool:
    """Whether the condition holds. Raises UndeterminedError where that depends on a symbol that has no number."""
    if isinstance(condition, Truth):
        return condition.holds
    if isinstance(condition, AtLeastZero):
        return value_of(condition.poly, numbers) >= 0
    if isinstance(condition, Unknown):
        found = numbers.get(condition.symbol)
        if found is None:
            raise UndeterminedError(condition.symbol.why or condition.symbol.name)
        return bool(found) is not condition.negated
    assert isinstance(condition, (All, Any))
    wanted = isinstance(condition, Any)
    missing: UndeterminedError | None = None
    for part in condition.parts:
        try:
            if holds(part, numbers) is wanted:
                return wanted
        except UndeterminedError as error:
            missing = error
    if missing is not None:
        raise missing
    return not wanted


def replace(poly: Poly, by: Mapping[Atom, Poly]) -> Poly:
    """The polynomial with atoms replaced, also inside quotients and choices."""
    if not by:
        return poly
    return Replacer(by).poly(poly)


def replace_in(condition: Condition, by: Mapping[Atom, Poly]) -> Condition:
    return Replacer(by).condition(condition) if by else condition


class Replacer:
    """Replaces atoms in many terms alike. An unknown condition's symbol can only be replaced by another symbol."""

    def __init__(self, by: Mapping[Atom, Poly]) -> None:
        self.by = by
        self.known: dict[Atom, Poly] = {}

    def poly(self, poly: Poly) -> Poly:
        if not any(self._atom(atom) is not None for atom in poly.atoms):
            return poly
        total = Poly({})
        for monomial, coefficient in poly.terms.items():
            product = Poly.of(coefficient)
            for atom in monomial:
                new = self._atom(atom)
                product = product * (atom if new is None else new)
            total = total + product
        return total

    def _atom(self, atom: Atom) -> Poly | None:
        """What replaces the atom; None where it stays."""
        if atom in self.by:
            return self.by[atom]
        if isinstance(atom, Symbol):
            return None
        if atom not in self.known:
            self.known[atom] = self._rebuilt(atom)
        found = self.known[atom]
        return None if found.terms == {(atom,): 1} else found

    def _rebuilt(self, atom: Atom) -> Poly:
        if isinstance(atom, Quotient):
            top, bottom = self.poly(atom.top), self.poly(atom.bottom)
            return Poly.of(atom) if top == atom.top and bottom == atom.bottom else quotient(top, bottom)
        assert isinstance(atom, Choice)
        condition = self.condition(atom.condition)
        then, otherwise = self.poly(atom.then), self.poly(atom.otherwise)
        if condition == atom.condition and then == atom.then and otherwise == atom.otherwise:
            return Poly.of(atom)
        new = choice(condition, then, otherwise)
        for made in new.atoms:
            if isinstance(made, Choice) and made.condition == condition and not made.facts:
                # Bounds come anew from what was put in, which may lie outside those of the symbol that it replaces.
                for rest, sign in ((self.poly(f), c) for f, c in _apart(atom)):
                    made.facts = (*made.facts, rest + Poly.of(made) * sign)
                    if sign > 0:
                        made.low = max(made.low, -rest.bounds[1])
                    else:
                        made.high = min(made.high, rest.bounds[1])
        return new

    def condition(self, condition: Condition) -> Condition:
        if isinstance(condition, AtLeastZero):
            return at_least(self.poly(condition.poly), 0)
        if isinstance(condition, All):
            return both(*map(self.condition, condition.parts))
        if isinstance(condition, Any):
            return either(*map(self.condition, condition.parts))
        if isinstance(condition, Unknown) and condition.symbol in self.by:
            (symbol,) = self.by[condition.symbol].atoms
            assert isinstance(symbol, Symbol)
            return Unknown(symbol, condition.negated)
        return condition


def _apart(atom: Choice) -> list[tuple[Poly, int]]:
    """The facts of a smaller or larger one, without the choice itself, and the sign it has in them."""
    return [(f - Poly({(atom,): f.terms[(atom,)]}), f.terms[(atom,)]) for f in atom.facts if (atom,) in f.terms]
