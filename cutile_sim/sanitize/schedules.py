"""Two accesses to one element in both orders, and what comes of each: why a race matters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType, to_carrier, to_storage
from cutile_sim.engine.context import Context
from cutile_sim.memory.space import Allocation
from cutile_sim.ops.atomic_updates import update_of
from cutile_sim.sanitize.lanes import counting, lane_addresses
from cutile_sim.tileir.core import Op, Value
from ir_passes.memory_roots import Access as Root

KEPT_BYTES = 16 << 20
"""How many bytes of arguments of atomic updates are kept."""
MOST_BYTES_BEFORE = 64 << 20
"""Arrays that are larger are not kept as they were before the launch."""


@dataclass(frozen=True)
class Effect:
    """What one access does to the elements that it meets: a load leaves them as they are.

    Attributes:
        stored: What is written, or the argument of an update, in storage form; None for a load.
        expected: What a compare-and-swap looks for, in storage form.
        blocks: The launch-order numbers of the blocks, over the batch shape.
    """

    op: Op
    place: Any
    mask: np.ndarray | None
    element: ElementType
    blocks: np.ndarray
    stored: np.ndarray | None = None
    expected: np.ndarray | None = None

    @property
    def updates(self) -> bool:
        """Whether what it leaves depends on what was there."""
        return self.stored is not None and self.op.spec.effect != "write"

    def after(self, block: int, address: int, before: np.ndarray) -> np.ndarray | None:
        """The element at an address (one value in storage form) after one block's access; None if it makes none."""
        if self.stored is None:
            return before
        addresses = lane_addresses(self.place)
        blocks = self.blocks.reshape(self.blocks.shape + (1,) * (addresses.ndim - self.blocks.ndim))
        shape = np.broadcast_shapes(addresses.shape, self.stored.shape, blocks.shape)
        here = (np.broadcast_to(addresses, shape) == address) & (blocks == block)
        lanes = counting(self.place, self.mask)
        if lanes is not None:
            here = here & lanes
        values = np.broadcast_to(self.stored, shape)[here]
        if not values.size:
            return None
        if self.op.spec.effect == "write":
            return values[-1:]
        if self.expected is not None:
            wanted = np.broadcast_to(self.expected, shape)[here]
            for value, old in zip(values, wanted, strict=True):
                before = np.array([value]) if before.tobytes() == old.tobytes() else before
            return before
        update = update_of(self.op.attributes["mode"], self.element)
        for value in values:
            before = update(before, np.array([value]))
        return before


@dataclass(frozen=True)
class Meeting:
    """Two accesses of different blocks to one element, of which the second happens now.

    Attributes:
        did: What the first did: "write", "update" or "read".
        numbers: Those of the accesses in the log.
        blocks, ids: Their blocks, by launch-order number and as (x, y, z).
        is_weak: One of them is atomic for its own block only.
        is_rewritten: Others than the first may have written there before.
    """

    allocation: Allocation
    address: int
    did: str
    numbers: tuple[int, int]
    blocks: tuple[int, int]
    ids: tuple[tuple[int, int, int], tuple[int, int, int]]
    is_weak: bool
    is_rewritten: bool


@dataclass(frozen=True)
class Outcome:
    """What comes of a meeting: `{0}` and `{1}` in `words` stand for the two values, in storage form; `orders` says when
    each comes about.
    """

    words: str
    values: tuple[np.ndarray, np.ndarray]
    orders: tuple[Any, Any]
    element: ElementType

    @property
    def _numbers(self) -> list[int | float | bool]:
        return [to_carrier(value, self.element).ravel()[0].item() for value in self.values]

    @property
    def text(self) -> str:
        """The two orders with their values, in words."""
        return self.words.format(*(f"{n:g}" if isinstance(n, float) else str(n) for n in self._numbers))

    def fields(self) -> dict[str, Any]:
        """The same for JSON; a number that JSON does not know is a text."""
        numbers = [n if not isinstance(n, float) or math.isfinite(n) else f"{n:g}" for n in self._numbers]
        return {"orders": [{"order": o, "value": n} for o, n in zip(self.orders, numbers, strict=True)]}


