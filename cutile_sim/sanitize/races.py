"""Accesses of different blocks to one element, of which at least one writes, that nothing orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.context import Context
from cutile_sim.optable.encoding import AtomicRMWMode, MemoryOrderingSemantics, MemoryScope
from cutile_sim.sanitize.access_log import AccessLog
from cutile_sim.sanitize.accesses import BLOCK_BITS, BLOCK_MASK, Access, Memory, spanned
from cutile_sim.sanitize.lanes import counting, lane_addresses
from cutile_sim.sanitize.ordering import Ordering, is_atomic
from cutile_sim.sanitize.schedules import Effects, Meeting
from cutile_sim.sanitize.watch import Check, Watch
from cutile_sim.tileir.core import Op

MOST_PAIRS = 64
"""How many pairs of accesses are looked at for one access in conflict with others."""

ENOUGH_IN_ORDER = 1000
"""So many meetings of the same two operations were in order that the others are taken to be."""

_UNCHANGED_BY_ZERO = (AtomicRMWMode.ADD, AtomicRMWMode.OR, AtomicRMWMode.XOR)

_Pair = tuple[int, int, int]
"""Keys of two accesses, and the item where they meet."""


class Races(Check):
    """CTS201: two blocks write one element, and the last one wins. CTS202: a block reads what another writes. CTS203:
    an atomic operation that only its own block sees as one. CTS205: two blocks write the same value.
    """

    name = "races"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.ordering = Ordering()
        self.log = log_of(watch)
        self.log.on_conflict = self._conflict
        self.effects = Effects(watch.cx, watch.roots)
        self.in_order: dict[tuple[Op, Op], int] = {}

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        self._access(place, mask, element, None, cx)

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        self._access(place, mask, element, stored, cx)

    def _access(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray | None, cx: Context
    ) -> None:
        op, number = cx.op, self.log.number + 1
        assert op is not None
        self.effects.note(number, place, mask, element, stored, self.log.blocks_of(cx.group) - 1)
        if stored is not None:  # what a store releases is known to those who meet it in this very access
            self.ordering.note(op, place, mask, number, cx)
        writes = stored is not None and not _only_looks(op, stored)
        self.log.add(place, mask, element.size_bytes, op, writes, is_atomic(op))
        if stored is None:
            self.ordering.note(op, place, mask, number, cx)

    def finished(self, cx: Context) -> None:
        """Say what could not be looked at."""
        forgotten = next((m for m in self.log.memories.values() if m.has_forgotten and m.has_writes), None)
        if forgotten is not None or self.ordering.full_at is not None:
            why = "reads of memory that was written later" if forgotten is not None else "releases and acquires"
            op = next(iter(forgotten.write_ops)) if forgotten is not None else self.ordering.full_at
            self.watch.report("CTS204", "note", f"not every race was looked for: there were too many {why} to keep", op)

    def _conflict(
        self, memory: Memory, access: Access, others: np.ndarray, mine: np.ndarray, items: np.ndarray, did: str
    ) -> None:
        within = bool(((others >> BLOCK_BITS) == access.number).all())
        same = None
        if access.op.spec.effect == "write" and did in ("write", "read") and access.number == self.log.number:
            changed = self._changes(memory, items, within)
            if did == "write" and not changed.all():
                same = others[~changed], mine[~changed], items[~changed]
            others, mine, items = others[changed], mine[changed], items[changed]
        if others.size:
            pair = self._first_unordered(memory, access, others, mine, items, within)
            if pair is not None:
                self._report(memory, access, pair, did, items.size)
        if same is not None and not self.watch.is_known("CTS205", access.op, self._array(memory, int(same[2][0]))):
            pair = self._first_unordered(memory, access, *same, within)
            if pair is not None:
                self._report_same(memory, access, pair, same[2].size)

    def _first_unordered(
        self, memory: Memory, access: Access, others: np.ndarray, mine: np.ndarray, items: np.ndarray, within: bool
    ) -> _Pair | None:
        """The first two accesses that nothing orders."""
        pairs = [0]
        if others.size > 1:
            pairs = np.unique(np.stack((others, mine)), axis=1, return_index=True)[1][:MOST_PAIRS].tolist()
        if within:
            pairs.sort(key=lambda at: self._is_alike(memory, int(others[at]), int(mine[at]), int(items[at])))
        for at in pairs:
            other, own = int(others[at]), int(mine[at])
            number = other >> BLOCK_BITS
            if number in self.log.shared and (own & int(BLOCK_MASK)) in self.log.shared[number]:
                continue  # this block has written the same itself
            if not within:
                ops = self.log.ops[number], access.op
                if self.in_order.get(ops, 0) >= ENOUGH_IN_ORDER:
                    return None
                if self.ordering.is_ordered(_block(other), number, _block(own), access.number):
                    self.in_order[ops] = self.in_order.get(ops, 0) + 1
                    continue
            return other, own, int(items[at])
        return None

    def _is_alike(self, memory: Memory, other: int, own: int, item: int) -> bool:
        """Whether two blocks write the same value in the access that happens now."""
        address = memory.allocation.address + item * memory.item_bytes
        assert self.effects.now is not None
        one, two = (self.effects.now.after(_block(key), address, np.empty(0)) for key in (other, own))
        return one is not None and two is not None and one.tobytes() == two.tobytes()

    def _changes(self, memory: Memory, items: np.ndarray, within: bool) -> np.ndarray:
        """Where a store changes what is there, or with `within` other blocks of the same store write another value."""
        effect = self.effects.now
        assert effect is not None and effect.stored is not None
        addresses = lane_addresses(effect.place)
        shape = np.broadcast_shapes(addresses.shape, effect.stored.shape)
        where = ((np.broadcast_to(addresses, shape) - memory.allocation.address) // memory.item_bytes).ravel()
        values = np.broadcast_to(effect.stored, shape).ravel()
        valid = counting(effect.place, effect.mask)
        if valid is not None:
            chosen = np.broadcast_to(valid, shape).ravel()
            where, values = where[chosen], values[chosen]
        size = effect.element.size_bytes
        where = spanned(where, memory.items_in(size))
        bits = np.ascontiguousarray(values).view(f"u{min(size, memory.item_bytes)}")
        order = np.argsort(where, kind="stable")
        bits, ordered = bits[order], where[order]
        if within:
            differs = np.concatenate((bits[1:] != bits[:-1], [False]))
        else:
            old = memory.allocation.typed(bits.dtype)
            differs = old[np.clip(ordered * memory.item_bytes // bits.itemsize, 0, old.size - 1)] != bits
        # Of the lanes of one item, which lie together, the last has no next one to differ from.
        counted = np.concatenate(([0], np.cumsum(differs)))
        low = np.searchsorted(ordered, items, side="left")
        high = np.searchsorted(ordered, items, side="right") - (1 if within else 0)
        return np.asarray(counted[high] > counted[low])

    def _array(self, memory: Memory, item: int) -> str | None:
        return self.watch.array_at(memory.allocation.address + item * memory.item_bytes)

    def _report(self, memory: Memory, access: Access, pair: _Pair, did: str, count: int) -> None:
        watch = self.watch
        other, own, item = pair
        block, later = _block(other), _block(own)
        other_op = self.log.ops[other >> BLOCK_BITS]
        address = memory.allocation.address + item * memory.item_bytes
        first, second = watch.block_of_number(block), watch.block_of_number(later)
        weak = next((o for o in (access.op, other_op) if _is_block_scope(o)), None)
        both_write = access.writes and did != "read"
        id = "CTS203" if weak is not None else "CTS201" if both_write else "CTS202"
        verb, other_verb = _verb(access.op), _verb(other_op)
        if verb == other_verb:
            low, high = (watch.block_of_number(n) for n in sorted((block, later)))
            who = f"blocks {low} and {high} both {verb}"
        else:
            who = f"block {first} {other_verb}s and block {second} {verb}s"
        outcome = self.effects.outcome(
            Meeting(
                memory.allocation,
                address,
                did,
                (other >> BLOCK_BITS, access.number),
                (block, later),
                (first, second),
                weak is not None,
                memory.is_rewritten,
            )
        )
        message = f"{who} {watch.words_for(address, memory.item_bytes)}, and nothing orders the two"
        if outcome is not None:
            message += f": {outcome.text}"
        if weak is not None:
            message += "; the operation is atomic within its own block only: give it the scope of the device"
        # The reader is the one with a surprise, whichever of the two came first this time.
        op, at, related, word = access.op, second, other_op, f"block {first} {other_verb}s it here"
        if did == "read":
            op, at, related, word = other_op, first, access.op, f"block {second} {verb}s it here"
        watch.report(
            id,
            "error",
            message,
            op,
            block=at,
            array=self._array(memory, item),
            related=((word, related.location),),
            count=count,
            details=outcome.fields() if outcome is not None else {},
        )

    def _report_same(self, memory: Memory, access: Access, pair: _Pair, count: int) -> None:
        watch = self.watch
        other, own, item = pair
        other_op = self.log.ops[other >> BLOCK_BITS]
        low, high = (watch.block_of_number(n) for n in sorted((_block(other), _block(own))))
        where = watch.words_for(memory.allocation.address + item * memory.item_bytes, memory.item_bytes)
        watch.report(
            "CTS205",
            "note",
            f"blocks {low} and {high} both write {where}, and nothing orders the two: here they write the same value, "
            "so that it makes no difference",
            access.op,
            block=watch.block_of_number(_block(own)),
            array=self._array(memory, item),
            related=((f"block {watch.block_of_number(_block(other))} writes it here", other_op.location),),
            count=count,
        )


def _block(key: int) -> int:
    """The launch-order number in a key."""
    return (key & int(BLOCK_MASK)) - 1


def _verb(op: Op) -> str:
    if op.name.startswith("atomic"):
        return "update"
    return "write" if op.spec.effect == "write" else "read"


def _only_looks(op: Op, stored: np.ndarray) -> bool:
    """Whether an atomic update is a load in disguise, such as the addition of zero."""
    return op.attributes.get("mode") in _UNCHANGED_BY_ZERO and not stored.any()


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
