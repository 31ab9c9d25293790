"""Which accesses of different blocks are ordered: by releases and acquires of atomics."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cutile_sim.engine.context import Context
from cutile_sim.memory.access import Places
from cutile_sim.optable.encoding import MemoryOrderingSemantics, MemoryScope
from cutile_sim.sanitize.accesses import kept
from cutile_sim.sanitize.lanes import counting, lane_addresses
from cutile_sim.tileir.core import Op

_RELEASES = (MemoryOrderingSemantics.RELEASE, MemoryOrderingSemantics.ACQ_REL)
_ACQUIRES = (MemoryOrderingSemantics.ACQUIRE, MemoryOrderingSemantics.ACQ_REL)
KEPT_BYTES = 128 << 20
"""How many bytes of releases and acquires are kept."""
MOST_EVENTS = 20_000


def is_atomic(op: Op) -> bool:
    """Whether an access is atomic between blocks: of any order but weak, seen beyond its own block."""
    order = op.attributes.get("memory_ordering_semantics")
    return order is not MemoryOrderingSemantics.WEAK and op.attributes.get("memory_scope") is not MemoryScope.TL_BLK


@dataclass(eq=False)
class _Event:
    number: int
    ids: np.ndarray
    place: Any
    mask: np.ndarray | None
    releases: bool
    acquires: bool

    @cached_property
    def lanes(self) -> tuple[np.ndarray, np.ndarray]:
        """The block and the address of each lane."""
        addresses = lane_addresses(self.place)
        blocks = self.ids.reshape(self.ids.shape + (1,) * (addresses.ndim - 3))
        shape = np.broadcast_shapes(blocks.shape, addresses.shape)
        who, where = np.broadcast_to(blocks, shape), np.broadcast_to(addresses, shape)
        valid = counting(self.place, self.mask)
        if valid is not None:
            lanes = np.broadcast_to(valid, shape)
            return who[lanes], where[lanes]
        return who.ravel(), where.ravel()


@dataclass
class Ordering:
    """The releases and acquires of a launch, in the order in which they happened.

    Attributes:
        full_at: Where there came to be too many to keep. Accesses count as ordered from there on, so that nothing is
            reported that may be in order.
    """

    events: list[_Event] = field(default_factory=list)
    full_at: Op | None = None
    kept_bytes: int = 0
    _known: dict[tuple[int, int, int, int], bool] = field(default_factory=dict)

    def note(self, op: Op, place: Any, mask: np.ndarray | None, number: int, cx: Context) -> None:
        """Note an access if it releases or acquires; `number` is that of the access."""
        order = op.attributes.get("memory_ordering_semantics")
        releases, acquires = order in _RELEASES, order in _ACQUIRES
        if not (releases or acquires) or not is_atomic(op) or self.full_at is not None:
            return
        if isinstance(place, Places):
            place = Places(place.base, kept(place.items), place.item_bytes)
            self.kept_bytes += place.items.nbytes
        elif isinstance(place, np.ndarray):
            self.kept_bytes += place.nbytes
        if self.kept_bytes > KEPT_BYTES or len(self.events) >= MOST_EVENTS:
            self.full_at = op
            return
        self.events.append(_Event(number, cx.group.linear_ids(cx.grid), place, mask, releases, acquires))

    def is_ordered(self, block: int, number: int, later_block: int, later_number: int) -> bool:
        """Whether one block's access happens before a later one of another block."""
        key = block, number, later_block, later_number
        if key not in self._known:
            self._known[key] = self.full_at is not None or self._reaches(*key)
        return self._known[key]

    def _reaches(self, block: int, number: int, later_block: int, later_number: int) -> bool:
        """Follow releases of blocks that know of the access to acquires of the same addresses."""
        knowing, told = np.array([block]), np.empty(0, np.int64)
        begin = bisect_right(self.events, number, key=lambda e: e.number)
        for event in self.events[begin:]:
            if event.number > later_number:
                break
            blocks, addresses = event.lanes
            while True:
                before = knowing.size + told.size
                if event.releases:
                    told = np.union1d(told, addresses[np.isin(blocks, knowing)])
                if event.acquires and told.size:
                    knowing = np.union1d(knowing, blocks[np.isin(addresses, told)])
                if knowing.size + told.size == before or not (event.releases and event.acquires):
                    break
            if later_block in knowing:
                return True
        return False
