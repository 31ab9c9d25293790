"""What blocks did to memory: who wrote and who read each element, as lazily as can be.

An access is kept as the few numbers of its window while no other access of the allocation overlaps it. Only where one
does is it spread out over an array of keys, one an item: `number of the access << 32 | number of the block + 1`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cutile_sim.engine.context import Context
from cutile_sim.memory.access import Places
from cutile_sim.memory.space import Allocation
from cutile_sim.ops.locate import Edge, Lanes, Window
from cutile_sim.sanitize.lanes import addresses_of
from cutile_sim.tileir.core import Op

BLOCK_BITS = 32
BLOCK_MASK = np.int64((1 << BLOCK_BITS) - 1)
KEPT_BYTES = 256 << 20
"""How many bytes of addresses may wait to be spread out."""


@dataclass(frozen=True, eq=False)
class Access:
    """One operation's access to one allocation.

    Attributes:
        number: Position in the order of all accesses.
        blocks: Launch-order number + 1 of the block, over the batch shape of the group (int64).
        offset_items, shape, strides_items: A window, in items from the allocation's start.
        items: Item indices, where it is no window, of `lane_shape`'s batch axes.
        keys: For `items`: `number << 32 | block + 1` of each.
        low, high: The items it may touch.
    """

    number: int
    op: Op
    writes: bool
    atomic: bool
    blocks: np.ndarray
    low: int
    high: int
    offset_items: int = 0
    shape: tuple[int, ...] = ()
    strides_items: tuple[int, ...] = ()
    items: np.ndarray | None = None
    keys: np.ndarray | None = None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape)) if self.items is None else self.items.size

    def is_same_window(self, other: Access) -> bool:
        """Whether another access touches the same items from the same blocks in the same way."""
        return (
            self.items is None
            and other.items is None
            and self.offset_items == other.offset_items
            and self.shape == other.shape
            and self.strides_items == other.strides_items
            and (self.blocks is other.blocks or np.array_equal(self.blocks, other.blocks))
        )

    def keys_over(self, shape: tuple[int, ...]) -> np.ndarray:
        """The window's keys, to be broadcast to its shape."""
        batch = shape[:3]
        blocks = self.blocks
        for axis in range(3):
            if batch[axis] == 1 and blocks.shape[axis] > 1:  # all these blocks do the same; one stands for them
                blocks = blocks.take([0], axis=axis)
        return (blocks + (self.number << BLOCK_BITS)).reshape(blocks.shape + (1,) * (len(shape) - 3))

    @property
    def is_shared(self) -> bool:
        """Whether several blocks make this one access together, because nothing in it depends on the block."""
        return self.items is None and any(n == 1 and b > 1 for n, b in zip(self.shape, self.blocks.shape))

    def is_disjoint(self) -> bool:
        """Whether no two lanes of a window are the same item."""
        if self.items is not None:
            return False
        reach = 0
        for stride, n in sorted((abs(s), n) for s, n in zip(self.strides_items, self.shape) if n > 1):
            if stride <= reach:
                return False
            reach += stride * (n - 1)
        return True


class Intervals:
    """Accesses that wait to be spread out, with the items that each may touch."""

    def __init__(self) -> None:
        self.accesses: list[Access] = []
        self._lows = np.empty(64, np.int64)
        self._highs = np.empty(64, np.int64)

    def add(self, access: Access) -> None:
        """One more."""
        n = len(self.accesses)
        if n == self._lows.size:
            self._lows, self._highs = np.resize(self._lows, 2 * n), np.resize(self._highs, 2 * n)
        self._lows[n], self._highs[n] = access.low, access.high
        self.accesses.append(access)

    def overlapping(self, access: Access) -> list[Access]:
        """Those that may touch an item of an access."""
        n = len(self.accesses)
        if not n:
            return []
        overlaps = (self._lows[:n] < access.high) & (self._highs[:n] > access.low)
        return [self.accesses[i] for i in np.flatnonzero(overlaps)]

    def __len__(self) -> int:
        return len(self.accesses)


