"""Loops of matrix products that take several turns at once: exact inputs, so that any order gives one sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim import simulate
from cutile_sim.engine.machine import Machine

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")
PAD = ct.PaddingMode


@ct.kernel
def plain(a, b, c, first, last, K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((8, 8), ct.float32)
    for k in range(first, last):
        x = ct.load(a, (i, k), (8, K), padding_mode=PAD.ZERO)
        y = ct.load(b, (k, j), (K, 8), padding_mode=PAD.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def uneven(a, b, c, K: ct.Constant[int]):
    """Blocks begin and end their loops at turns of their own, and one of the operands is turned over."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.full((8, 8), i - j, ct.float32)
    for k in range(j, 3 * i + j + 1):
        x = ct.load(a, (i, k), (8, K), padding_mode=PAD.ZERO)
        y = ct.transpose(ct.load(b, (j, k), (8, K), padding_mode=PAD.ZERO))
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def two_sums(a, b, c, d, turns, K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc, other = ct.zeros((8, 8), ct.float32), ct.full((8, 8), 5, ct.float32)
    for k in range(turns):
        x = ct.load(a, (i, k), (8, K), padding_mode=PAD.ZERO)
        y = ct.load(b, (j, k), (8, K), order="C", padding_mode=PAD.ZERO).permute((1, 0))
        acc = ct.mma(x, y, acc)
        other = ct.mma(x, y, other)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)
    ct.store(d, (i, j), other)


@ct.kernel
def sliced_inside(a, b, c, turns, K: ct.Constant[int]):
    """Views made anew in every turn."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((8, 8), ct.float32)
    for k in range(turns):
        v = a.slice(0, 8, 16)
        x = ct.load(v, (0, k), (8, K), padding_mode=PAD.ZERO)
        y = ct.load(b, (k, j), (K, 8), padding_mode=PAD.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def from_list(arrays, b, c, turns, K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((8, 8), ct.float32)
    for k in range(turns):
        x = ct.load(arrays[1], (i, k), (8, K), padding_mode=PAD.ZERO)
        acc = ct.mma(x, ct.load(b, (k, j), (K, 8), padding_mode=PAD.ZERO), acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def in_parts(a, b, c, turns, K: ct.Constant[int]):
    """A loop that carries tokens, as the sums of all parts are added up atomically."""
    i, j, part = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((8, 8), ct.float32)
    for k in range(part * turns, (part + 1) * turns):
        x = ct.load(a, (i, k), (8, K), padding_mode=PAD.ZERO)
        acc = ct.mma(x, ct.load(b, (k, j), (K, 8), padding_mode=PAD.ZERO), acc)
    rows, columns = ct.arange(8, dtype=ct.int32) + 8 * i, ct.arange(8, dtype=ct.int32) + 8 * j
    ct.atomic_add(c, (rows[:, None], columns[None, :]), acc)


@ct.kernel
def used_otherwise(a, b, c, turns, K: ct.Constant[int]):
    """What must not take several turns at once: the sum is looked at, scaled, or joined by the counter."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((8, 8), ct.float32)
    for k in range(turns):
        x = ct.load(a, (i, k), (8, K), padding_mode=PAD.ZERO)
        y = ct.load(b, (k, j), (K, 8), padding_mode=PAD.ZERO)
        acc = ct.mma(x, y, ct.maximum(acc, 0.0)) + k
    ct.store(c, (i, j), acc)


