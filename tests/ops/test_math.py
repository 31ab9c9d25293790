"""Elementary functions against decimals of 60 digits, and within the units that separate them from a real
GPU.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import BF16, F16, F32, F64, from_bits, to_bits
from cutile_sim.ops import math as functions
from cutile_sim.optable.encoding import RoundingMode
from cutile_sim.rounding import round_to
from cutile_sim.tileir.types import TileType

pytestmark = pytest.mark.usefixtures("silent")

RN = RoundingMode.NEAREST_EVEN
FULL, APPROX = RoundingMode.FULL, RoundingMode.APPROX
TYPES = {"float16": F16, "bfloat16": BF16, "float32": F32, "float64": F64}
GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "floats.npz")


def tile(element):
    return TileType(element, (1,))


def evaluate(name, source, element, **attributes):
    """One function of one operand with its usual attributes."""
    usual = {
        "exp": {"rounding_mode": FULL},
        "exp2": {"flush_to_zero": False},
        "rsqrt": {"flush_to_zero": False},
        "sqrt": {"rounding_mode": RN, "flush_to_zero": False},
        "tanh": {"rounding_mode": FULL},
    }.get(name, {})
    if name in ("floor", "ceil"):
        return getattr(functions, name)(source)
    return getattr(functions, name)(source, result_type=tile(element), **{**usual, **attributes})


def decimal_sin(x):
    """Sine by its series; 80 digits leave 60 right for the arguments used here."""
    term = total = x
    n = 1
    while abs(term) > Decimal("1e-70"):
        term *= -x * x / ((n + 1) * (n + 2))
        total += term
        n += 2
    return total


DECIMAL = {
    "exp": lambda x: x.exp(),
    "exp2": lambda x: (x * Decimal(2).ln()).exp(),
    "log": lambda x: abs(x).ln(),
    "log2": lambda x: abs(x).ln() / Decimal(2).ln(),
    "sin": decimal_sin,
    "cos": lambda x: (1 - decimal_sin(x) ** 2).sqrt().copy_sign(Decimal(math.cos(float(x)))),
    "tan": lambda x: decimal_sin(x) / (1 - decimal_sin(x) ** 2).sqrt().copy_sign(Decimal(math.cos(float(x)))),
    "sinh": lambda x: (x.exp() - (-x).exp()) / 2,
    "cosh": lambda x: (x.exp() + (-x).exp()) / 2,
    "tanh": lambda x: (x.exp() - (-x).exp()) / (x.exp() + (-x).exp()),
    "rsqrt": lambda x: 1 / abs(x).sqrt(),
}
# Units in the last place between the result and the true value, rounded up.
WITHIN = {F16: 0.55, BF16: 0.55, F32: 0.51, F64: 4.0}


@pytest.mark.parametrize("name", DECIMAL)
@settings(max_examples=60)
@given(element=st.sampled_from([F16, BF16, F32, F64]), value=st.floats(0.01, 10.0), negative=st.booleans())
def test_functions_are_near_the_true_value(name, element, value, negative):
    source = round_to(np.array([-value if negative else value]), element)
    x = float(source[0])
    if name in ("log", "log2", "rsqrt"):
        source, x = abs(source), abs(x)
    got = float(evaluate(name, source, element)[0])
    with localcontext() as context:
        context.prec = 80
        true = DECIMAL[name](Decimal(x))
        exponent = max(math.frexp(got)[1] - 1, element.format.min_exponent)
        scale = Decimal(2) ** (exponent + 1 - element.format.precision)
        limit = 1.5 if element is F32 and name in ("sin", "cos", "rsqrt") else WITHIN[element]
        assert abs(Decimal(got) - true) <= Decimal(limit) * scale, x


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
@settings(max_examples=80)
@given(
    mode=st.sampled_from([RN, RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF]),
    value=st.floats(0, allow_infinity=False, width=32),
    square=st.booleans(),
    extreme=st.sampled_from([1.0, 2.0**-1000, 2.0**800]),
)
def test_square_root_is_rounded_once(element, mode, value, square, extreme):
    if element is F64:
        value *= extreme
    source = round_to(np.array([value]), element)
    if square:
        source = round_to(np.sqrt(source.astype(np.float64)), element, RoundingMode.ZERO)
        source = round_to(source.astype(np.float64) ** 2, element)
    source = source[np.isfinite(source)]
    for x, got in zip(source.tolist(), evaluate("sqrt", source, element, rounding_mode=mode).tolist(), strict=True):
        if x == 0:
            assert got == 0
            continue
        unit = Fraction(2) ** (math.frexp(got)[1] - element.format.precision)
        exact, root = Fraction(x), Fraction(got)
        if mode is RN:
            assert (root - unit / 2) ** 2 <= exact <= (root + unit / 2) ** 2
        elif mode is RoundingMode.POSITIVE_INF:
            below = root - unit / (2 if math.frexp(got)[0] == 0.5 else 1)
            assert below**2 < exact <= root**2
        else:
            assert root**2 <= exact < (root + unit) ** 2


@pytest.mark.parametrize("element", TYPES.values(), ids=str)
def test_values_beyond_the_numbers(element):
    inf, nan = math.inf, math.nan
    source = np.array([inf, -inf, nan, 0.0, -0.0, -1.0], element.carrier)
    want = {
        "exp": [inf, 0, nan, 1, 1, None],
        "log": [inf, nan, nan, -inf, -inf, nan],
        "log2": [inf, nan, nan, -inf, -inf, nan],
        "sqrt": [inf, nan, nan, 0, -0.0, nan],
        "rsqrt": [0, nan, nan, inf, -inf, nan],
        "sin": [nan, nan, nan, 0, -0.0, None],
        "tanh": [1, -1, nan, 0, -0.0, None],
        "floor": [inf, -inf, nan, 0, -0.0, -1],
    }
    for name, values in want.items():
        got = evaluate(name, source, element).tolist()
        for g, w in zip(got, values, strict=True):
            if w is not None:
                assert (math.isnan(g) and math.isnan(w)) or (g == w and math.copysign(1, g) == math.copysign(1, w)), (
                    name
                )


@settings(max_examples=40)
@given(st.sampled_from(sorted(TYPES)), st.floats(-1e4, 1e4))
def test_floor_and_ceil(type_name, value):
    element = TYPES[type_name]
    source = round_to(np.array([value]), element)
    x = float(source[0])
    assert evaluate("floor", source, element).tolist() == [math.floor(x)]
    assert evaluate("ceil", source, element).tolist() == [math.ceil(x)]


def test_flush_to_zero():
    source = np.array([2.0**-130, -(2.0**-130), -127.5, 1.0], np.float32)
    got = evaluate("sqrt", source, F32, flush_to_zero=True)
    assert got[:2].tolist() == [0.0, 0.0] and np.signbit(got[1]) and got[3] == 1
    assert evaluate("rsqrt", source, F32, flush_to_zero=True).tolist()[:2] == [math.inf, -math.inf]
    assert evaluate("exp2", source, F32, flush_to_zero=True).tolist() == [1.0, 1.0, 0.0, 2.0]


@settings(max_examples=60)
@given(
    base=st.floats(-4, 4, width=16), exponents=st.lists(st.integers(-9, 9), min_size=1, max_size=4), wide=st.booleans()
)
def test_power_of_an_integer(base, exponents, wide):
    source = np.full(len(exponents), base, np.float64)
    tile_of_exponents = np.array(exponents, np.int64 if wide else np.int32)
    got = functions.fpowi(source, tile_of_exponents, result_type=tile(F64)).tolist()
    for n, power in zip(exponents, got, strict=True):
        if base == 0 and n < 0:
            assert math.isinf(power)
            continue
        true = Fraction(base) ** n
        if true and abs(true) > Fraction(1, 10**290):
            assert abs(Fraction(power) - true) <= abs(true) * Fraction(10, 2**53)
    one = functions.fpowi(np.array([-1.0]), np.array([-(2**63), 2**63 - 1]), result_type=tile(F64))
    assert one.tolist() == [1.0, -1.0]


def test_power_and_angle_special_cases():
    inf, nan = math.inf, math.nan
    source = np.array([-8.0, 0.0, -0.0, nan, 1.0, -2.0, inf])
    exponent = np.array([1 / 3, -1.0, -3.0, 0.0, nan, 3.0, -inf])
    got = functions.pow_(source, exponent, result_type=tile(F64))
    np.testing.assert_array_equal(got, [nan, inf, -inf, 1.0, 1.0, -8.0, 0.0])
    x, y = np.array([0.0, -0.0, 1.0, -1.0]), np.array([-1.0, -1.0, 0.0, -0.0])
    np.testing.assert_array_equal(
        functions.atan2(x, y, result_type=tile(F64)), [math.pi, -math.pi, math.pi / 2, -math.pi / 2]
    )


def ordered(bits):
    """Float bits as integers in the floats' order, for counting units in the last place."""
    signed = bits.view(f"i{bits.itemsize}").astype(object)
    top = 1 << (8 * bits.itemsize - 1)
    return np.array([v if v >= 0 else -(v + top) for v in signed.ravel()], object)