@dataclass(eq=False)
class Memory:
    """The accesses of one allocation: those that wait, and what was spread out."""

    allocation: Allocation
    item_bytes: int
    waiting_reads: Intervals
    waiting_writes: Intervals
    writer: np.ndarray | None = None
    updater: np.ndarray | None = None
    reader: np.ndarray | None = None
    reader_before: np.ndarray | None = None
    write_ops: dict[Op, None] = field(default_factory=dict)
    has_plain: bool = False

    def note(self, access: Access) -> None:
        """Remember what kinds of accesses there were."""
        if access.writes:
            self.write_ops[access.op] = None
        self.has_plain = self.has_plain or not access.atomic

    @property
    def has_writes(self) -> bool:
        return bool(self.write_ops)

    @property
    def is_spread(self) -> bool:
        return self.writer is not None

    def keys(self, name: str) -> np.ndarray:
        """An array of keys, made when it is needed."""
        found = getattr(self, name)
        if found is None:
            found = np.zeros(-(-self.allocation.size_bytes // self.item_bytes), np.int64)
            setattr(self, name, found)
        return found


OnConflict = Callable[["Memory", Access, np.ndarray, np.ndarray, np.ndarray, str], None]
"""(memory, access, keys of the others, keys of the access, items, what the others did: "write", "update" or "read")."""


class AccessLog:
    """All accesses of a launch. `on_conflict` is told of accesses of different blocks to one item."""

    def __init__(self, cx: Context, on_conflict: OnConflict | None = None) -> None:
        self.cx = cx
        self.on_conflict = on_conflict
        self.number = 0
        self.ops: dict[int, Op] = {}
        self.memories: dict[Allocation, Memory] = {}
        self.kept_bytes = 0
        self._group: Any = None
        self._blocks = np.zeros((1, 1, 1), np.int64)

    def add(self, place: Any, mask: np.ndarray | None, item_bytes: int, op: Op, writes: bool, atomic: bool) -> None:
        """Note an access that is about to happen, or has just happened if it reads."""
        self.number += 1
        self.ops[self.number] = op
        group = self.cx.group
        if group is not self._group:
            self._group, self._blocks = group, group.linear_ids(self.cx.grid) + 1
        if isinstance(place, Window):
            self._window(place, op, writes, atomic, self._blocks)
            return
        if isinstance(place, Edge):
            for target, part in place.parts:
                blocks = self._blocks[tuple(t if n > 1 else slice(None) for t, n in zip(target, self._blocks.shape))]
                self._window(part, op, writes, atomic, blocks)
            return
        if isinstance(place, Lanes):
            mask = place.valid
        self._lanes(place, mask, item_bytes, op, writes, atomic)

    def _memory(self, allocation: Allocation, item_bytes: int) -> Memory:
        memory = self.memories.get(allocation)
        if memory is None:
            sizes = [e.item_bytes for e in allocation.extents] or [item_bytes]
            memory = Memory(allocation, min(sizes), Intervals(), Intervals())
            self.memories[allocation] = memory
        return memory

    def _window(self, place: Window, op: Op, writes: bool, atomic: bool, blocks: np.ndarray) -> None:
        memory = self._memory(place.allocation, place.element.size_bytes)
        ratio = place.element.size_bytes // memory.item_bytes or 1
        offset = place.offset_bytes // memory.item_bytes
        strides = tuple(s * ratio for s in place.strides_elems)
        low = offset + sum(min(0, (n - 1) * s) for n, s in zip(place.shape, strides))
        high = offset + sum(max(0, (n - 1) * s) for n, s in zip(place.shape, strides)) + ratio
        self._note(memory, Access(self.number, op, writes, atomic, blocks, low, high, offset, place.shape, strides))

    def _lanes(self, place: Any, mask: np.ndarray | None, item_bytes: int, op: Op, writes: bool, atomic: bool) -> None:
        if isinstance(place, Places) and place.item_bytes == item_bytes:
            allocation = self.cx.space.find(place.base)
            if allocation is not None and (atomic or not writes):
                memory = self._memory(allocation, item_bytes)
                if not memory.has_plain if writes else not memory.has_writes:
                    # Where exactly does not matter as long as nobody does anything there that could be in conflict.
                    self._keep_lanes(memory, place, mask, op, writes, atomic)
                    return
        addresses = addresses_of(place)
        whole = _as_window(addresses, mask)
        if whole is not None:
            first, strides_bytes = whole
            allocation = self.cx.space.find(first)
            if allocation is not None:
                memory = self._memory(allocation, item_bytes)
                size = memory.item_bytes
                offset = (first - allocation.address) // size
                strides = tuple(s // size for s in strides_bytes)
                shape = addresses.shape
                low = offset + sum(min(0, (n - 1) * s) for n, s in zip(shape, strides))
                high = offset + sum(max(0, (n - 1) * s) for n, s in zip(shape, strides)) + 1
                if low >= 0 and high <= -(-allocation.size_bytes // size):
                    self._note(
                        memory,
                        Access(self.number, op, writes, atomic, self._blocks, low, high, offset, shape, strides),
                    )
                    return
        self._scattered(addresses, mask, item_bytes, op, writes, atomic)

    def _scattered(
        self, addresses: np.ndarray, mask: np.ndarray | None, item_bytes: int, op: Op, writes: bool, atomic: bool
    ) -> None:
        keys = (self._blocks + (self.number << BLOCK_BITS)).reshape(self._blocks.shape + (1,) * (addresses.ndim - 3))
        shape = np.broadcast_shapes(addresses.shape, keys.shape)
        flat = np.broadcast_to(addresses, shape).ravel()
        flat_keys = np.broadcast_to(keys, shape).ravel()
        if mask is not None:
            chosen = np.broadcast_to(mask, shape).ravel()
            flat, flat_keys = flat[chosen], flat_keys[chosen]
        while flat.size:
            allocation = self.cx.space.find(int(flat[0]))
            if allocation is None:
                same = (flat >> 36) == (int(flat[0]) >> 36)
            else:
                offsets = flat - allocation.address
                same = (offsets >= 0) & (offsets < allocation.size_bytes)
                if same.any():
                    memory = self._memory(allocation, item_bytes)
                    items = offsets[same] // memory.item_bytes
                    access = Access(
                        self.number, op, writes, atomic, self._blocks, int(items.min()), int(items.max()) + 1,
                        items=items, keys=flat_keys[same],
                    )  # fmt: skip
                    self.kept_bytes += items.nbytes * 2
                    self._note(memory, access)
                same = same | ((flat >> 36) == (int(flat[0]) >> 36))
            flat, flat_keys = flat[~same], flat_keys[~same]

    def _keep_lanes(
        self, memory: Memory, place: Places, mask: np.ndarray | None, op: Op, writes: bool, atomic: bool
    ) -> None:
        start = (place.base - memory.allocation.address) // memory.item_bytes
        ratio = place.item_bytes // memory.item_bytes or 1
        items = place.items
        keys = (self._blocks + (self.number << BLOCK_BITS)).reshape(self._blocks.shape + (1,) * (items.ndim - 3))
        shape = np.broadcast_shapes(items.shape, keys.shape)
        chosen = np.broadcast_to(items, shape)
        spread = np.broadcast_to(keys, shape)
        if mask is not None:
            lanes = np.broadcast_to(mask, shape)
            chosen, spread = chosen[lanes], spread[lanes]
        access = Access(
            self.number, op, writes, atomic, self._blocks, 0, 1 << 62,
            items=kept(chosen * ratio + start if start or ratio > 1 else chosen), keys=spread,
        )  # fmt: skip
        self.kept_bytes += chosen.size * 8
        memory.note(access)
        if memory.is_spread:
            self._spread_one(memory, access)
        else:
            self._wait(memory, access)

    def _note(self, memory: Memory, access: Access) -> None:
        memory.note(access)
        if memory.is_spread:
            self._spread_one(memory, access)
            return
        others = memory.waiting_writes.overlapping(access)
        if access.writes:
            others += memory.waiting_reads.overlapping(access)
        harmless = all(
            (o.atomic and access.atomic) or (o.is_same_window(access) and access.is_disjoint() and not access.is_shared)
            for o in others
        )
        if harmless and (not access.writes or access.atomic or access.is_disjoint()):
            self._wait(memory, access)
            return
        self.spread(memory)
        self._spread_one(memory, access)

    def _wait(self, memory: Memory, access: Access) -> None:
        waiting = memory.waiting_writes if access.writes else memory.waiting_reads
        last = waiting.accesses[-1] if len(waiting) else None
        if last is not None and access.op is last.op and access.is_same_window(last):
            return
        waiting.add(access)
        if self.kept_bytes > KEPT_BYTES:
            self.kept_bytes = 0
            for each in list(self.memories.values()):
                self.spread(each)

    def spread(self, memory: Memory) -> None:
        """Spread out all accesses that wait."""
        if memory.is_spread:
            return
        memory.keys("writer")
        waiting = sorted((*memory.waiting_reads.accesses, *memory.waiting_writes.accesses), key=lambda a: a.number)
        memory.waiting_reads, memory.waiting_writes = Intervals(), Intervals()
        for access in waiting:
            self._spread_one(memory, access)

    def _spread_one(self, memory: Memory, access: Access) -> None:
        name = "updater" if access.atomic and access.writes else "writer" if access.writes else "reader"
        against = [("writer", "write")]
        if access.writes and not access.atomic:
            against += [("updater", "update"), ("reader", "read")]
        elif access.writes:
            against += [("reader", "read")]
        elif not access.atomic:
            against += [("updater", "update")]
        items, mine, select = self._selection(memory, access)
        for kind, did in against:
            if getattr(memory, kind) is None and kind != "writer":
                continue
            self._compare(memory, access, select(memory.keys(kind)), mine, items, did)
            if kind == "reader" and memory.reader_before is not None:
                self._compare(memory, access, select(memory.reader_before), mine, items, did)
        target = memory.keys(name)
        if name == "reader":
            self._remember_reader(memory, target, select, mine, items)
        if items is None:
            select(target)[...] = mine
        else:
            target[items] = mine
        if name == "writer" and not access.is_disjoint():
            # Blocks of this very access that wrote the same item: the last one's key is there.
            self._compare(memory, access, select(target), mine, items, "write")

    def _selection(
        self, memory: Memory, access: Access
    ) -> tuple[np.ndarray | None, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        if access.items is not None:
            items = access.items.ravel()
            assert access.keys is not None
            return items, access.keys.ravel(), lambda keys: keys[items]
        mine = access.keys_over(access.shape)

        def window(keys: np.ndarray) -> np.ndarray:
            return np.ndarray(
                access.shape, np.int64, keys.data, access.offset_items * 8, tuple(s * 8 for s in access.strides_items)
            )

        return None, mine, window

    def _remember_reader(
        self, memory: Memory, target: np.ndarray, select: Any, mine: np.ndarray, items: np.ndarray | None
    ) -> None:
        """Keep the reader before, where it was another block: of many readers, two are enough to tell."""
        before = select(target)
        other = (before != 0) & ((before & BLOCK_MASK) != (mine & BLOCK_MASK))
        if not other.any():
            return
        kept = memory.keys("reader_before")
        if items is None:
            window = select(kept)
            window[...] = np.where(other, before, window)
        else:
            kept[items[other]] = before[other]

    def _compare(
        self,
        memory: Memory,
        access: Access,
        others: np.ndarray,
        mine: np.ndarray,
        items: np.ndarray | None,
        did: str,
    ) -> None:
        if self.on_conflict is None or not others.any():
            return
        conflict = (others != 0) & ((others & BLOCK_MASK) != (mine & BLOCK_MASK))
        if not conflict.any():
            return
        if items is None:
            where = _window_items(access)[conflict]
            keys = np.broadcast_to(mine, access.shape)[conflict]
        else:
            where, keys = items[conflict], mine[conflict]
        self.on_conflict(memory, access, others[conflict], keys, where, did)


def kept(items: np.ndarray) -> np.ndarray:
    """The items, copied where they are a window of memory that may change."""
    base: Any = items
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return items.copy() if not isinstance(base, np.ndarray) or base.dtype == np.uint8 else items


def _window_items(access: Access) -> np.ndarray:
    total: np.ndarray = np.full((1,) * len(access.shape), access.offset_items, np.int64)
    for axis, (n, stride) in enumerate(zip(access.shape, access.strides_items, strict=True)):
        lanes = [1] * len(access.shape)
        lanes[axis] = n
        total = total + (np.arange(n, dtype=np.int64) * stride).reshape(lanes)
    return np.broadcast_to(total, access.shape)


def _as_window(addresses: np.ndarray, mask: np.ndarray | None) -> tuple[int, tuple[int, ...]] | None:
    """(first address, strides in bytes) of lanes that lie evenly, else None."""
    if mask is not None or addresses.size == 0 or addresses.ndim < 3:
        return None
    first = int(addresses.flat[0])
    strides = []
    expected: Any = np.int64(first)
    for axis, n in enumerate(addresses.shape):
        at = [0] * addresses.ndim
        if n == 1:
            strides.append(0)
            continue
        at[axis] = 1
        step = int(addresses[tuple(at)]) - first
        strides.append(step)
        lanes = [1] * addresses.ndim
        lanes[axis] = n
        expected = expected + (np.arange(n, dtype=np.int64) * step).reshape(lanes)
    return (first, tuple(strides)) if np.array_equal(np.broadcast_to(expected, addresses.shape), addresses) else None
