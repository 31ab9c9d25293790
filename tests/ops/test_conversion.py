"""Conversions against Python integers and fractions, and against recordings of a real GPU."""

import bisect
import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import (
    BF16,
    ELEMENT_TYPES,
    F8E4M3FN,
    F8E5M2,
    F16,
    F32,
    F64,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    from_bits,
    to_bits,
)  # fmt: skip
from cutile_sim.ops import conversion
from cutile_sim.optable.encoding import RoundingMode, Signedness
from cutile_sim.tileir.types import PointerType, TileType

pytestmark = pytest.mark.usefixtures("silent")

RN = RoundingMode.NEAREST_EVEN
SIGNED, UNSIGNED = Signedness.SIGNED, Signedness.UNSIGNED
GOLDEN = np.load(Path(__file__).parent.parent / "golden" / "floats.npz")
INTEGERS = [I4, I8, I16, I32, I64]
FLOATS = [F8E4M3FN, F8E5M2, F16, BF16, F32, F64]
BY_NAME = {
    "float16": F16, "bfloat16": BF16, "float32": F32, "float64": F64, "float8_e4m3fn": F8E4M3FN,
    "float8_e5m2": F8E5M2, "bool_": I1, "int8": I8, "int16": I16, "int32": I32, "int64": I64,
    "uint8": I8, "uint16": I16, "uint32": I32, "uint64": I64,
}  # fmt: skip


def tile(element):
    return TileType(element, (1,))


def carried_integers(values, element):
    """Python integers, signed or not, as carried: the same low bits, signed."""
    if element is I1:
        return np.array([bool(v & 1) for v in values]).reshape(1, 1, 1, -1)
    half = 1 << (element.width_bits - 1)
    wrapped = [(v + half) % (2 * half) - half for v in values]
    return np.array(wrapped, element.carrier).reshape(1, 1, 1, -1)


def integer_range(element, signedness):
    width = element.width_bits
    return (0, (1 << width) - 1) if signedness is UNSIGNED else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


def read_back(values, element, signedness):
    """Carried integers as Python integers."""
    numbers = [int(v) for v in values.ravel()]
    return [v % (1 << element.width_bits) for v in numbers] if signedness is UNSIGNED else numbers


@cache
def grid(element):
    """The finite values of a 16-bit or narrower type from zero up; an odd position is an odd last bit."""
    codes = np.arange(1 << (element.width_bits - 1), dtype=np.uint16 if element.width_bits == 16 else np.uint8)
    values = from_bits(codes, element).astype(np.float64)
    return [Fraction(float(v)) for v in values[np.isfinite(values)]]


def nearest(number, element):
    """An integer or fraction rounded to nearest even."""
    if element is F64:
        return float(number)  # Python rounds integers and fractions correctly
    size = abs(Fraction(number))
    if element is F32:
        shift = max(0, math.floor(size).bit_length() - 24)
        units, rest = divmod(size, 1 << shift) if shift else (size, 0)
        units += rest * 2 > 1 << shift or (rest * 2 == 1 << shift and units % 2 == 1)
        result = float(units * (1 << shift))
    else:
        points = grid(element)
        at = bisect.bisect_right(points, size) - 1
        if at + 1 == len(points):
            step = points[-1] - points[-2]
            saturating = element.width_bits == 8
            result = float(points[-1]) if saturating or size < points[-1] + step / 2 else math.inf
        else:
            middle = (points[at] + points[at + 1]) / 2
            up = size > middle or (size == middle and at % 2 == 1)
            result = float(points[at + up])
    return -result if number < 0 else result


def integers_near_ties(element, signedness):
    """Any integer of the type, and few top bits followed by zeros, give or take one."""
    low, high = integer_range(element, signedness)
    cut = st.builds(lambda v, k, d: max(low, min(high, (v >> k << k) + d)), st.integers(low, high),
                    st.integers(0, element.width_bits - 1), st.integers(-1, 1))  # fmt: skip
    return st.integers(low, high) | cut


