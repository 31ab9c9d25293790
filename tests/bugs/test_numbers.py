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
def nan_dropped_infinity_kept(x, y):
    """A NaN that is dropped is none, though an infinity of the data is stored."""
    t = ct.load(x, (0,), (16,))
    root = ct.sqrt(t)
    ct.store(y, (0,), ct.where(t < 0, 0.0, root))


def test_nan_that_is_dropped(planted):
    planted("nan_dropped_infinity_kept", (1,), lambda: (floats(1, -1, np.inf), floats(0)))


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


@ct.kernel
def variance_by_difference(x, y):
    """The mean of squares less the square of the mean is a little below zero."""
    t = ct.load(x, (0,), (16,))
    mean = ct.sum(t) / 16
    ct.store(y, (0,), (t - mean) * ct.rsqrt(ct.sum(t * t) / 16 - mean * mean - 1e-3))  # BUG: CTS601


@ct.kernel
def variance_of_differences(x, y):
    t = ct.load(x, (0,), (16,))
    d = t - ct.sum(t) / 16
    ct.store(y, (0,), d * ct.rsqrt(ct.sum(d * d) / 16 + 1e-3))


def test_variance(pair):
    pair("variance_by_difference", "variance_of_differences", (1,), lambda: (floats(3), floats(0)))


@ct.kernel
def logarithm(x, y):
    ct.store(y, (0,), ct.log(ct.load(x, (0,), (16,))))  # BUG: CTS602


@ct.kernel
def logarithm_of_positive(x, y):
    ct.store(y, (0,), ct.log(ct.maximum(ct.load(x, (0,), (16,)), 1e-30)))


def test_logarithm_of_zero(pair):
    pair("logarithm", "logarithm_of_positive", (1,), lambda: (floats(0, 1, 2), floats(0)))


@ct.kernel
def products_in_float16(x, y):
    t = ct.load(x, (0,), (16,))
    ct.store(y, (0,), t * t)  # BUG: CTS602


@ct.kernel
def products_in_float32(x, y):
    t = ct.load(x, (0,), (16,)).astype(ct.float32)
    ct.store(y, (0,), ct.minimum(t * t, 65504.0).astype(ct.float16))


def test_overflow_of_float16(pair):
    pair("products_in_float16", "products_in_float32", (1,), lambda: (floats(300).astype("f2"), floats(0).astype("f2")))


@ct.kernel
def to_float8_of_2_bits(x, y):
    """The type with the wider range saturates as well."""
    for k in range(2):
        ct.store(y, (k,), ct.load(x, (k,), (16,)).astype(ct.float8_e5m2))  # BUG: CTS603


@ct.kernel
def clamped_to_float8_of_2_bits(x, y):
    for k in range(2):
        ct.store(y, (k,), ct.minimum(ct.load(x, (k,), (16,)), 57344.0).astype(ct.float8_e5m2))


def test_saturation_in_a_loop(pair):
    x = np.concatenate((floats(1), floats(1, 2.0**20)))
    pair(
        "to_float8_of_2_bits",
        "clamped_to_float8_of_2_bits",
        (1,),
        lambda: (x, np.zeros(32, ml_dtypes.float8_e5m2)),
    )


@ct.kernel
def scale_after_conversion(x, y, scale):
    t = ct.load(x, (0,), (16,)).astype(ct.float8_e4m3fn)  # BUG: CTS603
    ct.store(y, (0,), (t.astype(ct.float32) * scale).astype(ct.float8_e4m3fn))


@ct.kernel
def scale_before_conversion(x, y, scale):
    ct.store(y, (0,), (ct.load(x, (0,), (16,)) * scale).astype(ct.float8_e4m3fn))


def test_scale(pair):
    def make():
        return floats(500, -2000), np.zeros(16, ml_dtypes.float8_e4m3fn), 0.125

    pair("scale_after_conversion", "scale_before_conversion", (1,), make)


PRECISION = SanitizeOptions(checks=("precision",))


@ct.kernel
def count_in_bfloat16(x, y):
    """Ones that are added up to 256 and no further."""
    n = ct.zeros((16,), ct.bfloat16)
    for k in range(512):
        n = n + ct.load(x, (k,), (16,))  # BUG: CTS604
    ct.store(y, (0,), n.astype(ct.float32))


@ct.kernel
def count_in_float32(x, y):
    n = ct.zeros((16,), ct.float32)
    for k in range(512):
        n = n + ct.load(x, (k,), (16,)).astype(ct.float32)
    ct.store(y, (0,), n)


def test_count(pair):
    x = np.ones(16 * 512, ml_dtypes.bfloat16)
    pair("count_in_bfloat16", "count_in_float32", (1,), lambda: (x, floats(0)), sanitize=PRECISION)


@ct.kernel
def difference_of_sums(x, y):
    """What is left of two large sums was lost on the way."""
    a = ct.zeros((16,), ct.float16)
    for k in range(64):
        a = a + ct.load(x, (k,), (16,)) * 0.1  # BUG: CTS604
    ct.store(y, (0,), a)


@ct.kernel
def difference_of_wide_sums(x, y):
    a = ct.zeros((16,), ct.float32)
    for k in range(64):
        a = a + ct.load(x, (k,), (16,)).astype(ct.float32) * 0.1
    ct.store(y, (0,), a.astype(ct.float16))


def test_difference(pair):
    x = np.random.default_rng(1).uniform(10, 20, 1024).astype(np.float16)
    pair("difference_of_sums", "difference_of_wide_sums", (1,), lambda: (x, floats(0).astype("f2")), sanitize=PRECISION)
