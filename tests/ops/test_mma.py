"""Matrix products against exact integers, fractions, and GPU recordings."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from recordings import CASES, carried, recorded

from cutile_sim.dtypes import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F16, F32, F64, ElementType, from_bits
from cutile_sim.ops.mma import mmaf, mmaf_scaled, mmai
from cutile_sim.optable.encoding import Signedness
from cutile_sim.tileir.types import TileType

SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED
FLOATS = {
    "float16": F16,
    "bfloat16": BF16,
    "float32": F32,
    "float64": F64,
    "float8_e4m3fn": F8E4M3FN,
    "float8_e5m2": F8E5M2,
}


def multiply(lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray, inputs: ElementType, result: ElementType) -> np.ndarray:
    types = {"lhs": TileType(inputs, lhs.shape[3:])}
    return mmaf(lhs, rhs, acc, fast_acc=False, result_type=TileType(result, acc.shape[3:]), operand_types=types)


# How far a sum of K products may lie off, in units of `eps` times the sum of their magnitudes: a rounding a step.
UNIT = {F16: 2.0**-11, F32: 2.0**-24, F64: 2.0**-53}


@pytest.mark.parametrize("case", [c for c in CASES if c.startswith(("mma:", "matmul:", "mma_small:"))])
def test_as_on_the_gpu_within_a_rounding_a_step(case: str) -> None:
    *_, want_raw = arrays = recorded(case)
    name, first, *rest = case.split(":")
    if first.startswith("int"):
        lhs, rhs, acc, want = (a[None, None, None] for a in arrays)
        np.testing.assert_array_equal(mmai(lhs, rhs, acc, signedness_lhs=SIGNED, signedness_rhs=SIGNED), want)
        return
    inputs = FLOATS[rest[0] if name == "matmul" else first]
    result = FLOATS[rest[0]] if rest and name == "mma" else F32
    lhs, rhs = (carried(a, inputs) for a in arrays[:2])
    want = carried(want_raw, result)
    acc = carried(arrays[2], result) if len(arrays) == 4 else np.zeros_like(want)
    got = multiply(lhs, rhs, acc, inputs, result)
    assert got.dtype == result.carrier
    magnitude = np.abs(lhs).astype(np.float64) @ np.abs(rhs).astype(np.float64) + np.abs(acc)
    steps = lhs.shape[-1] + 1
    # The GPU rounds float32 inputs to tf32: 11 bits.
    unit = 2.0**-11 if inputs is F32 else UNIT[result]
    assert (np.abs(got.astype(np.float64) - want) <= 2 * steps * unit * magnitude).all()
    exact = lhs.astype(np.float64) @ rhs.astype(np.float64) + acc
    assert (np.abs(got - exact) <= steps * UNIT[result] * magnitude).all()


def test_an_accumulator_may_vary_along_more_axes_and_stays_as_it_is() -> None:
    lhs = np.ones((1, 1, 1, 2, 4), np.float32)
    rhs = np.ones((1, 1, 3, 4, 2), np.float32)
    acc = np.arange(2, dtype=np.float32).reshape(1, 2, 1, 1, 1) * np.ones((1, 2, 1, 2, 2), np.float32)
    for array in (lhs, rhs, acc):
        array.flags.writeable = False
    got = multiply(lhs, rhs, acc, F32, F32)
    assert got.shape == (1, 2, 3, 2, 2)
    assert np.unique(got[0, 0]).tolist() == [4]
    assert np.unique(got[0, 1]).tolist() == [5]


def test_a_float16_accumulator_is_rounded_once() -> None:
    lhs = np.array([[2048.0, 1.0, 1.0, 1.0]], np.float32)[None, None, None]
    rhs = np.ones((1, 1, 1, 4, 1), np.float32)
    acc = np.zeros((1, 1, 1, 1, 1), np.float32)
    # 2051 lies between 2050 and 2052; adding one at a time in float16 would stay at 2048.
    assert multiply(lhs, rhs, acc, F16, F16).item() == 2052
    acc += 65504
    with np.errstate(all="ignore"):
        assert multiply(lhs, rhs, acc, F16, F16).item() == np.inf


def test_a_long_sum_of_float16_is_the_exact_one_rounded_once() -> None:
    rng = np.random.default_rng(6)
    lhs, rhs = (rng.standard_normal(s).astype(np.float16).astype(np.float32) for s in ((8, 512), (512, 8)))
    got = multiply(lhs[None, None, None], rhs[None, None, None], np.zeros((1, 1, 1, 8, 8), np.float32), F16, F32)
    for i, j in itertools.product(range(8), range(8)):
        assert got[0, 0, 0, i, j] == np.float32(math.fsum(lhs[i].astype(np.float64) * rhs[:, j].astype(np.float64)))


@pytest.mark.parametrize(("left", "right"), [*itertools.product([SIGNED, UNSIGNED], repeat=2)])
@pytest.mark.parametrize("k", [16, 256, 1024, 65536])
def test_integer_products_are_exact_and_wrap(left: Signedness, right: Signedness, k: int) -> None:
    rng = np.random.default_rng(k)
    lhs = rng.integers(-128, 128, (1, 1, 1, 4, k)).astype(np.int8)
    rhs = rng.integers(-128, 128, (1, 1, 1, k, 4)).astype(np.int8)
    # The largest sums: the extreme of each signedness everywhere.
    lhs[..., 0, :] = -128 if left is SIGNED else -1
    rhs[..., :, 0] = -128 if right is SIGNED else -1
    acc = np.full((1, 1, 1, 4, 4), 2**31 - 1, np.int32)
    got = mmai(lhs, rhs, acc, signedness_lhs=left, signedness_rhs=right)
    assert got.dtype == np.int32
    wide = [a.astype(np.int64) % 256 if s is UNSIGNED else a.astype(np.int64) for a, s in ((lhs, left), (rhs, right))]
    exact = np.einsum("...mk,...kn->...mn", *wide) + acc
    np.testing.assert_array_equal(got, (exact + 2**31) % 2**32 - 2**31)


@pytest.mark.parametrize(("inputs", "block_elems"), [(F8E4M3FN, 4), (F4E2M1FN, 2)], ids=str)
def test_scaled_product_is_the_exact_one_rounded_once(inputs: ElementType, block_elems: int) -> None:
    rng = np.random.default_rng(2)
    codes = 1 << inputs.width_bits
    lhs = from_bits(rng.integers(0, codes, (1, 1, 1, 3, 8)).astype(np.uint8), inputs)
    rhs = from_bits(rng.integers(0, codes, (1, 1, 1, 8, 2)).astype(np.uint8), inputs)
    lhs, rhs = np.nan_to_num(lhs), np.nan_to_num(rhs)
    # Scales so large and small that a product of one scaled element would leave float32.
    lhs_scale = np.float32(2.0) ** rng.integers(100, 120, (1, 1, 1, 3, 8 // block_elems)).astype(np.float32)
    rhs_scale = np.float32(2.0) ** -rng.integers(100, 120, (1, 1, 1, 8 // block_elems, 2)).astype(np.float32)
    acc = rng.standard_normal((1, 1, 1, 3, 2)).astype(np.float32)
    got = mmaf_scaled(lhs, rhs, acc, lhs_scale, rhs_scale)
    assert got.dtype == np.float32
    for i, j in itertools.product(range(3), range(2)):
        total = Fraction(float(acc[0, 0, 0, i, j]))
        for x in range(8):
            factors = (
                lhs[..., i, x],
                lhs_scale[..., i, x // block_elems],
                rhs[..., x, j],
                rhs_scale[..., x // block_elems, j],
            )
            term = Fraction(1)
            for factor in factors:
                term *= Fraction(float(factor.item()))
            total += term
        assert abs(Fraction(float(got[0, 0, 0, i, j])) - total) <= abs(total) * Fraction(1, 2**23)
