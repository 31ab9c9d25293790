"""Elementwise computation piece by piece, where it takes several passes: its intermediate arrays then fit the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PIECE_ELEMS = 1 << 16
"""Elements of a piece: small enough for a core's own caches, large enough for NumPy's calls not to count (measured) and
for threads not to wait for the interpreter between them.
"""


def in_pieces(function: Callable[..., Any], operands: tuple[np.ndarray, ...], dtype: Any) -> np.ndarray:
    """An elementwise function of operands that broadcast together, as a new array of `dtype`.

    `function` takes a piece of each operand and returns a piece of the result, of any type that can be assigned. The
    result is laid out in memory as the first operand of its shape is.
    """
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    like = next((x for x in operands if x.shape == shape), operands[0])
    result = np.empty_like(like, dtype, shape=shape)
    spread = [x if x.shape == shape else np.broadcast_to(x, shape) for x in operands]
    if result.size <= PIECE_ELEMS:
        result[...] = function(*spread)
        return result
    target = result
    if not result.flags.c_contiguous:
        order = sorted(range(result.ndim), key=lambda axis: -result.strides[axis])
        target, *spread = (x.transpose(order) for x in (result, *spread))
    if all(x.flags.c_contiguous for x in (target, *spread)):
        target, *spread = (x.reshape(-1) for x in (target, *spread))
    for place in _places(target.shape):
        target[place] = function(*(x[place] for x in spread))
    return result


def _places(shape: tuple[int, ...]) -> Iterator[tuple[Any, ...]]:
    """Indices that cut an array into pieces: slices along one axis, single positions of those before it."""
    inner, axis = 1, len(shape) - 1
    while axis > 0 and inner * shape[axis] <= PIECE_ELEMS:
        inner *= shape[axis]
        axis -= 1
    step = max(1, PIECE_ELEMS // inner)
    for position in np.ndindex(*shape[:axis]):
        for start in range(0, shape[axis], step):
            yield (*position, slice(start, start + step))