@ct.kernel
def same_index(a, b, c, turns, K: ct.Constant[int]):
    """Only one operand moves along K."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((8, 8), ct.float32)
    for k in range(turns):
        x = ct.load(a, (i, 0), (8, K), padding_mode=PAD.ZERO)
        y = ct.load(b, (k, j), (K, 8), padding_mode=PAD.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)


def whole(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-3, 4, shape).astype(rng.choice([np.float16, np.float32]))


def tile(x: np.ndarray, row: int, rows: int, column: int, columns: int) -> np.ndarray:
    """One tile, zeros outside."""
    out = np.zeros((rows, columns), np.int64)
    part = x[row * rows : (row + 1) * rows, column * columns : (column + 1) * columns]
    out[: part.shape[0], : part.shape[1]] = part
    return out


sizes = st.integers(1, 100)
common = {
    "extent": sizes,
    "columns": st.integers(1, 20),
    "k_tile": st.sampled_from((8, 16, 32)),
    "batch_blocks": st.sampled_from((None, 1, 4)),
    "seed": st.integers(0, 99),
}


@settings(max_examples=25)
@given(**common, first=st.integers(0, 3), last=st.integers(0, 20))
def test_plain(extent, columns, k_tile, batch_blocks, seed, first, last):
    rng = np.random.default_rng(seed)
    a, b = whole(rng, 20, extent), rng.integers(-3, 4, (extent, columns))
    b = b.astype(a.dtype)
    c = np.zeros((24, 24), np.float32)
    simulate(plain, (3, 3), a, b, c, first, last, k_tile, batch_blocks=batch_blocks)
    for i in range(3):
        for j in range(3):
            due = sum(
                (tile(a, i, 8, k, k_tile) @ tile(b, k, k_tile, j, 8) for k in range(first, last)),
                np.zeros((8, 8), np.int64),
            )
            np.testing.assert_array_equal(c[8 * i : 8 * i + 8, 8 * j : 8 * j + 8], due)


@settings(max_examples=25)
@given(**common)
def test_loops_that_differ_by_block(extent, columns, k_tile, batch_blocks, seed):
    rng = np.random.default_rng(seed)
    a = whole(rng, 20, extent)
    b = rng.integers(-3, 4, (columns, extent)).astype(a.dtype)
    c = np.zeros((24, 24), np.float32)
    simulate(uneven, (3, 3), a, b, c, k_tile, batch_blocks=batch_blocks)
    for i in range(3):
        for j in range(3):
            due = np.full((8, 8), i - j)
            for k in range(j, 3 * i + j + 1):
                due = due + tile(a, i, 8, k, k_tile) @ tile(b, j, 8, k, k_tile).T
            np.testing.assert_array_equal(c[8 * i : 8 * i + 8, 8 * j : 8 * j + 8], due)


@settings(max_examples=15)
@given(extent=sizes, turns=st.integers(0, 15), seed=st.integers(0, 99), batch_blocks=st.sampled_from((None, 1)))
def test_other_loops(extent, turns, seed, batch_blocks):
    rng = np.random.default_rng(seed)
    a = whole(rng, 16, extent)
    b = rng.integers(-3, 4, (extent, 16)).astype(a.dtype)
    k_tile, c, d = 16, np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
    bt = np.ascontiguousarray(b.T)

    def due(i: int, j: int, row, count: int = turns) -> np.ndarray:
        return sum(
            (tile(a, row(i), 8, k, k_tile) @ tile(b, k, k_tile, j, 8) for k in range(count)),
            np.zeros((8, 8), np.int64),
        )

    def check(out: np.ndarray, expected) -> None:
        for i in range(2):
            for j in range(2):
                np.testing.assert_array_equal(out[8 * i : 8 * i + 8, 8 * j : 8 * j + 8], expected(i, j))

    simulate(two_sums, (2, 2), a, bt, c, d, turns, k_tile, batch_blocks=batch_blocks)
    check(c, lambda i, j: 2 * due(i, j, int))
    check(d, lambda i, j: 5 + due(i, j, int))
    simulate(sliced_inside, (2, 2), a, b, c, turns, k_tile, batch_blocks=batch_blocks)
    check(c, lambda i, j: due(i, j, lambda _: 1))
    simulate(from_list, (2, 2), [a[:3].copy(), a], b, c, turns, k_tile, batch_blocks=batch_blocks)
    check(c, lambda i, j: due(i, j, int))
    c[...] = 1
    simulate(in_parts, (2, 2, 3), a, b, c, turns // 3, k_tile, batch_blocks=batch_blocks)
    check(c, lambda i, j: 1 + due(i, j, int, 3 * (turns // 3)))
    simulate(same_index, (2, 2), a, b, c, turns, k_tile, batch_blocks=batch_blocks)
    check(c, lambda i, j: sum((tile(a, i, 8, 0, k_tile) @ tile(b, k, k_tile, j, 8) for k in range(turns)), 0))

    def stepwise(i: int, j: int) -> np.ndarray:
        acc = np.zeros((8, 8), np.int64)
        for k in range(turns):
            acc = tile(a, i, 8, k, k_tile) @ tile(b, k, k_tile, j, 8) + np.maximum(acc, 0) + k
        return acc

    simulate(used_otherwise, (2, 2), a, b, c, turns, k_tile, batch_blocks=batch_blocks)
    check(c, stepwise)


def test_which_loops_take_several_turns_at_once(monkeypatch):
    steps: list[int] = []
    run = Machine.run

    def counted(self: Machine, *args, **kwargs):
        run(self, *args, **kwargs)
        steps.append(self.steps)

    monkeypatch.setattr(Machine, "run", counted)
    a, b, c = np.ones((8, 1024), np.float32), np.ones((1024, 8), np.float32), np.zeros((8, 8), np.float32)
    simulate(plain, 1, a, b, c, 0, 128, 8)
    assert c[0, 0] == 1024 and steps.pop() < 128
    c[...] = 0
    simulate(in_parts, (1, 1, 2), a, b, c, 64, 8)
    assert c[0, 0] == 1024
    simulate(in_parts, (1, 1, 2), a, b, c, 32, 8)
    assert steps.pop() > steps.pop() - 32
    simulate(same_index, 1, a, b, c, 128, 8)
    assert c[0, 0] == 1024 and steps.pop() > 2 * 128
    simulate(used_otherwise, 1, a, b, c, 128, 8)
    assert steps.pop() > 2 * 128
