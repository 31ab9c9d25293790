"""How often each element of an array was loaded, stored and updated, and by how many blocks it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from cutile_sim.analysis.cells import Cells
from cutile_sim.analysis.combs import Footprint
from cutile_sim.analysis.footprints import ACCESS_KINDS, Scattered
from cutile_sim.analysis.launch_footprints import found_footprints
from cutile_sim.analysis.spaces import nested_axes
from cutile_sim.analysis.tally import Edges, Sums, Writers
from cutile_sim.errors import UsageError
from cutile_sim.traces.reader import LaunchTrace

MAX_BYTES = 1 << 27
"""What one table of counts may take."""
NEVER = 1 << 62
CELLS_AT_ONCE = 1 << 24
"""In how many cells the writers are looked for at once."""


@dataclass(frozen=True)
class Touches:
    """How often the elements of an array were touched, summed over each cell.

    Attributes:
        array: Its name.
        region: (first, end) along each axis.
        edges: Along each axis, where each cell begins, and the end of the last (int64 [cells + 1]).
        loads, stores, updates: int64, one for each cell along each axis of the array.
    """

    array: str
    region: tuple[tuple[int, int], ...]
    edges: tuple[np.ndarray, ...]
    loads: np.ndarray
    stores: np.ndarray
    updates: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Elements in each cell."""
        total = np.ones((), np.int64)
        for edges in self.edges:
            total = np.multiply.outer(total, np.diff(edges))
        return total


def touches(
    launch: LaunchTrace,
    array: str,
    *,
    region: Sequence[tuple[int, int]] | None = None,
    bins: Sequence[int] | None = None,
    between: tuple[int, int] | None = None,
    blocks: Sequence[Any] = (),
    lines: Sequence[Any] = (),
) -> Touches:
    """How often each element of an array was loaded, stored and updated by an atomic operation.

    An element counts once for each lane of each block that touches it. Lanes that are masked off, or outside the array,
    do not. Only what was recorded counts. Where strides are 0 or overlap, each index counts what its element counts.

    The cost follows the number of records and of cells, whatever the number of blocks; but lanes that lie anywhere
    (gather, scatter) are counted one by one.

    Args:
        array: Its name.
        region: (first, end) along each axis; None for all of it.
        bins: About how many cells to make along each axis of the region, each of whole elements; None for one each.
        between: Only records with numbers from the first up to but without the second.
        blocks: Only these, as `TraceOptions.blocks`.
        lines: Only operations of these lines, as `TraceOptions.lines`.

    Raises:
        UsageError: There is no such array, region or block; or so many cells that bins are needed.
    """
    cells = Cells.of(launch.array(array), region, bins)
    _check_size(cells)
    sums = {kind: Sums(cells) for kind in ACCESS_KINDS}
    for kind, found in found_footprints(launch, array, ACCESS_KINDS, between, blocks, lines):
        sums[kind].add(found)
    loads, stores, updates = (sums[kind].result() for kind in ACCESS_KINDS)
    return Touches(array, cells.region, cells.edges, loads, stores, updates)


@dataclass(frozen=True)
class Coverage:
    """Which elements of an array were written, counted in each cell.

    Attributes:
        array: Its name.
        region: (first, end) along each axis.
        edges: Along each axis, where each cell begins, and the end of the last.
        unwritten: Elements that no block stored or updated (int64, one for each cell along each axis).
        several: Elements that two or more blocks stored; updates by atomic operations do not count.
    """

    array: str
    region: tuple[tuple[int, int], ...]
    edges: tuple[np.ndarray, ...]
    unwritten: np.ndarray
    several: np.ndarray


def coverage(
    launch: LaunchTrace,
    array: str,
    *,
    region: Sequence[tuple[int, int]] | None = None,
    bins: Sequence[int] | None = None,
    between: tuple[int, int] | None = None,
    blocks: Sequence[Any] = (),
    kinds: Sequence[str] = ("store", "atomic"),
) -> Coverage:
    """Which elements of an array were never written, and which were stored by several blocks.

    The cost follows the number of records and of places where the blocks' tiles begin or end, as `touches`.

    Args, Raises: as `touches`; `kinds` are those that count, ("load",) for what was read.
    """
    cells = Cells.of(launch.array(array), region, bins)
    _check_size(cells)
    unwritten, several = np.zeros(cells.shape, np.int64), np.zeros(cells.shape, np.int64)

    def found() -> Iterator[tuple[str, Footprint | Scattered]]:
        return found_footprints(launch, array, kinds, between, blocks, numbered="blocks")

    for part in _alike(cells, found):
        stores, writes = Writers(part), Writers(part)
        for kind, one in found():
            writes.add(one)
            if kind != "atomic":
                stores.add(one)
        sizes = part.sizes()
        _add_binned(unwritten, ~writes.result()[0] * sizes, part, cells)
        _add_binned(several, stores.result()[1] * sizes, part, cells)
    return Coverage(array, cells.region, cells.edges, unwritten, several)


