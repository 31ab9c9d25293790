"""The boxes of an array that tiles in a window are, of many tiles at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutile_sim.analysis.runs import distinct
from cutile_sim.traces.boxes import steps_of
from cutile_sim.traces.model import ArrayInfo


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
