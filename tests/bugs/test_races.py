"""Blocks that meet in memory."""

from __future__ import annotations

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

ORDER = ct.MemoryOrder


def ints(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


def floats(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32)


@ct.kernel
def one_tile_for_two(x, y):
    """Two blocks store one tile."""
    ct.store(y, (ct.bid(0) // 2,), ct.load(x, (ct.bid(0),), (16,)))  # BUG: CTS201


@ct.kernel
def one_tile_each(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))


def test_two_blocks_store_one_tile(pair):
    def make(n):
        return lambda: (floats(64), np.zeros(n, np.float32))

    pair("one_tile_for_two", "one_tile_each", (4,), make(32), twin_make=make(64))


@ct.kernel
def sum_by_stores(x, total):
    ct.store(total, (0,), ct.load(total, (0,), (1,)) + ct.sum(ct.load(x, (ct.bid(0),), (16,))))  # BUG: CTS202, CTS201


@ct.kernel
def sum_by_atomics(x, total):
    ct.atomic_add(total, 0, ct.sum(ct.load(x, (ct.bid(0),), (16,))))


def test_sum(pair):
    pair("sum_by_stores", "sum_by_atomics", (4,), lambda: (floats(64) + 1, np.zeros(1, np.float32)))


@ct.kernel
def shift_in_place(x):
    """A load of what another block stores."""
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(x, i, ct.gather(x, i + 1))  # BUG: CTS202


@ct.kernel
def shift_into_another(x, y):
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(y, i, ct.gather(x, i + 1))


def test_shift(pair):
    pair(
        "shift_in_place",
        "shift_into_another",
        (4,),
        lambda: (floats(64),),
        twin_make=lambda: (floats(64), floats(64)),
    )


@ct.kernel
def scatter_collisions(index, x, y):
    ct.scatter(y, ct.load(index, (ct.bid(0),), (16,)), ct.load(x, (ct.bid(0),), (16,)))  # BUG: CTS201


@ct.kernel
def scatter_apart(index, x, y):
    ct.scatter(y, ct.load(index, (ct.bid(0),), (16,)), ct.load(x, (ct.bid(0),), (16,)))


def test_scatter(pair):
    rng = np.random.default_rng(0)
    pair(
        "scatter_collisions",
        "scatter_apart",
        (4,),
        lambda: (rng.integers(0, 30, 64).astype(np.int32), floats(64), floats(64)),
        twin_make=lambda: (rng.permutation(64).astype(np.int32), floats(64), floats(64)),
    )


@ct.kernel
def hand_off_relaxed(data, flag, out):
    """A hand-off whose reader misses the acquire."""
    if ct.bid(0) == 0:
        ct.store(data, (0,), ct.full((16,), 7, ct.int32))
        ct.atomic_xchg(flag, 0, 1, memory_order=ORDER.RELEASE)
    else:
        while ct.atomic_add(flag, 0, 0, memory_order=ORDER.RELAXED) == 0:
            pass
        ct.store(out, (0,), ct.load(data, (0,), (16,)))  # BUG: CTS202


@ct.kernel
def hand_off(data, flag, out):
    if ct.bid(0) == 0:
        ct.store(data, (0,), ct.full((16,), 7, ct.int32))
        ct.atomic_xchg(flag, 0, 1, memory_order=ORDER.RELEASE)
    else:
        while ct.atomic_add(flag, 0, 0, memory_order=ORDER.ACQUIRE) == 0:
            pass
        ct.store(out, (0,), ct.load(data, (0,), (16,)))


def test_hand_off(pair):
    pair("hand_off_relaxed", "hand_off", (2,), lambda: (ints(16), ints(1), ints(16)))


@ct.kernel
def locked_sum(lock, total):
    while ct.atomic_cas(lock, 0, 0, 1) == 1:
        pass
    ct.store(total, (0,), ct.load(total, (0,), (1,)) * 3 + ct.bid(0))
    ct.atomic_xchg(lock, 0, 0)


@ct.kernel
def barrier(count, x, y):
    b, n = ct.bid(0), ct.num_blocks(0)
    ct.scatter(x, b, b * b + 1)
    ct.atomic_add(count, 0, 1)
    while ct.atomic_add(count, 0, 0) < n:
        pass
    ct.scatter(y, b, ct.gather(x, (b + n - 1) % n))


def test_locks_and_barriers_order(planted):
    planted("locked_sum", (5,), lambda: (ints(1), ints(1)))
    planted("barrier", (7,), lambda: (ints(1), ints(7), ints(7)))


@ct.kernel
def same_value(y):
    """Blocks that all store one value do no harm, as long as it is one."""
    ct.store(y, (0,), ct.full((16,), 3, ct.float32))  # BUG: CTS205


@ct.kernel
def value_of_first(y):
    if ct.bid(0) == 0:
        ct.store(y, (0,), ct.full((16,), 3, ct.float32))


def test_one_value_from_all(pair):
    (finding,) = pair("same_value", "value_of_first", (4,), lambda: (np.zeros(16, np.float32),))
    assert finding.severity == "note"


@ct.kernel
def mark_found(x, found):
    """Every block that finds something sets the same flag."""
    if ct.max(ct.load(x, (ct.bid(0),), (16,))) > 20.0:
        ct.scatter(found, 0, 1)  # BUG: CTS205


@ct.kernel
def mark_found_atomically(x, found):
    if ct.max(ct.load(x, (ct.bid(0),), (16,))) > 20.0:
        ct.atomic_or(found, 0, 1)


def test_flag(pair):
    pair("mark_found", "mark_found_atomically", (4,), lambda: (floats(64), ints(1)))


@ct.kernel
def overlapping_copies(x, y):
    """Tiles that overlap by half: both blocks copy the same elements."""
    i = ct.bid(0) * 8 + ct.arange(16, dtype=ct.int32)
    ct.scatter(y, i, ct.gather(x, i))  # BUG: CTS205


@ct.kernel
def copies_side_by_side(x, y):
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(y, i, ct.gather(x, i))


def test_overlap(pair):
    pair("overlapping_copies", "copies_side_by_side", (4,), lambda: (floats(64), np.zeros(64, np.float32)))


@ct.kernel
def odd_one_out(y):
    """The first and the last block agree, the one between them does not."""
    i = ct.arange(16, dtype=ct.int32)
    ct.scatter(y, i, ct.full((16,), ct.bid(0) % 2, ct.int32))  # BUG: CTS201


@ct.kernel
def largest_of_all(y):
    i = ct.arange(16, dtype=ct.int32)
    ct.atomic_max(y, i, ct.full((16,), ct.bid(0) % 2, ct.int32))


def test_only_one_block_differs(pair):
    (finding,) = pair("odd_one_out", "largest_of_all", (3,), lambda: (ints(16),))
    assert {o["value"] for o in finding.details["orders"]} == {0, 1}


@ct.kernel
def first_block_writes(x, y):
    """All blocks read what the first one then writes."""
    t = ct.load(x, (0,), (16,))  # BUG: CTS202
    ct.store(y, (ct.bid(0),), t)
    if ct.bid(0) == 0:
        ct.store(x, (0,), t + 1)


@ct.kernel
def all_read(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (0,), (16,)) + 1)


def test_one_writes_what_all_read(pair):
    pair("first_block_writes", "all_read", (4,), lambda: (floats(16), floats(64)))


@ct.kernel
def own_value(x, y):
    """Each block reads back what it, and all others alike, have written."""
    ct.store(x, (0,), ct.full((16,), 3, ct.float32))  # BUG: CTS205
    ct.store(y, (ct.bid(0),), ct.load(x, (0,), (16,)))


def test_value_of_all_read_back(planted):
    planted("own_value", (4,), lambda: (floats(16), floats(64)))


@ct.kernel
def atomic_for_its_block(total):
    ct.atomic_add(total, 0, 1, memory_order=ORDER.RELAXED, memory_scope=ct.MemoryScope.BLOCK)  # BUG: CTS203


@ct.kernel
def atomic_for_all(total):
    ct.atomic_add(total, 0, 1, memory_order=ORDER.RELAXED, memory_scope=ct.MemoryScope.DEVICE)


def test_scope(pair):
    pair("atomic_for_its_block", "atomic_for_all", (4,), lambda: (ints(1),))


@ct.kernel
def largest_of_its_block(x, largest):
    t = ct.max(ct.load(x, (ct.bid(0),), (16,)))
    ct.atomic_max(largest, 0, t, memory_scope=ct.MemoryScope.BLOCK)  # BUG: CTS203


@ct.kernel
def largest_of_the_grid(x, largest):
    t = ct.max(ct.load(x, (ct.bid(0),), (16,)))
    ct.atomic_max(largest, 0, t)


def test_scope_of_a_maximum(pair):
    pair("largest_of_its_block", "largest_of_the_grid", (4,), lambda: (np.arange(64, dtype=np.int32), ints(1)))


@ct.kernel
def ticket_of_its_block(next_ticket, y):
    """Each block draws a number, and two may draw the same."""
    n = ct.atomic_add(next_ticket, 0, 1, memory_scope=ct.MemoryScope.BLOCK)  # BUG: CTS203
    ct.scatter(y, n, ct.bid(0))


@ct.kernel
def ticket_of_the_grid(next_ticket, y):
    n = ct.atomic_add(next_ticket, 0, 1, memory_scope=ct.MemoryScope.DEVICE)
    ct.scatter(y, n, ct.bid(0))


def test_scope_of_a_ticket(pair):
    (finding,) = pair("ticket_of_its_block", "ticket_of_the_grid", (4,), lambda: (ints(1), ints(4)))
    assert "2 stays if one comes after the other, and 1 if both read before either writes" in finding.message


@ct.kernel
def some_add_zero(flag, y):
    """An addition of zero is how an atomic load is written."""
    b = ct.bid(0)
    if b % 2 == 0:
        ct.scatter(y, b, ct.atomic_add(flag, 0, 0))
    else:
        ct.scatter(y, b, ct.gather(flag, 0))


@ct.kernel
def one_adds_one(flag, y):
    b = ct.bid(0)
    if b % 2 == 0:
        ct.scatter(y, b, ct.atomic_add(flag, 0, 1))
    else:
        ct.scatter(y, b, ct.gather(flag, 0))  # BUG: CTS202


def test_atomic_loads(pair):
    pair("one_adds_one", "some_add_zero", (4,), lambda: (ints(1), ints(4)))
