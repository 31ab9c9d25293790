"""Answers about records: what ran when, on which parts of arrays, and where tiles begin and end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cutile_sim.analysis.access_table import AccessTable, Form, Pattern, access_table
from cutile_sim.analysis.runs import distinct
from cutile_sim.analysis.window_boxes import first_lanes, window_boxes
from cutile_sim.page.arrays import ACCESS_KINDS, NAN, as_numbers
from cutile_sim.page.packing import finite, pack
from cutile_sim.page.planes import edges
from cutile_sim.page.questions import Question
from cutile_sim.traces.boxes import steps_of
from cutile_sim.traces.options import KINDS
from cutile_sim.traces.record import Access, Record, of_block

TOUCHES = 2048
"""How many accesses of a block, or parts of arrays of a record, are shown."""
LANES = 1 << 16
"""How many single elements are shown where they form no box."""
SAMPLED_TILES = 1 << 20
SAMPLED = 32
"""How many tiles are looked at to see where they begin, and accesses of some blocks of a group."""
TILE_SIDE = 128


def numbers_of(access: Access, places: np.ndarray) -> np.ndarray:
    """Elements at some places of an access, in its units, as numbers in C order of the array's index; each once."""
    array = access.array
    places = places.reshape(-1)
    items, rest = divmod(access.unit_bytes, array.item_bytes)
    if items > 1 and not rest:  # each lane holds several
        elements = (places[:, None] * items + np.arange(items)).reshape(-1)
    else:
        elements = places * access.unit_bytes // array.item_bytes
    index, inside = array.index_of(distinct(elements))
    index = index[inside]
    if not array.shape or not index.size:
        return np.zeros(len(index), np.int64)
    return np.ravel_multi_index(tuple(index.T), array.shape)


def record(question: Question) -> dict[str, Any]:
    """One record: what ran on which blocks, the parts of arrays it touched, and the tiles of one of the blocks."""
    launch = question.launch
    number = question.number("record", 0, len(launch.record_ops))
    found = next(launch.records_at([number]))
    blocks = found.group.blocks
    which = found.group.find(question.block()) if question.has("block") else None
    shown = which if which is not None else 0
    return {
        "record": number,
        "op": found.op.number,
        "blocks": len(blocks),
        "first": blocks[0].tolist(),
        "last": blocks[-1].tolist(),
        "touches": [part for access in found.accesses for part in _parts(found, access)],
        "moves": found.kind in KINDS[:-1],
        "block": blocks[shown].tolist(),
        "tiles": [_tile(found, n, shown) for n in range(len(found.tiles))],
    }


def _parts(found: Record, access: Access) -> Iterator[dict[str, Any]]:
    """What all blocks of an access touch, each part once: boxes, or single elements where they form none."""
    entry = {"kind": found.kind, "array": access.array.number, "record": found.number, "op": found.op.number}
    if access.is_window:
        boxes = boxes_of(access)
        if boxes is not None:
            yield from ({**entry, "box": box} for box in _fewer(boxes).tolist())
            return
        places = np.add.outer(distinct(_firsts(access)), distinct(access.steps.reshape(-1)))
    else:
        places = (access.lanes if access.mask is None else access.lanes[access.mask]).astype(np.int64) + access.offset
    numbers = numbers_of(access, places)
    if numbers.size <= LANES:
        yield {**entry, "box": [], "lanes": pack(numbers, "f8")}
        return
    index = np.stack(np.unravel_index(numbers, access.array.shape), axis=-1)
    yield {**entry, "box": [[int(a), int(b) + 1] for a, b in zip(index.min(0), index.max(0), strict=True)]}


def _fewer(boxes: np.ndarray) -> np.ndarray:
    """The boxes [n, axes, 2]; of too many those around neighbours."""
    if len(boxes) <= TOUCHES:
        return boxes
    first = np.arange(TOUCHES) * len(boxes) // TOUCHES
    low, high = np.minimum.reduceat(boxes[..., 0], first), np.maximum.reduceat(boxes[..., 1], first)
    return np.stack([low, high], axis=-1)


