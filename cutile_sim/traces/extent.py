"""How much a record touches, all its blocks taken together, and words for it."""

from __future__ import annotations

from math import prod

import numpy as np

from cutile_sim.dtypes import element_type
from cutile_sim.traces.boxes import Box, box_of_elements
from cutile_sim.traces.model import OpInfo
from cutile_sim.traces.record import Access


def box_of(access: Access) -> Box | None:
    """The box that holds all that the recorded blocks touch in one access; None if that is nothing."""
    if not access.is_window:
        return box_of_elements(access.array, _lanes(access) * access.unit_bytes // access.array.item_bytes)
    assert access.strides is not None
    counts = [end - begin for begin, end in zip(access.begin, access.end, strict=True)]
    tile = list(zip(access.tile_shape, access.strides[3:], strict=True))
    if access.group.is_whole:
        blocks = [
            (count, stride) if n > 1 else (1, 0)
            for count, n, stride in zip(counts, access.shape[:3], access.strides[:3], strict=True)
        ]
        return access.box_around([access.offset] if min(counts) > 0 else [], blocks + tile)
    positions = np.flatnonzero(_takes_part(access))
    return access.box_around(sorted({access.base_of(int(which)) for which in positions}), tile)


def bytes_of(access: Access, op: OpInfo) -> int:
    """Bytes that the recorded blocks move in one access."""
    item_bytes = element_type(op.tile[1]).size_bytes if op.tile is not None else access.array.item_bytes
    if access.is_window:
        if access.group.is_whole:
            blocks = prod(end - begin for begin, end in zip(access.begin, access.end, strict=True))
        else:
            blocks = int(_takes_part(access).sum())
        lanes = blocks * prod(access.tile_shape)
    else:
        lanes = prod(access.shape) if access.mask is None else int(access.mask.sum())
        lanes *= access.group.size // prod(access.shape[:3])  # blocks that share what was recorded once
    return lanes * item_bytes


def _takes_part(access: Access) -> np.ndarray:
    """Which of the recorded blocks take part in a window (bool [n])."""
    group = access.group
    at = np.stack(np.unravel_index(group.positions, group.shape), axis=1)
    inside = (at >= np.array(access.begin)) & (at < np.array(access.end))
    found: np.ndarray = np.all(inside, axis=1)
    return found


def _lanes(access: Access) -> np.ndarray:
    lanes = access.lanes if access.mask is None else access.lanes[access.mask]
    return lanes.astype(np.int64).reshape(-1) + access.offset


def text_of_box(boxes: list[Box | None]) -> str:
    """The box around boxes of one array, as one would slice it; "[]" for nothing."""
    found = [box for box in boxes if box is not None]
    spans = [(min(s[0] for s in axis), max(s[1] for s in axis)) for axis in zip(*found, strict=True)]
    return f"[{', '.join(f'{low}:{high}' for low, high in spans)}]"


def text_of_blocks(blocks: np.ndarray) -> str:
    """Block ids (x, y, z in rows [n, 3]) in words, such as `block (3, 0, 0)` or `64 blocks 0:8, 0:8, 0`."""
    low, high = blocks.min(axis=0).tolist(), blocks.max(axis=0).tolist()
    if low == high:
        return f"block ({', '.join(map(str, low))})"
    spans = ", ".join(str(a) if a == b else f"{a}:{b + 1}" for a, b in zip(low, high, strict=True))
    filled = prod(b - a + 1 for a, b in zip(low, high, strict=True)) == len(blocks)
    return f"{len(blocks):,} blocks {'' if filled else 'in '}{spans}"
