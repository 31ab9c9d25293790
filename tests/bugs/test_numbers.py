"""Numbers that go wrong."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from cutile_sim.sanitize import SanitizeOptions

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def floats(*values: float) -> np.ndarray:
    return np.resize(np.array(values, np.float32), 16)


@ct.kernel
def normalize(x, y):
    t = ct.load(x, (0,), (16,))
    ct.store(y, (0,), t / ct.sum(t))  # BUG: CTS601


@ct.kernel
def normalize_guarded(x, y):
    t = ct.load(x, (0,), (16,))
    s = ct.sum(t)
    ct.store(y, (0,), ct.where(s == 0, 0.0, t / s))


def test_zero_over_zero(pair):
    pair("normalize", "normalize_guarded", (1,), lambda: (floats(0), floats(0)))


@ct.kernel
def softmax_without_maximum(x, y):
    e = ct.exp(ct.load(x, (0,), (16,)))  # BUG: CTS602
    ct.store(y, (0,), e / ct.sum(e))


@ct.kernel
def softmax(x, y):
    t = ct.load(x, (0,), (16,))
    e = ct.exp(t - ct.max(t))
    ct.store(y, (0,), e / ct.sum(e))


def test_overflow(pair):
    pair("softmax_without_maximum", "softmax", (1,), lambda: (floats(1, 100), floats(0)))


@ct.kernel
def root_of_difference(x, y):
    t = ct.load(x, (0,), (16,))
    ct.store(y, (0,), ct.sqrt(t - 2.0))  # BUG: CTS601


@ct.kernel
def root_of_square(x, y):
    t = ct.load(x, (0,), (16,)) - 2.0
    ct.store(y, (0,), ct.sqrt(t * t))


def test_root(pair):
    pair("root_of_difference", "root_of_square", (1,), lambda: (floats(1, 2, 3), floats(0)))


@ct.kernel
def masked_row(x, y):
    """Infinities that are written in the kernel are meant."""
    t = ct.where(ct.arange(16, dtype=ct.int32) < 9, ct.load(x, (0,), (16,)), -float("inf"))
    e = ct.exp(t - ct.max(t))
    ct.store(y, (0,), e / ct.sum(e))


def test_meant_infinities(planted):
    planted("masked_row", (1,), lambda: (floats(1, 2, 3), floats(0)))


@ct.kernel
def handed_on(x, y):
    """A NaN that comes with the data was not born here."""
    ct.store(y, (0,), ct.load(x, (0,), (16,)) * 2)


def test_nan_in_the_data(planted):
    planted("handed_on", (1,), lambda: (floats(1, np.nan, np.inf), floats(0)))


@ct.kernel
def to_float8(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (16,)).astype(ct.float8_e4m3fn))  # BUG: CTS603


@ct.kernel
def scaled_to_float8(x, y):
    t = ct.load(x, (0,), (16,))
    ct.store(y, (0,), (t / ct.max(abs(t)) * 448).astype(ct.float8_e4m3fn))


def test_saturation(pair):
    pair("to_float8", "scaled_to_float8", (1,), lambda: (floats(1, 1000), np.zeros(16, ml_dtypes.float8_e4m3fn)))


@ct.kernel
def sum_in_float16(x, y):
    acc = ct.zeros((16,), ct.float16)
    for k in range(256):
        acc = acc + ct.load(x, (k,), (16,))  # BUG: CTS604
    ct.store(y, (0,), acc)


@ct.kernel
def sum_in_float32(x, y):
    acc = ct.zeros((16,), ct.float32)
    for k in range(256):
        acc = acc + ct.load(x, (k,), (16,))
    ct.store(y, (0,), acc.astype(ct.float16))


def test_narrow_sum(pair):
    x = np.random.default_rng(0).uniform(0.5, 1.5, 4096).astype(np.float16)
    pair(
        "sum_in_float16",
        "sum_in_float32",
        (1,),
        lambda: (x, np.zeros(16, np.float16)),
        sanitize=SanitizeOptions(checks=("precision",)),
    )
