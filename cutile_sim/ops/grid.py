"""Block ids, grid size, and the order between dependent grids."""

from __future__ import annotations

import numpy as np

from cutile_sim.engine.context import Context
from cutile_sim.ops.registry import implements


@implements("get_tile_block_id")
def get_tile_block_id(*, cx: Context) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Block id along x, y, z: int32 scalars."""
    z, y, x = cx.group.ids
    return x, y, z


@implements("get_num_tile_blocks")
def get_num_tile_blocks(*, cx: Context) -> tuple[np.ndarray, ...]:
    """Blocks in the grid along x, y, z: int32 scalars, the same for all blocks."""
    return tuple(np.full((1, 1, 1), n, np.int32) for n in cx.grid)


@implements("gdc_wait_tko", ignores=("token",))
def gdc_wait_tko() -> None:
    """Waits for the grids this one depends on. Launches run one after another, so they have ended."""


@implements("gdc_launch_dependents_tko", ignores=("token",))
def gdc_launch_dependents_tko() -> None:
    """Lets dependent grids start early. They may start late just as well: they start when this one has ended."""