def assert_within(got, bits, element, units):
    want = from_bits(bits, element)
    nan = np.isnan(want).ravel()
    np.testing.assert_array_equal(np.isnan(got).ravel(), nan)
    away = np.abs(ordered(to_bits(got, element))[~nan] - ordered(bits)[~nan])
    assert away.max() <= units


# Function, attributes, and the units in the last place that the GPU and this may be apart.
RECORDED = {
    "floor": ("floor", {}, 0),
    "ceil": ("ceil", {}, 0),
    "sqrt": ("sqrt", {}, 0),
    "sqrt_rz": ("sqrt", {"rounding_mode": RoundingMode.ZERO}, 0),
    "sqrt_approx": ("sqrt", {"rounding_mode": APPROX}, 1),
    "sqrt_ftz": ("sqrt", {"flush_to_zero": True}, 0),
    "rsqrt": ("rsqrt", {}, 2),
    "rsqrt_ftz": ("rsqrt", {"flush_to_zero": True}, 2),
    "exp": ("exp", {}, 2),
    "exp_approx": ("exp", {"rounding_mode": APPROX}, 2),
    "exp2": ("exp2", {}, 2),
    "log": ("log", {}, 2),
    "log2": ("log2", {}, 2),
    "sin": ("sin", {}, 2),
    "cos": ("cos", {}, 2),
    "tan": ("tan", {}, 4),
    "sinh": ("sinh", {}, 2),
    "cosh": ("cosh", {}, 2),
    "tanh": ("tanh", {}, 2),
}
CASES = [(name, t) for name in RECORDED for t in TYPES if f"{name}/{t}" in GOLDEN.files]


