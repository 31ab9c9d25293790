"""Waits that no other block can end."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim.sanitize import SanitizeOptions

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


@ct.kernel
def counts_up_for_ever(x, n):
    """A counter that steps over its end."""
    i = 0
    while i != n:  # BUG: CTS802
        i += 2
    ct.store(x, (0,), ct.full((1,), i, ct.int32))


@ct.kernel
def counts_up_to_the_end(x, n):
    i = 0
    while i < n:
        i += 2
    ct.store(x, (0,), ct.full((1,), i, ct.int32))


def test_counter(pair):
    pair("counts_up_for_ever", "counts_up_to_the_end", (1,), lambda: (ints(1), 9), step_limit=5000)


@ct.kernel
def halves_until_zero(x):
    """Half of infinity is infinity."""
    t = ct.load(x, (0,), (16,))
    while ct.max(t) > 0:  # BUG: CTS802
        t = t * 0.5
    ct.store(x, (0,), t)


@ct.kernel
def halves_a_few_times(x):
    t = ct.load(x, (0,), (16,))
    for _ in range(10):
        t = t * 0.5
    ct.store(x, (0,), t)


def test_convergence(pair):
    pair(
        "halves_until_zero",
        "halves_a_few_times",
        (2,),
        lambda: (np.full(16, np.inf, np.float32),),
        time_limit=0.2,
        sanitize=SanitizeOptions(checks=("hangs",)),
    )


@ct.kernel
def polls_and_counts(flag, turns):
    """It counts how often it has looked, and never gives up."""
    n = 0
    while ct.atomic_add(flag, 0, 0) == 0:  # BUG: CTS802
        n += 1
    ct.store(turns, (0,), ct.full((1,), n, ct.int32))


@ct.kernel
def polls_and_gives_up(flag, turns):
    n = 0
    while ct.atomic_add(flag, 0, 0) == 0:
        n += 1
        if n > 50:
            break
    ct.store(turns, (0,), ct.full((1,), n, ct.int32))


def test_polling(pair):
    pair("polls_and_counts", "polls_and_gives_up", (1,), lambda: (ints(1), ints(1)), step_limit=20_000)
