"""A launch gives the same bits however its grid is cut into batches, and on however many threads they run."""

from __future__ import annotations

import multiprocessing
import os
from typing import Any

import numpy as np
import pytest

from cutile_sim import simulate
from cutile_sim.engine.values import SharedTiles
from cutile_sim.errors import OutOfBoundsError
from cutile_sim.ops import products as products_of_tiles

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")
Int = ct.Constant[int]
RNG = np.random.default_rng(20)


@ct.kernel
def products(a, b, c, m: Int, n: Int, k: Int):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((m, n), ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(m, k))):
        x = ct.load(a, (i, step), (m, k), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (step, j), (k, n), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def turned_products(a, c, m: Int, k: Int):
    i, j = ct.bid(0), ct.bid(1)
    y = ct.transpose(ct.load(a, (j, 0), (m, k)))
    ct.store(c, (i, j), ct.mma(ct.load(a, (i, 0), (m, k)), y, ct.full((m, m), 0.5, ct.float32)))


@ct.kernel
def uneven_products(a, b, c, m: Int, k: Int):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((m, m), ct.float32)
    for step in range(i + j + 1):
        acc = ct.mma(ct.load(a, (i, step), (m, k)), ct.load(b, (step, j), (k, m)), acc)
    if (i + j) % 2 == 0:
        acc = acc * 3.0 + 1.0
    ct.store(c, (i, j), acc)


@ct.kernel
def in_turn(a, b, c, skip, m: Int, n: Int, k: Int):
    """Each block takes tile after tile of a product, so that blocks share tiles of the operands; some are left out."""
    across = ct.num_tiles(b, axis=1, shape=(k, n))
    for tile in range(ct.bid(0), ct.num_tiles(a, axis=0, shape=(m, k)) * across, ct.num_blocks(0)):
        i, j = tile // across, tile % across
        acc = ct.zeros((m, n), ct.float32)
        for step in range(ct.num_tiles(a, axis=1, shape=(m, k))):
            x, y = ct.load(a, (i, step), (m, k)), ct.load(b, (step, j), (k, n))
            if tile % skip != 0:
                acc = ct.mma(x, y, acc)
        ct.store(c, (i, j), acc)


@ct.kernel
def rows(x, y, n: Int):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, n))
    e = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(y, (i, 0), ct.cumsum(e / ct.sum(e, axis=1, keepdims=True) + ct.sin(row), axis=1))


@ct.kernel
def added_floats(x, total, n: Int):
    """Three axes add to the same sums."""
    tile = ct.load(x, (ct.bid(2), ct.bid(1), ct.bid(0), 0), (1, 1, 1, n)).reshape((n,))
    ct.atomic_add(total, ct.arange(n, dtype=ct.int32), tile)


@ct.kernel
def counted(x, bins, n: Int):
    ct.atomic_add(bins, ct.load(x, (ct.bid(0),), (n,)), 1)


