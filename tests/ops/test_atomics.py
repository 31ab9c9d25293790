"""Atomic updates against the same updates one after another: duplicates in a tile, across blocks, masks, old values."""

from __future__ import annotations

import functools
import itertools

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim import simulate

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")

TILE, BLOCKS = 8, 5
INTEGERS = ("int32", "uint32", "int64", "uint64")
MODES = {
    "add": (lambda old, v: old + v, (*INTEGERS, "float16", "bfloat16", "float32", "float64")),
    "xchg": (lambda old, v: v, (*INTEGERS, "float32", "float64")),
    "max": (max, INTEGERS),
    "min": (min, INTEGERS),
    "and": (lambda old, v: old & v, INTEGERS),
    "or": (lambda old, v: old | v, INTEGERS),
    "xor": (lambda old, v: old ^ v, INTEGERS),
}
CASES = [(mode, dtype) for mode, (_, dtypes) in MODES.items() for dtype in dtypes]


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(ml_dtypes.bfloat16) if name == "bfloat16" else np.dtype(name)


@functools.cache
def kernels(mode: str):
    operation = getattr(ct, f"atomic_{mode}")

    @ct.kernel
    def with_old(y, where, v, old):
        i = ct.bid(0)
        t = operation(y, ct.load(where, (i,), (TILE,)), ct.load(v, (i,), (TILE,)))
        ct.store(old, (i,), t)

    @ct.kernel
    def without_old(y, where, v, old):
        i = ct.bid(0)
        operation(y, ct.load(where, (i,), (TILE,)), ct.load(v, (i,), (TILE,)))

    return with_old, without_old


def wrapped(value, dtype: np.dtype):
    """A Python number as an element: modulo 2**n, or rounded to the float type."""
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        value &= (1 << bits) - 1
        return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value
    return dtype.type(value).item() if dtype.kind == "f" else float(dtype.type(value))


def in_turn(update, y: np.ndarray, where: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, list]:
    """What y is after all updates in the order of blocks and lanes, and the old value each lane sees (None outside)."""
    memory, old = [x.item() if x.dtype.kind in "iu" else float(x) for x in y], []
    for at, value in zip(where.tolist(), v, strict=True):
        inside = 0 <= at < len(memory)
        old.append(memory[at] if inside else None)
        if inside:
            number = value.item() if v.dtype.kind in "iu" else float(value)
            memory[at] = wrapped(update(memory[at], number), y.dtype)
    return np.array(memory, y.dtype), old


def draw_values(rng: np.random.Generator, dtype: np.dtype, n: int) -> np.ndarray:
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, n, dtype, endpoint=True)
    return (rng.standard_normal(n) * 8).astype(dtype)


@pytest.mark.parametrize(("mode", "dtype_name"), CASES)
def test_mode(mode, dtype_name):
    dtype, update = numpy_dtype(dtype_name), MODES[mode][0]
    rng = np.random.default_rng(7)
    where = rng.integers(-2, 9, TILE * BLOCKS).astype(np.int32)
    v, start = draw_values(rng, dtype, TILE * BLOCKS), draw_values(rng, dtype, 7)
    expected, expected_old = in_turn(update, start, where, v)
    for kernel, batch_blocks in itertools.product(kernels(mode), (None, 1, 2)):
        y, old = start.copy(), np.zeros(TILE * BLOCKS, dtype)
        simulate(kernel, BLOCKS, y, where, v, old, batch_blocks=batch_blocks)
        assert y.tobytes() == expected.tobytes()
        if old.any():
            for got, due in zip(old, expected_old, strict=True):
                assert got == (0 if due is None else np.array(due, dtype))


