"""Waits that no other block can end."""

from __future__ import annotations

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def ints(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


@ct.kernel
def lock_never_freed(lock, total):
    while ct.atomic_cas(lock, 0, 0, 1) == 1:  # BUG: CTS801
        pass
    ct.atomic_add(total, 0, 1)


@ct.kernel
def lock_freed(lock, total):
    while ct.atomic_cas(lock, 0, 0, 1) == 1:
        pass
    ct.atomic_add(total, 0, 1)
    ct.atomic_xchg(lock, 0, 0)


def test_lock(pair):
    pair("lock_never_freed", "lock_freed", (3,), lambda: (ints(1), ints(1)))


@ct.kernel
def barrier_of_too_many(count, n):
    ct.atomic_add(count, 0, 1)
    while ct.atomic_add(count, 0, 0) < n:  # BUG: CTS801
        pass


@ct.kernel
def barrier_of_all(count, n):
    ct.atomic_add(count, 0, 1)
    while ct.atomic_add(count, 0, 0) < ct.num_blocks(0):
        pass


def test_barrier(pair):
    pair("barrier_of_too_many", "barrier_of_all", (4,), lambda: (ints(1), 5))


@ct.kernel
def wait_in_a_circle(flags):
    b, n = ct.bid(0), ct.num_blocks(0)
    while ct.atomic_add(flags, (b + 1) % n, 0) == 0:  # BUG: CTS801
        pass
    ct.atomic_xchg(flags, b, 1)


@ct.kernel
def wait_in_a_line(flags):
    b, n = ct.bid(0), ct.num_blocks(0)
    if b + 1 < n:
        while ct.atomic_add(flags, b + 1, 0) == 0:
            pass
    ct.atomic_xchg(flags, b, 1)


def test_waiting_for_the_next(pair):
    pair("wait_in_a_circle", "wait_in_a_line", (5,), lambda: (ints(5),))
