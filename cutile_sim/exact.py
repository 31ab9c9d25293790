"""Correctly rounded float arithmetic beyond what one NumPy call gives: fused multiply-add and the directed
rounding modes.

Everything rests on error-free transformations: the rounding error of a sum or a product is itself a float,
and a few more operations compute it (Knuth's two-sum; Dekker's product with Veltkamp's splitting). Where
float64 products would leave the range in which that holds, those lanes alone are computed with Python's
integers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from cutile_sim.optable.encoding import RoundingMode
from cutile_sim.rounding import NEAREST_EVEN, NEGATIVE_INF, POSITIVE_INF, ZERO, step_toward, to_odd

# Within these a product of two float64 and its rounding error are normal numbers, and the parts of a split do
# not overflow.
_SAFE_LOW, _SAFE_HIGH = 2.0**-450, 2.0**450
_SAFE_SUM_HIGH = 2.0**1000
_SPLITTER = 134217729.0  # 2**27 + 1


def two_sum(lhs: np.ndarray, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The float64 sum rounded to nearest, and its error: both together are the exact sum."""
    total = lhs + rhs
    rhs_part = total - lhs
    lhs_part = total - rhs_part
    error = rhs - rhs_part
    lhs_part -= lhs
    error -= lhs_part
    return total, error


def _split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = values * _SPLITTER
    upper = scaled - (scaled - values)
    return upper, values - upper


