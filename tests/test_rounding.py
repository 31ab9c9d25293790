"""Rounding against a search of the whole grid: every value of the narrow type is listed, and Python's exact
comparison of floats finds the two neighbours.
"""

import bisect
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import BF16, F4E2M1FN, F8E4M3FN, F8E5M2, F8E5M3FNU, F8E8M0FNU, F16, F32, F64, TF32, from_bits
from cutile_sim.optable.encoding import RoundingMode
from cutile_sim.rounding import flush, largest, round_to, smallest_normal, step_toward, to_odd

MODES = [
    RoundingMode.NEAREST_EVEN,
    RoundingMode.ZERO,
    RoundingMode.NEGATIVE_INF,
    RoundingMode.POSITIVE_INF,
    RoundingMode.NEAREST_AWAY,
]
IEEE = [F16, BF16]
SATURATING = [F8E4M3FN, F8E5M2, F8E5M3FNU, F4E2M1FN]


@pytest.fixture(autouse=True)
def silent():
    with np.errstate(all="ignore"):
        yield


@cache
def positive_grid(element):
    """All finite values from zero up; the position is the code, so an odd position is an odd last bit."""
    count = 1 << (element.width_bits - element.format.signed)
    codes = np.arange(count, dtype=np.uint16 if element.width_bits == 16 else np.uint8)
    values = from_bits(codes, element).astype(np.float64)
    return [float(v) for v in values[np.isfinite(values)]]


def expected(value, element, mode):
    """The rounding of a finite float to a type with signed grid, as IEEE 754 says it."""
    grid = positive_grid(element)
    size, negative = abs(value), math.copysign(1, value) < 0
    saturating = element.width_bits <= 8
    top = grid[-1]
    step = top - grid[-2]
    at = bisect.bisect_right(grid, size) - 1
    below = grid[at]
    above = grid[at + 1] if at + 1 < len(grid) else top + step
    if size >= top + step:  # beyond the first value that is too large
        below, above = (top, top + step)
        nearest_up = True
    else:
        middle = (Fraction(below) + Fraction(above)) / 2
        tie = Fraction(size) == middle
        nearest_up = Fraction(size) > middle or (tie and (at % 2 == 1 or mode is RoundingMode.NEAREST_AWAY))
    if size == below:
        up = False
    elif mode is RoundingMode.NEAREST_EVEN or mode is RoundingMode.NEAREST_AWAY:
        up = nearest_up
    else:
        up = mode is (RoundingMode.NEGATIVE_INF if negative else RoundingMode.POSITIVE_INF)
    result = above if up else below
    if result > top:
        result = top if saturating else math.inf
    return math.copysign(result, value)


def near_grid(element):
    """Values on the grid, at ties, just beside both, and anywhere."""
    grid = positive_grid(element)

    def build(at, part, nudge, negative):
        low, high = grid[at], grid[min(at + 1, len(grid) - 1)]
        value = low + (high - low) * part
        value = math.nextafter(value, math.inf * nudge) if nudge else value
        return -value if negative else value

    beside = st.builds(
        build,
        st.integers(0, len(grid) - 1),
        st.sampled_from([0.0, 0.25, 0.5, 0.75]),
        st.sampled_from([-1, 0, 1]),
        st.booleans(),
    )
    return beside | st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize("element", [*IEEE, F8E4M3FN, F8E5M2, F4E2M1FN], ids=str)
@settings(max_examples=60)
@given(data=st.data(), mode=st.sampled_from(MODES))
def test_float64_to_a_narrow_type(element, data, mode):
    values = data.draw(st.lists(near_grid(element), min_size=8, max_size=8))
    got = round_to(np.array(values), element, mode)
    assert got.dtype == np.float32
    want = np.array([expected(v, element, mode) for v in values], np.float32)
    np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))


@pytest.mark.parametrize("element", [*IEEE, F8E4M3FN, F8E5M2, F4E2M1FN], ids=str)
@settings(max_examples=60)
@given(data=st.data(), mode=st.sampled_from(MODES))
def test_float32_to_a_narrow_type(element, data, mode):
    values = np.array(data.draw(st.lists(near_grid(element), min_size=8, max_size=8)), np.float32)
    values[~np.isfinite(values)] = 1.5
    got = round_to(values, element, mode)
    want = np.array([expected(float(v), element, mode) for v in values], np.float32)
    np.testing.assert_array_equal(got.view(np.int32), want.view(np.int32))


def test_large_arrays_round_as_small_ones_do():
    bits = np.random.default_rng(3).integers(0, 1 << 32, 40_000, dtype=np.uint32)
    bits[:4] = [0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0x7F7FFFFF]
    values = bits.view(np.float32)
    whole = round_to(values, BF16)
    parts = np.concatenate([round_to(part, BF16) for part in np.array_split(values, 10)])
    np.testing.assert_array_equal(whole, parts)
    assert np.isnan(whole[:3]).all()
    assert whole[3] == np.inf


