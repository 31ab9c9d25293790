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