@pytest.mark.parametrize("target", FLOATS, ids=str)
@settings(max_examples=60)
@given(data=st.data(), origin=st.sampled_from(INTEGERS), signedness=st.sampled_from(Signedness))
def test_integer_to_float_rounds_once(target, data, origin, signedness):
    values = data.draw(st.lists(integers_near_ties(origin, signedness), min_size=6, max_size=6))
    got = conversion.itof(
        carried_integers(values, origin),
        signedness=signedness,
        rounding_mode=RN,
        result_type=tile(target),
        operand_types={"source": tile(origin)},
    )
    assert got.dtype == target.carrier
    if origin is I16 and target.width_bits == 8:  # on the GPU by way of float16
        values = [nearest(v, F16) for v in values]
        values = [v if math.isfinite(v) else math.copysign(1e9, v) for v in values]
    assert got.ravel().tolist() == [nearest(v, target) for v in values]


@pytest.mark.parametrize(
    ("value", "signedness", "target", "want"),
    [
        (819986427, SIGNED, BF16, 817889280.0),
        (-1, UNSIGNED, F64, 2.0**64),
        ((1 << 63) - 1, SIGNED, F32, 2.0**63),
        (2305, SIGNED, F8E4M3FN, 448.0),
        (70000, SIGNED, F16, math.inf),
    ],
)
def test_integer_to_float_examples(value, signedness, target, want):
    attributes = {"signedness": signedness, "rounding_mode": RN, "result_type": tile(target)}
    got = conversion.itof(carried_integers([value], I64), operand_types={"source": tile(I64)}, **attributes)
    assert got.ravel().tolist() == [want]


@pytest.mark.parametrize(("signedness", "true"), [(UNSIGNED, 1.0), (SIGNED, -1.0)])
def test_truth_values_to_float(signedness, true):
    attributes = {"signedness": signedness, "rounding_mode": RN, "result_type": tile(BF16)}
    source = carried_integers([0, 1], I1)
    assert conversion.itof(source, operand_types={"source": tile(I1)}, **attributes).ravel().tolist() == [0.0, true]


@settings(max_examples=60)
@given(st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from([F32, F64, BF16]))
def test_directed_modes_bracket_a_64_bit_integer(value, target):
    def convert(mode):
        attributes = {"signedness": SIGNED, "rounding_mode": mode, "result_type": tile(target)}
        got = conversion.itof(carried_integers([value], I64), operand_types={"source": tile(I64)}, **attributes)
        return Fraction(float(got.ravel()[0]))

    down, up = convert(RoundingMode.NEGATIVE_INF), convert(RoundingMode.POSITIVE_INF)
    toward_zero, near = convert(RoundingMode.ZERO), convert(RN)
    assert down <= value <= up
    assert (down == up) == (near == value)
    assert near in (down, up)
    assert toward_zero == (down if value > 0 else up)


def to_integer(values, origin, target, signedness, saturating):
    source = np.array(values, origin.carrier).reshape(1, 1, 1, -1)
    got = conversion.ftoi(
        source,
        signedness=signedness,
        saturating=saturating,
        result_type=tile(target),
        operand_types={"source": tile(origin)},
    )
    assert got.dtype == target.carrier
    return read_back(got, target, signedness)


@pytest.mark.parametrize("target", INTEGERS, ids=str)
@settings(max_examples=50)
@given(
    data=st.data(),
    signedness=st.sampled_from(Signedness),
    origin=st.sampled_from([F32, F64]),
    saturating=st.booleans(),
)
def test_float_to_integer_truncates(target, data, signedness, origin, saturating):
    low, high = integer_range(target, signedness)
    parts = st.tuples(st.integers(low, high), st.floats(0, 0.99))
    drawn = data.draw(st.lists(parts, min_size=4, max_size=4))
    values = [float(origin.carrier.type(whole + math.copysign(part, whole))) for whole, part in drawn]
    values = [v for v in values if low <= math.trunc(v) <= high] or [1.5]
    assert to_integer(values, origin, target, signedness, saturating) == [math.trunc(v) for v in values]


