"""Control flow that differs between blocks: values, and that blocks which have parted meet again."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim import simulate
from cutile_sim.engine.machine import Machine

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")


@ct.function
def early(t, i):
    if i % 3 == 0:
        return t
    if i % 3 == 1:
        return t * 2
    return t - i


@ct.kernel
def branch_on_tile(x, y):
    i = ct.bid(0)
    t = early(ct.load(x, (i,), (8,)), i)
    if ct.sum(t) > 100:
        t = t + 1000
    else:
        t = -t
    ct.store(y, (i,), t)


@ct.kernel
def search(x, y):
    """The first position in each row whose value is over 90, else -1; rows end at a negative value."""
    row = ct.bid(0)
    found = -1
    for k in range(ct.num_tiles(x, 1, (1, 1))):
        v = ct.gather(x, (row, k))
        if v < 0:
            break
        if v % 2 == 1:
            continue
        if v > 90:
            found = k
            break
    ct.scatter(y, row, found)


@ct.kernel
def collatz(y):
    n = ct.bid(0) + 1
    turns = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        turns += 1
    ct.scatter(y, ct.bid(0), turns)


@ct.kernel
def carry_tiles(x, y):
    """Tiles and a scalar carried through loops whose length differs by block."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((4, 4), ct.int32)
    last = ct.full((4, 4), -1, ct.int32)
    for k in range(i, j + 3):
        t = ct.load(x, (k, j), (4, 4))
        if (k + j) % 2 == 0:
            acc = acc + t
            last = t
        else:
            acc = acc - last
    ct.store(y, (i, j), acc * 10 + last)


@ct.kernel
def triangle(y):
    i, j = ct.bid(0), ct.bid(1)
    v = 0
    if i > j:
        v = i * 3
    elif i == j:
        v = j + 100
    for k in range(i):
        if k == j:
            v += 7
        v += k
    v = v * 2
    v = v + 1
    ct.scatter(y, (i, j), v)


@ct.kernel
def gather_sum(x, y):
    k = ct.bid(0)
    acc = 0
    while k > 0:
        acc += ct.gather(x, k)
        k -= 1
    for _ in range(20):
        acc = (acc * 3 + 1) % 1009
    ct.scatter(y, ct.bid(0), acc)


BATCHES = (None, 1, 2, 3, 7)


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_branch_on_block_and_on_tile(batch_blocks):
    x = np.arange(88, dtype=np.int32)
    y = np.zeros_like(x)
    simulate(branch_on_tile, 11, x, y, batch_blocks=batch_blocks)
    for i, (got, t) in enumerate(zip(y.reshape(11, 8), x.reshape(11, 8), strict=True)):
        t = [t, t * 2, t - i][i % 3]
        np.testing.assert_array_equal(got, t + 1000 if sum(int(v) for v in t) > 100 else -t)


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_break_and_continue(batch_blocks):
    x = np.random.default_rng(2).integers(-3, 100, (40, 25)).astype(np.int32)
    y = np.zeros(40, np.int32)
    simulate(search, 40, x, y, batch_blocks=batch_blocks)
    for row, got in zip(x.tolist(), y.tolist(), strict=True):
        end = next((k for k, v in enumerate(row) if v < 0), len(row))
        assert got == next((k for k, v in enumerate(row[:end]) if v > 90 and v % 2 == 0), -1)


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_while_with_its_own_trip_count_in_each_block(batch_blocks):
    y = np.zeros(30, np.int32)
    simulate(collatz, 30, y, batch_blocks=batch_blocks)
    for block, got in enumerate(y.tolist()):
        n, turns = block + 1, 0
        while n != 1:
            n, turns = n // 2 if n % 2 == 0 else 3 * n + 1, turns + 1
        assert got == turns


@pytest.mark.parametrize("batch_blocks", BATCHES)
def test_tiles_carried_through_uneven_loops(batch_blocks):
    x = np.random.default_rng(4).integers(-9, 9, (32, 16)).astype(np.int32)
    y = np.zeros((20, 16), np.int32)
    simulate(carry_tiles, (5, 4), x, y, batch_blocks=batch_blocks)
    for i in range(5):
        for j in range(4):
            acc, last = np.zeros((4, 4), int), np.full((4, 4), -1)
            for k in range(i, j + 3):
                t = x[4 * k : 4 * k + 4, 4 * j : 4 * j + 4]
                if (k + j) % 2 == 0:
                    acc, last = acc + t, t
                else:
                    acc = acc - last
            np.testing.assert_array_equal(y[4 * i : 4 * i + 4, 4 * j : 4 * j + 4], acc * 10 + last)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch):
    """Engine instructions that each launch took, in order."""
    taken: list[int] = []
    run = Machine.run

    def counted(self: Machine, *args, **kwargs):
        run(self, *args, **kwargs)
        taken.append(self.steps)

    monkeypatch.setattr(Machine, "run", counted)
    return taken


def test_parted_blocks_meet_again_after_an_if(steps):
    for n in (4, 64):
        x = np.arange(8 * n, dtype=np.int32)
        simulate(branch_on_tile, n, x, np.zeros_like(x))
    assert steps[0] == steps[1], "two sides run once each, however many blocks take them"


def test_parted_blocks_meet_again_in_two_dimensions(steps):
    for n in (4, 16):
        y = np.zeros((n, n), np.int32)
        simulate(triangle, (n, n), y)
        expected = [
            [
                2 * ((3 * i if i > j else j + 100 if i == j else 0) + sum(k + 7 * (k == j) for k in range(i))) + 1
                for j in range(n)
            ]
            for i in range(n)
        ]
        np.testing.assert_array_equal(y, expected)
    assert steps[1] < steps[0] * 5, "steps grow with the longest loop, not with the number of blocks"


def test_blocks_that_leave_a_loop_over_memory_at_different_turns_meet_again(steps):
    x = np.arange(64, dtype=np.int32)
    for n in (16, 32, 64):
        y = np.zeros(n, np.int32)
        simulate(gather_sum, n, x, y)
        for block, got in enumerate(y.tolist()):
            acc = block * (block + 1) // 2
            for _ in range(20):
                acc = (acc * 3 + 1) % 1009
            assert got == acc
    assert steps[2] - steps[1] == 2 * (steps[1] - steps[0]), (
        "a turn of the loop costs the same for any number of blocks"
    )
