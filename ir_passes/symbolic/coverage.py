"""Is every element of an output written by some block?

Each store tells for which elements there is a block, a turn and a lane that writes them (`preimage`); together they
must leave none out. Where block ids are shuffled, the tiles of all blocks are counted out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

from ir_passes.symbolic.conditions import ALWAYS, All, Condition, both, either, negate, symbols
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.missed import Frame, missed_at, missed_element
from ir_passes.symbolic.overlap import inside
from ir_passes.symbolic.places import Place, is_dense, item_count
from ir_passes.symbolic.preimage import NoPreimageError, written_where
from ir_passes.symbolic.report import Check, Status, Verdict
from ir_passes.symbolic.solve import Answer, can_hold, is_never
from ir_passes.symbolic.terms import Poly, Symbol
from ir_passes.symbolic.tiles import tile_count, tiles_of
from ir_passes.symbolic.values import Root


def coverage_verdict(root: Root, stores: Sequence[Place], others: Sequence[str], judge: Judge) -> Verdict:
    """Whether the stores write every element of an array. `others` say why further stores are not followed."""
    fine = f"every element of {root.name} is written"

    def say(status: Status, message: str = fine, reason: str = "", **more: Any) -> Verdict:
        op = stores[0].event.op if stores else None
        return Verdict(Check.COVERAGE, status, message, op, reason=reason, array=root.name, **more)

    if any(n.value == 0 for n in root.shape):
        return say("proved")
    reasons: list[str] = []
    missed = None
    for frame in _frames(root, stores):
        element = [_index(d, n) for d, n in enumerate(frame.shape)]
        left = _left_out(frame, stores, element, judge, reasons)
        if left is not None and left.kind == "never":
            return say("proved")
        if frame.is_sure and not others and missed is None:
            missed = missed_element(frame, stores, judge)
            if missed is None and left is not None and left.numbers is not None:
                missed = missed_at(frame, [left.numbers.get(e, 0) for e in element], stores)
    if any(_counts_all(place, judge) for place in stores):
        return say("proved")
    if missed is not None:
        return say("violated", f"an element of {root.name} is never written", **missed)
    reasons += [*others, "that its stores together write all was not shown"]
    return say("not checked", reason=(others or reasons)[0])


def _frames(root: Root, stores: Sequence[Place]) -> Iterator[Frame]:
    """Ways to count the array's elements: by index, and in a line where indices may not be what a store means."""
    found = tuple(place.coordinates() for place in stores)
    is_sure = all(
        place.is_whole_root or (c is not None and inside(place, c)) for place, c in zip(stores, found, strict=True)
    )
    if any(c is not None for c in found):
        yield Frame(root.shape, root.shape, found, is_sure)
    items = [place.items for place in stores]
    if not is_sure and is_dense(root):
        line = tuple(None if i is None else (i,) for i in items)
        yield Frame(root.shape, (item_count(root),), line, None not in items)


def _index(dimension: int, extent: Poly) -> Symbol:
    symbol = Symbol(f"index {dimension}", "lane", 0, extent.bounds[1] - 1, axis=dimension)
    if extent.value is None:
        symbol.facts = (extent - 1 - symbol,)
    return symbol


def _left_out(
    frame: Frame, stores: Sequence[Place], element: Sequence[Symbol], judge: Judge, reasons: list[str]
) -> Answer | None:
    """Whether some element is written by no store, as far as it is known where they write; None where it is not."""
    given = judge.trace.given
    written: list[Condition] = []
    for place, coordinates in zip(stores, frame.coordinates, strict=True):
        try:
            condition = _without_certain(written_where(coordinates, place, element, judge), given)
        except NoPreimageError as error:
            reasons.append(str(error))
            continue
        if condition == ALWAYS:
            return Answer("never", by="facts")
        written.append(condition)
    return can_hold(negate(either(*written)), given) if written else None


def _without_certain(condition: Condition, given: Condition) -> Condition:
    """The condition without parts that always hold."""
    parts = condition.parts if isinstance(condition, All) else (condition,)
    return both(*(part for part in parts if not is_never(negate(part), given)))


def _counts_all(place: Place, judge: Judge) -> bool:
    """Whether the tiles of all blocks, counted out, are all that the array has."""
    coordinates = place.coordinates()
    lengths = [n.value for n in place.root.shape if n.value is not None]
    blocks = [s for p in judge.trace.blocks for s in symbols(p) if s.kind == "block"]
    if (
        coordinates is None
        or len(lengths) < len(coordinates)
        or any(judge.trace.exits.get(s) for s in symbols(*coordinates, place.given))
    ):
        return False
    tiles = tiles_of(place, coordinates, blocks)
    if tiles is None or not tiles.is_exact:
        return False
    count = prod(-(-n // size) for n, size in zip(lengths, tiles.sizes, strict=True))
    return tile_count(tiles, lengths) == count
