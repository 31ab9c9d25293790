"""Lanes that lie evenly in memory: from steps to items, and back where lanes could lie anywhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def is_one_number(values: np.ndarray) -> bool:
    """Whether an array is seen by its strides to hold one number in all places, as what is broadcast does."""
    return values.size > 0 and not any(s for n, s in zip(values.shape, values.strides, strict=True) if n > 1)


def even_items(first: int, shape: Sequence[int], steps: Sequence[int]) -> np.ndarray:
    """Items (int64, of that shape): the first plus so many steps along each axis. Not to be written to."""
    items: np.ndarray = np.full((1,) * len(shape), first, np.int64)
    for axis, (n, step) in enumerate(zip(shape, steps, strict=True)):
        lanes = [1] * len(shape)
        lanes[axis] = n
        items = items + (np.arange(n, dtype=np.int64) * step).reshape(lanes)
    return np.broadcast_to(items, tuple(shape))


def even_steps(items: np.ndarray) -> tuple[int, tuple[int, ...]] | None:
    """(first item, step along each axis) where every item is the first plus whole steps along the axes, else None.

    The step along an axis of length 1 is 0. Items are integers; an empty array lies nowhere (None).
    """
    if items.size == 0:
        return None
    first = int(items.flat[0])
    steps = []
    last = first
    for axis, n in enumerate(items.shape):
        if n == 1:
            steps.append(0)
            continue
        at = [0] * items.ndim
        at[axis] = 1
        step = int(items[tuple(at)]) - first
        steps.append(step)
        last += step * (n - 1)
    if int(items.flat[-1]) != last:  # most uneven lanes are known by their last
        return None
    return (first, tuple(steps)) if np.array_equal(even_items(first, items.shape, steps), items) else None
