"""Loads and stores through views against lane-by-lane Python: shapes, tiles, strides, orders, steps, indices."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim import simulate

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")
PAD = ct.PaddingMode

PADDINGS = {
    PAD.ZERO: 0.0,
    PAD.NEG_ZERO: -0.0,
    PAD.NAN: np.nan,
    PAD.POS_INF: np.inf,
    PAD.NEG_INF: -np.inf,
    PAD.UNDETERMINED: np.nan,
}


def load_kernel(rank: int, tile: tuple[int, ...], order: tuple[int, ...], padding, factors, offsets):
    """Block b loads the tile at index b * factor + offset, and stores it as tile b of y."""
    if rank == 1:
        (f0,), (o0,) = factors, offsets

        @ct.kernel
        def kernel(x, y):
            i = ct.bid(0)
            ct.store(y, (i,), ct.load(x, (i * f0 + o0,), tile, order=order, padding_mode=padding))

    elif rank == 2:
        (f0, f1), (o0, o1) = factors, offsets

        @ct.kernel
        def kernel(x, y):
            i, j = ct.bid(0), ct.bid(1)
            t = ct.load(x, (i * f0 + o0, j * f1 + o1), tile, order=order, padding_mode=padding)
            ct.store(y, (i, j), t)

    else:
        (f0, f1, f2), (o0, o1, o2) = factors, offsets

        @ct.kernel
        def kernel(x, y):
            i, j, k = ct.bid(0), ct.bid(1), ct.bid(2)
            t = ct.load(x, (i * f0 + o0, j * f1 + o1, k * f2 + o2), tile, order=order, padding_mode=padding)
            ct.store(y, (i, j, k), t)

    return kernel


def store_kernel(rank: int, tile: tuple[int, ...], order: tuple[int, ...], factors, offsets):
    """Block b stores tile b of x at index b * factor + offset of y."""
    if rank == 1:
        (f0,), (o0,) = factors, offsets

        @ct.kernel
        def kernel(x, y):
            i = ct.bid(0)
            ct.store(y, (i * f0 + o0,), ct.load(x, (i,), tile), order=order)

    elif rank == 2:
        (f0, f1), (o0, o1) = factors, offsets

        @ct.kernel
        def kernel(x, y):
            i, j = ct.bid(0), ct.bid(1)
            ct.store(y, (i * f0 + o0, j * f1 + o1), ct.load(x, (i, j), tile), order=order)

    else:
        (f0, f1, f2), (o0, o1, o2) = factors, offsets

        @ct.kernel
        def kernel(x, y):
            i, j, k = ct.bid(0), ct.bid(1), ct.bid(2)
            ct.store(y, (i * f0 + o0, j * f1 + o1, k * f2 + o2), ct.load(x, (i, j, k), tile), order=order)

    return kernel


def tile_elements(index, tile, order, shape):
    """(lane of the tile, element of the array) of all lanes inside the array. Tile dimension d runs along order[d]."""
    for lane in itertools.product(*map(range, tile)):
        element = [0] * len(shape)
        for d, axis in enumerate(order):
            element[axis] = index[d] * tile[d] + lane[d]
        if all(0 <= e < n for e, n in zip(element, shape, strict=True)):
            yield lane, tuple(element)


def strided(shape: tuple[int, ...], layout: str, dtype=np.float32) -> np.ndarray:
    """An array of the shape with values 1, 2, ... and the layout named."""
    values = np.arange(1, int(np.prod(shape)) + 1).reshape(shape)
    if layout == "C":
        return values.astype(dtype)
    if layout == "F":
        return np.asfortranarray(values.astype(dtype))
    base = np.full(tuple(2 * n + 3 for n in shape), -99, dtype)
    view = base[tuple(slice(2, 2 + 2 * n, 2) for n in shape)]
    view[...] = values
    return view


@st.composite
def access(draw):
    rank = draw(st.integers(1, 3))
    sizes = st.sampled_from((1, 2, 4, 8) if rank < 3 else (1, 2, 4))
    return SimpleNamespace(
        rank=rank,
        tile=tuple(draw(sizes) for _ in range(rank)),
        shape=tuple(draw(st.integers(1, 9)) for _ in range(rank)),
        order=tuple(draw(st.permutations(range(rank)))),
        grid=tuple(draw(st.integers(1, 4)) for _ in range(rank)),
        factors=tuple(draw(st.sampled_from((1, 1, 1, 2, 0, -1))) for _ in range(rank)),
        offsets=tuple(draw(st.sampled_from((0, 0, 1, -1, 3))) for _ in range(rank)),
        layout=draw(st.sampled_from(("C", "F", "strided"))),
        padding=draw(st.sampled_from(sorted(PADDINGS, key=str))),
        batch_blocks=draw(st.sampled_from((None, 1, 3))),
    )


@settings(max_examples=60)
@given(access())
def test_load(a):
    x = strided(a.shape, a.layout)
    y = np.full(tuple(g * t for g, t in zip(a.grid, a.tile, strict=True)), -7, np.float32)
    kernel = load_kernel(a.rank, a.tile, a.order, a.padding, a.factors, a.offsets)
    simulate(kernel, a.grid, x, y, batch_blocks=a.batch_blocks)
    for block in itertools.product(*map(range, a.grid)):
        index = [b * f + o for b, f, o in zip(block, a.factors, a.offsets, strict=True)]
        expected = np.full(a.tile, PADDINGS[a.padding], np.float32)
        for lane, element in tile_elements(index, a.tile, a.order, a.shape):
            expected[lane] = x[element]
        got = y[tuple(slice(b * t, b * t + t) for b, t in zip(block, a.tile, strict=True))]
        np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(expected[expected == 0]))


@settings(max_examples=60)
@given(access())
def test_store(a):
    x = strided(tuple(g * t for g, t in zip(a.grid, a.tile, strict=True)), "C", np.int16)
    y = strided(a.shape, a.layout, np.int16)
    # Where several blocks store one tile, the last one's stays: in launch order, x fastest.
    expected = y.copy()
    for block in sorted(itertools.product(*map(range, a.grid)), key=lambda b: b[::-1]):
        index = [b * f + o for b, f, o in zip(block, a.factors, a.offsets, strict=True)]
        tile = x[tuple(slice(b * t, b * t + t) for b, t in zip(block, a.tile, strict=True))]
        for lane, element in tile_elements(index, a.tile, a.order, a.shape):
            expected[element] = tile[lane]
    around = None if y.base is None else y.base.copy()
    simulate(store_kernel(a.rank, a.tile, a.order, a.factors, a.offsets), a.grid, x, y, batch_blocks=a.batch_blocks)
    np.testing.assert_array_equal(y, expected)
    if around is not None and a.layout == "strided":
        hole = np.ones(around.shape, bool)
        hole[tuple(slice(2, 2 + 2 * n, 2) for n in a.shape)] = False
        np.testing.assert_array_equal(y.base[hole], around[hole], err_msg="between the elements")


@pytest.mark.parametrize("batch_blocks", [None, 1, 5])
@pytest.mark.parametrize("multiplier", [1, 7, 6])
def test_tile_index_uneven_over_blocks(multiplier, batch_blocks):
    @ct.kernel
    def kernel(x, y):
        b = ct.bid(0)
        ct.store(y, (b,), ct.load(x, ((b * multiplier) % 11,), (4,)) + b)

    x, y = np.arange(44, dtype=np.int32), np.zeros(44, np.int32)
    simulate(kernel, 11, x, y, batch_blocks=batch_blocks)
    for b in range(11):
        at = b * multiplier % 11
        np.testing.assert_array_equal(y[4 * b : 4 * b + 4], x[4 * at : 4 * at + 4] + b)


@pytest.mark.parametrize("batch_blocks", [None, 1, 5])
def test_tile_index_read_from_memory(batch_blocks):
    @ct.kernel
    def kernel(where, x, y):
        b = ct.bid(0)
        at = ct.gather(where, b)
        ct.store(y, (at,), ct.load(x, (at, 0), (1, 8), padding_mode=PAD.ZERO).reshape((8,)))

    where = np.random.default_rng(8).permutation(13).astype(np.int32)
    x, y = np.arange(13 * 6, dtype=np.int64).reshape(13, 6), np.full(13 * 8, -1, np.int64)
    simulate(kernel, 13, where, x, y, batch_blocks=batch_blocks)
    np.testing.assert_array_equal(y.reshape(13, 8), np.pad(x, ((0, 0), (0, 2))))


@settings(max_examples=40)
@given(
    length=st.integers(1, 40),
    tile=st.sampled_from((1, 4, 8)),
    step=st.sampled_from((1, 2, 3, 4, 8, 11)),
    blocks=st.integers(1, 12),
    start=st.integers(-2, 3),
)
def test_traversal_steps(length, tile, step, blocks, start):
    @ct.kernel
    def kernel(x, y, n):
        view = x.tiled_view((tile,), padding_mode=PAD.ZERO, traversal_steps=(step,))
        b = ct.bid(0)
        ct.store(y, (b, 0), view.load((b + start,)).reshape((1, tile)))
        ct.store(n, (0,), ct.full((1,), view.num_tiles(0), ct.int32))

    x = np.arange(1, length + 1, dtype=np.int32)
    y, n = np.full((blocks, tile), -1, np.int32), np.zeros(1, np.int32)
    simulate(kernel, blocks, x, y, n)
    for b in range(blocks):
        # Indices are unsigned: a negative one is far outside, with all of its tile.
        first = (b + start) * step if b + start >= 0 else length
        expected = [first + k + 1 if 0 <= first + k < length else 0 for k in range(tile)]
        assert y[b].tolist() == expected
    assert n[0] == -(-length // step)


@pytest.mark.parametrize("batch_blocks", [None, 1])
def test_overlapping_tiles_are_stored_in_launch_order(batch_blocks):
    @ct.kernel
    def kernel(y):
        view = y.tiled_view((8,), traversal_steps=(3,))
        view.store((ct.bid(0),), ct.full((8,), ct.bid(0), ct.int32))

    @ct.kernel
    def backward(y):
        view = y.tiled_view((8,), traversal_steps=(3,))
        view.store((9 - ct.bid(0),), ct.full((8,), ct.bid(0), ct.int32))

    for k, at in ((kernel, lambda b: b), (backward, lambda b: 9 - b)):
        y, expected = np.full(30, -1, np.int32), np.full(30, -1, np.int32)
        simulate(k, 10, y, batch_blocks=batch_blocks)
        for b in range(10):
            expected[3 * at(b) : 3 * at(b) + 8] = b
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("batch_blocks", [None, 1, 3])
@pytest.mark.parametrize("padding", [PAD.ZERO, PAD.NEG_INF])
def test_load_by_advanced_indexing(padding, batch_blocks):
    @ct.kernel
    def kernel(x, rows, y):
        b = ct.bid(0)
        at = ct.load(rows, (b,), (4,))
        t = ct.load_advanced_indexing(x, (at, ct.Slice(b * 3 + 1, 8)), padding_mode=padding)
        ct.store(y, (b, 0), t)

    x = np.arange(1, 61, dtype=np.float32).reshape(6, 10)
    rows = np.array([0, 5, -1, 2, 3, 3, 6, 1, 4, 100, 0, 2], np.int32)
    y = np.zeros((12, 8), np.float32)
    simulate(kernel, 3, x, rows, y, batch_blocks=batch_blocks)
    for lane, row in enumerate(rows.tolist()):
        for k in range(8):
            column = lane // 4 * 3 + 1 + k
            inside = 0 <= row < 6 and 0 <= column < 10
            assert y[lane, k] == (x[row, column] if inside else PADDINGS[padding])


@pytest.mark.parametrize("batch_blocks", [None, 1, 3])
def test_store_by_advanced_indexing(batch_blocks):
    @ct.kernel
    def kernel(x, rows, y):
        b = ct.bid(0)
        at = ct.load(rows, (b,), (4,))
        ct.store_advanced_indexing(y, (at, ct.Slice(b, 4)), ct.load(x, (b, 0), (4, 4)))

    x = np.arange(1, 49, dtype=np.float32).reshape(12, 4)
    rows = np.array([0, 5, -1, 2, 3, 1, 6, 4, 9, 100, 7, 8], np.int32)
    y = np.zeros((10, 6), np.float32)
    expected = y.copy()
    for lane, row in enumerate(rows.tolist()):
        for k in range(4):
            if 0 <= row < 10:
                expected[row, lane // 4 + k] = x[lane, k]
    simulate(kernel, 3, x, rows, y, batch_blocks=batch_blocks)
    np.testing.assert_array_equal(y, expected)


@ct.kernel
def shift_rows(x):
    """Reads the row above into its own, so that a block's value is a window of the memory another stores to."""
    t = ct.load(x, (0, 0), (4, 8))
    ct.store(x, (1, 0), t)
    ct.store(x, (0, 0), t * 2)
    ct.store(x, (2, 0), t)