def boxes_of(access: Access) -> np.ndarray | None:
    """First and end along each axis of what the blocks of a window touch, each once, in the order in which they lie in
    memory (int64 [boxes, axes, 2]). None where the lanes are not all elements of a box.
    """
    assert access.strides is not None
    offsets = distinct(_firsts(access))
    boxes, fits, _ = window_boxes(access.array, access.unit_bytes, access.tile_shape, access.strides[3:], offsets)
    return boxes if fits.all() else None


def _firsts(access: Access) -> np.ndarray:
    """Of each recorded block that touches something in a window, the offset of the first lane, in units."""
    inside, offsets = first_lanes(access, access.group)
    return offsets[inside]


def cuts(question: Question) -> dict[str, Any]:
    """Where tiles of an array begin and end along each of its axes; of very many tiles, as far as a sample shows.

    Of each axis a list; of very many that are evenly spaced {"first", "step", "count"}; nothing of very many others.
    """
    launch, array = question.launch, question.array
    table = access_table(launch)
    rows = table.rows(launch.chosen_ops(ACCESS_KINDS), array.number)
    found: list[list[np.ndarray]] = [[np.zeros(0, np.int64)] for _ in array.shape]
    for form, pattern, alike in table.alike(rows):
        if form.is_window:
            for axis, ends in enumerate(found):
                ends.append(distinct(_tiles(table, form, pattern, alike)[:, axis].reshape(-1)))
    return {"cuts": [_evenly(distinct(np.concatenate(ends))) for ends in found]}


def _tiles(table: AccessTable, form: Form, pattern: Pattern, rows: np.ndarray) -> np.ndarray:
    """Boxes of the tiles of accesses that are alike (int64 [boxes, axes, 2])."""
    assert form.strides is not None
    if pattern.is_whole:
        blocks = distinct(steps_of(form.shape[:3], form.strides[:3]))
        firsts = _sample(distinct(table.offset[rows]), SAMPLED_TILES // len(blocks))
        starts = np.add.outer(firsts, blocks).reshape(-1)
    else:
        starts = np.concatenate([_firsts(access) for _, access in table.accesses(_sample(rows, SAMPLED))])
    boxes, fits, _ = window_boxes(form.array, form.unit_bytes, form.tile_shape, form.strides[3:], distinct(starts))
    return boxes[fits]


def _sample(values: np.ndarray, at_most: int) -> np.ndarray:
    if len(values) <= max(at_most, 1):
        return values
    return values[np.linspace(0, len(values) - 1, max(at_most, 1)).astype(int)]


def _evenly(cuts: np.ndarray) -> list[int] | dict[str, int]:
    if len(cuts) <= TOUCHES:
        return cuts.tolist()
    steps = np.diff(cuts[:-1])  # the last tile may be cut off
    if (steps != steps[0]).any():
        return []
    count = len(cuts) - (cuts[-1] - cuts[-2] != steps[0])
    return {"first": int(cuts[0]), "step": int(steps[0]), "count": int(count)}


def _tile(found: Record, number: int, which: int) -> dict[str, Any]:
    tile = found.tiles[number]
    values = of_block(tile.values, which, found.group)
    role = (
        f"operand {tile.operand}"
        if tile.operand is not None
        else "result"
        if not tile.result
        else f"result {tile.result}"
    )
    if found.kind == "store":
        role = "stored"
    flat = as_numbers(values).reshape((-1, values.shape[-1]) if values.ndim else (1, 1))
    rows, cols = (min(n, TILE_SIDE) for n in flat.shape)
    # Means of cells, as the page shows planes of arrays.
    good = np.isfinite(flat)
    cuts = [edges(n, k)[:-1] for n, k in zip(flat.shape, (rows, cols), strict=True)]
    count, total, odd = (
        np.add.reduceat(np.add.reduceat(v, cuts[0], axis=0), cuts[1], axis=1)
        for v in (good.astype(np.int64), np.where(good, flat, 0).astype(np.float64), (~good).astype(np.int64))
    )
    kept = flat[good]
    return {
        "role": role,
        "dtype": values.dtype.name,
        "shape": list(values.shape),
        "rows": rows,
        "cols": cols,
        "mean": pack(total / np.maximum(count, 1), "f4"),
        "odd": pack((odd > 0) * NAN, "u1"),
        "low": finite(float(kept.min())) if kept.size else None,
        "high": finite(float(kept.max())) if kept.size else None,
    }
