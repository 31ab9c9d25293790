"""Cuts a grid into batches of blocks that run in step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from math import prod

import numpy as np

from cutile_sim.engine.group import Group
from ir_passes.grid_axes import ALL, X, Y, Z

CACHE_BYTES = 8 << 20
"""What the live tiles of a batch should fit into."""
SHARING_BYTES = 12 << 20
"""The same where several workers take batches. Each call of NumPy ends by waiting for the interpreter, if another
thread has it: fewer and longer calls are worth more than the cache.
"""
SCALAR_BYTES = 64
"""What a block costs besides its tiles."""
MAX_BLOCKS = 1 << 16
"""The most blocks in a batch: bounds what scalars cost."""
MANY_BATCHES = 8
"""From how many batches a worker on it hardly matters that one gets a batch more than another."""


def batch_shape(
    grid: tuple[int, int, int],
    live_bytes: Mapping[int, int],
    blocks: int | None = None,
    *,
    in_order: bool = False,
    workers: int = 1,
) -> tuple[int, int, int]:
    """Blocks along x, y, z of a batch whose tiles fit the cache, or of about `blocks` blocks: whole rows first.

    `live_bytes` are those of one block, by the axes that they depend on. The batch grows along whichever axis adds
    least: blocks that share tiles of a matrix product's operands come together. With `in_order` it grows by whole rows,
    so that batch after batch keeps to launch order. Several workers get equal shares of a launch that has few batches.
    """
    if blocks is not None:
        x = min(grid[0], blocks)
        y = min(grid[1], max(1, blocks // x))
        return x, y, min(grid[2], max(1, blocks // (x * y)))
    live = {ALL: SCALAR_BYTES, **live_bytes}
    live[ALL] = max(live[ALL], SCALAR_BYTES)

    def need(shape: tuple[int, ...]) -> int:
        total = 0
        for axes, size in live.items():
            for bit, n in zip((X, Y, Z), shape, strict=True):
                size *= n if axes & bit else 1
            total += size
        return total

    shape = (1, 1, 1)
    while True:
        larger = [
            tuple(min(2 * n, grid[a]) if a == axis else n for a, n in enumerate(shape))
            for axis in range(3)
            if shape[axis] < grid[axis]
        ][: 1 if in_order else 3]
        best = min(larger, key=need, default=shape)
        if best == shape or need(best) > (CACHE_BYTES if workers == 1 else SHARING_BYTES) or prod(best) > MAX_BLOCKS:
            return shape if workers == 1 else _in_equal_shares(grid, shape, workers, need)
        shape = best[0], best[1], best[2]


def _in_equal_shares(
    grid: tuple[int, int, int], shape: tuple[int, int, int], workers: int, need: Callable[[tuple[int, ...]], int]
) -> tuple[int, int, int]:
    """The shape so much smaller that each worker gets as many batches as the others, unless there are many anyway. It
    is cut where the least has to be there twice: `need` says how many bytes a batch of a shape takes.
    """

    def shape_of(counts: tuple[int, ...]) -> tuple[int, int, int]:
        x, y, z = (-(-n // count) for n, count in zip(grid, counts, strict=True))
        return x, y, z

    counts = tuple(-(-n // size) for n, size in zip(grid, shape, strict=True))
    if prod(counts) >= MANY_BATCHES * workers:
        return shape
    while prod(counts) % workers and prod(counts) < MANY_BATCHES * workers:
        finer = [tuple(c + (a == axis) for a, c in enumerate(counts)) for axis in range(3) if counts[axis] < grid[axis]]
        counts = min(finer, key=lambda c: prod(c) * need(shape_of(c)), default=counts)
        if not finer:
            break
    return shape_of(counts)


Box = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


def batches(grid: tuple[int, int, int], shape: tuple[int, int, int], box: Box | None = None) -> Iterator[Group]:
    """Box groups that cover the grid in launch order, without values yet; or a box of it, [begin, end) an axis."""
    (x0, x1), (y0, y1), (z0, z1) = box or ((0, grid[0]), (0, grid[1]), (0, grid[2]))
    for z in range(z0, z1, shape[2]):
        z_ids = _ids(0, z, min(z + shape[2], z1))
        for y in range(y0, y1, shape[1]):
            y_ids = _ids(1, y, min(y + shape[1], y1))
            for x in range(x0, x1, shape[0]):
                yield Group((z_ids, y_ids, _ids(2, x, min(x + shape[0], x1))), True, [], 0, [])


@lru_cache(maxsize=16)
def _ids(axis: int, begin: int, end: int) -> np.ndarray:
    """Block ids from `begin` up to `end` along a batch axis, read-only."""
    shape = [1, 1, 1]
    shape[axis] = -1
    ids = np.arange(begin, end, dtype=np.int32).reshape(shape)
    ids.flags.writeable = False
    return ids