@ct.kernel
def edges(a, b, c, m: Int, k: Int):
    """All but the last row and column of blocks start elsewhere, and some leave early."""
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((m, m), ct.float32)
    if i + 1 < ct.num_blocks(0) and j + 1 < ct.num_blocks(1):
        acc = acc + ct.load(c, (i, j), (m, m))
    else:
        for step in range(2):
            acc = ct.mma(ct.load(a, (i, step), (m, k)), ct.load(b, (step, j), (k, m)), acc)
    if i == 0 or j == 1:
        acc = ct.mma(ct.load(a, (i, 2), (m, k)), ct.load(b, (2, j), (k, m)), acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def floats_added_at_the_edges(x, total, n: Int):
    i, j = ct.bid(0), ct.bid(1)
    tile = ct.load(x, (j, i, 0), (1, 1, n)).reshape((n,))
    if i + 1 < ct.num_blocks(0) and j + 1 < ct.num_blocks(1):
        tile = tile * 2.0
    else:
        ct.atomic_add(total, ct.arange(n, dtype=ct.int32), tile)
    ct.atomic_add(total, ct.arange(n, dtype=ct.int32) + n, tile)


@ct.kernel
def extremes(x, most, least, bits, n: Int):
    tile = ct.load(x, (ct.bid(0),), (n,))
    where = ct.bitwise_and(tile, ct.full((n,), 3, tile.dtype)).astype(ct.int32)
    ct.atomic_max(most, where, tile)
    ct.atomic_min(least, where, tile)
    ct.atomic_xor(bits, where, tile)


@ct.kernel
def counted_beside_stores(x, bins, n: Int):
    """Even elements count; each odd one is stored to by one block."""
    i = ct.bid(0)
    ct.atomic_add(bins, 2 * ct.load(x, (i,), (n,)), 1)
    ct.scatter(bins, 2 * i + 1, i)


@ct.kernel
def printed(x, n: Int):
    i = ct.bid(0)
    ct.printf("%d %f\n", i, ct.sum(ct.load(x, (i,), (n,))))


@ct.kernel
def in_place(x, n: Int):
    i = ct.bid(0)
    row = ct.load(x, (i, 0), (1, n))
    ct.store(x, (i, 0), row * 2.0)
    ct.store(x, (i, 0), row + ct.load(x, (i, 0), (1, n)))


@ct.kernel
def fails(x, n: Int):
    i = ct.bid(0)
    ct.printf("%d;", i)
    ct.scatter(x, i + 100 * ((i + 1) // 14) + ct.zeros((n,), ct.int32), 1.0, check_bounds=False)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def blank(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def factors(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    return normal(64, 512).astype(dtype), normal(512, 96).astype(dtype)


CASES: dict[str, tuple[Any, tuple[int, ...], tuple[Any, ...]]] = {
    "products": (products, (7, 5), (normal(112, 600), normal(600, 80), blank(112, 80), 16, 16, 32)),
    "products cut off": (products, (7, 5), (normal(100, 77), normal(77, 70), blank(100, 70), 16, 16, 32)),
    "products of f16": (
        products,
        (4, 4),
        (normal(64, 256).astype(np.float16), normal(256, 64).astype(np.float16), blank(64, 64), 16, 16, 64),
    ),
    "products of one row": (products, (9, 4), (normal(9, 128), normal(128, 64), blank(9, 64), 1, 16, 32)),
    "products of one column": (products, (4, 9), (normal(64, 128), normal(128, 9), blank(64, 9), 16, 1, 32)),
    "products with the transpose": (turned_products, (6, 6), (normal(96, 64), blank(96, 96), 16, 64)),
    "products of uneven length": (uneven_products, (5, 4), (normal(80, 256), normal(256, 64), blank(80, 64), 16, 32)),
    "rows": (rows, (37,), (normal(37, 256), blank(37, 256), 256)),
    "float sums by atomics": (added_floats, (5, 3, 4), (normal(4, 3, 5, 8), blank(8), 8)),
    "counts by atomics": (counted, (50,), (RNG.integers(0, 7, 50 * 16).astype(np.int32), np.zeros(7, np.int32), 16)),
    "edges": (edges, (5, 4), (normal(80, 96), normal(96, 64), normal(80, 64), 16, 32)),
    "float sums by atomics at the edges": (floats_added_at_the_edges, (6, 5), (normal(5, 6, 8), blank(16), 8)),
    "extremes by atomics": (
        extremes,
        (64,),
        (RNG.integers(-(2**31), 2**31, 64 * 16).astype(np.int32), *(np.zeros(4, np.int32) for _ in range(3)), 16),
    ),
    "unsigned extremes by atomics": (
        extremes,
        (64,),
        (RNG.integers(0, 2**64, 64 * 16, np.uint64), *(np.full(4, 1 << 63, np.uint64) for _ in range(3)), 16),
    ),
    "products in turn": (in_turn, (12,), (*factors(np.float32), blank(64, 96), 1000, 16, 32, 32)),
    "float16 products in turn, some left out": (in_turn, (12,), (*factors(np.float16), blank(64, 96), 5, 16, 32, 32)),
    "products in turn, unevenly": (in_turn, (7,), (*factors(np.float32), blank(64, 96), 3, 16, 32, 32)),
    "counts beside stores": (
        counted_beside_stores,
        (40,),
        (RNG.integers(0, 40, 40 * 32).astype(np.int32), np.zeros(80, np.int32), 32),
    ),
    "in place": (in_place, (30,), (normal(30, 64), 64)),
}
WAYS: tuple[dict[str, int], ...] = (
    {"batch_blocks": 1},
    {"batch_blocks": 3},
    {"batch_blocks": 8},
    {"workers": 2},
    {"workers": 3, "batch_blocks": 2},
)


@pytest.mark.parametrize("name", CASES)
def test_same_bits_for_any_batches_and_workers(name: str) -> None:
    kernel, grid, args = CASES[name]

    def outcome(**options: int) -> list[bytes]:
        given = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
        simulate(kernel, grid, *given, **options)
        return [a.tobytes() for a in given if isinstance(a, np.ndarray)]

    whole = outcome()
    for options in WAYS:
        assert outcome(**options) == whole, options


def test_text_and_counts_are_those_of_one_thread() -> None:
    x = normal(40 * 16)
    one = simulate(printed, 40, x, 16, echo=False)
    several = simulate(printed, 40, x, 16, echo=False, workers=3, batch_blocks=3)
    assert one == several and one.printed.count("\n") == 40


def test_progress_counts_up_to_the_grid() -> None:
    seen: list[int] = []
    simulate(rows, 40, normal(40, 64), blank(40, 64), 64, workers=2, batch_blocks=4, progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 40


def test_launches_within_launches_on_several_threads() -> None:
    x, within = normal(40, 64), [blank(40, 64) for _ in range(10)]

    def launch_another(_: int) -> None:
        if within:
            simulate(rows, 40, x, within.pop(), 64, workers=3, batch_blocks=4)

    y = blank(40, 64)
    outputs = [*within, y]
    simulate(rows, 40, x, y, 64, workers=3, batch_blocks=4, progress=launch_another)
    assert not within and all(np.array_equal(o, y) for o in outputs)


def launch_on_threads(x: np.ndarray) -> np.ndarray:
    y = blank(40, 64)
    simulate(rows, 40, x, y, 64, workers=2, batch_blocks=4)
    return y


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
# Python's and JAX's advice against it.
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_threads_in_a_process_that_was_forked() -> None:
    x = normal(40, 64)
    here = launch_on_threads(x)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        there = pool.apply_async(launch_on_threads, (x,)).get(timeout=60)
    np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_the_fault_is_that_of_the_first_batch(workers: int) -> None:
    with pytest.raises(OutOfBoundsError) as caught:
        simulate(fails, 40, blank(64), 1, echo=False, workers=workers, batch_blocks=1)
    assert caught.value.block == (13, 0, 0)
    assert caught.value.printed == "".join(f"{i};" for i in range(14))


def test_blocks_that_need_an_order_say_why_more_workers_have_no_effect() -> None:
    (warning,) = simulate(added_floats, (5, 3, 4), normal(4, 3, 5, 8), blank(8), 8, workers=2).warnings
    assert "workers=2 has no effect" in warning and "order of the blocks" in warning


def test_products_whose_blocks_share_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve blocks at a time take tiles of four rows and three columns, all but those that are left out."""
    taken: list[tuple[int, int]] = []
    of_shared = products_of_tiles._of_shared

    def note(lhs: SharedTiles, rhs: SharedTiles) -> np.ndarray:
        taken.append((len(lhs.tiles), len(rhs.tiles)))
        return of_shared(lhs, rhs)

    monkeypatch.setattr(products_of_tiles, "_of_shared", note)
    a, b = (RNG.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 512), (512, 96)))
    for skip, blocks in ((1000, 12), (5, 12), (5, 7)):
        taken.clear()
        c = blank(64, 96)
        simulate(in_turn, blocks, a, b, c, skip, 16, 32, 32)
        want = a.astype(np.int64) @ b.astype(np.int64)
        for tile in range(0, 12, skip):
            i, j = tile // 3, tile % 3
            want[16 * i : 16 * i + 16, 32 * j : 32 * j + 32] = 0
        np.testing.assert_array_equal(c, want)
        assert taken and (blocks != 12 or set(taken) == {(4, 3)})