@settings(max_examples=200)
@given(
    mode=st.sampled_from(MODES),
    value=st.floats(allow_nan=False),
    nudge=st.sampled_from([-1, 0, 1]),
    narrow=st.booleans(),
)
def test_float64_to_float32(mode, value, nudge, narrow):
    value = float(np.float32(value)) if narrow else value
    value = math.nextafter(value, math.inf * nudge) if nudge else value
    got = round_to(np.array([value]), F32, mode)[0]
    near = np.float32(value)
    around = [float(x) for x in (np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf)))]
    below, above = (max(x for x in around if x <= value), min(x for x in around if x >= value))
    if mode is RoundingMode.NEGATIVE_INF:
        want = below
    elif mode is RoundingMode.POSITIVE_INF:
        want = above
    elif mode is RoundingMode.ZERO:
        want = below if value > 0 else above
    elif mode is RoundingMode.NEAREST_EVEN or math.isinf(near):
        want = near
    else:
        down, up = Fraction(value) - Fraction(below), Fraction(above) - Fraction(value)
        away = above if value > 0 else below
        want = away if down == up else below if down < up else above
    assert float(got) == float(want)
    assert np.signbit(got) == (math.copysign(1, value) < 0)


@given(mode=st.sampled_from(MODES), bits=st.integers(0, 0x7F7FFFFF), negative=st.booleans())
def test_tf32_keeps_ten_bits_of_the_fraction(mode, bits, negative):
    whole, rest = divmod(bits, 1 << 13)
    outward = RoundingMode.NEGATIVE_INF if negative else RoundingMode.POSITIVE_INF
    if mode is RoundingMode.NEAREST_EVEN:
        up = rest > 4096 or (rest == 4096 and whole % 2 == 1)
    elif mode is RoundingMode.NEAREST_AWAY:
        up = rest >= 4096
    else:
        up = rest > 0 and mode is outward
    want = (whole + up) << 13
    if mode in (RoundingMode.ZERO,) or not up:
        want = whole << 13
    sign = 0x80000000 if negative else 0
    value = np.array([bits | sign], np.uint32).view(np.float32)
    assert round_to(value, TF32, mode).view(np.uint32)[0] == want | sign


@pytest.mark.parametrize("element", SATURATING, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_of_8_bits_and_less_saturate(element, dtype):
    top = largest(element)
    got = round_to(np.array([np.inf, -np.inf, 1e30, -1e30, np.nan], dtype), element)
    low = -top if element.format.signed else 0.0
    nan = top if element is F4E2M1FN else np.nan
    np.testing.assert_array_equal(got, np.array([top, low, top, low, nan], np.float32))


@pytest.mark.parametrize(
    ("mode", "powers"),
    [
        (RoundingMode.ZERO, [0, 0, 1, 127, -127, -127, -127, 127]),
        (RoundingMode.POSITIVE_INF, [0, 1, 2, 127, -127, -126, -127, 127]),
    ],
    ids=["ZERO", "POSITIVE_INF"],
)
def test_powers_of_two(mode, powers):
    values = np.array([1.0, 1.0001, 3.9999, 1e300, 0.0, 2.0**-127 * 1.01, 1e-300, np.inf])
    got = round_to(values, F8E8M0FNU, mode)
    assert [math.frexp(v)[1] - 1 for v in got] == powers
    assert np.isnan(round_to(np.array([np.nan]), F8E8M0FNU, mode)[0])


@pytest.mark.parametrize(
    ("element", "top", "normal"),
    [(F16, 65504.0, 2.0**-14), (F8E4M3FN, 448.0, 2.0**-6), (F8E5M2, 57344.0, 2.0**-14), (F8E5M3FNU, 114688.0, 2.0**-14),
     (F4E2M1FN, 6.0, 1.0), (F32, 3.4028234663852886e38, 2.0**-126), (F64, 1.7976931348623157e308, 2.0**-1022),
     (F8E8M0FNU, 2.0**127, 2.0**-127)],
    ids=str,
)  # fmt: skip
def test_limits(element, top, normal):
    assert largest(element) == top
    assert smallest_normal(element) == normal


def test_flush_keeps_the_sign_and_everything_that_is_not_subnormal():
    tiny = np.float32(2.0**-126)
    below = np.nextafter(tiny, np.float32(0))
    values = np.array([below, -below, tiny, -tiny, 0.0, -0.0, np.inf, -np.inf, 1.0], np.float32)
    want = np.array([0.0, -0.0, tiny, -tiny, 0.0, -0.0, np.inf, -np.inf, 1.0], np.float32)
    np.testing.assert_array_equal(flush(values, F32).view(np.int32), want.view(np.int32))
    assert np.isnan(flush(np.array([np.nan], np.float32), F32)[0])


@given(st.floats(0.5, 2.0), st.integers(-3, 3), st.booleans())
def test_to_odd_takes_the_odd_neighbour_of_an_inexact_value(value, quarter, negative):
    value = -value if negative else value
    error = quarter * math.ulp(value) / 8
    got = float(to_odd(np.array([value]), np.array([error]))[0])
    exact = Fraction(value) + Fraction(error)
    if error == 0:
        assert got == value
    else:
        assert abs(Fraction(got) - exact) < Fraction(math.ulp(value))
        assert np.float64(got).view(np.int64) % 2 == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_step_toward_crosses_zero_and_comes_back_from_infinity(dtype):
    info = np.finfo(dtype)
    value = np.array([0.0, 0.0, np.inf, -np.inf, 1.0], dtype)
    error = np.array([1.0, -1.0, -1.0, 1.0, -1.0], dtype)
    down = step_toward(value, error, RoundingMode.NEGATIVE_INF)
    np.testing.assert_array_equal(down, [0.0, -info.smallest_subnormal, info.max, -np.inf, 1 - info.eps / 2])
    up = step_toward(value, error, RoundingMode.POSITIVE_INF)
    np.testing.assert_array_equal(up, [info.smallest_subnormal, 0.0, np.inf, -info.max, 1.0])
