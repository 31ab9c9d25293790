"""Conditions on terms, and terms that depend on a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ir_passes.symbolic.terms import REMEMBERED, Atom, Choice, Poly, Quotient, Symbol


class Condition:
    """Something that holds or does not."""

    __slots__ = ()


@dataclass(frozen=True)
class Truth(Condition):
    """Always, or never."""

    holds: bool

    def __repr__(self) -> str:
        return "always" if self.holds else "never"


@dataclass(frozen=True)
class AtLeastZero(Condition):
    """The polynomial is 0 or more."""

    poly: Poly

    def __repr__(self) -> str:
        plus = Poly({m: c for m, c in self.poly.terms.items() if c > 0})
        minus = Poly({m: -c for m, c in self.poly.terms.items() if c < 0})
        return f"{minus} <= {plus}"


@dataclass(frozen=True)
class All(Condition):
    parts: tuple[Condition, ...]

    def __repr__(self) -> str:
        return " and ".join(f"({p})" for p in self.parts)


@dataclass(frozen=True)
class Any(Condition):
    parts: tuple[Condition, ...]

    def __repr__(self) -> str:
        return " or ".join(f"({p})" for p in self.parts)


@dataclass(frozen=True)
class Unknown(Condition):
    """A condition on an unknown: that symbol is not 0, or, negated, is."""

    symbol: Symbol
    negated: bool = False

    def __repr__(self) -> str:
        return ("not " if self.negated else "") + self.symbol.name


ALWAYS, NEVER = Truth(True), Truth(False)


def at_least(a: Poly | int, b: Poly | int) -> Condition:
    """a >= b."""
    poly = Poly.of(a) - b
    low, high = poly.bounds
    if low >= 0:
        return ALWAYS
    return NEVER if high < 0 else AtLeastZero(poly)


def less(a: Poly | int, b: Poly | int) -> Condition:
    return at_least(Poly.of(b) - 1, a)


def equal(a: Poly | int, b: Poly | int) -> Condition:
    return both(at_least(a, b), at_least(b, a))


def both(*parts: Condition) -> Condition:
    flat: dict[Condition, None] = {}
    for part in parts:
        for item in part.parts if isinstance(part, All) else (part,):
            if item == NEVER:
                return NEVER
            if item != ALWAYS:
                flat[item] = None
    if not flat:
        return ALWAYS
    return next(iter(flat)) if len(flat) == 1 else All(tuple(flat))


def either(*parts: Condition) -> Condition:
    return negate(both(*map(negate, parts)))


def negate(condition: Condition) -> Condition:
    if isinstance(condition, Truth):
        return Truth(not condition.holds)
    if isinstance(condition, AtLeastZero):
        return AtLeastZero(-condition.poly - 1)
    if isinstance(condition, Unknown):
        return Unknown(condition.symbol, not condition.negated)
    if isinstance(condition, All):
        return Any(tuple(map(negate, condition.parts)))
    assert isinstance(condition, Any)
    return both(*map(negate, condition.parts))


_choices: dict[tuple[Condition, Poly, Poly], Choice] = {}


def forget_choices() -> None:
    """As `forget_quotients`, for choices."""
    _choices.clear()


def choice(condition: Condition, then: Poly, otherwise: Poly) -> Poly:
    if isinstance(condition, Truth):
        return then if condition.holds else otherwise
    if then == otherwise:
        return then
    key = (condition, then, otherwise)
    found = _choices.get(key)
    if found is None:
        low, high = (f(a, b) for f, a, b in zip((min, max), then.bounds, otherwise.bounds, strict=True))
        found = Choice(condition, then, otherwise, low, high)
        if len(_choices) > REMEMBERED:
            _choices.clear()
        _choices[key] = found
    return Poly.of(found)


def smaller(a: Poly, b: Poly) -> Poly:
    return _chosen(at_least(b, a), a, b, sign=1)


def larger(a: Poly, b: Poly) -> Poly:
    return _chosen(at_least(a, b), a, b, sign=-1)


def _chosen(condition: Condition, a: Poly, b: Poly, sign: int) -> Poly:
    found = choice(condition, a, b)
    atom = next(iter(found.atoms), None)
    # Where one of the two is known to be chosen, its own atoms say nothing of the other.
    if isinstance(atom, Choice) and (atom.condition, atom.then, atom.otherwise) == (condition, a, b):
        if sign > 0:
            atom.high = min(atom.high, a.bounds[1], b.bounds[1])
        else:
            atom.low = max(atom.low, a.bounds[0], b.bounds[0])
        atom.facts = ((a - atom) * sign, (b - atom) * sign)
    return found


def symbols(*items: Poly | Condition) -> frozenset[Symbol]:
    """All symbols that the terms depend on, through quotients and choices."""
    found: set[Symbol] = set()
    seen: set[Atom] = set()
    for item in items:
        _collect(item, found, seen)
    return frozenset(found)


def is_sum(poly: Poly) -> bool:
    """Whether block ids, turns and lanes occur in sums and products only: in no quotient and no choice."""
    return all(isinstance(a, Symbol) or all(s.kind == "parameter" for s in symbols(Poly.of(a))) for a in poly.atoms)


def _collect(item: Poly | Condition, found: set[Symbol], seen: set[Atom]) -> None:
    if isinstance(item, Poly):
        for atom in item.atoms - seen:
            seen.add(atom)
            if isinstance(atom, Symbol):
                found.add(atom)
            elif isinstance(atom, Quotient):
                _collect(atom.top, found, seen)
                _collect(atom.bottom, found, seen)
            elif isinstance(atom, Choice):
                _collect(atom.condition, found, seen)
                _collect(atom.then, found, seen)
                _collect(atom.otherwise, found, seen)
    elif isinstance(item, AtLeastZero):
        _collect(item.poly, found, seen)
    elif isinstance(item, Unknown):
        found.add(item.symbol)
    elif isinstance(item, (All, Any)):
        for part in item.parts:
            _collect(part, found, seen)


def polys_of(condition: Condition) -> Iterator[Poly]:
    """The polynomials that are at least 0 wherever the condition holds (not all that it says, where it has an `or`)."""
    if isinstance(condition, AtLeastZero):
        yield condition.poly
    elif isinstance(condition, All):
        for part in condition.parts:
            yield from polys_of(part)


def unknowns(*items: Poly | Condition) -> list[Symbol]:
    """Unknowns among the symbols, the oldest first."""
    return sorted((s for s in symbols(*items) if s.is_unknown), key=lambda s: s.number)


def alternatives(condition: Condition, limit: int = 16) -> Iterable[list[Poly]]:
    """The condition as an `or` of lists of polynomials that are all at least 0: unknowns left out, so it says less."""
    if isinstance(condition, Truth):
        return [[]] if condition.holds else []
    if isinstance(condition, AtLeastZero):
        return [[condition.poly]]
    if isinstance(condition, Any):
        found = [option for part in condition.parts for option in alternatives(part, limit)]
        return found if len(found) <= limit else [[]]
    if isinstance(condition, All):
        product: list[list[Poly]] = [[]]
        for part in condition.parts:
            options = list(alternatives(part, limit))
            if len(options) * len(product) > limit:
                continue
            product = [a + b for a in product for b in options]
        return product
    return [[]]
