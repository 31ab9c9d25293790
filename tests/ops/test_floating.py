"""Float arithmetic against fractions rounded once by integer arithmetic, and against recordings of a real
GPU.
"""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import BF16, F16, F32, F64, from_bits, to_bits
from cutile_sim.ops import floating
from cutile_sim.optable.encoding import ComparisonOrdering, ComparisonPredicate, RoundingMode
from cutile_sim.tileir.types import TileType

pytestmark = pytest.mark.usefixtures("silent")

RN, RZ = RoundingMode.NEAREST_EVEN, RoundingMode.ZERO
RM, RP = RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF
MODES = [RN, RZ, RM, RP]
TYPES = {"float16": F16, "bfloat16": BF16, "float32": F32, "float64": F64}
GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "floats.npz")


def tile(element):
    return TileType(element, (1,))


def carried(values, element):
    array = np.array(values, element.carrier).reshape(1, 1, 1, -1)
    array.flags.writeable = False
    return array


def rounded(exact, element, mode):
    """A non-zero fraction rounded to the element type: the multiple of the last place's unit that IEEE 754
    picks.
    """
    fmt = element.format
    size, negative = abs(exact), exact < 0
    exponent = max(fmt.min_exponent, size.numerator.bit_length() - size.denominator.bit_length() - 1)
    if size >= Fraction(2) ** (exponent + 1):
        exponent += 1
    unit = Fraction(2) ** (exponent - fmt.precision + 1)
    units = size // unit
    rest = size / unit - units
    if mode is RN:
        units += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and units % 2 == 1)
    elif rest and mode is (RM if negative else RP):
        units += 1
    if units * unit >= Fraction(2) ** (fmt.max_exponent + 1):
        outward = mode is RN or mode is (RM if negative else RP)
        top = (2 - Fraction(2) ** (1 - fmt.precision)) * Fraction(2) ** fmt.max_exponent
        value = math.inf if outward else float(top)
    else:
        value = float(units * unit)
    return -value if negative else value


def codes(element):
    """Finite values of a type: extremes, values near 1, and any."""
    width, precision = element.width_bits, element.format.precision
    dtype = f"u{width // 8}"

    def value(code):
        return float(from_bits(np.array([code], dtype), element)[0])

    one = (element.format.max_exponent) << (precision - 1)
    sign = st.sampled_from([0, 1 << (width - 1)])
    few = st.sampled_from(
        [0, 1, 2, (1 << (precision - 1)) - 1, 1 << (precision - 1), (2 * one + (1 << (precision - 1))) - 1]
    )
    near = st.integers(one - (8 << (precision - 1)), one + (8 << (precision - 1)))
    low_bits = st.builds(lambda c, k: c & ~((1 << k) - 1), near, st.integers(0, precision - 1))
    anywhere = st.integers(0, 2 * one + (1 << (precision - 1)) - 1)
    return st.builds(lambda c, s: value(c | s), few | near | low_bits | anywhere, sign)


