"""Do different blocks ever touch the same element?

Proof: a coordinate that is K times a block id plus something that spans less than K tells two blocks apart that differ
in that id. Ids told apart so are the same in what is left, and may help with the next. What is left goes to the solver.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from ir_passes.symbolic.conditions import Condition, both, either, equal, less, polys_of, symbols, unknowns
from ir_passes.symbolic.counted import with_facts
from ir_passes.symbolic.evaluate import Replacer, holds, value_of
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.places import Place
from ir_passes.symbolic.report import Clash, Witness
from ir_passes.symbolic.solve import can_hold, is_never, never_negative
from ir_passes.symbolic.terms import Atom, Poly, Symbol, UndeterminedError
from ir_passes.symbolic.tiles import meeting, tiles_of

_STEPS = (1, -1, 2, 3, 4, 7, 8, 16, 32, 64, 128)


def clash(first: Place, second: Place, judge: Judge) -> Clash:
    """Whether two accesses to one memory (or one and itself) of different blocks can touch one element.

    The witness's block makes the first access, its other block the second.
    """
    key = (first.key, second.key)
    if key not in judge.clashes:
        judge.clashes[key] = _clash(first, second, judge)
    return judge.clashes[key]


def _clash(first: Place, second: Place, judge: Judge) -> Clash:
    blocks = [s for s in (_block(p) for p in judge.trace.blocks) if s is not None]
    if not blocks:
        return Clash("proved")
    if first.misfit or second.misfit:
        return Clash("not checked", first.misfit or second.misfit)
    here, there = _coordinates(first, second)
    twin = _Twin(here, there, both(first.given), second.given, blocks)
    if twin.tells_all_apart():
        return Clash("proved")
    same = both(*(equal(a, b) for a, b in zip(twin.here, twin.there, strict=True)))
    given = both(twin.given, twin.given_there)
    found: Mapping[Symbol, int] | None = None
    reason = ""
    mine = tiles_of(first, here, blocks)
    others = mine if first is second else tiles_of(second, there, blocks)
    if mine is not None and others is not None:
        rows = meeting(mine, others)
        if rows is None:
            return Clash("proved")
        found = _counted(twin, mine.numbers(rows[0]), others.numbers(rows[1]), both(same, given), judge)
    if found is None and is_never(same, given):
        return Clash("proved")
    if found is None:
        found = _neighbours(twin, same, given, judge)
    if found is None:
        differ = either(*(either(less(b, o), less(o, b)) for b, o in ((Poly.of(b), twin.other[b]) for b in blocks)))
        order = [*blocks, *(s for p in twin.other.values() for s in symbols(p))]
        answer = can_hold(both(same, differ), given, order=order)
        if answer.kind == "never":
            return Clash("proved")
        found, reason = answer.numbers, answer.reason
        if found is not None and (judge.ended_before(dict(found)) or twin.has_exits(judge)):
            found, reason = None, "it happens in turns that a loop may not have"
    return Clash("not checked", reason) if found is None else _with_witness(twin, found, first)


def _block(poly: Poly) -> Symbol | None:
    return next((s for s in symbols(poly) if s.kind == "block"), None)


def _coordinates(first: Place, second: Place) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
    """Coordinates of the same kind for both: indices of the root where both have them, else items from its start."""
    a, b = first.coordinates(), second.coordinates()
    exact = first.is_whole_root and second.is_whole_root
    # Indices that were read off a distance name an element only where they stay inside their dimensions.
    if a is not None and b is not None and (exact or (inside(first, a) and inside(second, b))):
        return a, b
    assert first.items is not None and second.items is not None
    return (first.items,), (second.items,)


def inside(place: Place, coordinates: tuple[Poly, ...]) -> bool:
    """Whether indices that were read off a distance stay within their dimensions."""
    facts = list(polys_of(place.given))
    return all(
        never_negative(i, facts) and never_negative(n - 1 - i, facts)
        for i, n in zip(coordinates, place.root.shape, strict=True)
        if n.value != 1
    )


class _Twin:
    """Two accesses side by side, of two blocks: all symbols of the second but launch parameters are its own."""

    def __init__(
        self,
        here: tuple[Poly, ...],
        there: tuple[Poly, ...],
        given: Condition,
        given_there: Condition,
        blocks: list[Symbol],
    ) -> None:
        self.here = here
        self.given = given
        self.blocks = blocks
        # What bounds a symbol is the second block's own as well, though it occur nowhere else.
        own = with_facts(*there, given_there, *map(Poly.of, blocks))
        self.renamed = {s: _twin_of(s) for s in own if s.kind != "parameter"}
        by: dict[Atom, Poly] = {s: Poly.of(t) for s, t in self.renamed.items()}
        for symbol, twin in self.renamed.items():
            twin.facts = tuple(Replacer(by).poly(f) for f in symbol.facts)
        self.other: dict[Symbol, Poly] = {b: by[b] for b in blocks}
        replacer = Replacer(by)
        self.there = tuple(replacer.poly(p) for p in there)
        self.given_there = replacer.condition(given_there)

    def tells_all_apart(self) -> bool:
        """Whether equal coordinates imply equal blocks. Leaves in `other` the ids not told apart yet."""
        left = list(self.blocks)
        while left:
            told = next((b for b in left if any(self._tells(b, a, c) for a, c in self._pairs())), None)
            if told is None:
                return False
            left.remove(told)
            (twin,) = self.other[told].atoms
            replacer = Replacer({twin: Poly.of(told)})
            self.there = tuple(replacer.poly(p) for p in self.there)
            self.given_there = replacer.condition(self.given_there)
            for symbol in self.renamed.values():
                symbol.facts = tuple(replacer.poly(f) for f in symbol.facts)
            self.other[told] = Poly.of(told)
        return True

    def _pairs(self) -> Iterator[tuple[Poly, Poly]]:
        yield from zip(self.here, self.there, strict=True)

    def _tells(self, block: Symbol, here: Poly, there: Poly) -> bool:
        (twin,) = self.other[block].atoms
        factor = here.coefficient(block)
        if factor is None or not factor.terms or there.coefficient(twin) != factor:
            return False
        rest = here - there - factor * (Poly.of(block) - twin)
        if never_negative(-factor - 1):
            factor = -factor
        elif not never_negative(factor - 1):
            return False
        facts = [*polys_of(self.given), *polys_of(self.given_there)]
        if _spans_less(rest, factor, facts):
            return True
        # Parts in steps of `pitch` cancel by themselves where all the others together span less than that.
        moved = rest + factor * (Poly.of(block) - twin)
        for pitch in sorted({abs(c) for m, c in rest.terms.items() if m}, reverse=True):
            wide = Poly({m: c for m, c in rest.terms.items() if m and c % pitch == 0})
            if _spans_less(moved - wide, Poly.of(pitch), ()) and _spans_less(rest - wide, factor, ()):
                return True
        return False

    def has_exits(self, judge: Judge) -> bool:
        """Whether the second block's access is in a loop that may end early."""
        return any(judge.trace.exits.get(s) for s in self.renamed)