def two_product(lhs: np.ndarray, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The float64 product rounded to nearest, and its error, for factors between 2**-450 and 2**450 in
    magnitude.
    """
    product = lhs * rhs
    lhs_upper, lhs_lower = _split(lhs)
    rhs_upper, rhs_lower = _split(rhs)
    error = lhs_lower * rhs_lower - (
        ((product - lhs_upper * rhs_upper) - lhs_lower * rhs_upper) - lhs_upper * rhs_lower
    )
    return product, error


def sum_to_odd(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """The float64 sum rounded to odd: rounded again to 51 bits or fewer, it gives what the exact sum gives."""
    total, error = two_sum(lhs, rhs)
    return to_odd(total, error) if error.any() else total


def _zero_sum(total: np.ndarray, lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """A sum of opposite numbers is -0 when rounding toward negative infinity, and +0 otherwise."""
    if mode is NEGATIVE_INF:
        cancelled = (total == 0) & ((np.signbit(lhs) != np.signbit(rhs)) | (lhs != 0))
        return np.where(cancelled, -0.0, total)
    return total


def add64(lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """float64 sum in any of the four IEEE modes."""
    if mode is NEAREST_EVEN:
        return lhs + rhs
    total, error = two_sum(lhs, rhs)
    overflowed = np.isinf(total) & np.isfinite(lhs) & np.isfinite(rhs)
    error = np.where(overflowed, -total, error)
    return _zero_sum(step_toward(total, error, mode), lhs, rhs, mode)


def add_to_odd(lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """float64 sum rounded to odd, of float64 operands whose sum does not overflow; its zeros have the sign
    `mode` asks for.
    """
    return _zero_sum(sum_to_odd(lhs, rhs), lhs, rhs, mode)


def mul64(lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """float64 product in any of the four IEEE modes."""
    if mode is NEAREST_EVEN:
        return lhs * rhs
    product, error = two_product(lhs, rhs)
    result = step_toward(product, error, mode)
    return _patch(result, _unsafe(lhs, rhs), _exact_product, (lhs, rhs), mode)


def div64(lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """float64 quotient in any of the four IEEE modes."""
    if mode is NEAREST_EVEN:
        return lhs / rhs
    quotient = lhs / rhs
    product, error = two_product(quotient, rhs)
    # The remainder of a quotient rounded to nearest is a float64: neither of these differences rounds.
    remainder = (lhs - product) - error
    result = step_toward(quotient, np.where(rhs < 0, -remainder, remainder), mode)
    unsafe = _unsafe(lhs, rhs) | (_unsafe(quotient, rhs) & np.isfinite(quotient) & (quotient != 0))
    return _patch(result, unsafe & (rhs != 0), _exact_quotient, (lhs, rhs), mode)


def sqrt64(values: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """float64 square root in any of the four IEEE modes."""
    root = np.sqrt(values)
    if mode is NEAREST_EVEN:
        return root
    square, error = two_product(root, root)
    result = step_toward(root, (values - square) - error, mode)
    return _patch(result, _unsafe(values, values) & (values > 0), _exact_root, (values,), mode)


def fma64(lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """float64 `lhs * rhs + acc`, rounded once, in any of the four IEEE modes."""
    upper, lower = two_product(lhs, rhs)
    tail, rest = two_sum(acc, lower)
    head, middle = two_sum(upper, tail)
    correction = sum_to_odd(middle, rest)
    if mode is NEAREST_EVEN:
        result = head + correction
    else:
        total, error = two_sum(head, correction)
        result = step_toward(total, error, mode)
    if _all_safe(lhs) and _all_safe(rhs) and np.abs(acc).max() < _SAFE_SUM_HIGH and result.all():
        return result
    # A zero or non-finite factor or addend leaves nothing to round twice.
    finite_product = np.isfinite(lhs) & np.isfinite(rhs)
    simple = (lhs == 0) | (rhs == 0) | ~finite_product | ~np.isfinite(acc)
    plain = np.where(finite_product & ~np.isfinite(acc), acc, add64(lhs * rhs, acc, mode))
    result = np.where(simple, plain, np.where(result == 0, -0.0, result) if mode is NEGATIVE_INF else result)
    unsafe = _unsafe(lhs, rhs) | (np.abs(acc) > _SAFE_SUM_HIGH)
    return _patch(result, unsafe & ~simple, _exact_fma, (lhs, rhs, acc), mode)


def _all_safe(values: np.ndarray) -> bool:
    """Whether all lanes are zero or within the bounds of two_product."""
    size = np.abs(values)
    if not size.max() < _SAFE_HIGH:  # true for a NaN too
        return False
    return bool(size.min() > _SAFE_LOW) or not ((size < _SAFE_LOW) & (size > 0)).any()


def _unsafe(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Lanes of finite non-zero operands whose product two_product may not split exactly."""
    size_l, size_r = np.abs(lhs), np.abs(rhs)
    outside = (size_l < _SAFE_LOW) | (size_l > _SAFE_HIGH) | (size_r < _SAFE_LOW) | (size_r > _SAFE_HIGH)
    return outside & (size_l > 0) & (size_r > 0) & (size_l < np.inf) & (size_r < np.inf)


def _patch(
    result: np.ndarray,
    lanes: np.ndarray,
    function: Callable[..., float],
    operands: tuple[np.ndarray, ...],
    mode: RoundingMode,
) -> np.ndarray:
    """Replace the results of the marked lanes by exact ones, a lane at a time: they are the rare extremes of
    the range.
    """
    if not lanes.any():
        return result
    result = np.array(result)
    where = np.nonzero(np.broadcast_to(lanes, result.shape))
    columns = [np.broadcast_to(x, result.shape)[where] for x in operands]
    result[where] = [function(*(float(x) for x in lane), mode) for lane in zip(*columns, strict=True)]
    return result


def _exact_product(lhs: float, rhs: float, mode: RoundingMode) -> float:
    return round_fraction(Fraction(lhs) * Fraction(rhs), mode)


def _exact_quotient(lhs: float, rhs: float, mode: RoundingMode) -> float:
    return round_fraction(Fraction(lhs) / Fraction(rhs), mode)


def _exact_fma(lhs: float, rhs: float, acc: float, mode: RoundingMode) -> float:
    exact = Fraction(lhs) * Fraction(rhs) + Fraction(acc)
    if exact == 0:
        return -0.0 if mode is NEGATIVE_INF else 0.0
    return round_fraction(exact, mode)


def _exact_root(value: float, mode: RoundingMode) -> float:
    exact = Fraction(value)
    # 2**-shift with an even shift leaves at least 120 integer bits, whose root has 60: beyond all ties of 53.
    shift = 2 * (1200 - exact.numerator.bit_length() + exact.denominator.bit_length())
    scaled = (exact.numerator << shift) // exact.denominator
    root = math.isqrt(scaled)
    sticky = root * root * exact.denominator != exact.numerator << shift
    return round_fraction(Fraction(2 * root + sticky, 1 << (shift // 2 + 1)), mode)


def round_fraction(exact: Fraction, mode: RoundingMode) -> float:
    """A non-zero fraction rounded to float64 by integer arithmetic."""
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    last = max(exponent, -1022) - 52  # the exponent of the last bit kept
    scaled = size / Fraction(2) ** last
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    if mode is NEAREST_EVEN:
        twice = 2 * rest
        up = twice > scaled.denominator or (twice == scaled.denominator and whole & 1 == 1)
    else:
        up = rest > 0 and mode is not ZERO and (mode is POSITIVE_INF) == (exact > 0)
    rounded = (whole + up) * Fraction(2) ** last
    if rounded < Fraction(2) ** 1024:
        magnitude = float(rounded)
    elif mode is ZERO or (mode is NEGATIVE_INF and exact > 0) or (mode is POSITIVE_INF and exact < 0):
        magnitude = sys.float_info.max
    else:
        magnitude = math.inf
    return -magnitude if exact < 0 else magnitude