OPERATIONS = {
    "addf": (floating.addf, lambda x, y: x + y),
    "subf": (floating.subf, lambda x, y: x - y),
    "mulf": (floating.mulf, lambda x, y: x * y),
    "divf": (floating.divf, lambda x, y: x / y),
}


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
@settings(max_examples=30)
@given(data=st.data(), mode=st.sampled_from(MODES))
def test_two_operands_are_rounded_once(name, element, data, mode):
    function, exact = OPERATIONS[name]
    pairs = data.draw(st.lists(st.tuples(codes(element), codes(element)), min_size=6, max_size=6))
    pairs = [(x, y) for x, y in pairs if not (name == "divf" and y == 0)] or [(1.0, 3.0)]
    xs, ys = (carried(column, element) for column in zip(*pairs, strict=True))
    got = function(xs, ys, rounding_mode=mode, flush_to_zero=False, result_type=tile(element))
    assert got.dtype == element.carrier
    for (x, y), z in zip(pairs, got.ravel().tolist(), strict=True):
        true = exact(Fraction(x), Fraction(y))
        if true == 0:
            assert z == 0
        else:
            want = rounded(true, element, mode)
            assert z == want, (x, y)
            assert math.copysign(1, z) == math.copysign(1, want)


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
@settings(max_examples=60)
@given(data=st.data(), mode=st.sampled_from(MODES))
def test_fma_is_rounded_once(element, data, mode):
    value = codes(element)
    triples = data.draw(st.lists(st.tuples(value, value, value), min_size=6, max_size=6))
    # The hard cases: the addend nearly cancels the product, or is far below its last place.
    for x, y, z in triples[:3]:
        product = Fraction(x) * Fraction(y)
        if product:
            near = rounded(product, element, RZ)
            triples.append((x, y, -near if math.isfinite(near) else z))
            triples.append(
                (x, y, math.copysign(float(from_bits(np.array([1], f"u{element.width_bits // 8}"), element)[0]), z))
            )
    columns = (carried(column, element) for column in zip(*triples, strict=True))
    got = floating.fma(*columns, rounding_mode=mode, flush_to_zero=False, result_type=tile(element))
    for (x, y, z), r in zip(triples, got.ravel().tolist(), strict=True):
        true = Fraction(x) * Fraction(y) + Fraction(z)
        if true == 0:
            same = math.copysign(1, x) * math.copysign(1, y) == math.copysign(1, z)
            exact_product = Fraction(x) * Fraction(y) == 0
            negative = math.copysign(1, z) < 0 if same and exact_product else mode is RM
            assert r == 0 and (math.copysign(1, r) < 0) == negative, (x, y, z)
        else:
            assert r == rounded(true, element, mode), (x, y, z)


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_fma_beyond_the_numbers(element, mode):
    inf, nan, big = math.inf, math.nan, float(2.0**element.format.max_exponent)
    cases = [
        (inf, 1, 1, inf),
        (inf, 1, -inf, nan),
        (inf, 0, 1, nan),
        (big, big, -inf, -inf),
        (1, 1, nan, nan),
        (0, 5, 3, 3),
    ]
    x, y, z, want = (carried(column, element) for column in zip(*cases, strict=True))
    got = floating.fma(x, y, z, rounding_mode=mode, flush_to_zero=False, result_type=tile(element))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
def test_an_exact_zero_sum_is_negative_only_toward_negative_infinity(element, mode):
    xs, ys = carried([1.5, 0.0, -0.0, -0.0, 0.0], element), carried([-1.5, -0.0, 0.0, -0.0, 0.0], element)
    got = floating.addf(xs, ys, rounding_mode=mode, flush_to_zero=False, result_type=tile(element))
    down = mode is RM
    np.testing.assert_array_equal(np.signbit(got).ravel(), [down, down, down, True, False])
    assert not got.any()


def test_broadcast_operands_and_larger_arrays_agree_with_single_lanes():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 1, 3, 16, 1)).astype(np.float32)
    y = rng.standard_normal((1, 1, 3, 1, 8)).astype(np.float32)
    z = np.float32(0.25) * np.ones((1, 1, 1, 1, 1), np.float32)
    for element in (F16, BF16, F32):
        x, y, z = (np.round(v * 8) / 8 for v in (x, y, z))
        for mode in (RN, RZ):
            attributes = {"rounding_mode": mode, "flush_to_zero": False, "result_type": tile(element)}
            whole = floating.fma(x, y, z, **attributes)
            assert whole.shape == (2, 1, 3, 16, 8)
            assert (
                whole[1, 0, 2, 5, 7] == floating.fma(x[1:, :, 2:, 5:6], y[:, :, 2:, :, 7:], z, **attributes).ravel()[0]
            )
            total = floating.addf(x, y, **attributes)
            assert total.shape == (2, 1, 3, 16, 8)


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_remainder_is_exact_and_has_the_sign_of_the_dividend(element, data):
    pairs = data.draw(st.lists(st.tuples(codes(element), codes(element)), min_size=6, max_size=6))
    pairs = [(x, y) for x, y in pairs if y] or [(5.0, 3.0)]
    xs, ys = (carried(column, element) for column in zip(*pairs, strict=True))
    got = floating.remf(xs, ys, result_type=tile(element)).ravel().tolist()
    for (x, y), r in zip(pairs, got, strict=True):
        true = abs(Fraction(x)) % abs(Fraction(y))
        assert Fraction(abs(r)) == true, (x, y)
        assert math.copysign(1, r) == math.copysign(1, x)


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
def test_remainder_special_cases(element):
    inf, nan = math.inf, math.nan
    xs = carried([1.0, inf, 2.5, -2.5, nan, 1.0, -0.0], element)
    ys = carried([0.0, 2.0, inf, -inf, 1.0, nan, 3.0], element)
    got = floating.remf(xs, ys, result_type=tile(element)).ravel()
    np.testing.assert_array_equal(got, [nan, nan, 2.5, -2.5, nan, nan, -0.0])
    assert np.signbit(got[-1])


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
@pytest.mark.parametrize("propagate_nan", [False, True])
def test_maximum_and_minimum_know_the_sign_of_zero_and_drop_or_keep_nan(element, propagate_nan):
    nan = math.nan
    xs = carried([0.0, -0.0, nan, 1.0, -0.0, -5.0, nan] * 9, element)
    ys = carried([-0.0, 0.0, 2.0, nan, -0.0, -0.0, nan] * 9, element)
    attributes = {"propagate_nan": propagate_nan, "flush_to_zero": False, "result_type": tile(element)}
    two, one = (nan, nan) if propagate_nan else (2.0, 1.0)
    for function, want in (
        (floating.maxf, [0.0, 0.0, two, one, -0.0, -0.0, nan]),
        (floating.minf, [-0.0, -0.0, two, one, -0.0, -5.0, nan]),
    ):
        got = function(xs, ys, **attributes).ravel()
        np.testing.assert_array_equal(got, want * 9)
        number = ~np.isnan(got)
        np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(np.array(want * 9))[number])