def _spans_less(poly: Poly, limit: Poly, facts: Sequence[Poly]) -> bool:
    """Whether the polynomial is less than the limit either way."""
    return never_negative(limit - 1 - poly, facts) and never_negative(limit - 1 + poly, facts)


def _twin_of(symbol: Symbol) -> Symbol:
    return Symbol(f"other {symbol.name}", symbol.kind, symbol.low, symbol.high, axis=symbol.axis, why=symbol.why)


def _neighbours(twin: _Twin, same: Condition, given: Condition, judge: Judge) -> Mapping[Symbol, int] | None:
    """Two blocks a few steps apart, alike in all else, that clash."""
    if unknowns(same):
        return None
    answer = can_hold(given, both(), order=[*twin.blocks, *twin.renamed.values()])
    if answer.numbers is None:
        return None
    start = {s: 0 for s in with_facts(same, given) if not s.is_unknown} | dict(answer.numbers)
    start |= {b: start.get(b, 0) for b in twin.blocks}
    for symbol, other in twin.renamed.items():
        if symbol in start:
            start[other] = start[symbol]
        elif not symbol.is_unknown:
            start[other] = start.setdefault(symbol, int(max(symbol.low, 0)))
    for block, step in product(twin.blocks, _STEPS):
        if not twin.other[block].atoms - {block}:
            continue
        numbers = {**start, twin.renamed[block]: start[block] + step}
        if not block.low <= numbers[twin.renamed[block]] <= block.high:
            continue
        try:
            known = dict(numbers)
            if (
                holds(both(same, given), known)
                and all(value_of(f, known) >= 0 for s in known for f in s.facts)
                and not judge.ended_before(known)
                and not twin.has_exits(judge)
            ):
                return known
        except UndeterminedError:
            continue
    return None


def _counted(
    twin: _Twin, mine: Mapping[Symbol, int], other: Mapping[Symbol, int], clashes: Condition, judge: Judge
) -> Mapping[Symbol, int] | None:
    """The numbers of two blocks that touch one tile, where they clash in its first lane."""
    numbers = {s: 0 for s in symbols(clashes) if s.kind == "lane"}
    numbers |= {**mine} | {twin.renamed[s]: n for s, n in other.items() if s in twin.renamed}
    try:
        if holds(clashes, numbers) and not judge.ended_before(numbers) and not twin.has_exits(judge):
            return numbers
    except UndeterminedError:
        pass
    return None


def _with_witness(twin: _Twin, numbers: Mapping[Symbol, int], place: Place) -> Clash:
    def block(ids: dict[int, int]) -> tuple[int, int, int]:
        return ids.get(0, 0), ids.get(1, 0), ids.get(2, 0)

    mine = {b.axis: numbers.get(b, 0) for b in twin.blocks}
    others = {}
    for b in twin.blocks:
        renamed = twin.renamed[b]
        told_apart = b in twin.other[b].atoms
        others[b.axis] = numbers.get(b, 0) if told_apart else numbers.get(renamed, 0)
    known = {s: 0 for p in twin.here for s in symbols(p)} | dict(numbers)
    index = tuple(value_of(p, known) for p in twin.here)
    parameters = {s.name: n * s.unit for s, n in numbers.items() if s.kind == "parameter"}
    witness = Witness(block(mine), block(others), parameters=parameters)
    return Clash("violated", "", witness, index if len(index) == len(place.root.shape) else None)
