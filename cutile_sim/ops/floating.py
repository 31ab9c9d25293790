"""Floating-point arithmetic: each result is the exact one rounded once to the element type, as on the GPU.

All functions take carried values (float16, bfloat16 in float32) of broadcast-compatible shapes and give a new
array. Numerics: + - * / of a narrow type done in float32 and rounded again are correctly rounded, since
float32 has more than twice the narrow precision plus two bits (Figueroa, "When is double rounding
innocuous?", SIGNUM 1995). Where that does not hold (fused multiply-add, directed modes) the operation is done
in float64, rounded to odd.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cutile_sim import exact
from cutile_sim.dtypes import F32, F64, ElementType
from cutile_sim.ops.pieces import in_pieces
from cutile_sim.ops.registry import implements
from cutile_sim.optable.encoding import ComparisonOrdering, ComparisonPredicate, RoundingMode
from cutile_sim.rounding import flush, round_to
from cutile_sim.tileir.types import TileType, element_of

_NEAREST = RoundingMode.NEAREST_EVEN
_APPROXIMATE = (RoundingMode.APPROX, RoundingMode.FULL)


@implements("absf")
def absf(source: np.ndarray) -> np.ndarray:
    """Absolute value; clears the sign of a NaN too."""
    return np.abs(source)


@implements("negf")
def negf(source: np.ndarray) -> np.ndarray:
    """Negation; flips the sign of zeros and NaNs too."""
    return np.negative(source)


def _arithmetic(
    nearest: Callable[[np.ndarray, np.ndarray], np.ndarray],
    wide: Callable[[np.ndarray, np.ndarray, RoundingMode], np.ndarray],
    directed64: Callable[[np.ndarray, np.ndarray, RoundingMode], np.ndarray],
    lhs: np.ndarray,
    rhs: np.ndarray,
    mode: RoundingMode,
    flush_to_zero: bool,
    element: ElementType,
) -> np.ndarray:
    """One operation of two operands in all modes but the bare one.

    `nearest` is the ufunc, `wide` takes float64 and yields what rounds as the exact result, `directed64` is
    for float64.
    """
    if flush_to_zero:
        lhs, rhs = flush(lhs, element), flush(rhs, element)
    if mode is _NEAREST or mode in _APPROXIMATE:
        result = nearest(lhs, rhs)
        if element.is_narrow:
            result = round_to(result, element)
    elif element is F64:
        result = directed64(lhs, rhs, mode)
    else:
        result = round_to(wide(lhs.astype(np.float64), rhs.astype(np.float64), mode), element, mode)
    return flush(result, element) if flush_to_zero else result


def _product(lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    return lhs * rhs  # exact: 48 bits at most


def _quotient(lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    return lhs / rhs  # a quotient of 24-bit numbers is never nearer than 2**-49 to another 24-bit number


def _sub64(lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    return exact.add64(lhs, -rhs, mode)


def _sub_to_odd(lhs: np.ndarray, rhs: np.ndarray, mode: RoundingMode) -> np.ndarray:
    return exact.add_to_odd(lhs, -rhs, mode)


@implements("addf")
def addf(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    rounding_mode: RoundingMode,
    flush_to_zero: bool,
    result_type: TileType,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Sum, rounded once."""
    element = element_of(result_type)
    if rounding_mode is _NEAREST and not flush_to_zero and not element.is_narrow:
        return np.add(lhs, rhs, out=out)
    return _arithmetic(np.add, exact.add_to_odd, exact.add64, lhs, rhs, rounding_mode, flush_to_zero, element)