@pytest.mark.parametrize("origin", [F32, F64], ids=str)
@pytest.mark.parametrize("signedness", Signedness, ids=lambda s: s.name)
@pytest.mark.parametrize("target", INTEGERS, ids=str)
def test_saturating_conversion_clamps_to_the_target_and_drops_nan(target, signedness, origin):
    low, high = integer_range(target, signedness)
    values = [math.inf, -math.inf, math.nan, 1e30, -1e30, float(high + 1), float(low) * 2 - 1, 1.9, -0.9]
    got = to_integer(values, origin, target, signedness, True)
    assert got == [high, low, 0, high, low, high, low, 1, 0]


@pytest.mark.parametrize(
    ("value", "signedness", "want"),
    [(300.0, SIGNED, 44), (65504.0, SIGNED, -1), (-129.0, SIGNED, 127), (math.inf, SIGNED, -1),
     (math.inf, UNSIGNED, 255), (-1.0, UNSIGNED, 0), (65504.0, UNSIGNED, 224)],
)  # fmt: skip
def test_8_bit_integers_keep_the_low_byte_of_16_saturated_bits(value, signedness, want):
    assert to_integer([value, 0.0], F32, I8, signedness, False) == [want, 0]


OVERFLOWS = [k for k in GOLDEN.files if k.endswith("/overflow")]


@pytest.mark.parametrize("key", OVERFLOWS)
def test_out_of_range_floats_give_what_the_gpu_gives(key):
    origin, target = key.split("/")[0].split("-to-")
    element = BY_NAME[target]
    source = from_bits(GOLDEN[f"operands/{origin}"], BY_NAME[origin])
    got = conversion.ftoi(
        source,
        signedness=UNSIGNED if target.startswith("u") else SIGNED,
        saturating=False,
        result_type=tile(element),
        operand_types={"source": tile(BY_NAME[origin])},
    )
    np.testing.assert_array_equal(to_bits(got, element), GOLDEN[key])


def test_recordings_of_out_of_range_floats_cover_all_float_types():
    assert {key.split("-to-")[0] for key in OVERFLOWS} == {"float16", "bfloat16", "float32", "float64"}


@pytest.mark.parametrize(
    ("target", "signedness", "bits"),
    [(I16, SIGNED, 1 << 15), (I32, SIGNED, 1 << 31), (I32, UNSIGNED, 1 << 31), (I64, SIGNED, 1 << 63),
     (I64, UNSIGNED, 1 << 63), (I8, SIGNED, 0), (I8, UNSIGNED, 0)],
)  # fmt: skip
def test_float64_nan_sets_the_top_bit(target, signedness, bits):
    got = to_integer([math.nan], F64, target, signedness, False)[0]
    assert got % (1 << target.width_bits) == bits


@pytest.mark.parametrize(
    ("origin", "negative_zero"), [(F8E4M3FN, True), (F8E5M2, True), (F16, False), (F32, False)], ids=str
)
def test_float_to_truth_value(origin, negative_zero):
    values = np.array([0.0, -0.0, 0.25, -2.0, math.nan], np.float32)
    attributes = {"signedness": UNSIGNED, "saturating": False, "result_type": tile(I1)}
    got = conversion.ftoi(values, operand_types={"source": tile(origin)}, **attributes)
    assert got.tolist() == [False, negative_zero, True, True, True]


MODES = {"RZ": RoundingMode.ZERO, "RM": RoundingMode.NEGATIVE_INF, "RP": RoundingMode.POSITIVE_INF}
CASTS = [k[:-4] for k in GOLDEN.files if k.endswith("/out") and "-to-" in k]


