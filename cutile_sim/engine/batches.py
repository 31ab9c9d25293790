"""Cuts a grid into batches of blocks that run in step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cutile_sim.engine.group import Group

CACHE_BYTES = 4 << 20
"""What the live tiles of a batch should fit into."""
MAX_BLOCKS = 1 << 16
"""The most blocks in a batch: bounds what scalars cost."""


def batch_shape(grid: tuple[int, int, int], bytes_per_block: int, blocks: int | None = None) -> tuple[int, int, int]:
    """Blocks along x, y, z of a batch whose tiles fit the cache, or of about `blocks` blocks: whole rows first."""
    room = blocks or max(1, min(MAX_BLOCKS, CACHE_BYTES // max(bytes_per_block, 64)))
    x = min(grid[0], room)
    y = min(grid[1], max(1, room // x))
    z = min(grid[2], max(1, room // (x * y)))
    return x, y, z


def batches(grid: tuple[int, int, int], shape: tuple[int, int, int]) -> Iterator[Group]:
    """Box groups that cover the grid in launch order, without values yet."""
    for z in range(0, grid[2], shape[2]):
        for y in range(0, grid[1], shape[1]):
            for x in range(0, grid[0], shape[0]):
                ids = (
                    np.arange(z, min(z + shape[2], grid[2]), dtype=np.int32).reshape(-1, 1, 1),
                    np.arange(y, min(y + shape[1], grid[1]), dtype=np.int32).reshape(1, -1, 1),
                    np.arange(x, min(x + shape[0], grid[0]), dtype=np.int32).reshape(1, 1, -1),
                )
                yield Group(ids, True, [], 0, [])
