"""Products of many tiles, bit for bit those of each tile alone; and against exact integers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.ops import products
from cutile_sim.ops.products import adds_alike, product, product_in_float64


@settings(max_examples=60)
@given(st.data())
def test_product_over_any_grid_axes(data: st.DataObject) -> None:
    rank = data.draw(st.sampled_from([0, 1]))
    lead = (2, 3, 2) + (2,) * rank
    shapes = [tuple(n if data.draw(st.booleans()) or axis >= 3 else 1 for axis, n in enumerate(lead)) for _ in range(2)]
    m, k, n = (data.draw(st.sampled_from([1, 2, 4])) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    lhs = rng.integers(-9, 9, (*shapes[0], m, k)).astype(np.float32)
    rhs = rng.integers(-9, 9, (*shapes[1], k, n)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        # Sums of small integers are exact in any order.
        patch.setattr(products, "_WORTH_STACKING", data.draw(st.sampled_from([1, 1 << 18])))
        got = product(lhs, rhs)
    grid = np.broadcast_shapes(*shapes)
    assert got.shape == (*grid, m, n)
    left, right = np.broadcast_to(lhs, (*grid, m, k)), np.broadcast_to(rhs, (*grid, k, n))
    for block in np.ndindex(*grid):
        for i, j in itertools.product(range(m), range(n)):
            assert got[(*block, i, j)] == sum(int(left[(*block, i, x)]) * int(right[(*block, x, j)]) for x in range(k))


def windows(rng: np.random.Generator, dtype: type, turned: tuple[bool, bool]) -> tuple[np.ndarray, np.ndarray]:
    """Tiles of two matrices as a kernel's loads see them: rows of tiles along y, columns along x, of 64 x 128 x 64."""
    a, b = (rng.standard_normal(s).astype(dtype) for s in ((192, 256), (256, 320)))
    a, b = (np.asfortranarray(m) if t else m for m, t in zip((a, b), turned, strict=True))
    lhs = a[:, 64:192].reshape(1, 3, 1, 64, 128)
    rhs = b[64:192].reshape(128, 5, 64).swapaxes(0, 1)[None, None]
    assert np.shares_memory(lhs, a) and np.shares_memory(rhs, b)
    return lhs, rhs


@pytest.mark.parametrize("turned", [*itertools.product([False, True], repeat=2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_block_has_the_same_bits_alone(dtype: type, turned: tuple[bool, bool]) -> None:
    lhs, rhs = windows(np.random.default_rng(1), dtype, turned)
    got = product(lhs, rhs)
    assert got.shape == (1, 3, 5, 64, 64)
    for y, x in itertools.product(range(3), range(5)):
        np.testing.assert_array_equal(got[0, y, x], product(lhs[:, y : y + 1], rhs[:, :, x : x + 1])[0, 0, 0])
    np.testing.assert_array_equal(got[:, 1:, :2], product(lhs[:, 1:], rhs[:, :, :2]))


def test_one_call_is_made_only_where_its_bits_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    lhs, rhs = windows(np.random.default_rng(2), np.float32, (False, False))
    calls: list[tuple[int, ...]] = []
    matmul = np.matmul

    def note(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        calls.append((*left.shape, *right.shape))
        return matmul(left, right)

    for alike in (True, False):
        monkeypatch.setattr(products, "adds_alike", lambda *_, alike=alike: alike)
        monkeypatch.setattr(products.np, "matmul", note)
        got = product(lhs, rhs)
        monkeypatch.undo()
        np.testing.assert_allclose(got, matmul(lhs, rhs), rtol=1e-4, atol=1e-4)
    assert calls == [(1, 192, 128, 1, 128, 320), (1, 3, 1, 64, 128, 1, 1, 5, 128, 64)]


def test_a_matrix_times_its_transpose_has_the_bits_of_each_block_alone() -> None:
    x = np.random.default_rng(3).standard_normal((192, 256)).astype(np.float32)
    lhs = x[:, 64:192].reshape(1, 3, 1, 64, 128)
    rhs = lhs.reshape(1, 1, 3, 64, 128).swapaxes(-1, -2)
    assert np.shares_memory(lhs, rhs)
    got = product(lhs, rhs)
    for i, j in itertools.product(range(3), range(3)):
        np.testing.assert_array_equal(got[0, i, j], product(lhs[:, i : i + 1], rhs[:, :, j : j + 1])[0, 0, 0])


def test_a_blas_that_adds_up_otherwise_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    matmul = np.matmul

    def backwards(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return matmul(left[..., ::-1].copy(), right[..., ::-1, :].copy())

    case = np.dtype(np.float32), (2, 16), 200, (16, 2), (True, True), 77
    monkeypatch.setattr(products.np, "matmul", backwards)
    assert not adds_alike(*case)
    monkeypatch.undo()
    assert not adds_alike(*case)  # what was found is kept
    adds_alike.cache_clear()


@pytest.mark.parametrize("transposed", [False, True])
def test_long_products_of_f16_do_not_depend_on_what_blocks_share(transposed: bool) -> None:
    """Whether operands are converted all at once or block by block, the bits are the same."""
    rng = np.random.default_rng(5)
    lhs = rng.standard_normal((1, 1, 3, 64, 256)).astype(np.float16).astype(np.float32)
    rhs = rng.standard_normal((1, 1, 3, 256, 64)).astype(np.float16).astype(np.float32)
    if transposed:
        lhs = np.ascontiguousarray(lhs.swapaxes(-1, -2)).swapaxes(-1, -2)
    alone = product_in_float64(lhs, rhs)
    shared = product_in_float64(lhs[:, :, :1], rhs)
    np.testing.assert_array_equal(alone[0, 0, 0], shared[0, 0, 0])
    for block in range(3):
        np.testing.assert_array_equal(product_in_float64(lhs[0, 0, block], rhs[0, 0, block]), alone[0, 0, block])
    exact = lhs.astype(np.longdouble) @ rhs.astype(np.longdouble)
    np.testing.assert_allclose(alone, exact.astype(np.float64), rtol=1e-13, atol=1e-12)
