"""The observer that records one launch."""

from __future__ import annotations

import time
from math import prod
from typing import Any, NamedTuple

import numpy as np

from cutile_sim.dtypes import ElementType, to_storage
from cutile_sim.engine.context import Context
from cutile_sim.engine.group import Group
from cutile_sim.engine.observer import Observer
from cutile_sim.engine.plan import Plan
from cutile_sim.errors import CutileSimError, KernelError, UsageError
from cutile_sim.findings import Finding
from cutile_sim.plain import plain
from cutile_sim.tileir.core import Function, Op
from cutile_sim.traces.describe import describe_function, number_type
from cutile_sim.traces.format import RESULT, contents_member
from cutile_sim.traces.options import TraceOptions, kind_of
from cutile_sim.traces.places import Arrays, Region, regions
from cutile_sim.traces.writer import ArchiveWriter, Chunks

KNOWN_GROUPS = 1024
"""How many groups are remembered, so that each is described once."""
_MOVES = ("load", "store", "atomic")
_TILES = ("product", "reduce", "scan")


class _Blocks(NamedTuple):
    """A group's row, -1 where none of its blocks is recorded; its shape, and the blocks that are (None for all)."""

    ids: Any
    row: int
    shape: tuple[int, int, int]
    chosen: np.ndarray | None

    def cut(self, array: np.ndarray) -> np.ndarray:
        """A batched array of the recorded blocks only: batch axes (1, 1, n), or (1, 1, 1) where they share it."""
        if self.chosen is None or array.shape[:3] == (1, 1, 1):
            return array
        spread = np.broadcast_to(array, self.shape + array.shape[3:])
        return spread[np.unravel_index(self.chosen, self.shape)][None, None]