@implements("subf")
def subf(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    rounding_mode: RoundingMode,
    flush_to_zero: bool,
    result_type: TileType,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Difference, rounded once."""
    element = element_of(result_type)
    if rounding_mode is _NEAREST and not flush_to_zero and not element.is_narrow:
        return np.subtract(lhs, rhs, out=out)
    return _arithmetic(np.subtract, _sub_to_odd, _sub64, lhs, rhs, rounding_mode, flush_to_zero, element)


@implements("mulf")
def mulf(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    rounding_mode: RoundingMode,
    flush_to_zero: bool,
    result_type: TileType,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Product, rounded once."""
    element = element_of(result_type)
    if rounding_mode is _NEAREST and not flush_to_zero and not element.is_narrow:
        return np.multiply(lhs, rhs, out=out)
    return _arithmetic(np.multiply, _product, exact.mul64, lhs, rhs, rounding_mode, flush_to_zero, element)


@implements("divf")
def divf(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    rounding_mode: RoundingMode,
    flush_to_zero: bool,
    result_type: TileType,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Quotient, rounded once.

    Numerics: full is computed as nearest_even (the GPU is within 1 unit of it). So is approx, except that a
    divisor above 2**126 gives zero, or NaN for an infinite dividend, as on the GPU.
    """
    element = element_of(result_type)
    if rounding_mode is _NEAREST and not flush_to_zero and not element.is_narrow:
        return np.divide(lhs, rhs, out=out)
    result = _arithmetic(np.divide, _quotient, exact.div64, lhs, rhs, rounding_mode, flush_to_zero, element)
    if rounding_mode is RoundingMode.APPROX:
        size = np.abs(rhs)
        huge = (size > np.float32(2.0**126)) & (size < np.inf)
        if huge.any():
            result = np.where(huge, lhs * np.copysign(np.float32(0), rhs), result)
    return result


@implements("fma")
def fma(
    lhs: np.ndarray,
    rhs: np.ndarray,
    acc: np.ndarray,
    *,
    rounding_mode: RoundingMode,
    flush_to_zero: bool,
    result_type: TileType,
) -> np.ndarray:
    """`lhs * rhs + acc`, rounded once.

    Numerics: the float64 product of two float32 values is exact. Their float64 sum is rounded, and rounding
    it again to the element type is right unless the sum fell on a tie or grid point of it, which its low bits
    show; then the sum is done once more, rounded to odd.
    """
    element = element_of(result_type)
    if flush_to_zero:
        lhs, rhs, acc = flush(lhs, element), flush(rhs, element), flush(acc, element)
    if element is F64:
        return exact.fma64(lhs, rhs, acc, rounding_mode)
    if rounding_mode is _NEAREST and element is F32:
        result = in_pieces(_fma32, (lhs, rhs, acc), np.float32)
    else:
        product, addend = np.multiply(lhs, rhs, dtype=np.float64), acc.astype(np.float64)
        total = (
            exact.sum_to_odd(product, addend)
            if rounding_mode is _NEAREST
            else exact.add_to_odd(product, addend, rounding_mode)
        )
        result = round_to(total, element, rounding_mode)
    return flush(result, element) if flush_to_zero else result


def _fma32(lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray) -> np.ndarray:
    """The float64 number that rounds to `lhs * rhs + acc` of float32 numbers."""
    # Converting first is quicker than in the multiplication, and most of all what is the same along an axis.
    product = _once(lhs).astype(np.float64) * _once(rhs).astype(np.float64)
    total = np.add(product, acc, order="C")
    ties = _ties(total.reshape(-1))
    if ties.size:
        product = np.broadcast_to(product, total.shape)
        total.flat[ties] = exact.sum_to_odd(product.flat[ties], acc.flat[ties].astype(np.float64))
    return total


def _once(values: np.ndarray) -> np.ndarray:
    """An array with axes of length 1 where it was broadcast."""
    return values[tuple([slice(0, 1) if stride == 0 else slice(None) for stride in values.strides])]


def _ties(values: np.ndarray) -> np.ndarray:
    """Indices of float64 values on a tie of float32: there a rounding error before it would decide the wrong way."""
    low_bits = values.view(np.uint64) & np.uint64((1 << 28) - 1)
    suspects = np.flatnonzero(low_bits == 0)  # every tie ends in that many zeros
    if not suspects.size:
        return suspects
    values = values[suspects]
    ties = values.view(np.uint64) & np.uint64(1 << 28) != 0
    size = np.abs(values)
    ties |= (size < 2.0**-126) & (size > 0)  # the ties of subnormal numbers are further up
    return suspects[ties]


@implements("maxf")
def maxf(
    lhs: np.ndarray, rhs: np.ndarray, *, propagate_nan: bool, flush_to_zero: bool, result_type: TileType
) -> np.ndarray:
    """The larger of two numbers; +0 is larger than -0. A NaN yields to a number, unless `propagate_nan`."""
    element = element_of(result_type)
    if flush_to_zero:
        lhs, rhs = flush(lhs, element), flush(rhs, element)
    lhs, rhs = _spread(lhs, rhs)
    result = np.maximum(lhs, rhs) if propagate_nan else np.fmax(lhs, rhs)
    return _settle_zeros(result, lhs, rhs, wrong_negative=True)


@implements("minf")
def minf(
    lhs: np.ndarray, rhs: np.ndarray, *, propagate_nan: bool, flush_to_zero: bool, result_type: TileType
) -> np.ndarray:
    """The smaller of two numbers; -0 is smaller than +0. A NaN yields to a number, unless `propagate_nan`."""
    element = element_of(result_type)
    if flush_to_zero:
        lhs, rhs = flush(lhs, element), flush(rhs, element)
    lhs, rhs = _spread(lhs, rhs)
    result = np.minimum(lhs, rhs) if propagate_nan else np.fmin(lhs, rhs)
    return _settle_zeros(result, lhs, rhs, wrong_negative=False)


def _spread(lhs: np.ndarray, rhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A lone number beside a tile repeated over it: NumPy's fmax and fmin are four times faster on equal shapes."""
    if lhs.size == 1 and rhs.size > 1:
        lhs = np.full(rhs.shape, lhs.ravel()[0])
    elif rhs.size == 1 and lhs.size > 1:
        rhs = np.full(lhs.shape, rhs.ravel()[0])
    return lhs, rhs


def _settle_zeros(result: np.ndarray, lhs: np.ndarray, rhs: np.ndarray, wrong_negative: bool) -> np.ndarray:
    """Give a maximum or minimum the right zero where its operands are zeros of both signs: NumPy returns
    either.
    """
    integer = np.int32 if result.dtype == np.float32 else np.int64
    negative_zero = np.iinfo(integer).min
    wrong, right = (negative_zero, 0) if wrong_negative else (0, negative_zero)
    suspects = result.view(integer) == wrong
    if suspects.any():
        lhs_right, rhs_right = lhs.view(integer) == right, rhs.view(integer) == right
        if lhs_right.any() or rhs_right.any():
            np.copyto(result.view(integer), integer(right), where=suspects & (lhs_right | rhs_right))
    return result


@implements("remf")
def remf(lhs: np.ndarray, rhs: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Remainder of the division truncated toward zero: exact, with the sign of the dividend.

    Numerics: below 2**28 the truncated float64 quotient of float32 values is the true one, and the remainder
    is exact in float64; other lanes, and float64, go through the slower C library function.
    """
    if element_of(result_type) is F64:
        return np.fmod(lhs, rhs)
    dividend, divisor = lhs.astype(np.float64), rhs.astype(np.float64)
    quotient = dividend / divisor
    np.trunc(quotient, out=quotient)
    remainder = dividend - quotient * divisor
    result = remainder.astype(np.float32)
    slow = ~(np.abs(quotient) < 2.0**28)
    slow |= np.isinf(divisor)
    if slow.any():
        pair = np.broadcast_arrays(lhs, rhs, slow)
        result[slow] = np.fmod(pair[0][slow], pair[1][slow])
    sign = result.view(np.int32)
    sign &= np.int32(0x7FFFFFFF)
    sign |= lhs.view(np.int32) & np.int32(-(2**31))
    return result


_ORDERED = {
    ComparisonPredicate.EQUAL: np.equal,
    ComparisonPredicate.LESS_THAN: np.less,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: np.less_equal,
    ComparisonPredicate.GREATER_THAN: np.greater,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: np.greater_equal,
}
_NEGATED = {
    ComparisonPredicate.EQUAL: ComparisonPredicate.NOT_EQUAL,
    ComparisonPredicate.LESS_THAN: ComparisonPredicate.GREATER_THAN_OR_EQUAL,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: ComparisonPredicate.GREATER_THAN,
    ComparisonPredicate.GREATER_THAN: ComparisonPredicate.LESS_THAN_OR_EQUAL,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: ComparisonPredicate.LESS_THAN,
}


@implements("cmpf")
def cmpf(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    comparison_predicate: ComparisonPredicate,
    comparison_ordering: ComparisonOrdering,
) -> np.ndarray:
    """Comparison to i1. With a NaN on either side an ordered comparison is false, an unordered one true."""
    unordered = comparison_ordering is ComparisonOrdering.UNORDERED
    if comparison_predicate is ComparisonPredicate.NOT_EQUAL:
        return lhs != rhs if unordered else (lhs < rhs) | (lhs > rhs)
    if not unordered:
        return _ORDERED[comparison_predicate](lhs, rhs)
    if comparison_predicate is ComparisonPredicate.EQUAL:
        return ~((lhs < rhs) | (lhs > rhs))
    return ~_ORDERED[_NEGATED[comparison_predicate]](lhs, rhs)
