"""The log of a launch's accesses, and which of them meet in one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cutile_sim.engine.context import Context
from cutile_sim.engine.group import Group
from cutile_sim.memory.access import Places
from cutile_sim.memory.even import even_items, even_steps
from cutile_sim.memory.space import SLOT_BITS, Allocation
from cutile_sim.ops.windows import Edge, Lanes, Window
from cutile_sim.sanitize.accesses import (
    BLOCK_BITS,
    BLOCK_MASK,
    Access,
    Intervals,
    Memory,
    kept,
    spanned,
    widened,
    worked_out,
)
from cutile_sim.sanitize.lanes import addresses_of
from cutile_sim.tileir.core import Op

KEPT_BYTES = 256 << 20
"""How many bytes of lanes may wait to be spread out."""
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
        self.shared: dict[int, np.ndarray] = {}
        self.kept_bytes = 0
        self._group: Group | None = None
        self._blocks = np.zeros((1, 1, 1), np.int64)

    def add(self, place: Any, mask: np.ndarray | None, item_bytes: int, op: Op, writes: bool, atomic: bool) -> None:
        """Note an access that is about to happen, or has just happened if it reads."""
        self.number += 1
        self.ops[self.number] = op
        self.blocks_of(self.cx.group)
        if isinstance(place, Window):
            self._window(place, op, writes, atomic, self._blocks)
            return
        if isinstance(place, Edge):
            for target, part in place.parts:
                along = zip(target[:3], self._blocks.shape, strict=True)
                blocks = self._blocks[tuple(t if n > 1 else slice(None) for t, n in along)]
                self._window(part, op, writes, atomic, blocks)
            return
        if isinstance(place, Lanes):
            mask = place.valid
        self._lanes(place, mask, item_bytes, op, writes, atomic)

    def blocks_of(self, group: Group) -> np.ndarray:
        """The launch-order numbers + 1 of a group's blocks, over its batch shape."""
        if group is not self._group:
            self._group, self._blocks = group, group.linear_ids(self.cx.grid) + 1
        return self._blocks

    def _memory(self, allocation: Allocation, item_bytes: int) -> Memory:
        memory = self.memories.get(allocation)
        if memory is None:
            sizes = [e.item_bytes for e in allocation.extents] or [item_bytes]
            memory = Memory(allocation, min(sizes), Intervals(), Intervals())
            self.memories[allocation] = memory
        return memory

    def _window(self, place: Window, op: Op, writes: bool, atomic: bool, blocks: np.ndarray) -> None:
        memory = self._memory(place.allocation, place.element.size_bytes)
        ratio = memory.items_in(place.element.size_bytes)
        offset = place.offset_bytes // memory.item_bytes
        shape, strides = widened(place.shape, tuple(s * ratio for s in place.strides_elems), ratio)
        low, high = _reach(offset, shape, strides)
        self._note(memory, Access(self.number, op, writes, atomic, blocks, low, high, offset, shape, strides))

    def _lanes(self, place: Any, mask: np.ndarray | None, item_bytes: int, op: Op, writes: bool, atomic: bool) -> None:
        first = _some_address(place, mask)
        if first is None:
            return
        allocation = self.cx.space.find(first)
        if allocation is not None and (atomic or not writes):
            memory = self._memory(allocation, item_bytes)
            if not memory.has_plain if writes else not memory.has_writes:
                # Where exactly does not matter as long as nobody does anything there that could be in conflict.
                where = place.addresses if isinstance(place, Lanes) else place
                self._keep(memory, where, mask, memory.items_in(item_bytes), op, writes, atomic)
                return
        addresses = addresses_of(place)
        whole = even_steps(addresses) if mask is None and addresses.ndim >= 3 else None
        if whole is not None:
            first, strides_bytes = whole
            allocation = self.cx.space.find(first)
            if allocation is not None:
                memory = self._memory(allocation, item_bytes)
                size = memory.item_bytes
                offset = (first - allocation.address) // size
                strides = tuple(s // size for s in strides_bytes)
                shape, strides = widened(addresses.shape, strides, memory.items_in(item_bytes))
                low, high = _reach(offset, shape, strides)
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
                same = (flat >> SLOT_BITS) == (int(flat[0]) >> SLOT_BITS)
            else:
                offsets = flat - allocation.address
                same = (offsets >= 0) & (offsets < allocation.size_bytes)
                if same.any():
                    memory = self._memory(allocation, item_bytes)
                    ratio = memory.items_in(item_bytes)
                    items = spanned(offsets[same] // memory.item_bytes, ratio)
                    access = Access(
                        self.number, op, writes, atomic, self._blocks, int(items.min()), int(items.max()) + 1,
                        items=items, keys=flat_keys[same].repeat(ratio),
                    )  # fmt: skip
                    self.kept_bytes += items.nbytes * 2
                    self._note(memory, access)
                same = same | ((flat >> SLOT_BITS) == (int(flat[0]) >> SLOT_BITS))
            flat, flat_keys = flat[~same], flat_keys[~same]

    def _keep(
        self,
        memory: Memory,
        place: Places | np.ndarray,
        mask: np.ndarray | None,
        lane_items: int,
        op: Op,
        writes: bool,
        atomic: bool,
    ) -> None:
        if isinstance(place, Places):
            place = Places(place.base, kept(place.items), place.item_bytes)
            self.kept_bytes += place.items.nbytes
        else:
            self.kept_bytes += place.nbytes
        access = Access(
            self.number, op, writes, atomic, self._blocks, 0, 1 << 62, place=place, mask=mask, lane_items=lane_items
        )  # fmt: skip
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
        alone = access.is_disjoint() and not access.is_shared
        harmless = all(
            (o.atomic and access.atomic) or (alone and not o.is_shared and o.is_same_window(access)) for o in others
        )
        if harmless and (not access.writes or access.atomic or access.is_disjoint()):
            memory.is_rewritten = memory.is_rewritten or (access.writes and any(o.writes for o in others))
            if access.writes and not access.atomic and access.is_shared and self.on_conflict is not None:
                last, first = (access.keys_over(access.shape, which).ravel()[:1] for which in (-1, 0))
                self.on_conflict(memory, access, last, first, np.array([access.offset_items]), "write")
            self._wait(memory, access)
            return
        self.spread(memory)
        self._spread_one(memory, access)

    def _wait(self, memory: Memory, access: Access) -> None:
        waiting = memory.waiting_writes if access.writes else memory.waiting_reads
        last = waiting.accesses[-1] if len(waiting) else None
        if last is not None and access.op is last.op and access.is_same_window(last):
            memory.is_rewritten = memory.is_rewritten or access.writes
            return
        waiting.add(access)
        if self.kept_bytes > KEPT_BYTES:
            self.kept_bytes = 0
            for each in self.memories.values():
                if each.has_writes:
                    self.spread(each)
                else:
                    each.forget_reads()

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
        if access.place is not None:
            access = worked_out(access, memory.allocation, memory.item_bytes)
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
            known = select(memory.keys(kind))
            self._compare(memory, access, known, mine, items, did)
            if access.writes and kind != "reader" and not memory.is_rewritten:
                memory.is_rewritten = bool(known.any())
            if kind == "reader" and memory.reader_before is not None:
                self._compare(memory, access, select(memory.reader_before), mine, items, did)
        target = memory.keys(name)
        if name == "reader":
            self._remember_reader(memory, target, select, mine, items)
        if access.is_shared:
            if access.writes:
                self.shared[access.number] = access.blocks
            elif name == "reader":
                select(memory.keys("reader_before"))[...] = access.keys_over(access.shape, -1)
        if items is None:
            select(target)[...] = mine
        else:
            target[items] = mine
        if access.is_disjoint():
            return
        if name == "reader":
            # Blocks of this very access that read the same item: the last one is there, another is kept beside it.
            here = select(target)
            others = (here & BLOCK_MASK) != (mine & BLOCK_MASK)
            if others.any():
                keys = np.broadcast_to(mine, here.shape)[others]
                if items is None:
                    select(memory.keys("reader_before"))[others] = keys
                else:
                    memory.keys("reader_before")[items[others]] = keys
        elif name == "writer":
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
            where = even_items(access.offset_items, access.shape, access.strides_items)[conflict]
            keys = np.broadcast_to(mine, access.shape)[conflict]
        else:
            where, keys = items[conflict], mine[conflict]
        self.on_conflict(memory, access, others[conflict], keys, where, did)


def _some_address(place: Any, mask: np.ndarray | None) -> int | None:
    """An address that is accessed; None where none is."""
    if isinstance(place, Places):
        return place.base
    addresses = place.addresses if isinstance(place, Lanes) else place
    if mask is None:
        return int(addresses.flat[0]) if addresses.size else None
    at = int(np.argmax(mask))
    return int(np.broadcast_to(addresses, mask.shape).flat[at]) if mask.flat[at] else None


def _reach(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """The first item of a window, and the end of its last one."""
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    return offset + sum(min(0, s) for s in steps), offset + sum(max(0, s) for s in steps) + 1
