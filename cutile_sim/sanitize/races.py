"""Accesses of different blocks to one element, of which at least one writes, that nothing orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType, to_carrier
from cutile_sim.engine.context import Context
from cutile_sim.optable.encoding import MemoryOrderingSemantics, MemoryScope
from cutile_sim.sanitize.access_log import AccessLog
from cutile_sim.sanitize.accesses import BLOCK_BITS, BLOCK_MASK, Access, Memory
from cutile_sim.sanitize.lanes import counting, lane_addresses
from cutile_sim.sanitize.ordering import Ordering, is_atomic
from cutile_sim.sanitize.watch import Check, Watch
from cutile_sim.tileir.core import Op

MOST_PAIRS = 64
"""How many pairs of accesses are looked at for one access in conflict with others."""

ENOUGH_IN_ORDER = 1000
"""So many meetings of the same two operations were in order that the others are taken to be."""


class Races(Check):
    """CTS201: two blocks write one element, and the last one wins. CTS202: a block reads what another writes. CTS203:
    an atomic operation that only its own block sees as one.
    """

    name = "races"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.ordering = Ordering()
        self.log = log_of(watch)
        self.log.on_conflict = self._conflict
        self.in_order: dict[tuple[Op, Op], int] = {}
        self._now: tuple[Any, np.ndarray | None, np.ndarray, ElementType] | None = None

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        assert cx.op is not None
        self._now = None
        self.log.add(place, mask, element.size_bytes, cx.op, False, is_atomic(cx.op))
        self.ordering.note(cx.op, place, mask, self.log.number, cx)

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        assert cx.op is not None
        self._now = place, mask, stored, element
        self.ordering.note(cx.op, place, mask, self.log.number + 1, cx)
        self.log.add(place, mask, element.size_bytes, cx.op, True, is_atomic(cx.op))

    def updating(self, place: Any, mask: np.ndarray | None, element: ElementType, arg: np.ndarray, cx: Context) -> None:
        assert cx.op is not None
        self._now = None
        self.ordering.note(cx.op, place, mask, self.log.number + 1, cx)
        self.log.add(place, mask, element.size_bytes, cx.op, True, is_atomic(cx.op))

    def finished(self, cx: Context) -> None:
        """Say what could not be looked at."""
        forgotten = next((m for m in self.log.memories.values() if m.has_forgotten and m.has_writes), None)
        if forgotten is not None or self.ordering.is_partial:
            why = "reads of memory that was written later" if forgotten is not None else "releases and acquires"
            op = next(iter(forgotten.write_ops)) if forgotten is not None else None
            self.watch.report("CTS204", "note", f"not every race was looked for: there were too many {why} to keep", op)

    def _conflict(
        self, memory: Memory, access: Access, others: np.ndarray, mine: np.ndarray, items: np.ndarray, did: str
    ) -> None:
        log = self.log
        within = bool(((others >> BLOCK_BITS) == access.number).all())
        if access.writes and did in ("write", "read") and access.number == log.number and self._now is not None:
            changed = self._changes(memory, items, mine, within)
            others, mine, items = others[changed], mine[changed], items[changed]
        if not others.size:
            return
        pairs = np.unique(np.stack((others, mine)), axis=1, return_index=True)[1] if others.size > 1 else [0]
        for at in list(pairs)[:MOST_PAIRS]:
            other, own = int(others[at]), int(mine[at])
            block, later = (other & int(BLOCK_MASK)) - 1, (own & int(BLOCK_MASK)) - 1
            other_number = other >> BLOCK_BITS
            other_op = log.ops[other_number]
            if other_number in log.shared and later + 1 in log.shared[other_number]:
                continue  # this block has written the same itself
            if not within:
                pair = other_op, access.op
                if self.in_order.get(pair, 0) >= ENOUGH_IN_ORDER:
                    return
                if self.ordering.is_ordered(block, other_number, later, access.number):
                    self.in_order[pair] = self.in_order.get(pair, 0) + 1
                    continue
            self._report(memory, access, other_op, block, later, int(items[at]), did, items.size)
            return

    def _changes(self, memory: Memory, items: np.ndarray, mine: np.ndarray, within: bool) -> np.ndarray:
        """Where a store changes what is there: that several blocks store one value makes no difference."""
        assert self._now is not None
        place, mask, stored, element = self._now
        addresses = lane_addresses(place)
        shape = np.broadcast_shapes(addresses.shape, stored.shape)
        where = ((np.broadcast_to(addresses, shape) - memory.allocation.address) // memory.item_bytes).ravel()
        values = np.broadcast_to(stored, shape).ravel()
        valid = counting(place, mask)
        if valid is not None:
            chosen = np.broadcast_to(valid, shape).ravel()
            where, values = where[chosen], values[chosen]
        order = np.argsort(where, kind="stable")
        lanes, ordered = values[order], where[order]
        kind = np.dtype(f"u{element.size_bytes}")
        low = np.searchsorted(ordered, items, side="left")
        high = np.searchsorted(ordered, items, side="right") - 1
        low, high = np.clip(low, 0, lanes.size - 1), np.clip(high, 0, lanes.size - 1)
        bits = np.ascontiguousarray(lanes).view(kind)
        if within:
            return bits[low] != bits[high]
        old = memory.allocation.typed(element.storage)
        at = np.clip(items * memory.item_bytes // element.size_bytes, 0, old.size - 1)
        return np.ascontiguousarray(old[at]).view(kind) != bits[low]

    def _report(
        self, memory: Memory, access: Access, other: Op, block: int, later: int, item: int, did: str, count: int
    ) -> None:
        watch = self.watch
        address = memory.allocation.address + item * memory.item_bytes
        array = watch.array_at(address)
        first, second = watch.block_of_number(block), watch.block_of_number(later)
        what = watch.words_for(address, memory.item_bytes)
        weak = next((o for o in (access.op, other) if _is_block_scope(o)), None)
        both_write = access.writes and did != "read"
        id = "CTS203" if weak is not None else "CTS201" if both_write else "CTS202"
        verb, other_verb = _verb(access.op), _verb(other)
        if verb == other_verb:
            low, high = sorted((block, later))
            who = f"blocks {watch.block_of_number(low)} and {watch.block_of_number(high)} both {verb}"
        else:
            who = f"block {first} {other_verb}s and block {second} {verb}s"
        tail = self._two_values(memory, access, did, item, block, later)
        message = f"{who} {what}, and nothing orders the two{tail}"
        if weak is not None:
            message += "; the operation is atomic within its own block only: give it the scope of the device"
        # The reader is the one with a surprise, whichever of the two came first this time.
        op, at, related, word = access.op, second, other, f"block {first} {other_verb}s it here"
        if did == "read":
            op, at, related, word = other, first, access.op, f"block {second} {verb}s it here"
        watch.report(
            id,
            "error",
            message,
            op,
            block=at,
            array=array,
            related=((word, related.location),),
            count=count,
        )

    def _two_values(self, memory: Memory, access: Access, did: str, item: int, block: int, later: int) -> str:
        """A schedule of two steps in both orders, with what comes of them, where memory still shows it."""
        if self._now is None or access.number != self.log.number:
            return ""
        place, mask, stored, element = self._now
        old = memory.allocation.typed(element.storage)
        at = item * memory.item_bytes // element.size_bytes
        if at >= old.size:
            return ""
        addresses = lane_addresses(place)
        blocks = access.blocks.reshape(access.blocks.shape + (1,) * (addresses.ndim - access.blocks.ndim)) - 1
        shape = np.broadcast_shapes(addresses.shape, stored.shape, blocks.shape)
        here = np.broadcast_to(addresses, shape) == memory.allocation.address + item * memory.item_bytes
        lanes = counting(place, mask)
        if lanes is not None:
            here = here & lanes

        def of_block(number: int) -> str:
            values = np.broadcast_to(stored, shape)[here & (blocks == number)]
            return _number(to_carrier(values[-1:], element)) if values.size else ""

        before, new = _number(to_carrier(old[at : at + 1], element)), of_block(later)
        first, second = self.watch.block_of_number(block), self.watch.block_of_number(later)
        if not new:
            return ""
        if did == "read":
            return f": block {first} reads {before} if it comes first, and {new} if block {second} does"
        return f": {new} stays if block {second} comes last, and {of_block(block) or before} if block {first} does"


def _number(value: np.ndarray) -> str:
    item = value.ravel()[0].item()
    return f"{item:g}" if isinstance(item, float) else str(item)


def _verb(op: Op) -> str:
    if op.name.startswith("atomic"):
        return "update"
    return "write" if op.spec.effect == "write" else "read"


def _is_block_scope(op: Op) -> bool:
    return (
        op.attributes.get("memory_ordering_semantics") is not MemoryOrderingSemantics.WEAK
        and op.attributes.get("memory_scope") is MemoryScope.TL_BLK
    )


def log_of(watch: Watch) -> AccessLog:
    """The launch's log of accesses, which several checks share."""
    if watch.log is None:
        watch.log = AccessLog(watch.cx)
    return watch.log
