"""Products of 8-bit floats: the bits that a Hopper GPU gives."""

from __future__ import annotations

import numpy as np
import pytest
from recordings import CASES, recorded

from cutile_sim.dtypes import F8E4M3FN, F8E5M2, F32, ElementType, from_bits
from cutile_sim.ops.mma import mmaf
from cutile_sim.ops.mma_float8 import applies, sum_products, sum_products_promoted
from cutile_sim.tileir.types import TileType

INPUTS = {"float8_e4m3fn": F8E4M3FN, "float8_e5m2": F8E5M2}


def operands(case: str, element: ElementType) -> list[np.ndarray]:
    """A GPU recording as carried: lhs, rhs, acc, result."""
    return [from_bits(a, element) if a.dtype == np.uint8 else a for a in recorded(case)]


@pytest.mark.parametrize("case", [c for c in CASES if c.startswith(("mma_promoted:", "mma_fast:"))])
def test_bits_are_as_on_the_gpu(case: str) -> None:
    name, element_name = case.split(":")
    element = INPUTS[element_name]
    lhs, rhs, acc, want = (a[None, None, None] for a in operands(case, element))
    types = {"lhs": TileType(element, lhs.shape[3:])}
    got = mmaf(
        lhs, rhs, acc, fast_acc=name == "mma_fast", result_type=TileType(F32, acc.shape[3:]), operand_types=types
    )
    np.testing.assert_array_equal(got.view(np.uint32), want.view(np.uint32))


def test_a_long_sum_is_promoted_on_the_way() -> None:
    lhs, rhs, acc, want = operands("mma_long:float8_e4m3fn", F8E4M3FN)
    np.testing.assert_array_equal(sum_products_promoted(lhs, rhs, acc), want)
    assert (acc + sum_products(lhs, rhs, np.zeros_like(acc)) != want).any()


def test_only_large_tiles_are_summed_so() -> None:
    assert applies(np.zeros((64, 32)), np.zeros((32, 8)))
    assert not applies(np.zeros((32, 128)), np.zeros((128, 64)))
    assert not applies(np.zeros((64, 16)), np.zeros((16, 64)))


def leading_bits(values: np.ndarray) -> np.ndarray:
    return np.where(values == 0, -1000, np.frexp(values)[1] - 1)


def rule(lhs: np.ndarray, rhs: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The rule of the module in float64, where nothing is rounded: every product of a step by itself."""

    def cut(values: np.ndarray, last_bit: np.ndarray) -> np.ndarray:
        unit = np.ldexp(1.0, np.maximum(last_bit, -1000))
        return np.trunc(values / unit) * unit

    total = start.astype(np.float64)
    total = cut(total, leading_bits(total) - 13)
    for k in range(0, lhs.shape[1], 32):
        left, right = lhs[:, k : k + 32, None].astype(np.float64), rhs[None, k : k + 32].astype(np.float64)
        top = np.maximum((leading_bits(left) + leading_bits(right)).max(axis=1), leading_bits(total))
        total = cut(left * right, top[:, None] - 13).sum(axis=1) + cut(total, top - 13)
        total = cut(total, leading_bits(total) - 13)
    return total


def floats_of(element: ElementType) -> np.ndarray:
    """Every finite value of an 8-bit type."""
    values = from_bits(np.arange(256, dtype=np.uint8), element)
    return values[np.isfinite(values)]


@pytest.mark.parametrize("element", INPUTS.values(), ids=INPUTS)
def test_every_product_is_cut_where_the_largest_says(element: ElementType) -> None:
    values = floats_of(element)
    # A second product, of either sign, says where the first is cut.
    for exponent in range(-16, 15):
        for second in (2.0**exponent, -(2.0**exponent)):
            lhs, rhs = np.zeros((len(values), 32), np.float32), np.zeros((32, len(values)), np.float32)
            lhs[:, 0], rhs[0] = values, values
            lhs[:, 1], rhs[1] = second, 1
            start = np.zeros((1, 1), np.float32)
            np.testing.assert_array_equal(sum_products(lhs, rhs, start), rule(lhs[:, :2], rhs[:2], start))


KINDS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "positive": lambda rng, shape: np.exp(-3 * rng.normal(size=shape) ** 2),
    "wide": lambda rng, shape: rng.normal(size=shape) * np.exp2(rng.integers(-12, 8, shape)),
    "rows of all sizes": lambda rng, shape: rng.normal(size=shape) * np.exp2(rng.integers(-12, 8, (shape[0], 1))),
    "mostly zeros": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.1),
    "rows and columns of zeros": lambda rng, shape: (
        rng.normal(size=shape) * (rng.random((shape[0], 1)) < 0.5) * (rng.random(shape[1]) < 0.5)
    ),
}


@pytest.mark.parametrize("right", KINDS)
@pytest.mark.parametrize("left", KINDS)
def test_sums_follow_the_rule(left: str, right: str) -> None:
    rng = np.random.default_rng(len(left) * 100 + len(right))
    for (m, n, k), element in zip([(64, 8, 96), (130, 150, 64)], INPUTS.values(), strict=True):
        lhs, rhs = (
            np.clip(KINDS[kind](rng, shape), -400, 400).astype(element.storage).astype(np.float32)
            for kind, shape in ((left, (m, k)), (right, (k, n)))
        )
        start = (rng.normal(size=(m, n)) * np.exp2(rng.integers(-20, 20, (m, 1)))).astype(np.float32)
        start[:, rng.random(n) < 0.3] = 0
        np.testing.assert_array_equal(sum_products(lhs, rhs, start), rule(lhs, rhs, start))


def test_zeros_add_nothing() -> None:
    lhs, rhs = np.zeros((64, 32), np.float32), np.full((32, 8), 448, np.float32)
    start = np.float32([[0, 1, -3, 2.0**-90, 2.0**90, np.inf, 1 + 2.0**-13, 1 + 2.0**-14]])
    want = np.broadcast_to(np.float32([0, 1, -3, 2.0**-90, 2.0**90, np.inf, 1 + 2.0**-13, 1]), (64, 8))
    np.testing.assert_array_equal(sum_products(lhs, rhs, start), want)
    np.testing.assert_array_equal(sum_products_promoted(lhs, rhs, start), np.broadcast_to(start, (64, 8)))


def test_no_rows_no_sums() -> None:
    assert sum_products_promoted(np.zeros((0, 32)), np.zeros((32, 8)), np.zeros((1, 1))).shape == (0, 8)


def test_exact_sums_stay_exact_and_specials_spread() -> None:
    lhs = np.zeros((2, 32), np.float32)
    rhs = np.zeros((32, 4), np.float32)
    start = np.arange(8, dtype=np.float32).reshape(2, 4)
    np.testing.assert_array_equal(sum_products(lhs, rhs, start), start)
    lhs[0, 0], rhs[0, :3] = 1.5, [2, np.inf, np.nan]
    with np.errstate(all="ignore"):
        got = sum_products(lhs, rhs, start)
    np.testing.assert_array_equal(got[0], [3, np.inf, np.nan, 3])


def test_grid_axes_broadcast() -> None:
    rng = np.random.default_rng(1)
    lhs = rng.integers(-4, 5, (1, 3, 1, 4, 32)).astype(np.float32)
    rhs = rng.integers(-4, 5, (1, 1, 2, 32, 4)).astype(np.float32)
    got = sum_products_promoted(lhs, rhs, np.zeros((1, 1, 1, 4, 4), np.float32))
    np.testing.assert_array_equal(
        got, np.einsum("abcmk,abckn->abcmn", *np.broadcast_arrays(lhs.astype(int)), rhs.astype(int))
    )
