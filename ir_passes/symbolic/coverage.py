"""Is every element of an output written by some block?

Along each dimension the elements that a store writes are a sum of block ids, turns and lanes with factors. Sorted by
factor, each must not be larger than what the smaller ones reach, plus one: then there is no gap, and first and last
element decide. Where block ids are shuffled, counting decides: as many blocks as tiles, no two alike, none outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ir_passes.symbolic.conditions import ALWAYS, Condition, at_least, both, less, polys_of, symbols, unknowns
from ir_passes.symbolic.evaluate import replace, replace_in, value_of
from ir_passes.symbolic.judge import Judge, implied
from ir_passes.symbolic.overlap import overlap_verdict
from ir_passes.symbolic.places import Place
from ir_passes.symbolic.report import Check, Status, Verdict, Witness
from ir_passes.symbolic.solve import can_hold, never_negative
from ir_passes.symbolic.terms import ONE, ZERO, Atom, Poly, Symbol, quotient
from ir_passes.symbolic.values import Root


@dataclass(frozen=True)
class _Reach:
    """What one dimension's elements reach: up to `last` without a gap (None: without end), from `first` on.

    `hole` is the first element that is never reached, where there is one.
    """

    first: Poly
    last: Poly | None
    hole: Poly | None = None


def coverage_verdict(root: Root, stores: Sequence[Place], others: Sequence[str], judge: Judge) -> Verdict:
    """Whether the stores write every element of an array. `others` say why further stores are not followed."""
    fine = f"every element of {root.name} is written"

    def say(status: Status, message: str = fine, reason: str = "", **more: Any) -> Verdict:
        op = stores[0].event.op if stores else None
        return Verdict(Check.COVERAGE, status, message, op, reason=reason, array=root.name, **more)

    if any(n.value == 0 for n in root.shape):
        return say("proved")
    reasons = []
    for place in stores:
        reason = _covers(place, judge)
        if reason == "":
            return say("proved")
        reasons.append(reason)
    if others:
        return say("not checked", reason=others[0])
    missed = _missed(root, stores, judge)
    if missed is not None:
        return say("violated", f"an element of {root.name} is never written", **missed)
    return say("not checked", reason=reasons[0])


def _covers(place: Place, judge: Judge) -> str:
    """ "" where this store alone writes every element of its root; else why that was not shown."""
    root = place.root
    coordinates = place.coordinates()
    if coordinates is None:
        return place.misfit or "no index was found for the place it stores to"
    if found := unknowns(*coordinates):
        return f"where it stores depends on {found[0].why or found[0].name}"
    turns = [s for s in symbols(*coordinates, place.given) if s.kind == "turn"]
    if any(judge.trace.exits.get(t) for t in turns):
        return "it stores in a loop that may end early"
    if _counts_all(place, judge):
        return ""
    # How often a loop runs must follow from which elements there are, and not be taken for granted.
    # A loop that every block runs equally often is like one more axis of the grid.
    open_ended = [t for t in turns if _turns(t) is None]
    endless: dict[Atom, Poly] = {t: Poly.of(Symbol(t.name, "turn", 0, inf)) for t in open_ended}
    enough = [replace(f, endless) for t in open_ended for f in t.facts]
    coordinates = tuple(replace(c, endless) for c in coordinates)
    given = replace_in(place.given, endless)
    free = symbols(*coordinates)
    used: set[Symbol] = set()
    for element, extent in zip(coordinates, root.shape, strict=True):
        own = {s for s in symbols(element) if s.kind != "parameter"}
        if own & used:
            return "two of its indices move together"
        used |= own
        reach = _reach(element, extent)
        if isinstance(reach, str):
            return reach
        if reach.hole is not None:
            return "it leaves gaps"
        if not never_negative(-reach.first):
            return "its first index may be more than 0"
        if reach.last is not None and not never_negative(reach.last - extent + 1):
            return "its last index may not reach the end"
    inside = [p for i, n in zip(coordinates, root.shape, strict=True) for p in (i, n - 1 - i)]
    inside += polys_of(judge.trace.given)
    others = {s for s in symbols(given) if s.kind != "parameter"} - free
    if any(s.is_unknown for s in others):
        return f"whether it stores depends on {unknowns(given)[0].why}"
    if not implied(given, inside):
        return "it stores under a condition"
    return "" if all(never_negative(f, inside) for f in enough) else "its loop may be too short"


def _reach(element: Poly, extent: Poly) -> _Reach | str:
    """What the values of one index are, over all blocks, turns and lanes."""
    first, parts = element, []
    for symbol in (s for s in symbols(element) if s.kind != "parameter"):
        factor = element.coefficient(symbol) if symbol in element.atoms else None
        if factor is None or any(s.kind != "parameter" for s in symbols(factor)):
            return "its index is no sum of block ids, turns and lanes"
        if not never_negative(factor - 1):
            return "its index runs backwards"
        parts.append((factor, symbol))
        first = first - factor * symbol
    parts.sort(key=lambda part: (part[0].bounds[0], part[1].number))
    reach = ZERO
    for factor, symbol in parts:
        if not never_negative(reach + 1 - factor):
            hole = first + reach + 1
            return _Reach(first, None, hole if never_negative(factor - reach - 2) else None) if hole else "it has gaps"
        if symbol.kind == "turn" and _turns(symbol) is None:
            # How often a loop runs is a condition of its own, which elements inside the array must meet.
            return _Reach(first, None)
        reach = reach + factor * _largest(symbol)
    return _Reach(first, first + reach)


def _turns(symbol: Symbol) -> Poly | None:
    """The last turn of a loop, where all blocks run it equally often."""
    if symbol.kind != "turn" or len(symbol.facts) != 1:
        return None
    step = symbol.facts[0].coefficient(symbol)
    if step is None or not never_negative(-step - 1):
        return None
    last = symbol.facts[0] - step * symbol
    return None if any(s.kind != "parameter" for s in symbols(last, step)) else quotient(last, -step)


def _largest(symbol: Symbol) -> Poly:
    turns = _turns(symbol)
    if turns is not None:
        return turns
    if symbol.kind == "block" and symbol.facts:
        return symbol.facts[0] + symbol
    return Poly.of(int(symbol.high))


def _counts_all(place: Place, judge: Judge) -> bool:
    """Whether as many blocks as there are tiles each store a tile of their own, inside the index space."""
    if not place.is_whole_root or place.event.path != judge.trace.given or not place.dimensions:
        return False
    firsts = [d.first for d in place.dimensions]
    if any(s.kind not in ("block", "parameter") for s in symbols(*firsts)):
        return False
    tiles, blocks = ONE, ONE
    for d in place.dimensions:
        size = d.element - d.first
        tile = int(size.bounds[1]) + 1
        if d.extent.value is None:
            return False
        tiles = tiles * -(-d.extent.value // tile)
        if can_hold(at_least(d.first, d.extent), place.event.path).kind != "never":
            return False
        # Tiles that touch each other: the index steps by what a tile is long.
        if any(c % tile for c in d.first.terms.values()):
            return False
    for n in judge.launch.grid:
        blocks = blocks * n
    return blocks == tiles and overlap_verdict(place, place, judge).status == "proved"


def _missed(root: Root, stores: Sequence[Place], judge: Judge) -> dict[str, Any] | None:
    """An element that no store reaches, if one is found: the last along some dimension, or the first of a gap."""
    found = [c for place in stores if (c := place.coordinates()) is not None]
    if len(found) < len(stores):
        return None
    first: dict[str, Any] | None = None
    conditions: dict[str, None] = {}
    for d, extent in enumerate(root.shape):
        missed = _missed_along(d, extent, root, [c[d] for c in found], stores, judge)
        if missed is not None:
            first = first or missed
            conditions[missed["condition"]] = None
    return None if first is None else {**first, "condition": " or ".join(c for c in conditions if c)}


def _missed_along(
    d: int, extent: Poly, root: Root, elements: list[Poly], stores: Sequence[Place], judge: Judge
) -> dict[str, Any] | None:
    candidates = [extent - 1]
    for element in elements:
        reach = _reach(element, extent)
        if isinstance(reach, _Reach):
            candidates += [p for p in (reach.hole, None if reach.last is None else reach.last + 1) if p is not None]
    for candidate in (*candidates, ZERO):
        missed = _never_stored(candidate, extent, d, root, elements, stores, judge)
        if missed is not None:
            return missed
    return None


def _never_stored(
    candidate: Poly,
    extent: Poly,
    d: int,
    root: Root,
    elements: list[Poly],
    stores: Sequence[Place],
    judge: Judge,
) -> dict[str, Any] | None:
    """The witness, where no store has that index along dimension `d`; for open parameters, for some of their values."""
    if any(s.kind != "parameter" for s in symbols(candidate, extent)):
        return None
    lacking: Condition = ALWAYS
    for element, place in zip(elements, stores, strict=True):
        hits = [at_least(element, candidate), at_least(candidate, element)]
        if any(can_hold(hit, place.given).kind == "never" for hit in hits):
            continue
        reach = _reach(element, extent)
        if isinstance(reach, _Reach) and reach.hole is not None and reach.hole == candidate:
            continue
        if isinstance(reach, str) or reach.last is None or len(stores) > 1:
            return None
        lacking = less(reach.last, candidate)
    inside = can_hold(lacking, both(judge.trace.given, at_least(extent - 1, candidate)))
    if inside.kind != "found":
        return None
    numbers = dict(inside.numbers or {})
    parameters = {s.name: n * s.unit for s, n in numbers.items() if s.kind == "parameter"}
    by_number = {s: numbers.get(s, 0) for s in symbols(candidate)}
    index = tuple(value_of(candidate, by_number) if i == d else 0 for i in range(len(root.shape)))
    condition = str(lacking) if symbols(lacking) else ""
    return {"witness": Witness((0, 0, 0), parameters=parameters), "index": index, "condition": condition}
