"""How much a record touches, all its blocks taken together, and words for it."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from cutile_sim.dtypes import element_type
from cutile_sim.traces.model import OpInfo
from cutile_sim.traces.record import Access

Box = tuple[tuple[int, int], ...]
"""(first, end) along each axis of an array."""


def box_of(access: Access) -> Box | None:
    """The box that holds all that the recorded blocks touch in one access; None if that is nothing."""
    elements = (_corners(access) if access.is_window else _lanes(access)) * access.unit_bytes // access.array.item_bytes
    index, inside = access.array.index_of(elements)
    index = index[inside]
    if not index.size:
        return None
    low, high = index.min(axis=0), index.max(axis=0)
    return tuple((int(a), int(b) + 1) for a, b in zip(low, high, strict=True))


def bytes_of(access: Access, op: OpInfo) -> int:
    """Bytes that the recorded blocks move in one access."""
    item_bytes = element_type(op.tile[1]).size_bytes if op.tile is not None else access.array.item_bytes
    if access.is_window:
        lanes = len(_positions(access)) * prod(access.tile_shape)
    else:
        lanes = prod(access.shape) if access.mask is None else int(access.mask.sum())
        lanes *= access.group.size // prod(access.shape[:3])  # blocks that share what was recorded once
    return lanes * item_bytes


def _positions(access: Access) -> np.ndarray:
    """Positions of the recorded blocks that take part in a window, on the group's axes z, y, x ([n, 3])."""
    group = access.group
    at = np.stack(np.unravel_index(group.positions, group.shape), axis=1)
    return at[((at >= access.begin) & (at < access.end)).all(axis=1)]


def _corners(access: Access) -> np.ndarray:
    """Offsets, in units, of the first and last lanes of a window along each axis, over blocks that bound the rest."""
    assert access.strides is not None
    if access.group.is_whole:
        blocks = np.array(
            list(product(*({begin, end - 1} for begin, end in zip(access.begin, access.end, strict=True))))
        )
        blocks = blocks[(blocks >= access.begin).all(axis=1)]
    else:
        blocks = _positions(access)
    steps = np.array([s if n > 1 else 0 for n, s in zip(access.shape[:3], access.strides[:3], strict=True)], np.int64)
    found = access.offset + ((blocks - np.array(access.begin)) * steps).sum(axis=1)
    for n, stride in zip(access.tile_shape, access.strides[3:], strict=True):
        found = np.unique(np.concatenate([found, found + (n - 1) * stride])) if n else found[:0]
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
