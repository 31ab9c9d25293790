"""How often each element of an array was loaded, stored and updated, and by how many blocks it was written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from cutile_sim.analysis.cells import Cells
from cutile_sim.analysis.combs import Footprint
from cutile_sim.analysis.footprints import ACCESS_KINDS, Scattered, Selector, footprints
from cutile_sim.analysis.spaces import space_bytes
from cutile_sim.analysis.tally import Sums, Writers
from cutile_sim.errors import UsageError
from cutile_sim.traces.reader import LaunchTrace

MAX_BYTES = 1 << 30
"""What one table of counts may take."""
SLAB_ELEMENTS = 1 << 22
"""Of how many elements the writers are looked for at once."""


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
    cells = Cells(launch.array(array), region, bins)
    if space_bytes(cells) > MAX_BYTES:
        raise UsageError(f"array {array} has {cells.elements:,} elements there: ask for a smaller region, or for bins")
    sums = {kind: Sums(cells) for kind in ACCESS_KINDS}
    for kind, found in _found(launch, array, ACCESS_KINDS, between, blocks, lines):
        sums[kind].add(found)
    loads, stores, updates = (sums[kind].result() for kind in ACCESS_KINDS)
    return Touches(array, cells.region, tuple(cells.edges), loads, stores, updates)


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

    The cost follows the number of elements in the region, and of records once for every 4 million elements.

    Args, Raises: as `touches`; `kinds` are those that count, ("load",) for what was read.
    """
    cells = Cells(launch.array(array), region, bins)
    unwritten, several = np.zeros(cells.shape, np.int64), np.zeros(cells.shape, np.int64)
    if not cells.elements:
        return Coverage(array, cells.region, tuple(cells.edges), unwritten, several)
    if prod(cells.shape) * 8 > MAX_BYTES:
        raise UsageError(f"array {array} has {cells.elements:,} elements there: ask for a smaller region, or for bins")
    for slab in _slabs(cells.region):
        one = Cells(cells.array, slab)
        stores, writes = Writers(one), Writers(one)
        for kind, found in _found(launch, array, kinds, between, blocks):
            writes.add(found)
            if kind != "atomic":
                stores.add(found)
        _add_binned(unwritten, ~writes.result()[0], slab, cells)
        _add_binned(several, stores.result()[1], slab, cells)
    return Coverage(array, cells.region, tuple(cells.edges), unwritten, several)


def touched_elements(launch: LaunchTrace, array: str) -> tuple[dict[str, int], dict[str, int]]:
    """(lanes that touched the array by kind of access, different elements by kind and under "written").

    Raises UsageError where there is no such array.
    """
    info = launch.array(array)
    lanes, distinct = dict.fromkeys(ACCESS_KINDS, 0), dict.fromkeys((*ACCESS_KINDS, "written"), 0)
    for slab in _slabs(tuple((0, n) for n in info.shape)) if info.size else ():
        cells = Cells(info, slab)
        sums = {kind: Sums(cells) for kind in ACCESS_KINDS}
        for kind, found in _found(launch, array, ACCESS_KINDS, None, ()):
            sums[kind].add(found)
        counts = {kind: sums[kind].once() for kind in ACCESS_KINDS}
        for kind, values in counts.items():
            lanes[kind] += int(values.sum())
            distinct[kind] += int(np.count_nonzero(values))
        distinct["written"] += int(np.count_nonzero(counts["store"] + counts["atomic"]))
    return lanes, distinct


def _found(
    launch: LaunchTrace,
    array: str,
    kinds: Sequence[str],
    between: tuple[int, int] | None,
    blocks: Sequence[Any],
    lines: Sequence[Any] = (),
) -> Iterator[tuple[str, Footprint | Scattered]]:
    selector = Selector(launch, blocks)
    number = launch.array(array).number
    for record in launch.records(kinds=kinds, names=(array,), between=between, lines=lines):
        selection = selector.of(record.group)
        for access in record.accesses:
            if access.array.number == number:
                for found in footprints(access, selection):
                    yield record.kind, found


def _slabs(region: tuple[tuple[int, int], ...]) -> Iterator[tuple[tuple[int, int], ...]]:
    """The region in parts of at most `SLAB_ELEMENTS`, cut along its axes in turn."""
    for axis, (first, end) in enumerate(region):
        if prod(e - f for f, e in region) <= SLAB_ELEMENTS:
            break
        if end - first == 1:
            continue
        rest = prod(e - f for f, e in region[axis + 1 :])
        step = max(SLAB_ELEMENTS // rest, 1)
        for at in range(first, end, step):
            yield from _slabs((*region[:axis], (at, min(at + step, end)), *region[axis + 1 :]))
        return
    yield region


def _add_binned(total: np.ndarray, flags: np.ndarray, slab: tuple[tuple[int, int], ...], cells: Cells) -> None:
    """Add a slab's flags to the cells that its elements are in."""
    at = []
    counts: np.ndarray = flags
    for axis, ((first, end), edges) in enumerate(zip(slab, cells.edges, strict=True)):
        from_cell = int(np.searchsorted(edges, first, "right")) - 1
        to_cell = int(np.searchsorted(edges, end, "left"))
        starts = np.maximum(edges[from_cell:to_cell] - first, 0)
        if len(starts) != counts.shape[axis]:
            counts = np.add.reduceat(counts, starts, axis=axis, dtype=np.int64)
        at.append(slice(from_cell, to_cell))
    total[tuple(at)] += counts
