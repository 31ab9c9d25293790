"""For which elements of an array is there a block, a turn and a lane in which a store writes them?

Block ids, turns and lanes are digits of an index: of 64 * block + lane the block is the index over 64, and the lane the
remainder. Numbers that are taken apart by division are written as digits first, and numbers that are counted on by a
loop over all blocks become one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from math import inf

from ir_passes.symbolic.conditions import (
    NEVER,
    Condition,
    at_least,
    both,
    either,
    equal,
    is_sum,
    smaller,
    symbols,
    unknowns,
)
from ir_passes.symbolic.evaluate import Replacer
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.parts import nested_atoms
from ir_passes.symbolic.places import Place
from ir_passes.symbolic.solve import never_negative
from ir_passes.symbolic.terms import ONE, ZERO, Atom, Poly, Quotient, Symbol, quotient

MAX_DIGITS = 6
"""How many times a number is taken apart."""


class NoPreimageError(Exception):
    """No way was found to say which block writes an element; the text says why."""


def written_where(found: tuple[Poly, ...] | None, place: Place, element: Sequence[Symbol], judge: Judge) -> Condition:
    """A condition on an element under which some block writes it there. Raises NoPreimageError.

    `found` are the coordinates of what the store writes, `element` those of the element.
    """
    if found is None:
        raise NoPreimageError(place.misfit or "no index was found for the place it stores to")
    if hidden := unknowns(*found):
        raise NoPreimageError(f"where it stores depends on {hidden[0].why or hidden[0].name}")
    if hidden := unknowns(place.given):
        raise NoPreimageError(f"whether it stores depends on {hidden[0].why or hidden[0].name}")
    numbers = _Numbers(found, place.given)
    if any(judge.trace.exits.get(s) for s in numbers.meant):
        raise NoPreimageError("it stores in a loop that may end early")
    numbers.count_on()
    numbers.take_apart()
    digits: dict[Atom, Poly] = {}
    conditions: list[Condition] = []
    for coordinate, index in zip(numbers.coordinates, element, strict=True):
        conditions += _digits(coordinate, Poly.of(index), digits)
    return both(*conditions, numbers.allowed(digits))


class _Numbers:
    """The index that a store writes, over symbols that are digits of it.

    `meant` says what the original symbols are, and names those that others were made of: each has bounds to keep.
    """

    def __init__(self, coordinates: Sequence[Poly], given: Condition) -> None:
        self.coordinates = tuple(coordinates)
        self.given = given
        self.meant: dict[Symbol, Poly] = {}
        open_ends = [s for s in symbols(*coordinates, given) if s.kind != "parameter"]
        while open_ends:
            symbol = open_ends.pop()
            if symbol not in self.meant:
                self.meant[symbol] = Poly.of(symbol)
                open_ends += [s for s in symbols(*symbol.facts) if s.kind != "parameter"]

    def _replace(self, by: dict[Atom, Poly]) -> None:
        replacer = Replacer(by)
        self.coordinates = tuple(replacer.poly(c) for c in self.coordinates)
        self.meant = {s: replacer.poly(p) for s, p in self.meant.items()}
        self.given = replacer.condition(self.given)

    def count_on(self) -> None:
        """Make one number of `a` and `n * b`, where `a` takes n values: of a block's id and the turn of its loop."""
        while (by := self._counted_on()) is not None:
            self._replace(by)

    def _counted_on(self) -> dict[Atom, Poly] | None:
        for inner, outer in permutations([s for s in symbols(*self.coordinates) if s.kind != "parameter"], 2):
            count = largest(inner)
            if count is None or inner.low != 0:
                continue
            count = count + 1
            if not any(_steps_by(top, inner, outer, count) for top in _tops(*self.coordinates)):
                continue
            whole = Symbol(f"{inner} and {outer}", "turn", 0, inf)
            if outer.high < inf and count.value is not None:
                whole.high = count.value * (outer.high + 1) - 1
            over = quotient(Poly.of(whole), count)
            by: dict[Atom, Poly] = {inner: Poly.of(whole) - count * over, outer: over}
            replacer = Replacer(by)
            if not any(over.atoms & replacer.poly(c).atoms for c in self.coordinates):
                return by
        return None

    def take_apart(self) -> None:
        """Write numbers that are divided as the quotient and the remainder."""
        for _ in range(MAX_DIGITS):
            found = max(self._divided(), key=lambda q: q.bottom.bounds[0], default=None)
            if found is None:
                return
            number = _number_in(found.top)
            assert number is not None
            by, offset = found.bottom, found.top - number
            least, most = found.top.bounds
            over = Symbol(f"{found}", "turn", least // by.bounds[1], most // by.bounds[0] if most < inf else inf)
            rest = Symbol(f"{found.top} modulo {by}", "turn", 0, by.bounds[1] - 1)
            rest.facts = (by - 1 - rest,)
            self._replace({found: Poly.of(over), number: by * over + rest - offset})
            self.meant |= {over: Poly.of(over), rest: Poly.of(rest)}

    def _divided(self) -> Iterator[Quotient]:
        for poly in self.coordinates:
            for atom in nested_atoms(poly):
                if (
                    isinstance(atom, Quotient)
                    and _number_in(atom.top) is not None
                    and all(s.kind == "parameter" for s in symbols(atom.bottom))
                ):
                    yield atom

    def allowed(self, digits: dict[Atom, Poly]) -> Condition:
        """That all the original symbols have values that they may have, and that the store happens."""
        free = symbols(*self.meant.values(), self.given) - set(digits)
        open_ones = sorted((s for s in free if s.kind != "parameter" and not s.is_unknown), key=lambda s: s.number)
        options = []
        for chosen in product(*([int(s.low), *([int(s.high)] if s.high < inf else [])] for s in open_ones[:3])):
            by = digits | {s: Poly.of(n) for s, n in zip(open_ones, chosen, strict=False)}
            replacer = Replacer(by)
            meant: dict[Atom, Poly] = {s: replacer.poly(p) for s, p in self.meant.items()}
            facts = Replacer(meant)
            conditions = [replacer.condition(self.given)]
            for symbol, value in meant.items():
                if symbol.low > -inf:
                    conditions.append(at_least(value, int(symbol.low)))
                if symbol.high < inf:
                    conditions.append(at_least(int(symbol.high), value))
                conditions += [at_least(facts.poly(fact), 0) for fact in symbol.facts]
            options.append(both(*conditions))
        return either(*options) if options else NEVER


def _number_in(top: Poly) -> Symbol | None:
    """The one symbol that a polynomial is, but for what depends on launch parameters alone."""
    free = [s for s in symbols(top) if s.kind != "parameter"]
    if len(free) != 1 or top.coefficient(free[0]) != ONE or free[0].low < 0:
        return None
    return None if symbols(top - free[0]) & {free[0]} else free[0]


def _tops(*polys: Poly) -> Iterator[Poly]:
    """The polynomials, and what is divided in them."""
    yield from polys
    yield from (a.top for p in polys for a in nested_atoms(p) if isinstance(a, Quotient))


def _steps_by(poly: Poly, inner: Symbol, outer: Symbol, count: Poly) -> bool:
    if inner not in poly.atoms or outer not in poly.atoms:
        return False
    fine, coarse = poly.coefficient(inner), poly.coefficient(outer)
    return fine is not None and coarse is not None and coarse == fine * count


def largest(symbol: Symbol) -> Poly | None:
    """The largest value of a block id, a lane or a turn that all blocks reach, as a term of parameters."""
    if symbol.kind == "turn" and (symbol.facts or symbol.high == inf):
        return None if len(symbol.facts) != 1 else _last_turn(symbol)
    if symbol.kind == "block" and symbol.facts:
        return symbol.facts[0] + symbol
    return Poly.of(int(symbol.high)) if symbol.high < inf else None


def _last_turn(symbol: Symbol) -> Poly | None:
    step = symbol.facts[0].coefficient(symbol)
    if step is None or not never_negative(-step - 1):
        return None
    last = symbol.facts[0] - step * symbol
    return None if any(s.kind != "parameter" for s in symbols(last, step)) else quotient(last, -step)


def _digits(coordinate: Poly, index: Poly, digits: dict[Atom, Poly]) -> list[Condition]:
    """Solve `coordinate == index` for the symbols of the coordinate, put into `digits`. The condition that it holds.

    Raises NoPreimageError.
    """
    if not is_sum(coordinate):
        raise NoPreimageError("its index is no sum of block ids, turns and lanes")
    parts: list[tuple[int, Symbol, Poly | None]] = []
    rest = index - coordinate
    for symbol in sorted((s for s in symbols(coordinate) if s.kind != "parameter"), key=lambda s: s.number):
        found = coordinate.coefficient(symbol) if symbol in coordinate.atoms else None
        factor = found.value if found is not None else None
        if factor is None:
            raise NoPreimageError("its index is no sum of block ids, turns and lanes")
        if symbol in digits:
            raise NoPreimageError("two of its indices move together")
        top = largest(symbol)
        rest = rest + Poly.of(symbol) * factor
        if factor < 0:
            # Counted from the other end.
            if top is None:
                raise NoPreimageError("its index runs backwards without an end")
            rest = rest - top * factor
        parts.append((factor, symbol, top))
    # Where a block and a lane step alike, the block does the stepping: lanes may be masked off.
    parts.sort(key=lambda part: (-abs(part[0]), ("block", "turn", "lane").index(part[1].kind), part[1].number))
    for at, (factor, symbol, top) in enumerate(parts):
        reach: float = sum(abs(c) * s.high for c, s, _ in parts[at + 1 :])
        digit = quotient(rest, Poly.of(abs(factor)))
        if reach >= abs(factor) and top is not None:
            # Smaller digits reach into the next one's place: the last one takes all that is left.
            digit = smaller(digit, top)
        digits[symbol] = digit if factor > 0 or top is None else top - digit
        rest = rest - digit * abs(factor)
    return [equal(rest, ZERO)]
