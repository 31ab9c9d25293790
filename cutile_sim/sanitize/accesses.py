"""What blocks did to memory: who wrote and who read each element, as lazily as can be.

An access is kept as the few numbers of its window while no other access of the allocation overlaps it. Only where one
does is it spread out over an array of keys, one an item: `number of the access << 32 | number of the block + 1`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from cutile_sim.memory.access import Places
from cutile_sim.memory.space import Allocation
from cutile_sim.tileir.core import Op

BLOCK_BITS = 32
BLOCK_MASK = np.int64((1 << BLOCK_BITS) - 1)


@dataclass(frozen=True, eq=False)
class Access:
    """One operation's access to one allocation.

    Attributes:
        number: Position in the order of all accesses.
        blocks: Launch-order number + 1 of the block, over the batch shape of the group (int64).
        offset_items, shape, strides_items: A window, in items from the allocation's start.
        items: Item indices, where it is no window, of `lane_shape`'s batch axes.
        keys: For `items`: `number << 32 | block + 1` of each.
        place, mask: Lanes whose items and keys are still to be worked out: `Places` or byte addresses.
        lane_items: For `place`: how many items a lane spans, more than one where another array has narrower elements.
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
    place: Places | np.ndarray | None = None
    mask: np.ndarray | None = None
    lane_items: int = 1

    @property
    def is_window(self) -> bool:
        """Whether it is a window, rather than lanes anywhere."""
        return self.items is None and self.place is None

    @property
    def size(self) -> int:
        """Items, of a window."""
        return int(np.prod(self.shape))

    def is_same_window(self, other: Access) -> bool:
        """Whether another access touches the same items from the same blocks in the same way."""
        return (
            self.is_window
            and other.is_window
            and self.offset_items == other.offset_items
            and self.shape == other.shape
            and self.strides_items == other.strides_items
            and (self.blocks is other.blocks or np.array_equal(self.blocks, other.blocks))
        )

    def keys_over(self, shape: tuple[int, ...], which: int = 0) -> np.ndarray:
        """The window's keys, to be broadcast to its shape. Of blocks that share the access, one stands for all: the
        first, or with -1 the last.
        """
        batch = shape[:3]
        blocks = self.blocks
        for axis in range(3):
            if batch[axis] == 1 and blocks.shape[axis] > 1:
                blocks = blocks.take([which], axis=axis)
        return (blocks + (self.number << BLOCK_BITS)).reshape(blocks.shape + (1,) * (len(shape) - 3))

    @property
    def is_shared(self) -> bool:
        """Whether several blocks make this one access together, because nothing in it depends on the block."""
        return self.is_window and any(n == 1 and b > 1 for n, b in zip(self.shape[:3], self.blocks.shape, strict=True))

    def is_disjoint(self) -> bool:
        """Whether no two lanes of a window are the same item."""
        if not self.is_window:
            return False
        reach = 0
        for stride, n in sorted((abs(s), n) for s, n in zip(self.strides_items, self.shape, strict=True) if n > 1):
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


def worked_out(access: Access, allocation: Allocation, item_bytes: int) -> Access:
    """The access with items and keys of its lanes; those that lie outside the allocation are left out."""
    place, number = access.place, access.number
    assert place is not None
    addresses = place.addresses() if isinstance(place, Places) else place
    blocks = access.blocks + (number << BLOCK_BITS)
    blocks = blocks.reshape(blocks.shape + (1,) * (addresses.ndim - blocks.ndim))
    shape = np.broadcast_shapes(addresses.shape, blocks.shape)
    offsets = np.broadcast_to(addresses - allocation.address, shape)
    inside = (offsets >= 0) & (offsets < allocation.size_bytes)
    if access.mask is not None:
        inside &= access.mask
    items = spanned(offsets[inside] // item_bytes, access.lane_items)
    keys = np.broadcast_to(blocks, shape)[inside].repeat(access.lane_items)
    return replace(access, items=items, keys=keys, place=None, mask=None)


def spanned(first_items: np.ndarray, lane_items: int) -> np.ndarray:
    """All items of lanes, of which `first_items` are the first ones: so many a lane, those of a lane together."""
    return first_items if lane_items == 1 else (first_items[:, None] + np.arange(lane_items)).ravel()


def widened(
    shape: tuple[int, ...], strides_items: tuple[int, ...], lane_items: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of a window of lanes, as one of all their items."""
    return (shape, strides_items) if lane_items == 1 else ((*shape, lane_items), (*strides_items, 1))


@dataclass(eq=False)
class Memory:
    """The accesses of one allocation: those that wait, and what was spread out. An item is an element of the array with
    the narrowest ones. `is_rewritten` says that some element was written more than once.
    """

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
    has_forgotten: bool = False
    is_rewritten: bool = False

    def forget_reads(self) -> None:
        """Let go of lanes that were read from memory that nobody has written: most likely nobody will."""
        if self.has_writes or self.is_spread:
            return
        kept_reads = [a for a in self.waiting_reads.accesses if a.is_window]
        self.has_forgotten = self.has_forgotten or len(kept_reads) < len(self.waiting_reads)
        self.waiting_reads = Intervals()
        for access in kept_reads:
            self.waiting_reads.add(access)

    def items_in(self, size_bytes: int) -> int:
        """How many items an element of that size spans."""
        return size_bytes // self.item_bytes or 1

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


def kept(items: np.ndarray) -> np.ndarray:
    """The items, copied where they are a window of memory that may change."""
    base: Any = items
    while isinstance(base, np.ndarray) and base.base is not None:
        base = base.base
    return items.copy() if not isinstance(base, np.ndarray) or base.dtype == np.uint8 else items