@pytest.mark.parametrize(("name", "type_name"), CASES)
def test_functions_are_as_near_to_the_gpu_as_promised(name, type_name):
    function, attributes, units = RECORDED[name]
    element = TYPES[type_name]
    source = from_bits(GOLDEN[f"arguments/{type_name}/all"], element)
    got = evaluate(function, source, element, **attributes)
    assert_within(got, GOLDEN[f"{name}/{type_name}"], element, units)


POWERS = [(name, n, t) for name, n in (("pow_2", 2), ("pow_m3", -3)) for t in TYPES if f"{name}/{t}" in GOLDEN.files]


@pytest.mark.parametrize(("name", "exponent", "type_name"), POWERS)
def test_powers_of_integers_have_the_bits_of_the_gpu(name, exponent, type_name):
    element = TYPES[type_name]
    source = from_bits(GOLDEN[f"arguments/{type_name}/8192"], element)
    got = functions.fpowi(source, np.array([exponent], np.int32), result_type=tile(element))
    assert_within(got, GOLDEN[f"{name}/{type_name}"], element, 0)


PAIRS = [(name, t) for name in ("pow", "atan2") for t in TYPES if f"{name}/{t}" in GOLDEN.files]


@pytest.mark.parametrize(("name", "type_name"), PAIRS)
def test_functions_of_two_operands_are_as_near_as_promised(name, type_name):
    element = TYPES[type_name]
    values = from_bits(GOLDEN[f"operands/{type_name}"], element)
    function = functions.pow_ if name == "pow" else functions.atan2
    got = function(values[:, None], values[None, :], result_type=tile(element))
    assert_within(got, GOLDEN[f"{name}/{type_name}"].reshape(got.shape), element, 2)


def test_the_recordings_cover_every_function():
    assert {name for name, _ in CASES} == set(RECORDED)
    assert len(POWERS) >= 4 and len(PAIRS) >= 2
