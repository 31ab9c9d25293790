"""Exact integers as polynomials over symbols, and conditions over them.

A `Poly` is a whole number that depends on symbols: a sum of products of atoms. An atom is a `Symbol` (a block id, a
loop's turn, a lane, a launch parameter, an unknown), a `Quotient` (rounded down) or a `Choice` between two polynomials.
Nothing here wraps: rules.py writes what wraps as a remainder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import inf
from typing import Literal

Kind = Literal["block", "turn", "lane", "parameter", "data", "unmodelled"]
Bound = float
"""An int, or an infinity."""

_numbers = count()


class UndeterminedError(Exception):
    """A term cannot be computed: it depends on an unknown."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Atom:
    """What polynomials are made of. `low` and `high` hold wherever the atom occurs; so do `facts`, each at least 0."""

    __slots__ = ("facts", "high", "low", "number")

    def __init__(self, low: Bound, high: Bound) -> None:
        self.number = next(_numbers)
        self.low = low
        self.high = high
        self.facts: tuple[Poly, ...] = ()


class Symbol(Atom):
    """A free number. `axis` is the grid's for a block id, the tile's for a lane.

    `why` says of an unknown where it comes from. `unit` is what the symbol is counted in: a length known to be a
    multiple of 16 is 16 times a symbol of unit 16, and is printed as the length.
    """

    __slots__ = ("axis", "kind", "name", "unit", "why")

    def __init__(
        self, name: str, kind: Kind, low: Bound, high: Bound, *, axis: int = 0, why: str = "", unit: int = 1
    ) -> None:
        super().__init__(low, high)
        self.name = name
        self.kind = kind
        self.axis = axis
        self.why = why
        self.unit = unit

    @property
    def is_unknown(self) -> bool:
        return self.kind in ("data", "unmodelled")

    def __repr__(self) -> str:
        return self.name if self.unit == 1 else f"({self.name} / {self.unit})"


class Quotient(Atom):
    """`top` divided by `bottom`, which is more than 0, rounded down."""

    __slots__ = ("bottom", "top")

    def __init__(self, top: Poly, bottom: Poly, low: Bound, high: Bound) -> None:
        super().__init__(low, high)
        self.top = top
        self.bottom = bottom

    def __repr__(self) -> str:
        return f"floor(({self.top}) / ({self.bottom}))"


class Choice(Atom):
    """`then` where the condition holds, else `otherwise`."""

    __slots__ = ("condition", "otherwise", "then")

    def __init__(self, condition: Condition, then: Poly, otherwise: Poly, low: Bound, high: Bound) -> None:
        super().__init__(low, high)
        self.condition = condition
        self.then = then
        self.otherwise = otherwise

    def __repr__(self) -> str:
        return f"({self.then} if {self.condition} else {self.otherwise})"


Monomial = tuple[Atom, ...]


def _times(a: Bound, b: Bound) -> Bound:
    return 0 if a == 0 or b == 0 else a * b


