"""Grids and blocks in words, with as many axes as the grid has."""

from __future__ import annotations

from typing import Any

from cutile_sim.analysis.blocks import block_id
from cutile_sim.traces.reader import LaunchTrace


def grid_text(launch: LaunchTrace) -> str:
    """The grid, such as `4x2`."""
    return "x".join(map(str, launch.grid[: _axes(launch)]))


def ids_text(launch: LaunchTrace, block: Any) -> str:
    """A block's id, such as `(3, 1)`. Raises UsageError where the grid has no such block."""
    ids = block_id(launch, block)[: _axes(launch)]
    return f"({', '.join(map(str, ids))})" if len(ids) > 1 else str(ids[0])


def block_text(launch: LaunchTrace, number: int) -> str:
    """The id of a block by its number in launch order."""
    gx, gy, _ = launch.grid
    return ids_text(launch, (number % gx, number // gx % gy, number // (gx * gy)))


def _axes(launch: LaunchTrace) -> int:
    _, y, z = launch.grid
    return 3 if z > 1 else 2 if y > 1 else 1