class Recorder(Observer):
    """Records one launch into a file. `close` must be called at its end, however it ends.

    `needs_names`: raise UsageError where the launch lacks an array that the options name.
    """

    def __init__(
        self, archive: ArchiveWriter, function: Function, options: TraceOptions, *, needs_names: bool = False
    ) -> None:
        self.options = options
        self.function = function
        self._archive = archive
        self._needs_names = needs_names
        self._launch = -1
        self._chunks = Chunks(archive, self._launch)
        self._numbers = {op: n for n, op in enumerate(function.walk())}
        self._kinds = {op: kind_of(op) for op in self._numbers}
        self._recorded = {op for op in self._numbers if options.takes(op)}
        self._tallies: dict[Op, list[int]] = {op: [0, 0, 0, 0, 0] for op in self._numbers}
        self._elements: dict[str, int] = {}
        self._groups: dict[int, _Blocks] = {}
        self._regions: list[Region] = []
        self._tiles: list[tuple[int, np.ndarray, ElementType]] = []
        self._moved_bytes = (0, 0)
        self._began = self._start = time.perf_counter_ns()
        self._arrays: Arrays | None = None
        self._running: tuple[Op, Group] | None = None
        self._grid = (0, 0, 0)

    # What the engine tells

    def started(self, plan: Plan, cx: Context) -> None:
        arrays = Arrays(cx)
        present = [str(entry["name"]) for entry in arrays.entries]
        for name in self.options.names if self._needs_names else ():
            if name not in present:
                raise UsageError(f"there is no array {name!r}; there are {', '.join(present) or 'none'}")
        self._launch = self._archive.begin(self.function.name)
        self._chunks = Chunks(self._archive, self._launch)
        self._arrays, self._grid = arrays, cx.grid
        self._keep_contents("before")
        self._began = self._start = time.perf_counter_ns()

    def before(self, op: Op, slots: list[Any], cx: Context) -> None:
        counts = cx.counts
        self._moved_bytes = counts.bytes_loaded, counts.bytes_stored
        self._running = op, cx.group
        self._start = time.perf_counter_ns()

    def after(self, op: Op, slots: list[Any], cx: Context) -> None:
        took = time.perf_counter_ns() - self._start
        tally, group = self._tallies[op], cx.group
        tally[0] += 1
        # What does not depend on the block runs once here, ahead of all groups, but in each block of a GPU.
        tally[1] += prod(self._grid) if group is None else group.size
        tally[2] += took
        loaded, stored = self._moved_bytes
        tally[3] += cx.counts.bytes_loaded - loaded
        tally[4] += cx.counts.bytes_stored - stored
        if group is None or op not in self._recorded:
            return
        kind = self._kinds[op]
        if kind in _MOVES and not self._regions:
            return
        blocks = self._blocks(group)
        if blocks is None:
            return
        if self.options.values:
            self._take_values(op, kind, slots)
        self._record(op, blocks, took)

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        self._touch(place, mask, element, cx)

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        if self._touch(place, mask, element, cx) and self.options.values:
            self._tiles.append((0, _copied(stored), element))

    # Recording

    def _touch(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> bool:
        assert self._arrays is not None
        if cx.op not in self._recorded or self._blocks(cx.group) is None:
            return False
        found = list(regions(place, mask, element, self._arrays, cx.group))
        if self.options.names:
            entries = self._arrays.entries
            found = [r for r in found if entries[r.array]["name"] in self.options.names]
        self._regions += found
        return bool(found)

    def _take_values(self, op: Op, kind: str, slots: list[Any]) -> None:
        if kind in _TILES:
            for role, value in enumerate(op.inputs):
                self._take(role, slots[value.index], number_type(value))
        if kind != "store":
            for role, value in enumerate(op.results):
                self._take(RESULT + role, slots[value.index], number_type(value))

    def _take(self, role: int, value: Any, element: ElementType | None) -> None:
        if element is not None and isinstance(value, np.ndarray):
            self._tiles.append((role, _copied(to_storage(_once_a_batch(value), element)), element))

    def _blocks(self, group: Group) -> _Blocks | None:
        """What is recorded of a group; None where none of its blocks is."""
        known = self._groups.get(id(group.ids))
        if known is None or known.ids is not group.ids:
            known = self._new_group(group)
        return None if known.row < 0 else known

    def _new_group(self, group: Group) -> _Blocks:
        if len(self._groups) >= KNOWN_GROUPS:
            self._groups.clear()
        every = self.options.takes_every_block
        mask = None if every else self.options.chosen(group.ids, group.linear_ids(self._grid))
        chosen = None if mask is None else np.flatnonzero(mask).astype(np.int32)
        row = -1
        if chosen is None or chosen.size:
            chunks = self._chunks
            ids = np.concatenate([np.ravel(i) for i in group.ids]).astype(np.int32, copy=False)
            row = len(chunks.rows["groups"])
            count = group.size if chosen is None else chosen.size
            at = -1 if chosen is None else chunks.keep(chosen)
            chunks.rows["groups"].append((group.shape, int(group.is_box), chunks.keep(ids), count, at))
        # The ids are kept with it, so that their identity is not given to others.
        known = self._groups[id(group.ids)] = _Blocks(group.ids, row, group.shape, chosen)
        return known

    def _record(self, op: Op, blocks: _Blocks, took_ns: int) -> None:
        chunks = self._chunks
        accesses, tiles = chunks.rows["accesses"], chunks.rows["tiles"]
        first_access, first_tile = len(accesses), len(tiles)
        for region in self._regions:
            accesses.append(_access_row(chunks, region, blocks))
        for role, array, element in self._tiles:
            code = self._elements.setdefault(element.name, len(self._elements))
            array = blocks.cut(array)
            dims = chunks.add_dims(array.shape)
            tiles.append((role, code, array.ndim, dims, chunks.keep(array)))
        start = self._start - self._began
        counts = first_access, len(self._regions), first_tile, len(self._tiles)
        chunks.rows["records"].append((self._numbers[op], blocks.row, start, took_ns, *counts))
        self._regions.clear()
        self._tiles.clear()
        if chunks.is_full:
            chunks.flush()
            self._groups.clear()

    # The end

    def close(
        self,
        *,
        printed: str = "",
        error: BaseException | None = None,
        findings: tuple[Finding, ...] = (),
        seconds: float = 0.0,
    ) -> None:
        """Write what is left, and what is known of the launch as a whole; nothing where it never started."""
        if self._arrays is None:
            return
        if self._regions and self._running is not None:
            # The access that stopped the launch.
            op, group = self._running
            blocks = self._blocks(group)
            if blocks is not None:
                self._record(op, blocks, 0)
        self._keep_contents("after")
        self._chunks.flush()
        facts = {
            "kernel": self.function.name,
            "grid": list(self._grid),
            "options": plain(self.options.to_json()),
            "arrays": self._arrays.entries,
            "elements": list(self._elements),
            "counts": {
                name: [tally[i] for tally in self._tallies.values()]
                for i, name in enumerate(("executions", "blocks", "took_ns", "bytes_loaded", "bytes_stored"))
            },
            "printed": printed,
            "error": None if error is None else plain(_error(error)),
            "findings": plain([f.to_json() for f in findings]),
            "seconds": seconds,
        }
        self._archive.end(self._launch, self._chunks.written, facts, describe_function(self.function))

    def _keep_contents(self, when: str) -> None:
        assert self._arrays is not None
        if not self.options.contents:
            return
        for number, (allocation, extent) in enumerate(self._arrays.extents):
            item = extent.item_bytes
            view = np.ndarray(
                extent.shape,
                f"V{item}",
                allocation.data,
                extent.first_byte,
                tuple(s * item for s in extent.strides_elems),
            )
            data = np.ascontiguousarray(view).reshape(-1).view(np.uint8)
            self._archive.write(contents_member(self._launch, number, when), [data.data] if data.size else [])


def _access_row(chunks: Chunks, region: Region, blocks: _Blocks) -> tuple[Any, ...]:
    lanes, mask, lane_bytes = -1, -1, 0
    shape = region.shape
    if region.lanes is not None:
        kept = blocks.cut(region.lanes)
        lanes, lane_bytes, shape = chunks.keep(kept), kept.itemsize, kept.shape
        if region.mask is not None:
            mask = chunks.keep(blocks.cut(region.mask))
    dims = chunks.add_dims((*shape, *region.strides))
    return (
        region.array, region.unit_bytes, region.offset, region.begin, region.end, len(shape), dims, lanes, lane_bytes,
        mask,
    )  # fmt: skip


def _once_a_batch(array: np.ndarray) -> np.ndarray:
    """The array with batch axes cut to size 1 along which it only repeats."""
    return array[tuple(slice(0, 1) if array.strides[a] == 0 else slice(None) for a in range(3))]


def _copied(array: np.ndarray) -> np.ndarray:
    """A copy: values may be windows of memory that is written later."""
    return np.array(_once_a_batch(array))


def _error(error: BaseException) -> dict[str, Any]:
    location = error.location if isinstance(error, CutileSimError) else None
    block = error.block if isinstance(error, KernelError) else None
    return {
        "type": type(error).__name__,
        "message": error.reason if isinstance(error, CutileSimError) else str(error),
        "block": None if block is None else list(block),
        "file": None if location is None else location.file,
        "line": None if location is None else location.line,
    }
