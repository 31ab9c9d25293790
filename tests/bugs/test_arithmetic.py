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
