"""Lanes that lie evenly in memory, found among lanes that could lie anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np


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
    expected: Any = np.int64(first)
    for axis, (n, step) in enumerate(zip(items.shape, steps, strict=True)):
        lanes = [1] * items.ndim
        lanes[axis] = n
        expected = expected + (np.arange(n, dtype=np.int64) * step).reshape(lanes)
    return (first, tuple(steps)) if np.array_equal(np.broadcast_to(expected, items.shape), items) else None
