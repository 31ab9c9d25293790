"""Boxes around what is touched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutile_sim.memory.even import even_items
from cutile_sim.traces.model import ArrayInfo

Box = tuple[tuple[int, int], ...]
"""(first, end) along each axis of an array."""


def steps_of(shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """Offsets (int64, flat) of lanes at even distances from the first."""
    return even_items(0, shape, strides).reshape(-1)


def box_of_elements(array: ArrayInfo, elements: np.ndarray) -> Box | None:
    """The box around elements, counted in memory from the array's element 0; None if it has none of them."""
    index, inside = array.index_of(elements)
    index = index[inside]
    if not index.size:
        return None
    return tuple((int(a), int(b) + 1) for a, b in zip(index.min(axis=0), index.max(axis=0), strict=True))


def box_of_steps(array: ArrayInfo, firsts: Sequence[int], steps: Sequence[tuple[int, int]]) -> Box | None:
    """The box around the elements that are reached from one of `firsts` by steps: (how many places, elements apart).

    Takes as long as there are firsts, but where a step runs from one row of the array into the next: then as long as
    there are elements.
    """
    moves = [_move(array, count, stride) for count, stride in steps if count > 1 and stride]
    found = [_index(array, first) for first in firsts]
    indices = [index for index in found if index is not None]
    if firsts and len(indices) == len(found) and None not in moves:
        low, high = ([f(axis) for axis in zip(*indices, strict=True)] for f in (min, max))
        for move in moves:
            assert move is not None
            axis, distance = move
            low[axis] += min(distance, 0)
            high[axis] += max(distance, 0)
        if all(a >= 0 and b < n for a, b, n in zip(low, high, array.shape, strict=True)):
            return tuple((a, b + 1) for a, b in zip(low, high, strict=True))
    elements = np.array(firsts, np.int64)
    for count, stride in steps:
        elements = np.unique(elements[:, None] + np.arange(count, dtype=np.int64) * stride)
    return box_of_elements(array, elements)


def _move(array: ArrayInfo, count: int, stride: int) -> tuple[int, int] | None:
    """(axis, places along it) from the first to the last of some steps; None where no axis goes along with them."""
    for axis in array.axes_by_stride:
        if stride % array.strides_elems[axis] == 0:
            return axis, (count - 1) * (stride // array.strides_elems[axis])
    return None


def _index(array: ArrayInfo, element: int) -> list[int] | None:
    """As `ArrayInfo.index_of`, of one element; None where there is none."""
    if element < 0:
        return None
    index = [0] * len(array.shape)
    for axis in array.axes_by_stride:
        stride = array.strides_elems[axis]
        index[axis] = min(element // stride, array.shape[axis] - 1)
        element -= index[axis] * stride
    return index if element == 0 and array.size else None
