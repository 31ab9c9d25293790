"""Arithmetic without a defined result."""

from __future__ import annotations

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def ramp(n: int = 16) -> np.ndarray:
    return np.arange(n, dtype=np.int32)


@ct.kernel
def divide(x, y, z):
    a, b = ct.load(x, (0,), (16,)), ct.load(y, (0,), (16,))
    ct.store(z, (0,), a // b)  # BUG: CTS501


@ct.kernel
def divide_guarded(x, y, z):
    a, b = ct.load(x, (0,), (16,)), ct.load(y, (0,), (16,))
    ct.store(z, (0,), ct.where(b == 0, 0, a // b))


def test_division_by_zero(pair):
    pair("divide", "divide_guarded", (1,), lambda: (ramp() + 5, ramp(), ramp()))


@ct.kernel
def remainder_as_index(x, n, z):
    ct.store(z, (0,), ct.gather(x, ct.arange(16, dtype=ct.int32) % n))  # BUG: CTS501


@ct.kernel
def remainder_by_some(x, n, z):
    ct.store(z, (0,), ct.gather(x, ct.arange(16, dtype=ct.int32) % max(n, 1)))


def test_remainder(pair):
    pair("remainder_as_index", "remainder_by_some", (1,), lambda: (ramp(), 0, ramp()))


@ct.kernel
def divide_padding(x, y, z):
    """A division by padding whose result is cut off does not count."""
    a = ct.load(x, (ct.bid(0),), (16,), padding_mode=ct.PaddingMode.ZERO)
    b = ct.load(y, (ct.bid(0),), (16,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(z, (ct.bid(0),), a // b)


def test_division_by_padding(planted):
    planted("divide_padding", (2,), lambda: (ramp(20), ramp(20) + 1, ramp(20)))


@ct.kernel
def negate_by_division(x, d, z):
    ct.store(z, (0,), ct.load(x, (0,), (16,)) // d)  # BUG: CTS502


@ct.kernel
def negate(x, d, z):
    ct.store(z, (0,), ct.load(x, (0,), (16,)) * d)


def test_minimum_by_minus_one(pair):
    pair("negate_by_division", "negate", (1,), lambda: (np.full(16, -(2**31), np.int32), -1, ramp()))


@ct.kernel
def shift(x, z):
    ct.store(z, (0,), 1 << ct.load(x, (0,), (16,)))  # BUG: CTS503


@ct.kernel
def shift_few(x, z):
    ct.store(z, (0,), 1 << (ct.load(x, (0,), (16,)) & 31))


def test_shift(pair):
    pair("shift", "shift_few", (1,), lambda: (ramp() * 3, ramp()))


@ct.kernel
def cast(x, z):
    ct.store(z, (0,), ct.load(x, (0,), (16,)).astype(ct.int16))  # BUG: CTS504


@ct.kernel
def cast_clamped(x, z):
    t = ct.load(x, (0,), (16,))
    ct.store(z, (0,), ct.minimum(ct.maximum(t, -32768.0), 32767.0).astype(ct.int16))


def test_cast_out_of_range(pair):
    pair("cast", "cast_clamped", (1,), lambda: (np.full(16, 40000, np.float32), np.zeros(16, np.int16)))


@ct.kernel
def cast_nan(x, z):
    ct.store(z, (0,), ct.load(x, (0,), (16,)).astype(ct.int32))  # BUG: CTS504


@ct.kernel
def cast_number(x, z):
    t = ct.load(x, (0,), (16,))
    ct.store(z, (0,), ct.where(t == t, t, 0.0).astype(ct.int32))


def test_cast_of_nan(pair):
    pair("cast_nan", "cast_number", (1,), lambda: (np.full(16, np.nan, np.float32), ramp()))


@ct.kernel
def share_of_each(x, counts, z):
    """The mean of each group, of which one is empty."""
    n = ct.load(counts, (0,), (16,))
    share = ct.load(x, (0,), (16,)) // n  # BUG: CTS501
    ct.store(z, (0,), ct.where(share > 2, share, 2))


@ct.kernel
def share_of_some(x, counts, z):
    n = ct.load(counts, (0,), (16,))
    share = ct.load(x, (0,), (16,)) // ct.maximum(n, 1)
    ct.store(z, (0,), ct.where(share > 2, share, 2))


def test_empty_group(pair):
    pair("share_of_each", "share_of_some", (1,), lambda: (ramp() * 9, np.array([1, 2, 0, 4] * 4, np.int32), ramp()))


@ct.kernel
def rest_by_minus_one(x, d, z):
    ct.store(z, (0,), ct.load(x, (0,), (16,)) % d)  # BUG: CTS502


@ct.kernel
def rest_in_64_bits(x, d, z):
    ct.store(z, (0,), (ct.load(x, (0,), (16,)).astype(ct.int64) % d).astype(ct.int32))


def test_rest_of_minimum_by_minus_one(pair):
    pair("rest_by_minus_one", "rest_in_64_bits", (1,), lambda: (np.full(16, -(2**31), np.int32), -1, ramp()))


@ct.kernel
def scale_down(x, d, z):
    """Bytes, whose least is -128."""
    t = ct.load(x, (0,), (16,)) // ct.load(d, (0,), (16,))  # BUG: CTS502
    ct.store(z, (0,), t)


@ct.kernel
def scale_down_wide(x, d, z):
    t = ct.load(x, (0,), (16,)).astype(ct.int16) // ct.load(d, (0,), (16,)).astype(ct.int16)
    ct.store(z, (0,), ct.minimum(t, 127).astype(ct.int8))


def test_least_byte_by_minus_one(pair):
    def make():
        return np.arange(-128, -112).astype(np.int8), np.full(16, -1, np.int8), np.zeros(16, np.int8)

    (finding,) = pair("scale_down", "scale_down_wide", (1,), make)
    assert finding.lane == (0,) and finding.count == 1


@ct.kernel
def shift_by_row(x, z):
    """One bit more for each block."""
    t = ct.load(x, (0,), (16,)) >> (ct.bid(0) * 8)  # BUG: CTS503
    ct.store(z, (ct.bid(0),), t)


@ct.kernel
def shift_by_row_at_most(x, z):
    t = ct.load(x, (0,), (16,)) >> min(ct.bid(0) * 8, 31)
    ct.store(z, (ct.bid(0),), t)


def test_shift_by_block(pair):
    (finding,) = pair("shift_by_row", "shift_by_row_at_most", (6,), lambda: (ramp() * 1000, ramp(96)))
    assert finding.block == (4, 0, 0) and "by 32" in finding.message


@ct.kernel
def shift_back(x, n, z):
    """A negative count: no shift the other way."""
    ct.store(z, (0,), ct.load(x, (0,), (16,)) << n)  # BUG: CTS503


@ct.kernel
def shift_either_way(x, n, z):
    t = ct.load(x, (0,), (16,))
    if n < 0:
        ct.store(z, (0,), t >> -n)
    else:
        ct.store(z, (0,), t << n)


def test_negative_shift(pair):
    pair("shift_back", "shift_either_way", (1,), lambda: (ramp() * 64, -3, ramp()))


@ct.kernel
def cast_negative(x, z):
    ct.store(z, (0,), ct.load(x, (0,), (16,)).astype(ct.uint8))  # BUG: CTS504


@ct.kernel
def cast_distance(x, z):
    ct.store(z, (0,), abs(ct.load(x, (0,), (16,))).astype(ct.uint8))


def test_cast_of_negative_to_unsigned(pair):
    pair("cast_negative", "cast_distance", (1,), lambda: (np.full(16, -3, np.float32), np.zeros(16, np.uint8)))
