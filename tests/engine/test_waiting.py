"""Blocks that wait for other blocks, and launches that never end."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cutile_sim import BudgetExceededError, simulate
from cutile_sim.errors import KernelError

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")

BATCHES = (None, 1, 2, 7)


@ct.kernel
def locked_sum(lock, total):
    while ct.atomic_cas(lock, 0, 0, 1) == 1:
        pass
    ct.store(total, (0,), ct.load(total, (0,), (1,)) * 3 + ct.bid(0))
    ct.atomic_xchg(lock, 0, 0)


@ct.kernel
def locked_by_attempts(lock, total, attempts):
    """A lock whose waiting loop carries something that changes."""
    n = 1
    while ct.atomic_cas(lock, 0, 0, 1) == 1:
        n += 1
    ct.store(total, (0,), ct.load(total, (0,), (1,)) + 1)
    ct.atomic_xchg(lock, 0, 0)
    ct.scatter(attempts, ct.bid(0), n)


@ct.kernel
def locked_in_counted_loop(lock, total):
    for _ in range(10**9):
        if ct.atomic_cas(lock, 0, 0, 1) == 0:
            break
    ct.store(total, (0,), ct.load(total, (0,), (1,)) + 1)
    ct.atomic_xchg(lock, 0, 0)


@ct.kernel
def chain(flags, x):
    """Each block waits for the next higher one."""
    b, n = ct.bid(0), ct.num_blocks(0)
    if b == n - 1:
        ct.store(x, (b,), ct.full((1,), 7, ct.int32))
    else:
        while ct.atomic_add(flags, b + 1, 0) == 0:
            pass
        ct.store(x, (b,), ct.load(x, (b + 1,), (1,)) + 1)
    ct.atomic_xchg(flags, b, 1)


@ct.kernel
def in_turn(turn, order):
    """Blocks take their turns by a ticket, in reverse order of their ids."""
    b, n = ct.bid(0), ct.num_blocks(0)
    while ct.atomic_add(turn, 0, 0) != n - 1 - b:
        pass
    ct.scatter(order, ct.atomic_add(turn, 1, 1), b)
    ct.atomic_add(turn, 0, 1)


@ct.kernel
def barrier(count, x, y):
    """All blocks of the grid meet twice."""
    b, n = ct.bid(0), ct.num_blocks(0)
    ct.scatter(x, b, b * b)
    ct.atomic_add(count, 0, 1)
    while ct.atomic_add(count, 0, 0) < n:
        pass
    left = ct.gather(x, (b + n - 1) % n)
    ct.atomic_add(count, 1, 1)
    while ct.atomic_add(count, 1, 0) < n:
        pass
    ct.scatter(x, b, left)
    ct.scatter(y, b, left)


@ct.kernel
def half_wait(flags, x):
    """Even blocks wait inside a branch for what their odd neighbours do in the other one."""
    b = ct.bid(0)
    if b % 2 == 0:
        while ct.atomic_add(flags, b + 1, 0) == 0:
            pass
        ct.scatter(x, b, ct.gather(x, b + 1) + 1)
    else:
        ct.scatter(x, b, b * 10)
        ct.atomic_xchg(flags, b, 1)
    ct.atomic_add(flags, ct.num_blocks(0), 1)


@ct.kernel
def two_locks(locks, x, n):
    for i in range(n):
        while ct.atomic_cas(locks, i % 2, 0, 1) == 1:
            pass
        ct.scatter(x, i % 2, ct.gather(x, i % 2) * 2 + 1)
        ct.atomic_xchg(locks, i % 2, 0)


@ct.kernel
def waits_for_nobody(flag, x):
    ct.printf("block %d\n", ct.bid(0))
    while ct.atomic_add(flag, 0, 0) == 0:
        pass
    ct.store(x, (0,), ct.full((1,), 1, ct.int32))


@ct.kernel
def counts_for_ever(x):
    n = 0
    while n >= 0:
        n = (n + 1) % 10
        ct.scatter(x, 0, n)


@ct.kernel
def prints(x):
    i, j = ct.bid(0), ct.bid(1)
    ct.print("block", i, j, ct.load(x, (0,), (2,)))
    if i == 1:
        ct.print("one", j)


def zeros(n: int = 1) -> np.ndarray:
    return np.zeros(n, np.int32)


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_lock(batch_blocks):
    lock, total = zeros(), zeros()
    result = simulate(locked_sum, 9, lock, total, batch_blocks=batch_blocks)
    assert lock[0] == 0 and result.blocks == 9
    lock, total = zeros(), zeros()
    simulate(locked_by_attempts, 9, lock, total, attempts := zeros(9), batch_blocks=batch_blocks)
    assert total[0] == 9 and attempts.min() >= 1
    lock, total = zeros(), zeros()
    simulate(locked_in_counted_loop, 9, lock, total, batch_blocks=batch_blocks, time_limit=60)
    assert total[0] == 9 and lock[0] == 0


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_lower_block_waits_for_higher_one(batch_blocks):
    x = zeros(40)
    result = simulate(chain, 40, zeros(40), x, batch_blocks=batch_blocks)
    np.testing.assert_array_equal(x, np.arange(46, 6, -1))
    assert result.blocks == 40


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_ticket_order(batch_blocks):
    order = zeros(20)
    simulate(in_turn, 20, zeros(2), order, batch_blocks=batch_blocks)
    np.testing.assert_array_equal(order, np.arange(19, -1, -1))


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_barrier_over_the_grid(batch_blocks):
    x, y = zeros(15), zeros(15)
    simulate(barrier, 15, zeros(2), x, y, batch_blocks=batch_blocks)
    np.testing.assert_array_equal(y, np.roll(np.arange(15) ** 2, 1))
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_waits_inside_branches_and_loops(batch_blocks):
    x, flags = zeros(20), zeros(21)
    simulate(half_wait, 20, flags, x, batch_blocks=batch_blocks)
    assert x.tolist() == [10 * b if b % 2 else 10 * (b + 1) + 1 for b in range(20)] and flags[20] == 20
    x = zeros(2)
    simulate(two_locks, 4, zeros(2), x, 6, batch_blocks=batch_blocks)
    assert x.tolist() == [2**12 - 1] * 2


def test_wait_that_never_ends_names_the_loop_and_keeps_what_was_printed():
    x = zeros()
    with pytest.raises(BudgetExceededError) as caught:
        simulate(waits_for_nobody, 3, zeros(), x, step_limit=20_000, echo=False)
    error = caught.value
    assert error.location is not None and error.location.file.endswith("test_waiting.py")
    assert "while ct.atomic_add(flag, 0, 0) == 0" in str(error)
    assert "20,000 steps" in str(error) and "step_limit=" in str(error)
    assert error.printed == "block 0\nblock 1\nblock 2\n"
    assert x[0] == 0


def test_time_limit():
    with pytest.raises(BudgetExceededError, match=r"longer than 0\.2 seconds"):
        simulate(counts_for_ever, 2, zeros(), time_limit=0.2)
    with pytest.raises(BudgetExceededError, match="while n >= 0"):
        simulate(counts_for_ever, 2, zeros(), step_limit=1000)


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_printing_under_the_lock_of_bytecode_13_1(batch_blocks):
    x = np.array([1, 2], np.int32)
    expected = "".join(f"block {i} {j} [1, 2]\n" + (f"one {j}\n" if i == 1 else "") for j in range(3) for i in range(4))
    for version in ("13.1", "13.4"):
        result = simulate(
            prints, (4, 3), x, bytecode_version=version, batch_blocks=batch_blocks, echo=(out := io.StringIO())
        )
        assert result.printed == out.getvalue() == expected


def test_print_lock_is_free_again_after_a_launch_that_was_stopped_inside_it(monkeypatch):
    from cutile_sim.ops import IMPLEMENTATIONS

    x = np.array([1, 2], np.int32)
    simulate(prints, (1, 1), x, bytecode_version="13.1", echo=False)
    monkeypatch.setattr("cutile_sim.ops.debug.format_print", lambda *_: (_ for _ in ()).throw(KernelError("stopped")))
    assert "print_tko" in IMPLEMENTATIONS
    with pytest.raises(KernelError, match="stopped"):
        simulate(prints, (1, 1), x, bytecode_version="13.1", echo=False)
    monkeypatch.undo()
    assert simulate(prints, (1, 1), x, bytecode_version="13.1", echo=False).printed == "block 0 0 [1, 2]\n"
