"""Rounding to the grid of an element type, once and exactly, in every rounding mode of Tile IR.

Two tricks do all of it without a loop over lanes. A type with float32's exponents is float32 with low bits
dropped: integer arithmetic on the bits rounds it, and a carry out of the fraction raises the exponent as it
should. For any other type a large power of two is added and taken away again: the hardware's own rounding of
the sum then falls at the last bit of the narrow type.

Values wider than the narrow type may be exact or rounded to odd (Boldo and Melquiond, "Emulation of FMA and
correctly rounded sums", IEEE Transactions on Computers, 2008): rounding to odd keeps the information which
side of every tie and grid point the exact value was on.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from cutile_sim.dtypes import (
    BF16,
    F8E5M3FNU,
    F8E8M0FNU,
    F32,
    F64,
    TF32,
    ElementType,
    FloatFormat,
    from_bits,
    to_bits,
    to_carrier,
    to_storage,
)
from cutile_sim.optable.encoding import RoundingMode

__all__ = [
    "flush",
    "from_bits",
    "largest",
    "round_to",
    "smallest_normal",
    "step_toward",
    "to_bits",
    "to_carrier",
    "to_odd",
    "to_storage",
]

NEAREST_EVEN = RoundingMode.NEAREST_EVEN
NEAREST_AWAY = RoundingMode.NEAREST_AWAY
ZERO = RoundingMode.ZERO
NEGATIVE_INF = RoundingMode.NEGATIVE_INF
POSITIVE_INF = RoundingMode.POSITIVE_INF

_SIGN32 = np.int32(-(2**31))
_EXPONENT32 = np.int32(0x7F800000)
_SIGN64 = np.int64(-(2**63))
_EXPONENT64 = np.int64(0x7FF0000000000000)
# From this many elements on, integer passes beat the conversion to bfloat16 and back (measured).
_MANY = 32768


@cache
def largest(element: ElementType) -> float:
    """The largest finite value of a floating-point type."""
    fmt = element.format
    assert fmt is not None
    top = 2.0 - 2.0 ** (1 - fmt.precision)
    if fmt.specials == "nan_only" and fmt.precision > 1:
        top -= 2.0 ** (1 - fmt.precision)  # the code of the top value encodes NaN
    return top * 2.0**fmt.max_exponent


@cache
def smallest_normal(element: ElementType) -> float:
    """The smallest positive normal value of a floating-point type."""
    assert element.format is not None
    return 2.0**element.format.min_exponent


def flush(values: np.ndarray, element: ElementType) -> np.ndarray:
    """Subnormal values of the element type replaced by a zero of their sign."""
    return values * (np.abs(values) >= values.dtype.type(smallest_normal(element)))


def round_to(values: np.ndarray, element: ElementType, mode: RoundingMode = NEAREST_EVEN) -> np.ndarray:
    """Values of a floating-point type nearest to `values` in the direction of `mode`.

    `values`: float32 or float64, any shape; float64 values are exact or rounded to odd. The result is in the
    element's carrier type. Types of 8 bits and less have no infinity to overflow to and saturate, infinities
    with them; the others overflow as IEEE 754 says. `mode`: nearest (ties to even or away), toward zero, or
    toward an infinity.
    """
    if element is F64:
        return values.astype(np.float64, copy=False)
    narrow_source = values.dtype == np.float32
    if element is F32:
        return values if narrow_source else _float64_to_float32(values, mode)
    if element is F8E8M0FNU:
        return _round_to_power_of_two(values, mode)
    assert element.format is not None
    if element.width_bits <= 8:
        return _round_saturating(values, element, mode)
    if element is BF16 and narrow_source and mode is NEAREST_EVEN and values.size < _MANY:
        return values.astype(BF16.storage).astype(np.float32)
    if narrow_source and (element is BF16 or element is TF32):
        return _drop_low_bits(values, 24 - element.format.precision, mode)
    if narrow_source:
        return _overflow(_on_grid_float32(values, element.format, mode), values, element, mode)
    return _overflow(_on_grid_float64(values, element.format, mode), values, element, mode)


def to_odd(value: np.ndarray, error: np.ndarray) -> np.ndarray:
    """float64 `value` (nearest to `value + error`, exact) moved to the neighbour with an odd last bit where
    `error` is not 0.
    """
    bits = value.view(np.int64)
    inexact = error > 0
    outward = inexact == (value > 0)
    inexact |= error < 0  # false for the NaN that an infinite value leaves
    inexact &= (bits & 1) == 0
    step = inexact.astype(np.int64)
    step -= 2 * (inexact & ~outward)
    step += bits
    return step.view(np.float64)


def step_toward(value: np.ndarray, error: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """`value`, nearest to `value + error`, made the directed rounding of that sum.

    float32 or float64 `value`; only the sign of `error` counts. An infinite `value` is an overflow of a
    finite sum: it steps back to the largest finite value where the direction says so (`error` must then be of
    the opposite sign).
    """
    if mode is NEAREST_EVEN:
        return value
    down = error < 0
    up = error > 0
    if mode is NEGATIVE_INF:
        up = np.zeros_like(up)
    elif mode is POSITIVE_INF:
        down = np.zeros_like(down)
    else:
        negative = np.signbit(value)
        down &= ~negative
        up &= negative
    integer: Any = np.int32 if value.dtype == np.float32 else np.int64
    bits = value.view(integer)
    step = up.astype(integer)
    step -= down
    outward = step * (1 - 2 * (bits < 0).astype(integer))
    outward += bits
    result = outward.view(value.dtype)
    from_zero = (value == 0) & (step != 0)
    if from_zero.any():  # both zeros step to the smallest subnormals
        least = np.finfo(value.dtype).smallest_subnormal
        result[from_zero] = step[from_zero] * least
    return result


def _float64_to_float32(values: np.ndarray, mode: RoundingMode) -> np.ndarray:
    nearest = values.astype(np.float32)
    if mode is NEAREST_EVEN:
        return nearest
    if mode is NEAREST_AWAY:
        return _overflow(_on_grid_float64(values, _format(F32), mode), values, F32, mode)
    return step_toward(nearest, values - nearest, mode)


def _format(element: ElementType) -> FloatFormat:
    assert element.format is not None
    return element.format


def _drop_low_bits(values: np.ndarray, count: int, mode: RoundingMode) -> np.ndarray:
    """float32 values with the lowest `count` bits of the fraction rounded away."""
    bits = values.view(np.uint32)
    unit = 1 << count
    if mode is NEAREST_EVEN:
        rounded = bits >> np.uint32(count)
        rounded &= np.uint32(1)
        rounded += bits
        rounded += np.uint32(unit // 2 - 1)
    elif mode is NEAREST_AWAY:
        rounded = bits + np.uint32(unit // 2)
    elif mode is ZERO:
        rounded = bits.copy()
    else:
        negative = np.signbit(values)
        rounded = bits + np.uint32(unit - 1) * (negative if mode is NEGATIVE_INF else ~negative)
    rounded &= np.uint32(0x100000000 - unit)
    result = rounded.view(np.float32)
    if np.isnan(values.max()):  # a carry may have left the NaNs
        np.copyto(result, np.float32(np.nan), where=np.isnan(values))
    return result


def _on_grid_float32(values: np.ndarray, fmt: FloatFormat, mode: RoundingMode) -> np.ndarray:
    """float32 values rounded to a format's precision, its exponent unbounded above; not for float32's own
    exponent range.
    """
    bits = values.view(np.int32)
    exponents = bits & _EXPONENT32
    # Subnormals share the grid of the smallest normal number, and infinity must not
    # meet infinity.
    np.clip(exponents, (fmt.min_exponent + 127) << 23, (fmt.max_exponent + 128) << 23, out=exponents)
    magic = exponents.view(np.float32)
    step = magic * np.float32(2.0 ** (1 - fmt.precision)) if mode is not NEAREST_EVEN else None
    magic *= np.float32(1.5 * 2.0 ** (24 - fmt.precision))
    result = values + magic
    result -= magic
    if step is not None:
        _redirect(result, values, step, mode)
    signed = result.view(np.int32)  # a zero came out as +0
    signed |= bits & _SIGN32
    return result


def _on_grid_float64(values: np.ndarray, fmt: FloatFormat, mode: RoundingMode) -> np.ndarray:
    bits = values.view(np.int64)
    exponents = bits & _EXPONENT64
    np.clip(exponents, (fmt.min_exponent + 1023) << 52, (fmt.max_exponent + 1024) << 52, out=exponents)
    magic = exponents.view(np.float64)
    step = magic * 2.0 ** (1 - fmt.precision) if mode is not NEAREST_EVEN else None
    magic *= 1.5 * 2.0 ** (53 - fmt.precision)
    result = values + magic
    result -= magic
    if step is not None:
        _redirect(result, values, step, mode)
    signed = result.view(np.int64)
    signed |= bits & _SIGN64
    return result


def _redirect(nearest: np.ndarray, values: np.ndarray, step: np.ndarray, mode: RoundingMode) -> None:
    """Turn the nearest grid point of each value into the one `mode` asks for, in place; `step` is the grid at
    the value.
    """
    error = values - nearest
    if mode is NEAREST_AWAY:
        half = step * nearest.dtype.type(0.5)
        nearest += step * ((error == half) & (values > 0))
        nearest -= step * ((error == -half) & (values < 0))
        return
    up, down = error > 0, error < 0
    if mode is NEGATIVE_INF:
        up = np.zeros_like(up)
    elif mode is POSITIVE_INF:
        down = np.zeros_like(down)
    else:
        up &= values < 0
        down &= values > 0
    nearest += step * up
    nearest -= step * down


def _overflow(grid: np.ndarray, values: np.ndarray, element: ElementType, mode: RoundingMode) -> np.ndarray:
    """Grid points of unbounded exponent as carried values of a type with infinities."""
    fmt = _format(element)
    result = grid.astype(np.float32, copy=False)
    if mode is NEAREST_EVEN or mode is NEAREST_AWAY:
        top = largest(element)
        # NaN is in no range either.
        if fmt.max_exponent < 127 and not (result.max(initial=0) <= top and result.min(initial=0) >= -top):
            result *= np.float32(2.0 ** (127 - fmt.max_exponent))
            result *= np.float32(2.0 ** (fmt.max_exponent - 127))
        return result
    top = largest(element)
    finite = np.isfinite(values)
    above, below = finite & (grid > top), finite & (grid < -top)
    np.copyto(result, np.float32(np.inf if mode is POSITIVE_INF else top), where=above)
    np.copyto(result, np.float32(-np.inf if mode is NEGATIVE_INF else -top), where=below)
    return result


def _round_saturating(values: np.ndarray, element: ElementType, mode: RoundingMode) -> np.ndarray:
    fmt = _format(element)
    top = values.dtype.type(largest(element))
    clipped = np.clip(values, -top if fmt.signed else values.dtype.type(0), top)
    grid = _on_grid_float32 if values.dtype == np.float32 else _on_grid_float64
    result = grid(clipped, fmt, mode).astype(np.float32, copy=False)
    if element is F8E5M3FNU:
        result = np.abs(result)
    if fmt.specials == "none":  # no NaN either: PTX converts it to the largest value
        np.copyto(result, np.float32(top), where=np.isnan(values))
    return result


def _round_to_power_of_two(values: np.ndarray, mode: RoundingMode) -> np.ndarray:
    """f8E8M0FNU: powers of two from 2**-127 to 2**127 and NaN. The sign is ignored; zero gives the smallest
    value.
    """
    fraction, exponent = np.frexp(np.abs(values))  # in [0.5, 1)
    exponent = exponent - 1
    if mode is POSITIVE_INF:
        exponent += fraction > 0.5
    elif mode is not ZERO:
        exponent += fraction >= 0.75  # ties away: a one-bit significand has no even neighbour of its own
    exponent = np.where(values == 0, -127, np.where(np.isinf(values), 127, np.clip(exponent, -127, 127)))
    return np.where(np.isnan(values), np.float32(np.nan), np.ldexp(np.float32(1), exponent.astype(np.int32)))
