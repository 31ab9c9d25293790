"""Where the tiles of an array begin and end, and which blocks they are of: few numbers, however large the array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from cutile_sim.analysis.cells import Cells
from cutile_sim.analysis.combs import Footprint
from cutile_sim.analysis.element_counts import MAX_BYTES
from cutile_sim.analysis.footprints import ACCESS_KINDS, Scattered
from cutile_sim.analysis.launch_footprints import found_footprints
from cutile_sim.analysis.tally import Edges, Writers
from cutile_sim.errors import UsageError
from cutile_sim.traces.reader import LaunchTrace


@dataclass(frozen=True)
class TileMap:
    """The blocks that touch an array, for cells whose elements are all touched by the same ones.

    Attributes:
        array: Its name.
        edges: Along each axis, where each cell begins, and the end of the last (int64 [cells + 1]).
        first, last: The smallest and the largest number of a block that touches the cell, in launch order (x first);
            -1 where none does (int64, one for each cell along each axis).
    """

    array: str
    edges: tuple[np.ndarray, ...]
    first: np.ndarray
    last: np.ndarray


def tile_map(
    launch: LaunchTrace,
    array: str,
    *,
    kinds: Sequence[str] = ACCESS_KINDS,
    region: Sequence[tuple[int, int]] | None = None,
    between: tuple[int, int] | None = None,
    blocks: Sequence[Any] = (),
) -> TileMap:
    """Which blocks touch which part of an array. The cost follows the number of tiles, not of elements.

    Args:
        array: Its name.
        kinds: Which accesses count.
        region: (first, end) along each axis; None for all of it.
        between: Only records with numbers from the first up to but without the second.
        blocks: Only these, as `TraceOptions.blocks`.

    Raises:
        UsageError: There is no such array, region or block, or there are more tiles than fit into memory.
    """
    whole = Cells.of(launch.array(array), region, (1,) * len(launch.array(array).shape))
    if 0 in whole.shape:
        none = np.full(whole.shape, -1, np.int64)
        return TileMap(array, whole.edges, none, none)

    def found(apart: bool = False) -> Iterator[Footprint | Scattered]:
        for _, one in found_footprints(launch, array, kinds, between, blocks, numbered="blocks", apart=apart):
            yield one

    # Tiles of a block beside each other have an edge between them.
    edges = Edges(whole)
    for one in found(apart=True):
        edges.add(one)
    cells = edges.all_cells()
    if 16 * prod(cells.shape) > MAX_BYTES:
        raise UsageError(f"array {array} falls into {prod(cells.shape):,} tiles there: ask for a smaller region")
    writers = Writers(cells)
    for one in found():
        writers.add(one)
    first, last = writers.numbers()
    return _joined(TileMap(array, cells.edges, first, last), edges.of_windows())


def _joined(found: TileMap, of_windows: Sequence[np.ndarray]) -> TileMap:
    """Without those edges of scattered lanes at which the blocks do not change."""
    edges, first, last = list(found.edges), found.first, found.last
    for axis, of_tiles in enumerate(of_windows):
        others = tuple(a for a in range(first.ndim) if a != axis)
        changes = (np.diff(first, axis=axis) != 0) | (np.diff(last, axis=axis) != 0)
        kept = changes.any(axis=others) | np.isin(edges[axis][1:-1], of_tiles)
        at = np.concatenate([[0], np.flatnonzero(kept) + 1])
        first, last = first.take(at, axis), last.take(at, axis)
        edges[axis] = np.append(edges[axis][at], edges[axis][-1])
    return TileMap(found.array, tuple(edges), first, last)
