"""Exact integers as polynomials over symbols.

A `Poly` is a whole number that depends on symbols: a sum of products of atoms. An atom is a `Symbol` (a block id, a
loop's turn, a lane, a launch parameter, an unknown), a `Quotient` (rounded down) or a `Choice` between two polynomials.
Nothing here wraps: rules.py writes what wraps as a remainder.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from ir_passes.symbolic.conditions import Condition

Kind = Literal["block", "turn", "lane", "parameter", "data", "unmodelled"]
Bound = float
"""An int, or an infinity."""

_numbers = count()

MAX_REMAINDERS = 6
"""Of a polynomial that are seen when its bounds are worked out."""


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
        return f"floor({_grouped(self.top)} / {_grouped(self.bottom)})"


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
        return self._bounds(inf, MAX_REMAINDERS)

    def _bounds(self, before: float, remainders: int) -> tuple[Bound, Bound]:
        """The bounds, where remainders of so many quotients older than `before` are seen at most."""
        low, high = self._plain_bounds()
        for atom in self.atoms if remainders else ():
            # A remainder, top - bottom * quotient, is bounded though its parts are not. The youngest goes first: every
            # order leads to the same.
            if isinstance(atom, Quotient) and atom.number < before and (bottom := atom.bottom.value) is not None:
                times, rest = divmod(-self.terms.get((atom,), 0), bottom)
                if times and not rest:
                    other = self - (atom.top - Poly.of(atom) * bottom) * times
                    if other.atoms & frozenset((atom,)) or len(other.terms) >= len(self.terms) + len(atom.top.terms):
                        continue
                    below, above = other._bounds(atom.number, remainders - 1)
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
        parts: list[str] = []
        for m, c in sorted(self.terms.items(), key=lambda item: [a.number for a in item[0]], reverse=True):
            if len(m) == 1 and isinstance(m[0], Symbol) and c % m[0].unit == 0:
                c, names = c // m[0].unit, [m[0].name]
            else:
                names = [str(a) for a in m]
            body = " * ".join(([str(abs(c))] if abs(c) != 1 or not names else []) + names)
            parts.append((("- " if c < 0 else "+ ") if parts else ("-" if c < 0 else "")) + body)
        return " ".join(parts) or "0"


def _grouped(poly: Poly) -> str:
    return str(poly) if len(poly.terms) < 2 else f"({poly})"


ZERO, ONE = Poly({}), Poly({(): 1})


# Equal terms are one atom, so that their difference is 0.
REMEMBERED = 20000
_quotients: dict[tuple[Poly, Poly], Quotient] = {}


def forget_quotients() -> None:
    """Make equal quotients from here on other atoms than before."""
    _quotients.clear()


def quotient(top: Poly, bottom: Poly) -> Poly:
    """`top / bottom` rounded down, for a bottom that is more than 0: whole parts taken out.

    In a choice that turns out never to be made a bottom may be less: then any number will do.
    """
    by = bottom.value
    if bottom.bounds[1] < 1:
        return ZERO
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
    return Poly.of(_quotient(top, bottom))


def _quotient(top: Poly, bottom: Poly) -> Atom:
    found = _quotients.get((top, bottom))
    if found is None:
        (low, high), (least, most) = top.bounds, bottom.bounds
        least = max(least, 1)
        ends = [_floor(t, b) for t in (low, high) for b in (least, most)]
        found = Quotient(top, bottom, min(ends), max(ends))
        rest = top - bottom * found
        found.facts = (rest, bottom - 1 - rest)
        if len(_quotients) > REMEMBERED:
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