@settings(max_examples=25)
@given(
    where=st.lists(st.integers(-1, 6), min_size=16, max_size=16),
    expect=st.lists(st.integers(0, 3), min_size=16, max_size=16),
    batch_blocks=st.sampled_from((None, 1)),
)
def test_compare_and_swap(where, expect, batch_blocks):
    y, old = np.array([0, 1, 2, 3, 0], np.int32), np.zeros(16, np.int32)
    memory, due = y.tolist(), []
    for lane, (at, e) in enumerate(zip(where, expect, strict=True)):
        inside = 0 <= at < 5
        due.append(memory[at] if inside else e)
        if inside and memory[at] == e:
            memory[at] = lane % 4
    simulate(
        swap, 2, y, np.array(where, np.int32), np.array(expect, np.int32), np.arange(16, dtype=np.int32) % 4, old,
        batch_blocks=batch_blocks,
    )  # fmt: skip
    assert y.tolist() == memory
    assert old.tolist() == due


@ct.kernel
def swap(y, where, expect, desired, old):
    i = ct.bid(0)
    at = ct.load(where, (i,), (8,))
    ct.store(old, (i,), ct.atomic_cas(y, at, ct.load(expect, (i,), (8,)), ct.load(desired, (i,), (8,))))


@ct.kernel
def swap_bits(y, expect, desired, old):
    e, d = ct.load(expect, (0,), (4,)), ct.load(desired, (0,), (4,))
    ct.store(old, (0,), ct.atomic_cas(y, ct.arange(4, dtype=ct.int32), e, d))


def test_compare_and_swap_compares_bits():
    y = np.array([0.0, np.nan, 1.0, -0.0], np.float32)
    old = np.zeros(4, np.float32)
    simulate(swap_bits, 1, y, np.array([-0.0, np.nan, 1.0, -0.0], np.float32), np.full(4, 5, np.float32), old)
    assert y.tolist() == [0.0, 5.0, 5.0, 5.0]
    assert old.view(np.uint32).tolist() == [0, 0x7FC00000, 0x3F800000, 0x80000000]


@ct.kernel
def every_block_counts(count, sums, i, f):
    ct.atomic_add(count, 0, i)
    ct.atomic_add(sums, ct.zeros((4,), ct.int32), f)


@pytest.mark.parametrize("batch_blocks", [None, 1, 5])
def test_every_block_counts_where_nothing_depends_on_the_block(batch_blocks):
    count, sums = np.zeros(1, np.int32), np.zeros(1, np.float32)
    result = simulate(every_block_counts, (3, 4, 2), count, sums, 3, 0.5, batch_blocks=batch_blocks)
    assert count[0] == 3 * 24 and sums[0] == 4 * 24 * 0.5
    assert result.bytes_stored == 24 * (4 + 16)


@ct.kernel
def add_tiles(x, y):
    view = y.tiled_view((4, 4))
    i, j = ct.bid(0), ct.bid(1)
    view.atomic_store_add((i // 2, j), ct.load(x, (i, j), (4, 4)))


@pytest.mark.parametrize("batch_blocks", [None, 1, 3])
@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float16])
def test_atomic_store_of_tiles_at_the_edge(dtype, batch_blocks):
    x = np.random.default_rng(1).integers(-9, 9, (20, 12)).astype(dtype)
    y = np.ones((10, 9), dtype)
    expected = np.ones((12, 12), dtype)
    for i, j in itertools.product(range(5), range(3)):
        expected[i // 2 * 4 : i // 2 * 4 + 4, 4 * j : 4 * j + 4] += x[4 * i : 4 * i + 4, 4 * j : 4 * j + 4]
    simulate(add_tiles, (5, 3), x, y, batch_blocks=batch_blocks)
    np.testing.assert_array_equal(y, expected[:10, :9])


@ct.kernel
def tickets(counter, order, x):
    t = ct.atomic_add(counter, 0, 1)
    if ct.bid(0) % 2 == 0:
        ct.scatter(order, t, ct.bid(0))
    else:
        ct.scatter(order, t, -ct.bid(0))
    ct.atomic_max(x, 0, t)


@pytest.mark.parametrize("batch_blocks", [None, 1, 7])
def test_tickets(batch_blocks):
    counter, order, x = np.zeros(1, np.int32), np.zeros(50, np.int32), np.zeros(1, np.int32)
    simulate(tickets, 50, counter, order, x, batch_blocks=batch_blocks)
    assert counter[0] == 50 and x[0] == 49
    assert sorted(abs(order).tolist()) == list(range(50))
