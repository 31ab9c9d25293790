"""An element that no store of any block writes: the last of an array, the first of a gap, or one that was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from ir_passes.symbolic.conditions import ALWAYS, Condition, at_least, both, equal, is_sum, less, symbols
from ir_passes.symbolic.evaluate import value_of
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.places import Place
from ir_passes.symbolic.preimage import largest
from ir_passes.symbolic.report import Witness
from ir_passes.symbolic.solve import can_hold, never_negative
from ir_passes.symbolic.terms import ZERO, Poly


@dataclass(frozen=True)
class Frame:
    """How an array's elements are counted: `coordinates` of each store, within `shape`; None where there are none.

    `array_shape` is the array's own, which an index is given in. `is_sure`: one element has one place.
    """

    array_shape: tuple[Poly, ...]
    shape: tuple[Poly, ...]
    coordinates: tuple[tuple[Poly, ...] | None, ...]
    is_sure: bool

    def index(self, place: Sequence[int], parameters: dict[Any, int]) -> tuple[int, ...]:
        """The index of an element in the array."""
        if len(place) == len(self.array_shape):
            return tuple(place)
        lengths = [value_of(n, parameters) for n in self.array_shape]
        (rest,) = place
        return tuple(rest // prod(lengths[d + 1 :]) % n for d, n in enumerate(lengths))


@dataclass(frozen=True)
class _Reach:
    """What one dimension's elements reach: up to `last` without a gap (None: without end), from `first` on.

    `hole` is the first element that is never reached, where there is one.
    """

    first: Poly
    last: Poly | None
    hole: Poly | None = None


def _reach(element: Poly, extent: Poly) -> _Reach | str:
    """What the values of one index are, over all blocks, turns and lanes."""
    if not is_sum(element):
        return "its index is no sum of block ids, turns and lanes"
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
        top = largest(symbol)
        if top is None:
            # How often a loop runs is a condition of its own, which elements inside the array must meet.
            return _Reach(first, None)
        reach = reach + factor * top
    return _Reach(first, first + reach)


def missed_at(frame: Frame, place: Sequence[int], stores: Sequence[Place]) -> dict[str, Any] | None:
    """The witness, where no store reaches a place."""
    for found, store in zip(frame.coordinates, stores, strict=True):
        if found is None:
            return None
        hit = both(*(equal(c, i) for c, i in zip(found, place, strict=True)))
        if can_hold(hit, store.given).kind != "never":
            return None
    if any(n.value is None for n in frame.array_shape):
        return None
    return {"witness": Witness((0, 0, 0)), "index": frame.index(place, {})}


def missed_element(frame: Frame, stores: Sequence[Place], judge: Judge) -> dict[str, Any] | None:
    """An element that no store reaches, if one is found: the last along some dimension, or the first of a gap."""
    found = [c for c in frame.coordinates if c is not None]
    if len(found) < len(stores):
        return None
    first: dict[str, Any] | None = None
    conditions: dict[str, None] = {}
    for d, extent in enumerate(frame.shape):
        missed = _missed_along(d, extent, frame, [c[d] for c in found], stores, judge)
        if missed is not None:
            first = first or missed
            conditions[missed["condition"]] = None
    return None if first is None else {**first, "condition": " or ".join(c for c in conditions if c)}


def _missed_along(
    d: int, extent: Poly, frame: Frame, elements: list[Poly], stores: Sequence[Place], judge: Judge
) -> dict[str, Any] | None:
    candidates = [extent - 1]
    for element in elements:
        reach = _reach(element, extent)
        if isinstance(reach, _Reach):
            candidates += [p for p in (reach.hole, None if reach.last is None else reach.last + 1) if p is not None]
    for candidate in (*candidates, ZERO):
        missed = _never_stored(candidate, extent, d, frame, elements, stores, judge)
        if missed is not None:
            return missed
    return None


def _never_stored(
    candidate: Poly,
    extent: Poly,
    d: int,
    frame: Frame,
    elements: list[Poly],
    stores: Sequence[Place],
    judge: Judge,
) -> dict[str, Any] | None:
    """The witness, where no store has that index along dimension `d`; for open parameters, for some of their values."""
    if any(s.kind != "parameter" for s in symbols(candidate, extent)):
        return None
    lacking: Condition = ALWAYS
    for element, store in zip(elements, stores, strict=True):
        hits = [at_least(element, candidate), at_least(candidate, element)]
        if any(can_hold(hit, store.given).kind == "never" for hit in hits):
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
    by_number = {s: numbers.get(s, 0) for s in symbols(candidate, *frame.array_shape)}
    place = [value_of(candidate, by_number) if i == d else 0 for i in range(len(frame.shape))]
    condition = str(lacking) if symbols(lacking) else ""
    index = frame.index(place, by_number)
    return {"witness": Witness((0, 0, 0), parameters=parameters), "index": index, "condition": condition}
