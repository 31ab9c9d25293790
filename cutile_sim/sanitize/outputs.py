"""Outputs that are not written whole: clipped data, tiles outside the array, elements that nothing wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.context import Context
from cutile_sim.engine.group import UNSET
from cutile_sim.engine.values import TensorView, TileView
from cutile_sim.memory.space import Allocation, Extent
from cutile_sim.ops.windows import Lanes, Window
from cutile_sim.sanitize.accesses import Memory
from cutile_sim.sanitize.lanes import counting
from cutile_sim.sanitize.ordering import is_atomic
from cutile_sim.sanitize.races import log_of
from cutile_sim.sanitize.shadows import PADDED
from cutile_sim.sanitize.watch import BATCH_AXES, Check, Watch, first_position
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import PartitionViewType

_LOADS = frozenset(("load_view_tko", "load_ptr_tko", "atomic_rmw_tko", "atomic_cas_tko"))

_LEAVES = frozenset(("return", "break", "continue"))


@dataclass(frozen=True)
class _Miss:
    """A tile that lies wholly outside the array it is stored to."""

    op: Op
    block: tuple[int, int, int] | None
    index: tuple[int, ...]
    tiles: tuple[int, ...]
    along: int
    tile: tuple[int, ...]


class Outputs(Check):
    """CTS701: elements of an output are never written. CTS702: lanes with data fall off an array's edge. CTS703: tiles
    are stored wholly outside an array of which other elements are never written.
    """

    name = "outputs"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.feeds = watch.log is None
        self.log = log_of(watch)
        self.misses: dict[tuple[Allocation | None, str | None], _Miss] = {}
        self.carries_data: dict[Op, bool] = {}
        self.irregular: set[str] = set()
        self.tiles: dict[str, tuple[Op, tuple[int, ...], tuple[int, ...]]] = {}

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        if self.feeds and cx.op is not None:
            self.log.add(place, mask, element.size_bytes, cx.op, False, is_atomic(cx.op))

    def updating(self, place: Any, mask: np.ndarray | None, element: ElementType, arg: np.ndarray, cx: Context) -> None:
        if self.feeds and cx.op is not None:
            self.log.add(place, mask, element.size_bytes, cx.op, True, is_atomic(cx.op))

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        op = cx.op
        assert op is not None
        if self.feeds:
            self.log.add(place, mask, element.size_bytes, op, True, is_atomic(op))
        if op.name != "store_view_tko":
            return
        slots = cx.group.slots
        operand = op.operands["view"]
        assert isinstance(operand, Value)
        view: TileView = slots[operand.index]
        array = self._array_of(view.tensor)
        kind = view.type
        if not self._is_whole_array(view.tensor):  # whoever cuts out a part means that part
            self.irregular.add(array or "")
            return
        if not isinstance(kind, PartitionViewType):
            self.irregular.add(array or "")
        elif array is not None and array not in self.tiles:
            self.tiles[array] = op, kind.tile_shape, tuple(int(d) for d in kind.dim_map)
        if isinstance(place, Window) or (isinstance(place, Lanes) and place.valid is None):
            return
        lanes = counting(place, None)
        assert lanes is not None
        if not lanes.all():
            self._missed(op, view, array, lanes, slots)
            self._clipped(op, array, lanes, slots)

    def _array_of(self, tensor: TensorView) -> str | None:
        base = tensor.base
        return self.watch.array_at(int(base if isinstance(base, int) else base.flat[0]))

    def _is_whole_array(self, tensor: TensorView) -> bool:
        """Whether a view is of an array argument as it is, rather than of a slice of it."""
        base = np.asarray(tensor.base)
        allocation = self.watch.cx.space.find(int(base.flat[0]))
        if allocation is None or (base != base.flat[0]).any():
            return False
        offset_bytes = int(base.flat[0]) - allocation.address
        shape = tuple(int(np.asarray(n).flat[0]) for n in tensor.shape)
        return any(offset_bytes == e.first_byte and shape == e.shape for e in allocation.extents)

    def _missed(self, op: Op, view: TileView, array: str | None, lanes: np.ndarray, slots: list[Any]) -> None:
        """Note a block whose tile lies outside as a whole."""
        outside = ~np.any(lanes, axis=tuple(range(BATCH_AXES, lanes.ndim)))
        if array is None or (None, array) in self.misses or not outside.any():
            return
        kind = view.type
        at = first_position(outside)
        operands = op.operands["index"]
        assert isinstance(operands, tuple)
        index = []
        for operand in operands:
            numbers = slots[operand.index]
            if numbers.ndim != BATCH_AXES:
                return
            index.append(int(numbers[tuple(min(p, n - 1) for p, n in zip(at, numbers.shape, strict=True))]))
        shape = [s if isinstance(s, int) else int(s.flat[0]) for s in view.tensor.shape]
        dims = getattr(kind, "dim_map", range(len(kind.tile_shape)))
        tiles = tuple(-(-shape[d] // t) for d, t in zip(dims, kind.tile_shape, strict=True))
        along = next((i for i, (n, t) in enumerate(zip(index, tiles, strict=True)) if not 0 <= n < t), 0)
        self.misses[None, array] = _Miss(op, self.watch.block_at(at), tuple(index), tiles, along, kind.tile_shape)

    def _clipped(self, op: Op, array: str | None, lanes: np.ndarray, slots: list[Any]) -> None:
        """Lanes off the edge that were made from data, and never from padding, hold something that gets lost."""
        tile = op.operands["tile"]
        assert isinstance(tile, Value)
        if op not in self.carries_data:
            self.carries_data[op] = self.watch.depends_on([tile], _LOADS)
        if not self.carries_data[op] or self.watch.is_known("CTS702", op, array):
            return
        known = slots[self.watch.shadow + tile.index]
        partly = lanes.any(axis=tuple(range(BATCH_AXES, lanes.ndim)), keepdims=True)
        lost = ~lanes & partly
        if known is not UNSET:
            lost = lost & ((known & PADDED) == 0)
        if lost.any():
            at = first_position(lost)
            self.watch.report(
                "CTS702",
                "warning",
                f"the tile reaches past the edge of array '{array}', and lanes with data in them are not stored",
                op,
                block=self.watch.block_at(at),
                lane=at[BATCH_AXES:],
                array=array,
                count=int(np.count_nonzero(lost)),
            )

    # At the end

    def finished(self, cx: Context) -> None:
        """Look for elements that nothing wrote."""
        for allocation, extent in list(self.watch.cx.space.extents()):
            memory = self.log.memories.get(allocation)
            required = extent.name in self.watch.options.outputs
            stored = memory is not None and any(op.spec.effect == "write" for op in memory.write_ops)
            if 0 in extent.shape or not (required or stored):  # what is only updated may well be so in places
                continue
            if memory is not None and self._is_whole(memory, extent):
                continue
            missing = self._missing(memory, extent)
            if missing.any():
                self._unwritten(memory, extent, missing, required)

    def _is_whole(self, memory: Memory, extent: Extent) -> bool:
        """Whether waiting writes, which do not overlap, already make up the whole array."""
        if memory.is_spread or not extent.is_dense:
            return False
        first, end = extent.first_byte // memory.item_bytes, extent.end_byte // memory.item_bytes
        writes = [a for a in memory.waiting_writes.accesses if a.low >= first and a.high <= end]
        if not all(a.is_disjoint() and not a.is_shared for a in writes):
            return False
        return sum(a.size for a in writes) >= end - first

    def _missing(self, memory: Memory | None, extent: Extent) -> np.ndarray:
        if memory is None:
            return np.ones(extent.shape, bool)
        self.log.spread(memory)
        return ~(self._keys(memory, extent, "writer") | self._keys(memory, extent, "updater"))

    def _keys(self, memory: Memory, extent: Extent, name: str) -> np.ndarray:
        """Whether there is a key for each element of an array."""
        keys = getattr(memory, name)
        if keys is None:
            return np.zeros(extent.shape, bool)
        ratio = memory.items_in(extent.item_bytes)
        window = np.ndarray(
            extent.shape,
            np.int64,
            keys.data,
            extent.first_byte // memory.item_bytes * 8,
            tuple(s * ratio * 8 for s in extent.strides_elems),
        )
        return window != 0

    def _unwritten(self, memory: Memory | None, extent: Extent, missing: np.ndarray, required: bool) -> None:
        count = int(np.count_nonzero(missing))
        first = first_position(missing)
        op, tile, dims = self.tiles.get(extent.name, (None, (), ()))
        what = f"{count:,} of {missing.size:,} elements of array '{extent.name}' are never written"
        miss = self.misses.get((None, extent.name))
        if miss is not None and op is not None and memory is not None and not memory_reads(memory):
            d = miss.along
            self.watch.report(
                "CTS703",
                "error",
                f"tile {miss.index[d]} along dimension {d} lies outside array '{extent.name}', which has"
                f" {miss.tiles[d]} tiles of {miss.tile[d]} there, while {what}"
                + (": is an element's index used as a tile's?" if miss.index[d] % miss.tile[d] == 0 else ""),
                miss.op,
                block=miss.block,
                array=extent.name,
                index=miss.index,
            )
            return
        reason = self._reason(memory, extent, missing, op, tile, dims)
        if required or reason:
            self.watch.report(
                "CTS701",
                "error" if required else "warning",
                f"{what}, the first at index {first}{reason}",
                op if op is not None else next(iter(memory.write_ops), None) if memory is not None else None,
                array=extent.name,
                index=first,
                count=count,
            )

    def _reason(
        self,
        memory: Memory | None,
        extent: Extent,
        missing: np.ndarray,
        op: Op | None,
        tile: tuple[int, ...],
        dims: tuple[int, ...],
    ) -> str:
        """Why that is most likely a mistake; "" where the kernel may well mean it."""
        if op is None or memory is None or extent.name in self.irregular:
            return ""
        if any(o.name != "store_view_tko" for o in memory.write_ops):
            return ""
        index = op.operands["index"]
        assert isinstance(index, tuple)
        ways = [o.inputs[0] for o in self._branches_over(op)]
        if self.watch.depends_on([*index, *ways], _LOADS):  # the data may say so
            return ""
        for t, d in zip(tile, dims, strict=True):
            n = extent.shape[d]
            begin = _suffix(missing, d)
            if begin is None or t <= 1 or begin % t:
                continue
            if 0 < n - begin < t and begin:
                return f": the grid leaves out the last, partial tile along dimension {d}; round it up"
            if self._input_ends_at(extent, n, begin):
                return (
                    f": the grid ends at {begin} of {n} along dimension {d}, and an input of that length is not"
                    " read to its end either"
                )
        if memory_reads(memory) or missing.all():
            return ""
        return ": tiles in the middle are left out" if _has_holes(missing) else ""

    def _branches_over(self, op: Op) -> list[Op]:
        """The branches that decide whether an operation runs: those it lies in, and those that leave early."""
        found = [o for o in self.watch.ops if o.name == "if" and any(inner.name in _LEAVES for inner in o.walk())]
        parent = self.watch.parents.get(op)
        while parent is not None:
            if parent.name == "if":
                found.append(parent)
            parent = self.watch.parents.get(parent)
        return found

    def _input_ends_at(self, output: Extent, length: int, begin: int) -> bool:
        """Whether an array that is only read is read just as far along a dimension of that length."""
        for allocation, extent in self.watch.cx.space.extents():
            memory = self.log.memories.get(allocation)
            if memory is None or memory.has_writes or memory.has_forgotten or extent.name == output.name:
                continue
            for d, n in enumerate(extent.shape):
                if n == length:
                    self.log.spread(memory)
                    unread = ~self._keys(memory, extent, "reader")
                    if _suffix(unread, d) == begin:
                        return True
        return False


def memory_reads(memory: Memory) -> bool:
    """Whether the kernel also reads the memory."""
    return memory.reader is not None or len(memory.waiting_reads) > 0


def _suffix(missing: np.ndarray, d: int) -> int | None:
    """Where the missing elements begin, if they are all from there on along a dimension."""
    others = tuple(a for a in range(missing.ndim) if a != d)
    every, some = np.atleast_1d(np.all(missing, axis=others)), np.atleast_1d(np.any(missing, axis=others))
    if not every.any() or not np.array_equal(every, some):
        return None
    begin = int(np.argmax(every))
    return begin if every[begin:].all() else None


def _has_holes(missing: np.ndarray) -> bool:
    """Whether something is written after something that is not."""
    flat = missing.ravel()
    first = int(np.argmax(flat))
    return bool(not flat[first:].all())