@pytest.mark.parametrize("ordering", ComparisonOrdering, ids=lambda o: o.name)
@pytest.mark.parametrize(
    ("predicate", "holds"),
    [
        (ComparisonPredicate.EQUAL, {0}),
        (ComparisonPredicate.NOT_EQUAL, {-1, 1}),
        (ComparisonPredicate.LESS_THAN, {-1}),
        (ComparisonPredicate.LESS_THAN_OR_EQUAL, {-1, 0}),
        (ComparisonPredicate.GREATER_THAN, {1}),
        (ComparisonPredicate.GREATER_THAN_OR_EQUAL, {0, 1}),
    ],
    ids=lambda p: getattr(p, "name", ""),
)
def test_comparisons(predicate, holds, ordering):
    values = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]
    x, y = np.meshgrid(np.array(values), np.array(values), indexing="ij")
    got = floating.cmpf(x, y, comparison_predicate=predicate, comparison_ordering=ordering)
    assert got.dtype == np.bool_
    for a, b, r in zip(x.ravel().tolist(), y.ravel().tolist(), got.ravel().tolist(), strict=True):
        if math.isnan(a) or math.isnan(b):
            assert r == (ordering is ComparisonOrdering.UNORDERED)
        else:
            assert r == ((a > b) - (a < b) in holds)


def test_sign_operations_touch_the_sign_bit_alone():
    bits = np.array([0x00000000, 0x80000000, 0x7FC00001, 0xFFC00001, 0x3F800000, 0xFF800000], np.uint32)
    values = bits.view(np.float32)
    np.testing.assert_array_equal(floating.absf(values).view(np.uint32), bits & 0x7FFFFFFF)
    np.testing.assert_array_equal(floating.negf(values).view(np.uint32), bits ^ 0x80000000)


def test_flush_to_zero_flushes_operands_and_results():
    least, normal = 2.0**-149, 2.0**-126
    attributes = {"rounding_mode": RN, "flush_to_zero": True, "result_type": tile(F32)}
    x = carried([normal * 1.5, -least, normal, 1.0], F32)
    y = carried([-normal, normal, 0.5, least], F32)
    assert floating.addf(x, y, **attributes).ravel().tolist() == [0.0, normal, normal + 0.5, 1.0]
    assert floating.mulf(x, y, **attributes).ravel().tolist() == [0.0, 0.0, 0.0, 0.0]
    assert np.signbit(floating.mulf(x, y, **attributes)).ravel().tolist() == [True, True, False, False]
    got = floating.fma(x, carried([1.0], F32), y, **attributes)
    assert got.ravel().tolist() == [0.0, normal, normal + 0.5, 1.0]


