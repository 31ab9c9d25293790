"""Terms and conditions for all values of their symbols at once, where those are few enough to be counted out.

This decides what is no sum of symbols, such as block ids that are shuffled by division and remainder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, prod

import numpy as np

from ir_passes.symbolic.conditions import All, Any, AtLeastZero, Condition, Truth, symbols
from ir_passes.symbolic.terms import Atom, Choice, Poly, Quotient, Symbol, UndeterminedError

MAX_CASES = 1 << 20
"""Values of all symbols taken together, at most."""
_MAX_NUMBER = 1 << 62


def is_countable(free: Sequence[Symbol], cases: int = MAX_CASES) -> bool:
    """Whether there are few enough values of the symbols, each of them known."""
    if any(s.is_unknown or s.low == -inf or s.high == inf for s in free):
        return False
    return prod(int(s.high) - int(s.low) + 1 for s in free) <= cases


def is_tangled(condition: Condition) -> bool:
    """Whether a condition divides, or chooses by, what is divided or chosen already."""
    return any(_depth(poly, {}) > 1 for poly in _polys(condition))


def _polys(condition: Condition) -> Iterator[Poly]:
    if isinstance(condition, AtLeastZero):
        yield condition.poly
    elif isinstance(condition, (All, Any)):
        for part in condition.parts:
            yield from _polys(part)


def _depth(poly: Poly, known: dict[Atom, int]) -> int:
    for atom in poly.atoms:
        if atom not in known:
            known[atom] = 0
            inner: tuple[Poly, ...] = ()
            if isinstance(atom, Quotient):
                inner = (atom.top, atom.bottom)
            elif isinstance(atom, Choice):
                inner = (atom.then, atom.otherwise, *_polys(atom.condition))
            known[atom] = 1 + max((_depth(p, known) for p in inner), default=0) if inner else 0
    return max((known[atom] for atom in poly.atoms), default=0)


def counted_out(condition: Condition, cases_at_most: int = MAX_CASES) -> tuple[bool, dict[Symbol, int] | None]:
    """Whether all cases could be tried, and numbers for which the condition holds, if there are any."""
    free = with_facts(condition)
    if not is_countable(free, cases_at_most):
        return False, None
    cases = Cases(free)
    try:
        holds = cases.holds(condition) & cases.allowed()
    except UndeterminedError:
        return False, None
    return (False, None) if (holds & cases.undefined).any() else (True, cases.first(holds))


def with_facts(*items: Poly | Condition) -> list[Symbol]:
    """The symbols of terms, and those that bound them."""
    found: dict[Symbol, None] = {}
    open_ends = sorted(symbols(*items), key=lambda s: s.number)
    while open_ends:
        symbol = open_ends.pop(0)
        if symbol not in found:
            found[symbol] = None
            open_ends += sorted(symbols(*symbol.facts), key=lambda s: s.number)
    return list(found)


class Cases:
    """All values of some symbols: each has an axis of its own in the arrays that come out.

    `undefined` are the cases in which something that was asked for is divided by zero. Everything raises
    UndeterminedError where it depends on another symbol, or on numbers of more than 62 bits.
    """

    def __init__(self, free: Sequence[Symbol]) -> None:
        self.free = list(free)
        self.shape = tuple(int(s.high) - int(s.low) + 1 for s in self.free)
        self.known: dict[Atom, np.ndarray] = {}
        self.undefined = np.zeros((1,) * len(self.shape), bool)
        for axis, (symbol, size) in enumerate(zip(self.free, self.shape, strict=True)):
            along = [1] * len(self.shape)
            along[axis] = size
            self.known[symbol] = (np.arange(size, dtype=np.int64) + int(symbol.low)).reshape(along)

    def values(self, poly: Poly) -> np.ndarray:
        """The polynomial's value in each case, over axes that broadcast to all."""
        total = np.zeros((1,) * len(self.shape), np.int64)
        reach: float = 0
        for monomial, coefficient in poly.terms.items():
            product = np.full((1,) * len(self.shape), min(max(coefficient, -_MAX_NUMBER), _MAX_NUMBER), np.int64)
            size: float = abs(coefficient)
            for atom in monomial:
                value = self._atom(atom)
                size *= max(int(abs(value).max()), 1)
                if size >= _MAX_NUMBER:
                    raise UndeterminedError("numbers of more than 62 bits")
                product = product * value
            reach += size
            if reach >= _MAX_NUMBER:
                raise UndeterminedError("numbers of more than 62 bits")
            total = total + product
        return total

    def _atom(self, atom: Atom) -> np.ndarray:
        if atom not in self.known:
            if isinstance(atom, Quotient):
                bottom = self.values(atom.bottom)
                self.undefined = self.undefined | (bottom < 1)
                self.known[atom] = self.values(atom.top) // np.maximum(bottom, 1)
            elif isinstance(atom, Choice):
                chosen = self.holds(atom.condition)
                self.known[atom] = np.where(chosen, self.values(atom.then), self.values(atom.otherwise))
            else:
                assert isinstance(atom, Symbol)
                raise UndeterminedError(atom.why or atom.name)
        return self.known[atom]

    def holds(self, condition: Condition) -> np.ndarray:
        """Whether the condition holds in each case."""
        if isinstance(condition, AtLeastZero):
            found: np.ndarray = self.values(condition.poly) >= 0
            return found
        if isinstance(condition, (All, Any)):
            parts = [self.holds(part) for part in condition.parts]
            whole = parts[0]
            for part in parts[1:]:
                whole = whole & part if isinstance(condition, All) else whole | part
            return whole
        if isinstance(condition, Truth):
            return np.full((1,) * len(self.shape), condition.holds)
        raise UndeterminedError("an unknown")

    def allowed(self) -> np.ndarray:
        """Which cases the facts of the symbols leave."""
        found = np.ones((1,) * len(self.shape), bool)
        for symbol in self.free:
            for fact in symbol.facts:
                found = found & (self.values(fact) >= 0)
        return found

    def first(self, holds: np.ndarray) -> dict[Symbol, int] | None:
        """The numbers of the first case in which something holds."""
        if not holds.any():
            return None
        return self.numbers(np.unravel_index(int(np.argmax(np.broadcast_to(holds, self.shape))), self.shape))

    def numbers(self, place: Sequence[int] | tuple[np.intp, ...]) -> dict[Symbol, int]:
        """The numbers at one place of the arrays."""
        return {s: int(s.low) + int(place[axis]) for axis, s in enumerate(self.free)}
