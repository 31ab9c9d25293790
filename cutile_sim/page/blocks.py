"""Answers about blocks and records: what each block does, what ran when, how two blocks differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from math import prod
from typing import Any

import numpy as np

from cutile_sim.analysis import compare_blocks, tiles_of
from cutile_sim.errors import UsageError
from cutile_sim.page.arrays import ACCESS_KINDS, NAN, as_numbers
from cutile_sim.page.packing import finite, pack
from cutile_sim.page.planes import edges
from cutile_sim.page.questions import Question
from cutile_sim.traces.options import KINDS
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import Access, Record, of_block

MOST_BLOCKS = 1 << 22
TOUCHES = 2048
"""How many accesses of a block, or parts of arrays of a record, are shown."""
LANES = 1 << 16
"""How many single elements are shown where they form no box."""
SAMPLED = 32
"""How many records are asked where tiles lie."""
TILE_SIDE = 128


def grid(question: Question) -> dict[str, Any]:
    """What each block of a layer of the grid does: bytes moved, records, and the first of them (-1: none)."""
    launch = question.launch
    x, y, z = launch.grid
    layer = question.number("z", 0, z)
    if x * y > MOST_BLOCKS:
        raise UsageError(f"a grid of {x * y:,} blocks is too large to be shown whole")
    found = per_block(launch, layer)
    return {
        "blocks": x * y,
        **{name: {"values": pack(v, _width(v)), "most": int(v.max(initial=0))} for name, v in found.items()},
    }


def _width(values: np.ndarray) -> str:
    return "i4" if values.max(initial=0) < 1 << 31 else "f8"


def per_block(launch: LaunchTrace, layer: int) -> dict[str, np.ndarray]:
    """`bytes`, `records` and `first` of each block of one layer along z (int64 [x * y], x fastest)."""
    x, y, _ = launch.grid
    moved, records = np.zeros(x * y, np.int64), np.zeros(x * y, np.int64)
    first = np.full(x * y, -1, np.int64)
    for record in launch.records():
        group = record.group
        inside = np.flatnonzero(group.blocks[:, 2] == layer)
        if not inside.size:
            continue
        numbers = group.blocks[inside, 0] + x * group.blocks[inside, 1]
        records[numbers] += 1
        new = numbers[first[numbers] < 0]
        first[new] = record.number
        for access in record.accesses:
            moved[numbers] += _bytes_a_block(access)[inside]
    return {"bytes": moved, "records": records, "first": first}


def _bytes_a_block(access: Access) -> np.ndarray:
    """Bytes that each recorded block of the group touches (int64 [blocks])."""
    group = access.group
    if access.is_window:
        found = np.zeros(group.size, np.int64)
        found[_offsets(access)[0]] = prod(access.tile_shape) * access.unit_bytes
        return found
    if access.mask is None:
        return np.full(group.size, prod(access.tile_shape) * access.unit_bytes)
    lanes = access.mask.reshape(*access.shape[:3], -1).sum(axis=3) * access.unit_bytes
    if group.is_whole:
        return np.broadcast_to(lanes, group.shape).reshape(-1)
    return np.broadcast_to(lanes.reshape(-1), (group.size,))


def block(question: Question) -> dict[str, Any]:
    """What one block touches, in time order: boxes of arrays, or single elements where they form none."""
    launch, asked = question.launch, question.block()
    tiles = tiles_of(launch, asked, at_most=TOUCHES + 1)
    numbers = {array.name: array.number for array in launch.arrays}
    scattered = {t.record for t in tiles if not t.is_box}
    lanes = dict(_lanes(launch, asked, scattered))
    moved = dict.fromkeys(ACCESS_KINDS, 0)
    found = []
    for tile in tiles[:TOUCHES]:
        array = launch.arrays[numbers[tile.array]]
        moved[tile.kind] += tile.elements * array.item_bytes
        entry = {"record": tile.record, "op": tile.op, "kind": tile.kind, "array": array.number, "box": _box(tile.box)}
        if not tile.is_box:
            entry["lanes"] = pack(lanes[tile.record, array.number], "f8")
        found.append(entry)
    return {
        "touches": found,
        "total": len(found),
        "is_cut": len(tiles) > TOUCHES,
        "bytes_loaded": moved["load"] + moved["atomic"],
        "bytes_stored": moved["store"] + moved["atomic"],
    }


def _box(box: tuple[tuple[int, int], ...]) -> list[list[int]]:
    return [list(along) for along in box]


def _lanes(
    launch: LaunchTrace, asked: tuple[int, int, int], records: set[int]
) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """((record, array), elements in C order of the array's index) of some records of a block."""
    left = LANES
    if not records:
        return
    for record in launch.records(blocks=(asked,), between=(min(records), max(records) + 1)):
        if record.number not in records:
            continue
        which = record.group.find(asked)
        assert which is not None
        parts: dict[int, list[np.ndarray]] = {}
        for access in record.accesses:
            if access.takes_part(which):
                parts.setdefault(access.array.number, []).append(access.elements(which).reshape(-1))
        for array, found in parts.items():
            kept = _numbers(launch, array, np.concatenate(found))[:left]
            left -= kept.size
            yield (record.number, array), kept


def _numbers(launch: LaunchTrace, array: int, elements: np.ndarray) -> np.ndarray:
    """Elements counted in memory, as numbers in C order of the array's index; each once."""
    info = launch.arrays[array]
    index, inside = info.index_of(distinct(elements))
    index = index[inside]
    if not info.shape:
        return np.zeros(len(index), np.int64)
    return np.ravel_multi_index(tuple(index.T), info.shape) if index.size else np.zeros(0, np.int64)


def record(question: Question) -> dict[str, Any]:
    """One record: what ran on which blocks, the parts of arrays it touched, and the tiles of one of the blocks."""
    launch = question.launch
    number = question.number("record", 0, len(launch.record_ops))
    found = next(iter(launch.records(between=(number, number + 1))))
    blocks = found.group.blocks
    which = found.group.find(question.block()) if question.has("block") else None
    shown = which if which is not None else 0
    return {
        "record": number,
        "op": found.op.number,
        "blocks": len(blocks),
        "first": blocks[0].tolist(),
        "last": blocks[-1].tolist(),
        "touches": [part for access in found.accesses for part in _parts(launch, found, access)],
        "moves": found.kind in KINDS[:-1],
        "block": blocks[shown].tolist(),
        "tiles": [_tile(found, n, shown) for n in range(len(found.tiles))],
    }


def _parts(launch: LaunchTrace, found: Record, access: Access) -> Iterator[dict[str, Any]]:
    """What all blocks of an access touch, each part once: boxes, or single elements where they form none."""
    entry = {"kind": found.kind, "array": access.array.number, "record": found.number, "op": found.op.number}
    if access.is_window:
        boxes = boxes_of(access)
        if boxes is not None:
            yield from ({**entry, "box": box} for box in _fewer(boxes).tolist())
            return
        _, offsets = _offsets(access)
        places = np.add.outer(distinct(offsets), distinct(access.steps.reshape(-1)))
    else:
        places = (access.lanes if access.mask is None else access.lanes[access.mask]).astype(np.int64) + access.offset
    numbers = _numbers(launch, access.array.number, places.reshape(-1) * access.unit_bytes // access.array.item_bytes)
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
    array = access.array
    if access.unit_bytes != array.item_bytes:
        return None
    assert access.strides is not None
    steps = [(n - 1) * s for n, s in zip(access.tile_shape, access.strides[3:], strict=True)]
    offsets = distinct(_offsets(access)[1])
    low, inside_low = array.index_of(offsets + sum(min(s, 0) for s in steps))
    high, inside_high = array.index_of(offsets + sum(max(s, 0) for s in steps))
    sizes = np.prod(high + 1 - low, axis=-1)
    is_box = (low <= high).all() and (sizes == len(distinct(access.steps.reshape(-1)))).all()
    return np.stack([low, high + 1], axis=-1) if inside_low.all() and inside_high.all() and is_box else None


def distinct(values: np.ndarray) -> np.ndarray:
    """The different values, in order. Faster than np.unique where they are nearly in order."""
    values = np.sort(values, kind="stable")
    return values[np.concatenate([values[:1] == values[:1], values[1:] != values[:-1]])]


def _offsets(access: Access) -> tuple[np.ndarray, np.ndarray]:
    """(recorded blocks that touch something in a window, the offset of the first lane of each), in units."""
    group = access.group
    at = np.unravel_index(group.positions, group.shape)
    inside = np.ones(group.size, bool)
    offset = np.full(group.size, access.offset, np.int64)
    assert access.strides is not None
    for axis in range(3):
        inside &= (at[axis] >= access.begin[axis]) & (at[axis] < access.end[axis])
        if access.shape[axis] > 1:
            offset += (at[axis] - access.begin[axis]) * access.strides[axis]
    taken = np.flatnonzero(inside)
    return taken, offset[taken]


def cuts(question: Question) -> dict[str, Any]:
    """Where tiles of an array begin and end along each of its axes, as far as a sample of the records shows.

    Of each axis a list; of very many that are evenly spaced {"first", "step", "count"}; nothing of very many others.
    """
    launch, array = question.launch, question.array
    touching = [r.number for r in launch.records(kinds=ACCESS_KINDS, names=(array.name,))]
    chosen = {touching[at] for at in np.linspace(0, len(touching) - 1, SAMPLED).astype(int)} if touching else set()
    found: list[list[np.ndarray]] = [[np.zeros(0, np.int64)] for _ in array.shape]
    for number in sorted(chosen):
        record = next(iter(launch.records(between=(number, number + 1))))
        for access in record.accesses:
            boxes = boxes_of(access) if access.array.number == array.number and access.is_window else None
            for axis in range(len(array.shape)) if boxes is not None else ():
                assert boxes is not None
                found[axis].append(distinct(boxes[:, axis].reshape(-1)))
    return {"cuts": [_evenly(distinct(np.concatenate(ends))) for ends in found]}


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


def compare(question: Question) -> dict[str, Any]:
    """How two blocks differ: elements that one or both touch, and lines that they ran unequally often."""
    launch = question.launch
    found = compare_blocks(launch, question.block("a"), question.block("b"))
    return {
        "arrays": [asdict(array) for array in found.arrays],
        "lines": [{"file": at.file, "line": at.line, "a": at.operations_a, "b": at.operations_b} for at in found.lines],
    }
