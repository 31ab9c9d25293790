"""Blocks that wait for blocks that a GPU may not have started yet. The GPU here has room for four."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim import simulate
from cutile_sim.sanitize import SanitizeOptions

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

FOUR = SanitizeOptions(resident_blocks=4)


def ints(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


@ct.kernel
def wait_for_the_next(flags):
    """An unfair spin wait: the first block waits for the last one, which starts when the first has ended."""
    b, n = ct.bid(0), ct.num_blocks(0)
    if b + 1 < n:
        while ct.atomic_add(flags, b + 1, 0) == 0:  # BUG: CTS803
            pass
    ct.atomic_xchg(flags, b, 1)


@ct.kernel
def wait_for_the_one_before(flags):
    b = ct.bid(0)
    if b > 0:
        while ct.atomic_add(flags, b - 1, 0) == 0:
            pass
    ct.atomic_xchg(flags, b, 1)


def test_order_of_waiting(pair):
    (finding,) = pair("wait_for_the_next", "wait_for_the_one_before", (12,), lambda: (ints(12),), sanitize=FOUR)
    assert finding.block == (0, 0, 0) and finding.severity == "warning"
    assert "no more than 4 blocks at once" in finding.message


@ct.kernel
def barrier_of_the_grid(count, x, y):
    b, n = ct.bid(0), ct.num_blocks(0)
    ct.scatter(x, b, b * b)
    ct.atomic_add(count, 0, 1)
    while ct.atomic_add(count, 0, 0) < n:  # BUG: CTS803
        pass
    ct.scatter(y, b, ct.gather(x, (b + 1) % n))


@ct.kernel
def last_block_goes_on(count, x, y):
    """The block that comes last does what is left: nobody waits."""
    b, n = ct.bid(0), ct.num_blocks(0)
    ct.scatter(x, b, b * b)
    if ct.atomic_add(count, 0, 1) == n - 1:
        for k in range(n):
            ct.scatter(y, k, ct.gather(x, (k + 1) % n))


def test_barrier(pair):
    pair("barrier_of_the_grid", "last_block_goes_on", (9,), lambda: (ints(1), ints(9), ints(9)), sanitize=FOUR)


@ct.kernel
def consumers_first(data, ready, out):
    """The second half of the grid makes what the first half takes."""
    b, half = ct.bid(0), ct.num_blocks(0) // 2
    if b >= half:
        ct.scatter(data, b - half, b * 3)
        ct.atomic_xchg(ready, b - half, 1, memory_order=ct.MemoryOrder.RELEASE)
    else:
        while ct.atomic_add(ready, b, 0, memory_order=ct.MemoryOrder.ACQUIRE) == 0:  # BUG: CTS803
            pass
        ct.scatter(out, b, ct.gather(data, b))


@ct.kernel
def producers_first(data, ready, out):
    b, half = ct.bid(0), ct.num_blocks(0) // 2
    if b < half:
        ct.scatter(data, b, b * 3)
        ct.atomic_xchg(ready, b, 1, memory_order=ct.MemoryOrder.RELEASE)
    else:
        while ct.atomic_add(ready, b - half, 0, memory_order=ct.MemoryOrder.ACQUIRE) == 0:
            pass
        ct.scatter(out, b - half, ct.gather(data, b - half))


def test_producers_and_consumers(pair):
    pair("consumers_first", "producers_first", (16,), lambda: (ints(8), ints(8), ints(8)), sanitize=FOUR)


@ct.kernel
def work_from_a_queue(next_item, y, n):
    """A loop that carries nothing along, and yet gets on."""
    while True:
        item = ct.atomic_add(next_item, 0, 1)
        if item >= n:
            break
        ct.scatter(y, item, item)


@ct.kernel
def one_lock(lock, total):
    """Who holds the lock is running."""
    while ct.atomic_cas(lock, 0, 0, 1) == 1:
        pass
    ct.store(total, (0,), ct.load(total, (0,), (1,)) * 3 + ct.bid(0))
    ct.atomic_xchg(lock, 0, 0)


def test_loops_that_end_by_themselves(planted):
    planted("work_from_a_queue", (20,), lambda: (ints(1), ints(100), 100), sanitize=FOUR)
    planted("one_lock", (20,), lambda: (ints(1), ints(1)), sanitize=FOUR)


def test_grid_that_fits(planted):
    def found(blocks):
        return simulate(barrier_of_the_grid, blocks, ints(1), ints(9), ints(9), sanitize=FOUR).findings

    assert found(4) == ()
    assert [f.id for f in found(5)] == ["CTS803"]


def test_grid_that_fits_on_no_such_gpu():
    """With the most blocks that an SM can hold it is certain."""
    n = 4 * 32 + 4
    (finding,) = simulate(barrier_of_the_grid, n, ints(1), ints(n), ints(n), sanitize=FOUR).findings
    assert finding.severity == "error" and "no more than 128 blocks" in finding.message