def recorded(name, type_name):
    """First operands, second operands and results of a recorded case of two operands, as carried values."""
    element = TYPES[type_name]
    values = from_bits(GOLDEN[f"operands/{type_name}"], element).reshape(1, 1, 1, -1)
    return values[..., :, None], values[..., None, :], GOLDEN[f"{name}/{type_name}"]


def assert_same_bits(got, bits, element):
    got_bits = to_bits(got, element).reshape(bits.shape)
    nan = np.isnan(from_bits(bits, element))
    np.testing.assert_array_equal(np.isnan(got).reshape(bits.shape), nan)
    np.testing.assert_array_equal(got_bits[~nan], bits[~nan])


ARITHMETIC = [
    ("add", floating.addf, RN, False),
    ("sub", floating.subf, RN, False),
    ("mul", floating.mulf, RN, False),
    ("truediv", floating.divf, RN, False),
    ("add_rz", floating.addf, RZ, False),
    ("add_rp", floating.addf, RP, False),
    ("mul_rm", floating.mulf, RM, False),
    ("div_rz", floating.divf, RZ, False),
    ("sub_ftz", floating.subf, RN, True),
    ("mul_ftz", floating.mulf, RN, True),
]
RECORDED = [(*row, t) for row in ARITHMETIC for t in TYPES if f"{row[0]}/{t}" in GOLDEN.files]


@pytest.mark.parametrize(
    ("name", "function", "mode", "ftz", "type_name"), RECORDED, ids=lambda v: v if isinstance(v, str) else ""
)
def test_arithmetic_has_the_bits_of_the_gpu(name, function, mode, ftz, type_name):
    element = TYPES[type_name]
    x, y, bits = recorded(name, type_name)
    got = function(x, y, rounding_mode=mode, flush_to_zero=ftz, result_type=tile(element))
    assert_same_bits(got, bits, element)


def test_approximate_division_is_within_two_units_of_the_gpu():
    x, y, bits = recorded("div_approx", "float32")
    attributes = {"rounding_mode": RoundingMode.APPROX, "flush_to_zero": False, "result_type": tile(F32)}
    got, want = floating.divf(x, y, **attributes).reshape(bits.shape), bits.view(np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])
    assert np.abs(got.view(np.int32).astype(np.int64) - bits.view(np.int32))[number].max() <= 2


@pytest.mark.parametrize("type_name", [t for t in TYPES if f"muladd/{t}" in GOLDEN.files])
def test_fma_has_the_bits_of_the_gpu(type_name):
    element = TYPES[type_name]
    x, y, bits = recorded("muladd", type_name)
    attributes = {"rounding_mode": RN, "flush_to_zero": False, "result_type": tile(element)}
    assert_same_bits(floating.fma(x, y, x, **attributes), bits, element)


@pytest.mark.parametrize("type_name", [t for t in TYPES if f"mulsub/{t}" in GOLDEN.files])
def test_fma_of_a_negated_addend_has_the_bits_of_the_gpu(type_name):
    element = TYPES[type_name]
    x, y, bits = recorded("mulsub", type_name)
    attributes = {"rounding_mode": RN, "flush_to_zero": False, "result_type": tile(element)}
    assert_same_bits(floating.fma(x, y, floating.negf(y), **attributes), bits, element)


EXTREMES = [
    (f"{word}{suffix}", function, suffix != "", type_name)
    for word, function in (("maximum", floating.maxf), ("minimum", floating.minf))
    for suffix in ("", "_nan")
    for type_name in TYPES
    if f"{word}{suffix}/{type_name}" in GOLDEN.files
]


@pytest.mark.parametrize(("name", "function", "propagate_nan", "type_name"), EXTREMES)
def test_maximum_and_minimum_have_the_bits_of_the_gpu(name, function, propagate_nan, type_name):
    element = TYPES[type_name]
    x, y, bits = recorded(name, type_name)
    got = function(x, y, propagate_nan=propagate_nan, flush_to_zero=False, result_type=tile(element))
    assert_same_bits(got, bits, element)


def test_the_recordings_cover_every_kind_of_case():
    assert len(RECORDED) >= 12 and len(EXTREMES) >= 8
