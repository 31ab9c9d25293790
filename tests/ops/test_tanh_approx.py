"""The approximate hyperbolic tangent: the bits that a Hopper GPU gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cutile_sim.dtypes import F32
from cutile_sim.ops.math import tanh
from cutile_sim.ops.tanh_approx import tanh_approx
from cutile_sim.optable.encoding import RoundingMode
from cutile_sim.tileir.types import TileType

# Recorded on an H200 (sm_90): of each segment of the table the first argument, the last and four between; besides,
# negative arguments, zeros, subnormals, infinities, not-a-numbers, and arguments that give themselves or 1.
with np.load(Path(__file__).parents[1] / "golden" / "tanh_approx.npz") as _file:
    ARGUMENTS, RESULTS = _file["arguments"], _file["results"]

FLOATS = st.floats(width=32, allow_nan=False)


def test_bits_are_as_on_the_gpu() -> None:
    np.testing.assert_array_equal(tanh_approx(ARGUMENTS).view(np.uint32), RESULTS.view(np.uint32))


def test_the_operation_takes_it_in_its_approx_mode_alone() -> None:
    result_type = TileType(F32, ARGUMENTS.shape)
    approximate = tanh(ARGUMENTS, rounding_mode=RoundingMode.APPROX, result_type=result_type)
    np.testing.assert_array_equal(approximate.view(np.uint32), RESULTS.view(np.uint32))
    with np.errstate(all="ignore"):
        full = tanh(ARGUMENTS, rounding_mode=RoundingMode.FULL, result_type=result_type)
        exact = np.tanh(ARGUMENTS.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(full, exact)


def test_any_shape_and_layout() -> None:
    square = np.tile(ARGUMENTS, 32)[:10000].reshape(100, 100)
    want = np.tile(RESULTS, 32)[:10000].reshape(100, 100)
    for argument, result in ((square, want), (square.T, want.T), (square[:0], want[:0]), (square[3, 4], want[3, 4])):
        got = tanh_approx(argument)
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, result)


@given(st.lists(FLOATS, min_size=1, max_size=50))
def test_odd_and_near_the_exact_one(arguments: list[float]) -> None:
    values = np.array(arguments, np.float32)
    got = tanh_approx(values)
    np.testing.assert_array_equal(tanh_approx(-values).view(np.uint32), (-got).view(np.uint32))
    # The largest relative error of the unit, 2**-16.45; a subnormal is exact.
    np.testing.assert_allclose(got.astype(np.float64), np.tanh(values.astype(np.float64)), rtol=2.0**-16.45, atol=0)