def test_a_loaded_tile_keeps_its_value_when_the_memory_is_overwritten():
    x = np.arange(96, dtype=np.float32).reshape(12, 8)
    t = x[:4].copy()
    simulate(shift_rows, 1, x)
    np.testing.assert_array_equal(x, np.concatenate([t * 2, t, t]))


@ct.kernel
def shift_by_one(x):
    v = x.slice(0, 1, 10)
    ct.store(v, (0, 0), ct.load(x, (0, 0), (8, 8)))


@ct.kernel
def add_onto_itself(x):
    t = ct.load(x, (0,), (8,))
    ct.atomic_add(x, ct.arange(8, dtype=ct.int32) // 2 + 1, t)


def test_a_tile_may_be_stored_over_the_memory_it_was_loaded_from():
    x = np.arange(60, dtype=np.float32).reshape(10, 6)
    expected = x.copy()
    expected[1:9] = x[:8]
    simulate(shift_by_one, 1, x)
    np.testing.assert_array_equal(x, expected)
    y = np.arange(1, 9, dtype=np.int32)
    simulate(add_onto_itself, 1, y)
    assert y.tolist() == [1, 2 + 1 + 2, 3 + 3 + 4, 4 + 5 + 6, 5 + 7 + 8, 6, 7, 8]


@pytest.mark.parametrize(
    ("undetermined", "number", "real"), [("sentinel", 0x5A5A5A5A, "nan"), ("zero", 0, "0.0"), ("ones", -1, "nan")]
)
def test_fill_of_undetermined_lanes(undetermined, number, real):
    @ct.kernel
    def kernel(x, y):
        ct.store(y, (0,), ct.load(x, (0,), (8,), padding_mode=PAD.UNDETERMINED))

    for dtype, expected in ((np.int32, number), (np.float32, float(real))):
        y = np.full(8, 9, dtype)
        simulate(kernel, 1, np.arange(5, dtype=dtype), y, undetermined=undetermined)
        np.testing.assert_array_equal(y[:5], np.arange(5))
        np.testing.assert_array_equal(y[5:], np.full(3, expected, dtype))


@ct.kernel
def slices(x, y, z):
    """Views that differ by block, made before blocks part and used after."""
    b = ct.bid(0)
    v = x.slice(0, b * 3, b * 3 + 3)
    t = ct.load(v, (0,), (4,), padding_mode=PAD.ZERO)
    w = z.slice(0, b * 4, b * 4 + 3)
    if b % 3 == 0:
        u = x.slice(0, b, b + 2)
        t = t + ct.load(u, (0,), (4,), padding_mode=PAD.ZERO)
        ct.store(w, (0,), ct.full((4,), b, ct.int32))
    else:
        t = t * 10
        ct.store(w, (0,), ct.full((2,), -b, ct.int32))
    ct.store(y, (b, 0), ct.reshape(t + ct.load(v, (0,), (4,), padding_mode=PAD.ZERO), (1, 4)))


@pytest.mark.parametrize("batch_blocks", [None, 1, 3])
def test_slices_that_differ_by_block(batch_blocks):
    x = np.arange(1, 31, dtype=np.int32)
    y, z = np.zeros((8, 4), np.int32), np.full(32, -9, np.int32)
    simulate(slices, 8, x, y, z, batch_blocks=batch_blocks)
    for b in range(8):
        v = [*x[3 * b : 3 * b + 3].tolist(), 0]
        u = [*x[b : b + 2].tolist(), 0, 0]
        t = [p + q for p, q in zip(v, u, strict=True)] if b % 3 == 0 else [10 * p for p in v]
        assert y[b].tolist() == [p + q for p, q in zip(t, v, strict=True)]
        assert z[4 * b : 4 * b + 4].tolist() == ([b, b, b, -9] if b % 3 == 0 else [-b, -b, -9, -9])