class Effects:
    """What is known of a launch's accesses: the one that happens now, earlier updates, and memory before the launch."""

    def __init__(self, cx: Context, roots: dict[Op, Root]) -> None:
        self.cx = cx
        self.now: Effect | None = None
        self._number = 0
        self._updates: dict[int, Effect] = {}
        self._kept_bytes = 0
        self._before = {a: a.data.copy() for a in _read_and_written(cx, roots) if a.size_bytes <= MOST_BYTES_BEFORE}

    def note(
        self,
        number: int,
        place: Any,
        mask: np.ndarray | None,
        element: ElementType,
        stored: np.ndarray | None,
        blocks: np.ndarray,
    ) -> None:
        """Note the access that happens now, by its number in the log."""
        cx, op = self.cx, self.cx.op
        assert op is not None
        expected = None
        if op.name == "atomic_cas_tko":
            cmp = op.operands["cmp"]
            assert isinstance(cmp, Value)
            expected = to_storage(cx.group.slots[cmp.index], element)
        self._number, self.now = number, Effect(op, place, mask, element, blocks, stored, expected)
        if self.now.updates and stored is not None and self._kept_bytes < KEPT_BYTES:
            addresses = lane_addresses(place).copy()
            self._kept_bytes += addresses.nbytes + stored.nbytes
            lanes = counting(place, mask)
            self._updates[number] = Effect(op, addresses, lanes, element, blocks, stored.copy(), expected)

    def outcome(self, meeting: Meeting) -> Outcome | None:
        """What the two orders lead to, None where a value is not known any more."""
        numbers, (first, second), (one, two) = meeting.numbers, meeting.blocks, meeting.ids
        later, earlier = self._of(numbers[1]), self._of(numbers[0])
        if later is None:
            return None
        element = later.element
        address = meeting.address - (meeting.address - meeting.allocation.address) % element.size_bytes
        now = _element(meeting.allocation.data, address - meeting.allocation.address, element)
        before = None
        if meeting.allocation in self._before and not meeting.is_rewritten:
            before = _element(self._before[meeting.allocation], address - meeting.allocation.address, element)
        if now is None:
            return None
        in_order: Any = ([one, two], [two, one])
        value, other = later.after(second, address, now), None
        if meeting.did == "read":
            words = f"block {one} reads {{0}} if it comes first, and {{1}} if block {two} does"
            value, other = now, value
        elif later.stored is None:
            words = f"block {two} reads {{0}} if block {one} comes first, and {{1}} if it does itself"
            value, other = now, before
        elif meeting.is_weak and meeting.did == "write" and earlier is not None and earlier.updates and later.updates:
            words = "{0} stays if one comes after the other, and {1} if both read before either writes"
            other = None if before is None else later.after(second, address, before)
            in_order = ([one, two], "at once")
        else:
            words = f"{{0}} stays if block {two} comes last, and {{1}} if block {one} does"
            if numbers[0] == numbers[1]:
                other = later.after(first, address, now)
            elif meeting.did == "write" and (earlier is None or not earlier.updates):
                other = now
            elif earlier is not None and value is not None:
                other = earlier.after(first, address, value)
        if value is None or other is None:
            return None
        return Outcome(words, (value, other), in_order, element)

    def _of(self, number: int) -> Effect | None:
        """What an access does, where that is still known."""
        return self.now if number == self._number else self._updates.get(number)


def _element(data: np.ndarray, offset_bytes: int, element: ElementType) -> np.ndarray | None:
    size = element.size_bytes
    if offset_bytes % size or offset_bytes + size > data.size:
        return None
    return np.frombuffer(data[offset_bytes : offset_bytes + size].tobytes(), element.storage)


def _read_and_written(cx: Context, roots: dict[Op, Root]) -> set[Allocation]:
    """The memory of arrays that the kernel may both read and write."""
    everything = {a for a in cx.space.allocations.values() if a.extents}
    names: list[set[str]] = []
    for does in ("reads", "writes"):
        accesses = [a for a in roots.values() if getattr(a, does)]
        if not all(a.exact for a in accesses):
            names.append({e.name for a in everything for e in a.extents})
        else:
            names.append({cx.arrays[p].name for a in accesses for p in a.parameters if p in cx.arrays})
    return {a for a in everything if all(any(e.name in some for e in a.extents) for some in names)}
