"""Tiles in a window, of many blocks at once: where each begins, and the boxes of an array that they are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutile_sim.analysis.footprints import Even
from cutile_sim.analysis.runs import distinct
from cutile_sim.traces.boxes import steps_of
from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.record import GroupInfo


def first_lanes(window: Even, group: GroupInfo) -> tuple[np.ndarray, np.ndarray]:
    """Which recorded blocks of a group a window is of (bool [blocks]), and the offset of the first lane of each (int64
    [blocks], in units).
    """
    assert window.strides is not None
    inside = np.ones(group.shape, bool)
    offset = np.full(group.shape, window.offset, np.int64)
    for axis, n in enumerate(group.shape):
        at = np.arange(n, dtype=np.int64).reshape((-1,) + (1,) * (2 - axis))
        inside &= (at >= window.begin[axis]) & (at < window.end[axis])
        if window.shape[axis] > 1:
            offset += (at - window.begin[axis]) * window.strides[axis]
    return inside.reshape(-1)[group.positions], offset.reshape(-1)[group.positions]


def window_boxes(
    array: ArrayInfo, unit_bytes: int, shape: Sequence[int], strides: Sequence[int], offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """First and end along each axis of tiles with these steps, whose first lanes lie at `offsets` (int64 [n, axes, 2]);
    whether the lanes of a tile are all elements of that box (bool [n]), each as often; and how many lanes that are.
    """
    lanes = steps_of(shape, strides)
    if unit_bytes != array.item_bytes or not lanes.size:
        return np.zeros((len(offsets), len(array.shape), 2), np.int64), np.zeros(len(offsets), bool), lanes.size
    low, inside_low = array.index_of(offsets + lanes.min())
    high, inside_high = array.index_of(offsets + lanes.max())
    sizes = np.prod(high + 1 - low, axis=-1)
    fits = inside_low & inside_high & (low <= high).all(axis=-1) & (sizes == len(distinct(lanes)))
    return np.stack([low, high + 1], axis=-1), fits, lanes.size
