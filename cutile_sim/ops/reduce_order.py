"""In which order an NVIDIA GPU combines the elements of a tile along one dimension.

Tile IR leaves the order open, but a rounded sum shows it. Read off recordings of an H200: a block has 128 threads in 4 warps
of 32 lanes, over which the elements of a tile are spread. Of 24 shapes probed in 1 to 3 types each, scans agreed bit for
bit in all, sums in all but those where one thread holds more than 8 elements of a column.
"""

from __future__ import annotations

import math
from functools import lru_cache

_WARPS = 4
_LANES = 32
_VECTOR_BYTES = 16


@lru_cache(maxsize=1024)
def reduction_order(shape: tuple[int, ...], dim: int, size_bytes: int) -> tuple[int, tuple[int, ...]]:
    """How a reduction along `dim` combines: `(sequence_length, pair_bits)`.

    First the `sequence_length` equal parts of the dimension are combined element by element, one after the other: they lie in
    one thread. Then, for each bit in `pair_bits`, the elements whose index differs in that bit: neighbours in a thread's
    vector of up to 16 bytes, lanes of a warp, warps. `shape` is the tile's, all powers of two; `size_bytes` an element's.
    """
    share = math.prod(shape) // (_WARPS * _LANES)
    if share <= 1:
        vector, axes = 1, tuple(range(len(shape)))
    else:
        vector, axes = min(shape[-1], share, _VECTOR_BYTES // size_bytes), tuple(reversed(range(len(shape))))
    lanes_left, warps_left = _LANES, _WARPS
    for axis in axes:
        held = vector if axis == len(shape) - 1 else 1
        threads = shape[axis] // held
        lanes = min(threads, lanes_left)
        warps = min(threads // lanes, warps_left)
        if axis == dim:
            break
        lanes_left, warps_left = lanes_left // lanes, warps_left // warps
    ends = [size.bit_length() - 1 for size in (held, held * lanes, held * lanes * warps)]
    pair_bits = (*range(ends[0]), *range(ends[1] - 1, ends[0] - 1, -1), *range(ends[2] - 1, ends[1] - 1, -1))
    return shape[dim] >> ends[2], pair_bits


@lru_cache(maxsize=1024)
def scan_segment(shape: tuple[int, ...], dim: int) -> int:
    """Length of the segments along `dim` that a scan does side by side before it runs through them one after the other.

    It is the number of lanes of a warp along `dim`, which a scan hands out from the first dimension on.
    """
    lanes_left = _LANES
    for n in shape[:dim]:
        lanes_left //= min(n, lanes_left)
    return min(shape[dim], lanes_left)