class Poly:
    """An immutable polynomial with whole coefficients: `terms` by monomial, the atoms of each in order of number."""

    __slots__ = ("__dict__", "terms")

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {m: c for m, c in terms.items() if c}

    @staticmethod
    def of(value: int | Atom | Poly) -> Poly:
        if isinstance(value, Poly):
            return value
        return Poly({(): value}) if isinstance(value, int) else Poly({(value,): 1})

    @cached_property
    def key(self) -> frozenset[tuple[Monomial, int]]:
        return frozenset(self.terms.items())

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    @property
    def constant(self) -> int:
        return self.terms.get((), 0)

    @property
    def value(self) -> int | None:
        """The number that this is, where it depends on nothing."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def __add__(self, other: int | Atom | Poly) -> Poly:
        terms = dict(self.terms)
        for m, c in Poly.of(other).terms.items():
            terms[m] = terms.get(m, 0) + c
        return Poly(terms)

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: int | Atom | Poly) -> Poly:
        return self + -Poly.of(other)

    def __mul__(self, other: int | Atom | Poly) -> Poly:
        terms: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in Poly.of(other).terms.items():
                product = tuple(sorted(m + n, key=lambda atom: atom.number))
                terms[product] = terms.get(product, 0) + c * d
        return Poly(terms)

    @cached_property
    def atoms(self) -> frozenset[Atom]:
        return frozenset(atom for m in self.terms for atom in m)

    def coefficient(self, atom: Atom) -> Poly | None:
        """What the atom is multiplied by, where it is linear; None where it occurs in a power."""
        terms: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            if m.count(atom) > 1:
                return None
            if atom in m:
                terms[tuple(a for a in m if a is not atom)] = c
        return Poly(terms)

    @cached_property
    def bounds(self) -> tuple[Bound, Bound]:
        """Bounds that hold for all values of the atoms within theirs."""
        low, high = self._plain_bounds()
        for atom in self.atoms:
            # A remainder, top - bottom * quotient, is bounded though its parts are not.
            if isinstance(atom, Quotient) and (bottom := atom.bottom.value) is not None:
                times, rest = divmod(-self.terms.get((atom,), 0), bottom)
                if times and not rest:
                    other = self - (atom.top - Poly.of(atom) * bottom) * times
                    if other.atoms & frozenset((atom,)) or len(other.terms) >= len(self.terms) + len(atom.top.terms):
                        continue
                    below, above = other.bounds
                    low = max(low, below + min(0, times * (bottom - 1)))
                    high = min(high, above + max(0, times * (bottom - 1)))
        return low, high

    def _plain_bounds(self) -> tuple[Bound, Bound]:
        low: Bound = 0
        high: Bound = 0
        for m, c in self.terms.items():
            below: Bound = c
            above: Bound = c
            for atom in m:
                ends = [_times(x, y) for x in (below, above) for y in (atom.low, atom.high)]
                below, above = min(ends), max(ends)
            if len(m) == 2 and m[0] is m[1]:
                below, above = (max(0, below), above) if c > 0 else (below, min(0, above))
            low, high = low + below, high + above
        return low, high

    def __repr__(self) -> str:
        parts = []
        for m, c in sorted(self.terms.items(), key=lambda item: [a.number for a in item[0]], reverse=True):
            if len(m) == 1 and isinstance(m[0], Symbol) and c % m[0].unit == 0:
                c, names = c // m[0].unit, [m[0].name]
            else:
                names = [str(a) for a in m]
            body = " * ".join(([str(abs(c))] if abs(c) != 1 or not names else []) + names)
            parts.append((("- " if c < 0 else "+ ") if parts else ("-" if c < 0 else "")) + body)
        return " ".join(parts) or "0"


ZERO, ONE = Poly({}), Poly({(): 1})


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


# Equal terms are one atom, so that their difference is 0.
_REMEMBERED = 20000
_quotients: dict[tuple[Poly, Poly], Quotient] = {}
_choices: dict[tuple[Condition, Poly, Poly], Choice] = {}


def quotient(top: Poly, bottom: Poly) -> Poly:
    """`top / bottom` rounded down, for a bottom that is more than 0: whole parts taken out."""
    by = bottom.value
    if by is not None:
        whole, rest = {}, {}
        for m, c in top.terms.items():
            whole[m], rest[m] = divmod(c, by)
        outside, inside = Poly(whole), Poly(rest)
        low, high = inside.bounds
        if low > -inf and high < inf and low // by == high // by:
            return outside + int(low // by)
        return outside + _quotient(inside, bottom)
    if bottom.terms and all(bottom.terms.get(m, 0) for m in top.terms) and top == bottom:
        return ONE
    return _quotient(top, bottom)


def _quotient(top: Poly, bottom: Poly) -> Atom:
    found = _quotients.get((top, bottom))
    if found is None:
        (low, high), (least, most) = top.bounds, bottom.bounds
        least = max(least, 1)
        ends = [_floor(t, b) for t in (low, high) for b in (least, most)]
        found = Quotient(top, bottom, min(ends), max(ends))
        rest = top - bottom * found
        found.facts = (rest, bottom - 1 - rest)
        if len(_quotients) > _REMEMBERED:
            _quotients.clear()
        _quotients[top, bottom] = found
    return found


def _floor(top: Bound, bottom: Bound) -> Bound:
    if bottom == inf:
        return -1 if top < 0 else 0
    return top // bottom if abs(top) != inf else top


def remainder(top: Poly, bottom: Poly) -> Poly:
    """What `quotient` leaves: 0 or more, less than `bottom`."""
    return top - bottom * quotient(top, bottom)


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
        if len(_choices) > _REMEMBERED:
            _choices.clear()
        _choices[key] = found
    return Poly.of(found)


def smaller(a: Poly, b: Poly) -> Poly:
    return _chosen(at_least(b, a), a, b, sign=1)


def larger(a: Poly, b: Poly) -> Poly:
    return _chosen(at_least(a, b), a, b, sign=-1)


def _chosen(condition: Condition, a: Poly, b: Poly, sign: int) -> Poly:
    found = choice(condition, a, b)
    for atom in found.atoms:
        if isinstance(atom, Choice):
            if sign > 0:
                atom.high = min(atom.high, a.bounds[1], b.bounds[1])
            else:
                atom.low = max(atom.low, a.bounds[0], b.bounds[0])
            atom.facts = ((a - atom) * sign, (b - atom) * sign)
            return Poly.of(atom)
    return found


def symbols(*items: Poly | Condition) -> frozenset[Symbol]:
    """All symbols that the terms depend on, through quotients and choices."""
    found: set[Symbol] = set()
    seen: set[Atom] = set()
    for item in items:
        _collect(item, found, seen)
    return frozenset(found)


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
