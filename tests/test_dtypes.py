"""Storage and bits of every element type: NumPy's and ml_dtypes' own conversions and written-out codes are
the oracle.
"""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from cutile_sim.dtypes import (
    BF16,
    ELEMENT_TYPES,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E5M3FNU,
    F8E8M0FNU,
    F16,
    F32,
    I1,
    I4,
    I8,
    from_bits,
    to_bits,
    to_carrier,
    to_storage,
)

NARROW = {
    BF16: ml_dtypes.bfloat16,
    F16: np.float16,
    F8E4M3FN: ml_dtypes.float8_e4m3fn,
    F8E5M2: ml_dtypes.float8_e5m2,
    F8E8M0FNU: ml_dtypes.float8_e8m0fnu,
    F4E2M1FN: ml_dtypes.float4_e2m1fn,
}


@pytest.fixture(autouse=True)
def silent():
    with np.errstate(all="ignore"):
        yield


def all_codes(element):
    return np.arange(1 << element.width_bits, dtype=np.uint16 if element.width_bits == 16 else np.uint8)


@pytest.mark.parametrize("element", NARROW, ids=str)
@pytest.mark.parametrize("pieces", [1, 64], ids=["many", "few"])
def test_every_code_of_a_narrow_type_is_the_value_its_format_says(element, pieces):
    for codes in np.array_split(all_codes(element), pieces if element.width_bits == 16 else 1):
        stored = codes.view(NARROW[element])
        values = to_carrier(stored, element)
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, stored.astype(np.float32))
        number = ~np.isnan(values)
        np.testing.assert_array_equal(to_bits(values, element)[number], codes[number])
        assert np.isnan(from_bits(to_bits(values, element), element)[~number]).all()
        np.testing.assert_array_equal(to_storage(values, element).view(codes.dtype)[number], codes[number])


@pytest.mark.parametrize("element", [BF16, F16, F8E4M3FN, F8E5M2, F4E2M1FN], ids=str)
def test_the_sign_of_zero_survives(element):
    zeros = np.array([0.0, -0.0], np.float32)
    back = to_carrier(to_storage(zeros, element), element)
    np.testing.assert_array_equal(np.signbit(back), [False, True])


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (0x00, 0.0),
        (0x01, 2.0**-17),
        (0x07, 7 * 2.0**-17),
        (0x08, 2.0**-14),
        (0x78, 1.0),
        (0x79, 1.125),
        (0xFE, 114688.0),
    ],
)
def test_unsigned_e5m3_codes(code, value):
    codes = np.array([code], np.uint8)
    assert from_bits(codes, F8E5M3FNU)[0] == value
    assert to_bits(np.array([value], np.float32), F8E5M3FNU)[0] == code


def test_unsigned_e5m3_has_one_nan():
    values = to_carrier(np.arange(256, dtype=np.uint8), F8E5M3FNU)
    assert np.flatnonzero(np.isnan(values)).tolist() == [255]
    assert to_storage(values, F8E5M3FNU).tolist() == list(range(256))


def test_four_bit_integers_are_signed_and_use_the_low_bits():
    codes = np.arange(16, dtype=np.uint8)
    values = from_bits(codes, I4)
    assert values.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1]
    assert to_bits(values, I4).tolist() == codes.tolist()
    assert to_carrier(to_storage(values, I4), I4).tolist() == values.tolist()


def test_truth_values_are_one_byte():
    values = np.array([False, True])
    assert to_bits(values, I1).tolist() == [0, 1]
    assert from_bits(np.array([2, 3], np.uint8), I1).tolist() == [False, True]


@pytest.mark.parametrize("element", [I8, F32], ids=str)
def test_types_stored_as_carried_are_not_copied(element):
    array = np.zeros(5, element.storage)
    assert to_carrier(array, element) is array
    assert to_storage(array, element) is array


def test_conversions_keep_the_shape_and_take_strided_arrays():
    stored = np.arange(65536, dtype=np.uint16).view(np.float16).reshape(1, 1, 4, 128, 128)[..., ::2]
    values = to_carrier(stored, F16)
    assert values.shape == stored.shape
    np.testing.assert_array_equal(values, stored.astype(np.float32))
    assert to_storage(values, F16).shape == stored.shape


@given(st.sampled_from(sorted(ELEMENT_TYPES)), st.data())
def test_bits_round_trip(name, data):
    element = ELEMENT_TYPES[name]
    width = max(8, element.width_bits)
    codes = data.draw(npst.arrays(np.dtype(f"u{width // 8}"), 5))
    codes &= codes.dtype.type((1 << element.width_bits) - 1)
    values = from_bits(codes, element)
    assert values.dtype == element.carrier
    number = values == values
    np.testing.assert_array_equal(to_bits(values, element)[number], codes[number])


@pytest.mark.parametrize("element", [F16, BF16, F8E4M3FN, F8E5M2], ids=str)
@pytest.mark.parametrize("count", [7, 4096])
def test_every_bit_pattern_survives_a_load_and_a_store(element, count):
    """Not-a-numbers too: what moves data must not change it."""
    width = element.storage.itemsize
    codes = np.resize(np.arange(256**width, dtype=f"u{width}"), max(count, 256**width))
    for part in (codes, codes[-count:]):
        with np.errstate(all="ignore"):
            back = to_storage(to_carrier(part.view(element.storage), element), element)
        np.testing.assert_array_equal(back.view(part.dtype), part)


def test_ml_dtypes_is_loaded_for_its_own_types_only():
    """To load it takes more than a second with its release 0.7.0."""
    code = """
import sys
import cutile_sim.api, cutile_sim.frontend.arrays, cutile_sim.traces.reader
from cutile_sim.dtypes import BF16, F16
print(F16.storage, BF16.size_bytes, "ml_dtypes" in sys.modules)
print(BF16.storage, BF16.storage.itemsize, "ml_dtypes" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "float16 2 False\nbfloat16 2 True\n", done.stderr


def test_sizes():
    assert all(element.size_bytes == element.storage.itemsize for element in ELEMENT_TYPES.values())
