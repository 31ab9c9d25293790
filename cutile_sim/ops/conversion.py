"""Conversions between element types, and the bit-preserving ones.

Integers are carried signed in their own width; an unsigned conversion reads the same bits as unsigned. All
functions take and give carried values; any shape.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from cutile_sim import exact
from cutile_sim.dtypes import F16, F32, F64, I1, I4, ElementType, from_bits, to_bits
from cutile_sim.ops.registry import implements
from cutile_sim.optable.encoding import RoundingMode, Signedness
from cutile_sim.rounding import round_to
from cutile_sim.tileir.types import TileType, element_of


def _unsigned(values: np.ndarray, element: ElementType) -> np.ndarray:
    """Carried integers read as unsigned: i1 and i4 in uint8."""
    return to_bits(values, element)


@implements("ftof")
def ftof(
    source: np.ndarray,
    *,
    rounding_mode: RoundingMode,
    result_type: TileType,
    operand_types: dict[str, TileType],
) -> np.ndarray:
    """Float to float, rounded once. Types of 8 bits and less saturate, infinities too; f8E8M0FNU ignores the
    sign.
    """
    element = element_of(result_type)
    if _holds(element, element_of(operand_types["source"])):
        return source.astype(element.carrier, copy=False)
    return round_to(source, element, rounding_mode)


@cache
def _holds(target: ElementType, origin: ElementType) -> bool:
    """Whether every value of `origin`, NaN, infinities and signs included, is one of `target`."""
    to, of = target.format, origin.format
    assert to is not None and of is not None
    last = to.min_exponent - to.precision <= of.min_exponent - of.precision
    return to.specials == "ieee" and to.precision >= of.precision and to.max_exponent >= of.max_exponent and last


@implements("ftoi", ignores=("rounding_mode",))
def ftoi(
    source: np.ndarray,
    *,
    signedness: Signedness,
    saturating: bool,
    result_type: TileType,
    operand_types: dict[str, TileType],
) -> np.ndarray:
    """Float to integer, truncated toward zero (the one rounding mode there is). To i1: whether any bit but
    the sign is set.

    Numerics: outside the target's range the result is undefined in Tile IR; this gives what an H200 gives: 16
    bits and wider saturate, 8 bits saturate to 16 and keep the low byte. A NaN gives 0, but from float64, and
    to 64 bits from any type, only the top bit set. `saturating` clamps to the target's own range, with 0 for
    NaN.
    """
    target = element_of(result_type)
    if target is I1:
        origin = element_of(operand_types["source"])
        if origin.width_bits <= 8:
            return to_bits(source, origin) != 0  # the GPU looks at the bits: a float8 -0.0 counts as true
        return source != 0
    signed = signedness is Signedness.SIGNED
    width = target.width_bits
    low, high = (-(1 << (width - 1)), 1 << (width - 1)) if signed else (0, 1 << width)
    work = np.dtype(f"{'i' if signed else 'u'}{target.carrier.itemsize}")
    # Both ends are powers of two, exact in every float type. NaN fails both comparisons.
    if source.min() > low - 1 and source.max() < high:
        return source.astype(work).view(target.carrier)
    if width == 8 and not saturating:
        low, high, work = (-(1 << 15), 1 << 15, np.dtype("i2")) if signed else (0, 1 << 16, np.dtype("u2"))
    whole = np.trunc(source)
    above, below, nan = whole >= high, whole < low, np.isnan(source)
    result = np.where(above | below | nan, whole.dtype.type(0), whole).astype(work)
    np.copyto(result, work.type(high - 1), where=above)
    np.copyto(result, work.type(low), where=below)
    if not saturating and (source.dtype == np.float64 or width == 64):
        np.copyto(result, np.array(1 << (8 * work.itemsize - 1), f"u{work.itemsize}").view(work), where=nan)
    if target is I4:
        return _narrow(result.view("i1"), I4)
    return result.view(f"i{work.itemsize}").astype(target.carrier, copy=False)


@implements("itof")
def itof(
    source: np.ndarray,
    *,
    signedness: Signedness,
    rounding_mode: RoundingMode,
    result_type: TileType,
    operand_types: dict[str, TileType],
) -> np.ndarray:
    """Integer to float, rounded once. Too large for the type: infinity, or its largest value where it has no
    infinity.

    Numerics: the GPU converts 16-bit integers to a float8 by way of float16, which rounds 2305 down to 2048;
    so does this.
    """
    origin, target = element_of(operand_types["source"]), element_of(result_type)
    if signedness is Signedness.UNSIGNED:
        integers = _unsigned(source, origin)
    elif origin is I1:
        integers = -source.view(np.int8)
    else:
        integers = source
    if rounding_mode is RoundingMode.NEAREST_EVEN and (target is F32 or target is F64):
        return integers.astype(target.carrier)
    if integers.dtype.itemsize < 4:
        values = integers.astype(np.float32)
        if target.width_bits == 8:
            values = round_to(values, F16)
    elif integers.dtype.itemsize == 4:
        values = integers.astype(np.float64)
    else:
        upper = (integers >> 32).astype(np.float64) * 2.0**32
        lower = (integers & integers.dtype.type(0xFFFFFFFF)).astype(np.float64)
        values = (exact.add64 if target is F64 else exact.add_to_odd)(upper, lower, rounding_mode)
    return round_to(values, target, rounding_mode)


@implements("exti")
def exti(
    source: np.ndarray, *, signedness: Signedness, result_type: TileType, operand_types: dict[str, TileType]
) -> np.ndarray:
    """Integer to a wider integer: by copies of the sign bit, or by zeros where unsigned. A signed true i1 is
    -1.
    """
    origin, target = element_of(operand_types["source"]), element_of(result_type)
    if signedness is Signedness.UNSIGNED:
        return _unsigned(source, origin).astype(target.carrier)
    widened = source.astype(target.carrier)
    return -widened if origin is I1 else widened


@implements("trunci", ignores=("overflow",))
def trunci(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Integer to a narrower integer: the low bits. `overflow` only promises that nothing is lost."""
    return _narrow(source, element_of(result_type))


def _narrow(source: np.ndarray, target: ElementType) -> np.ndarray:
    if target is I1:
        return (source & 1).astype(np.bool_)
    if target is I4:
        return from_bits(source.astype(np.int8).view(np.uint8), I4)
    return source.astype(target.carrier)


@implements("bitcast")
def bitcast(source: np.ndarray, *, result_type: TileType, operand_types: dict[str, TileType]) -> np.ndarray:
    """The same bits as another element type of the same width."""
    return from_bits(to_bits(source, element_of(operand_types["source"])), element_of(result_type))


@implements("int_to_ptr")
def int_to_ptr(source: np.ndarray) -> np.ndarray:
    """64-bit integers as pointers: pointers are carried as virtual byte addresses."""
    return source


@implements("ptr_to_int")
def ptr_to_int(source: np.ndarray) -> np.ndarray:
    """Pointers as 64-bit integers: their virtual byte addresses."""
    return source


@implements("ptr_to_ptr")
def ptr_to_ptr(source: np.ndarray) -> np.ndarray:
    """Pointers to another element type: the same addresses."""
    return source
