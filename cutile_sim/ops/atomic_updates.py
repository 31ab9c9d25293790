"""What atomic updates do to memory: one after another, in the order of their lanes, though many are made at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cutile_sim.dtypes import F32, ElementType, to_carrier, to_storage
from cutile_sim.memory.space import Allocation
from cutile_sim.optable.encoding import AtomicRMWMode
from cutile_sim.rounding import flush, round_to, smallest_normal

WORTH_COMBINING = 4
"""From how many updates on, for each item of memory, it pays to combine them."""
Update = Callable[[np.ndarray, np.ndarray], np.ndarray]


def update_of(mode: AtomicRMWMode, element: ElementType) -> Update:
    """What a mode does to (old values, argument), both in storage form."""

    def as_unsigned(function: Update) -> Update:
        kind = np.dtype(f"u{element.size_bytes}")
        return lambda old, arg: function(old.view(kind), arg.view(kind)).view(old.dtype)

    def add_float(old: np.ndarray, arg: np.ndarray) -> np.ndarray:
        total = _flushed(to_carrier(old, element), element) + _flushed(to_carrier(arg, element), element)
        return to_storage(_flushed(round_to(total, element) if element.is_narrow else total, element), element)

    table: dict[AtomicRMWMode, Update] = {
        AtomicRMWMode.AND: np.bitwise_and,
        AtomicRMWMode.OR: np.bitwise_or,
        AtomicRMWMode.XOR: np.bitwise_xor,
        AtomicRMWMode.ADD: np.add,
        AtomicRMWMode.ADDF: add_float,
        AtomicRMWMode.MAX: np.maximum,
        AtomicRMWMode.MIN: np.minimum,
        AtomicRMWMode.UMAX: as_unsigned(np.maximum),
        AtomicRMWMode.UMIN: as_unsigned(np.minimum),
        AtomicRMWMode.XCHG: lambda old, arg: arg,
    }
    return table[mode]


def _flushed(values: np.ndarray, element: ElementType) -> np.ndarray:
    """Subnormals as zeros where the GPU's adder takes them so: float32 alone (GPU recording; the IR's own note)."""
    return flush(values, element) if element is F32 else values


class _Bulk(NamedTuple):
    """How NumPy makes many updates at once: by a function, of unsigned integers or signed ones; and by which argument
    nothing changes, of integers within `info`.
    """

    function: np.ufunc
    unsigned: bool
    neutral: Callable[[np.iinfo], int]

    def update(self, memory: np.ndarray, items: np.ndarray, arg: np.ndarray) -> None:
        """Update items, some more than once; `memory` and `arg` of one signed type."""
        if self.function is np.add and arg.strides == (0,) and memory.size * WORTH_COMBINING <= items.size:
            memory += np.bincount(items, minlength=memory.size).astype(memory.dtype) * arg[0]
            return
        if self.unsigned:
            kind = f"u{memory.itemsize}"
            memory, arg = memory.view(kind), arg.view(kind)
        self.function.at(memory, items, arg)


_BULK = {
    AtomicRMWMode.AND: _Bulk(np.bitwise_and, False, lambda info: -1),
    AtomicRMWMode.OR: _Bulk(np.bitwise_or, False, lambda info: 0),
    AtomicRMWMode.XOR: _Bulk(np.bitwise_xor, False, lambda info: 0),
    AtomicRMWMode.ADD: _Bulk(np.add, False, lambda info: 0),
    AtomicRMWMode.MAX: _Bulk(np.maximum, False, lambda info: info.min),
    AtomicRMWMode.MIN: _Bulk(np.minimum, False, lambda info: info.max),
    AtomicRMWMode.UMAX: _Bulk(np.maximum, True, lambda info: 0),
    AtomicRMWMode.UMIN: _Bulk(np.minimum, True, lambda info: -1),
}


def combined(
    items: np.ndarray, arg: np.ndarray, mode: AtomicRMWMode, memory_items: int
) -> tuple[np.ndarray, np.ndarray]:
    """Updates that leave the same in memory, at most one an item: their items and arguments, where nobody wants old
    values. As they are where the mode depends on their order, or where they are not many more than items of memory.

    Threads do this side by side, and then hold the lock for what is left.
    """
    bulk = _BULK.get(mode)
    if bulk is None or memory_items * WORTH_COMBINING > items.size:
        return items, arg
    neutral = bulk.neutral(np.iinfo(arg.dtype))
    totals = np.full(memory_items, neutral, arg.dtype)
    bulk.update(totals, items, arg)
    # Items that no lane has hit stay untouched: another block may be storing to them.
    changed = np.flatnonzero(totals != neutral)
    return changed, totals[changed]


def in_turn(flat: np.ndarray, items: np.ndarray, turn: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Old values, lane by lane, of updates that hit items more than once.

    `turn(items, lanes)` updates distinct items by the arguments of `lanes` and returns their old values. The first
    lanes of all items go together, then the second ones, and so on.
    """
    order = np.argsort(items, kind="stable")
    ordered = items[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    lengths = np.diff(np.concatenate((starts, [ordered.size])))
    old = np.empty(items.shape, flat.dtype)
    for n in range(int(lengths.max())):
        lanes = order[starts[lengths > n] + n]
        old[lanes] = turn(items[lanes], lanes)
    return old


def _running_sums(flat: np.ndarray, items: np.ndarray, arg: np.ndarray) -> np.ndarray:
    """Old values of integer additions that hit items more than once: running sums within each item's lanes."""
    order = np.argsort(items, kind="stable")
    ordered, values = items[order], arg[order]
    sums = np.cumsum(values, dtype=values.dtype)
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(first)
    before = sums - values
    lengths = np.diff(np.concatenate((starts, [ordered.size])))
    base = flat[ordered[starts]] - before[starts]
    old = np.empty_like(values)
    old[order] = before + np.repeat(base, lengths)
    ends = np.concatenate((starts[1:], [ordered.size])) - 1
    flat[ordered[starts]] = base + sums[ends]
    return old


def apply(
    allocation: Allocation,
    items: np.ndarray,
    arg: np.ndarray,
    mode: AtomicRMWMode,
    element: ElementType,
    wants_old: bool,
) -> np.ndarray | None:
    """Update items of one allocation (both one-dimensional, storage form); the old values, where wanted."""
    flat = allocation.typed(element.storage)
    update = update_of(mode, element)
    bulk = _BULK.get(mode)
    if not wants_old:
        if bulk is not None:
            bulk.update(flat, items, arg)
            return None
        if mode is AtomicRMWMode.ADDF and not element.is_narrow:
            np.add.at(flat, items, _flushed(arg, element))
            if element is F32:
                sums = flat[items]
                small = np.abs(sums) < smallest_normal(F32)
                if small.any():
                    flat[items[small]] = flush(sums[small], F32)
            return None
    distinct = np.unique(items).size == items.size
    if distinct:
        old = flat[items]
        flat[items] = update(old, arg)
        return old
    if mode is AtomicRMWMode.ADD:
        return _running_sums(flat, items, arg)

    def turn(at: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        before = flat[at]
        flat[at] = update(before, arg[lanes])
        return before

    return in_turn(flat, items, turn)
