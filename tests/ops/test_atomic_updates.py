"""Updates combined before they reach memory, against the same updates one after another on Python's integers."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from cutile_sim.dtypes import I32
from cutile_sim.memory.space import AddressSpace
from cutile_sim.ops.atomic_updates import WORTH_COMBINING, apply, combined
from cutile_sim.optable.encoding import AtomicRMWMode

MODES = {
    AtomicRMWMode.ADD: lambda old, v: old + v,
    AtomicRMWMode.AND: lambda old, v: old & v,
    AtomicRMWMode.OR: lambda old, v: old | v,
    AtomicRMWMode.XOR: lambda old, v: old ^ v,
    AtomicRMWMode.MAX: max,
    AtomicRMWMode.MIN: min,
    AtomicRMWMode.UMAX: lambda old, v: max(old, v, key=lambda n: n % 2**64),
    AtomicRMWMode.UMIN: lambda old, v: min(old, v, key=lambda n: n % 2**64),
}


def wrapped(value: int, dtype: np.dtype) -> int:
    bits = 8 * dtype.itemsize
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("mode", MODES)
def test_combined_updates_leave_the_same(mode: AtomicRMWMode, dtype: type) -> None:
    rng, info = np.random.default_rng(3), np.iinfo(dtype)
    memory = rng.integers(info.min, info.max, 12, dtype, endpoint=True)
    items = rng.choice([0, 1, 3, 4, 11], 200)
    arg = rng.integers(info.min, info.max, 200, dtype, endpoint=True)
    distinct, values = combined(items, arg, mode, memory.size)
    assert distinct.size <= 5 and np.unique(distinct).size == distinct.size
    update = MODES[mode]
    for at in range(12):
        each = [int(v) for v in arg[items == at]]
        due = functools.reduce(lambda old, v: wrapped(update(old, v), memory.dtype), each, int(memory[at]))
        for v in values[distinct == at]:
            memory[at] = wrapped(update(int(memory[at]), int(v)), memory.dtype)
        assert memory[at] == due


@pytest.mark.parametrize("count", [3, 200])
def test_one_number_for_all_is_counted(count: int) -> None:
    rng = np.random.default_rng(4)
    memory = rng.integers(-(2**31), 2**31, 12).astype(np.int32)
    items = rng.choice([0, 1, 3, 4, 11], count)
    number = np.int32(2**31 - 5)
    want = [wrapped(int(memory[at]) + int(number) * int((items == at).sum()), memory.dtype) for at in range(12)]
    allocation = AddressSpace().place(memory.view(np.uint8), "memory")
    assert apply(allocation, items, np.broadcast_to(number, count), AtomicRMWMode.ADD, I32, wants_old=False) is None
    assert memory.tolist() == want


@pytest.mark.parametrize("mode", MODES)
def test_items_that_do_not_change_are_left_out(mode: AtomicRMWMode) -> None:
    neutral = {
        AtomicRMWMode.AND: -1,
        AtomicRMWMode.UMIN: -1,
        AtomicRMWMode.MAX: -(2**31),
        AtomicRMWMode.MIN: 2**31 - 1,
    }.get(mode, 0)
    items, arg = np.arange(32) % 4, np.full(32, neutral, np.int32)
    distinct, values = combined(items, arg, mode, 4)
    assert distinct.size == values.size == 0


@pytest.mark.parametrize(
    ("mode", "memory_items"), [(AtomicRMWMode.XCHG, 4), (AtomicRMWMode.ADD, 1 + 64 // WORTH_COMBINING)]
)
def test_updates_stay_as_they_are(mode: AtomicRMWMode, memory_items: int) -> None:
    items, arg = np.arange(64) % 4, np.arange(64, dtype=np.int32)
    same = combined(items, arg, mode, memory_items)
    assert same[0] is items and same[1] is arg