@pytest.mark.parametrize("name", CASTS)
def test_conversions_have_the_bits_of_the_gpu(name):
    head, _, rest = name.partition("-")
    mode, pair = (MODES[head], rest) if head in MODES else (RN, name)
    origin, target = pair.split("-to-")
    source = from_bits(GOLDEN[f"{name}/in"], BY_NAME[origin])
    want = GOLDEN[f"{name}/out"]
    element = BY_NAME[target]
    types = {"result_type": tile(element), "operand_types": {"source": tile(BY_NAME[origin])}}
    if not BY_NAME[origin].is_float:
        sign = UNSIGNED if origin.startswith("u") else SIGNED
        got = conversion.itof(source, signedness=sign, rounding_mode=mode, **types)
    elif element.is_float:
        got = conversion.ftof(source, rounding_mode=mode, **types)
    else:
        got = conversion.ftoi(source, signedness=UNSIGNED, saturating=False, **types)
    bits = to_bits(got, element)
    nan = np.isnan(from_bits(want, element)) if element.is_float else np.zeros(want.shape, bool)
    if element.is_float:
        np.testing.assert_array_equal(np.isnan(got), nan)
    np.testing.assert_array_equal(bits[~nan], want[~nan])


def test_tf32_has_the_bits_of_the_gpu():
    source = GOLDEN["tf32-roundtrip/in"].view(np.float32)
    types = {"result_type": tile(TF32), "operand_types": {"source": tile(F32)}}
    got = conversion.ftof(source, rounding_mode=RN, **types)
    np.testing.assert_array_equal(got, GOLDEN["tf32-roundtrip/out"].view(np.float32))


@pytest.mark.parametrize("target", FLOATS, ids=str)
@pytest.mark.parametrize("origin", FLOATS, ids=str)
def test_every_conversion_between_floats_keeps_what_both_types_hold(origin, target):
    values = np.array([0.0, -0.0, 1.0, -1.5, 0.25, 448.0, -(2.0**-6)], origin.carrier)
    types = {"result_type": tile(target), "operand_types": {"source": tile(origin)}}
    got = conversion.ftof(values, rounding_mode=RN, **types)
    assert got.dtype == target.carrier
    np.testing.assert_array_equal(got, values)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(values))


WIDENINGS = [(a, b) for a in [I1, *INTEGERS] for b in INTEGERS if a.width_bits < b.width_bits]


@pytest.mark.parametrize(("narrow", "wide"), WIDENINGS, ids=str)
@pytest.mark.parametrize("signedness", Signedness, ids=lambda s: s.name)
def test_extension_keeps_the_value_and_truncation_the_low_bits(narrow, wide, signedness):
    low, high = integer_range(narrow, signedness)
    values = sorted({low, low + 1 if low < high else high, 0, high // 2, high})
    types = {"result_type": tile(wide), "operand_types": {"source": tile(narrow)}}
    extended = conversion.exti(carried_integers(values, narrow), signedness=signedness, **types)
    assert extended.dtype == wide.carrier
    assert [int(v) for v in extended.ravel()] == values
    back = conversion.trunci(extended + np.array(0, wide.carrier), result_type=tile(narrow))
    np.testing.assert_array_equal(back, carried_integers(values, narrow))


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from([I1, *INTEGERS[:-1]]))
def test_truncation_drops_the_high_bits(value, target):
    got = conversion.trunci(np.array([value]), result_type=tile(target))
    assert got.dtype == target.carrier
    assert int(got[0]) % (1 << target.width_bits) == value % (1 << target.width_bits)


@pytest.mark.parametrize("origin", ELEMENT_TYPES.values(), ids=str)
def test_bitcast_keeps_the_bits(origin):
    count = 1 << min(origin.width_bits, 8)
    dtype = np.dtype(f"u{max(1, origin.width_bits // 8)}")
    bits = np.arange(count, dtype=dtype) * dtype.type((1 << origin.width_bits) // count - (origin.width_bits > 8))
    source = from_bits(bits, origin)
    number = source == source
    for target in ELEMENT_TYPES.values():
        if target.width_bits == origin.width_bits:
            types = {"result_type": tile(target), "operand_types": {"source": tile(origin)}}
            got = conversion.bitcast(source, **types)
            assert got.dtype == target.carrier
            known = number & (got == got)
            np.testing.assert_array_equal(to_bits(got, target)[known], bits[known])


def test_pointers_are_their_addresses():
    addresses = np.array([0, 256, 1 << 40])
    assert PointerType(F32) != PointerType(I8)
    for function in (conversion.int_to_ptr, conversion.ptr_to_int, conversion.ptr_to_ptr):
        assert function(addresses).tolist() == addresses.tolist()