def first_touches(
    launch: LaunchTrace,
    array: str,
    *,
    region: Sequence[tuple[int, int]] | None = None,
    bins: Sequence[int] | None = None,
) -> np.ndarray:
    """The number of the first record that touched an element of each cell, `NEVER` where none did (int64).

    Args, Raises: as `touches`.
    """
    cells = Cells.of(launch.array(array), region, bins)
    _check_size(cells)
    first = np.full(cells.shape, NEVER, np.int64)

    def found() -> Iterator[tuple[str, Footprint | Scattered]]:
        return found_footprints(launch, array, ACCESS_KINDS, numbered="records")

    for part in _alike(cells, found):
        records = Writers(part)
        for _, one in found():
            records.add(one)
        low = records.numbers()[0]
        _add_binned(first, np.where(low < 0, NEVER, low), part, cells, np.minimum)
    return first


def touched_elements(launch: LaunchTrace, array: str) -> tuple[dict[str, int], dict[str, int]]:
    """(lanes that touched the array by kind of access, different elements by kind and under "written").

    Raises UsageError where there is no such array.
    """
    info = launch.array(array)
    lanes, distinct = dict.fromkeys(ACCESS_KINDS, 0), dict.fromkeys((*ACCESS_KINDS, "written"), 0)

    def found() -> Iterator[tuple[str, Footprint | Scattered]]:
        return found_footprints(launch, array, ACCESS_KINDS)

    for part in _alike(Cells.of(info, bins=(1,) * len(info.shape)), found):
        sums: dict[str, Sums] = {}
        for kind, footprint in found():
            if kind not in sums:
                sums[kind] = Sums(part)
            sums[kind].add(footprint)
        for kind, one in sums.items():
            lanes[kind] += one.space.total(one.values)
            distinct[kind] += one.space.total(one.values > 0)
        written = [one for kind, one in sums.items() if kind != "load"]
        if written:
            distinct["written"] += written[0].space.total(np.sum([one.values for one in written], axis=0) > 0)
    return lanes, distinct


def _alike(cells: Cells, found: Callable[[], Iterator[tuple[str, Footprint | Scattered]]]) -> Iterator[Cells]:
    """Cells within some others whose elements are touched alike, in parts that fit into memory."""
    if 0 in cells.shape:
        return
    edges = Edges(cells)
    for _, one in found():
        edges.add(one)
    if nested_axes(cells.array) is None:  # counted along memory, all of it at once
        yield Cells.of(cells.array, cells.region)
        return
    yield from edges.cells(CELLS_AT_ONCE)


def _check_size(cells: Cells) -> None:
    places = cells.array.span_elems if nested_axes(cells.array) is None else 0
    if 8 * max(prod(cells.shape), places) > MAX_BYTES:
        count = prod(cells.shape)
        raise UsageError(
            f"array {cells.array.name} has {count:,} elements there: ask for a smaller region, or for bins"
        )


def _add_binned(total: np.ndarray, values: np.ndarray, part: Cells, cells: Cells, join: np.ufunc = np.add) -> None:
    """Add values of cells that lie within coarser ones to these; or join them in another way."""
    at = []
    for axis, (fine, coarse) in enumerate(zip(part.edges, cells.edges, strict=True)):
        first = int(np.searchsorted(coarse, fine[0], "right")) - 1
        end = int(np.searchsorted(coarse, fine[-1], "left"))
        starts = np.searchsorted(fine, np.maximum(coarse[first:end], fine[0]))
        if len(starts) != values.shape[axis]:
            values = join.reduceat(values, starts, axis=axis)
        at.append(slice(first, end))
    total[tuple(at)] = join(total[tuple(at)], values)
