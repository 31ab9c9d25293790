"""Integer and bitwise operations, element by element.

Operands are signed arrays of their own width, i1 as bool; an unsigned operation looks at the same bits as unsigned.
+ - * wrap. i4 is storage only: Tile IR has no arithmetic on it. Overflow flags promise the compiler that nothing wraps;
they do not change a value, so no function here reads them.
"""

from __future__ import annotations

import numpy as np

from cutile_sim.memory.even import is_one_number
from cutile_sim.ops.registry import implements
from cutile_sim.optable.encoding import ComparisonPredicate, RoundingMode, Signedness

_COMPARE = {
    ComparisonPredicate.EQUAL: np.equal,
    ComparisonPredicate.NOT_EQUAL: np.not_equal,
    ComparisonPredicate.LESS_THAN: np.less,
    ComparisonPredicate.LESS_THAN_OR_EQUAL: np.less_equal,
    ComparisonPredicate.GREATER_THAN: np.greater,
    ComparisonPredicate.GREATER_THAN_OR_EQUAL: np.greater_equal,
}


def as_unsigned(values: np.ndarray) -> np.ndarray:
    """The same bits as unsigned integers of the same width (i1: uint8 0 or 1). A view."""
    return values.view(f"u{values.dtype.itemsize}")


def as_signedness(values: np.ndarray, signedness: Signedness) -> np.ndarray:
    """The values as an operation of that signedness reads them: a set i1 is 1 unsigned and -1 signed."""
    if signedness is Signedness.UNSIGNED:
        return as_unsigned(values)
    return -values.view(np.int8) if values.dtype == np.bool_ else values


def to_carrier_of(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Back from `as_signedness`: the low bits of `values` in the dtype of `like`."""
    if like.dtype == np.bool_:
        return (values & 1).astype(np.bool_)
    return values.view(like.dtype)


@implements("addi", ignores=("overflow",))
def addi(lhs: np.ndarray, rhs: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Sum modulo 2**width."""
    return np.logical_xor(lhs, rhs, out=out) if lhs.dtype == np.bool_ else np.add(lhs, rhs, out=out)


@implements("subi", ignores=("overflow",))
def subi(lhs: np.ndarray, rhs: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Difference modulo 2**width."""
    return np.logical_xor(lhs, rhs, out=out) if lhs.dtype == np.bool_ else np.subtract(lhs, rhs, out=out)


@implements("muli", ignores=("overflow",))
def muli(lhs: np.ndarray, rhs: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Product modulo 2**width: the low half of the full product, of either signedness."""
    for factor, other in ((rhs, lhs), (lhs, rhs)):
        # Indices times the stride of a contiguous array, spread over the tile or not.
        if (
            is_one_number(factor)
            and factor.flat[0] == 1
            and np.broadcast_shapes(factor.shape, other.shape) == other.shape
        ):
            return other
    return np.multiply(lhs, rhs, out=out)


@implements("mulhii")
def mulhii(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The high half of the 2*width-bit product of unsigned operands (Tile IR defines no signed one)."""
    if x.dtype == np.bool_:
        return np.zeros(np.broadcast_shapes(x.shape, y.shape), np.bool_)
    a, b = as_unsigned(x), as_unsigned(y)
    width_bits = x.dtype.itemsize * 8
    if width_bits < 64:
        wide = np.multiply(a, b, dtype=f"u{x.dtype.itemsize * 2}")
        return (wide >> width_bits).astype(a.dtype).view(x.dtype)
    a_low, a_high, b_low, b_high = a & 0xFFFFFFFF, a >> 32, b & 0xFFFFFFFF, b >> 32
    # No partial sum overflows: (2**32 - 1)**2 + 2 * (2**32 - 1) is 2**64 - 1.
    middle = a_high * b_low + (a_low * b_low >> 32)
    cross = a_low * b_high + (middle & 0xFFFFFFFF)
    return (a_high * b_high + (middle >> 32) + (cross >> 32)).view(x.dtype)


@implements("divi")
def divi(lhs: np.ndarray, rhs: np.ndarray, *, signedness: Signedness, rounding: RoundingMode) -> np.ndarray:
    """Quotient rounded toward zero, down (NEGATIVE_INF) or up (POSITIVE_INF).

    Numerics: exact. Undefined in Tile IR, and as on the GPU here: a zero divisor gives all ones, which then round down
    and up like a quotient that is not whole; the minimum divided by -1 gives the minimum.
    """
    a, b = as_signedness(lhs, signedness), as_signedness(rhs, signedness)
    quotient = np.floor_divide(a, b)
    if rounding is RoundingMode.POSITIVE_INF:
        quotient += quotient * b != a
    elif rounding is RoundingMode.ZERO and signedness is Signedness.SIGNED:
        # A floor differs from a truncation where the exact quotient is negative and not whole.
        quotient += (quotient < 0) & (quotient * b != a)
    if not b.all():
        all_ones = ~np.zeros_like(quotient)
        if rounding is RoundingMode.NEGATIVE_INF:
            all_ones -= a < 0
        elif rounding is RoundingMode.POSITIVE_INF:
            all_ones += (a > 0) | (signedness is Signedness.UNSIGNED)
        np.copyto(quotient, all_ones, where=b == 0)
    return to_carrier_of(quotient, lhs)


@implements("remi")
def remi(lhs: np.ndarray, rhs: np.ndarray, *, signedness: Signedness) -> np.ndarray:
    """Remainder of the division toward zero: its sign is that of `lhs`.

    Numerics: exact. Undefined in Tile IR, and as on the GPU here: a zero divisor gives all ones; the minimum modulo -1
    gives 0.
    """
    a, b = as_signedness(lhs, signedness), as_signedness(rhs, signedness)
    remainder = np.fmod(a, b)
    if not b.all():
        np.copyto(remainder, ~np.zeros_like(remainder), where=b == 0)
    return to_carrier_of(remainder, lhs)


@implements("negi", ignores=("overflow",))
def negi(source: np.ndarray) -> np.ndarray:
    """Negation modulo 2**width: the minimum stays itself, and so does an i1."""
    return source if source.dtype == np.bool_ else np.negative(source)


@implements("absi")
def absi(source: np.ndarray) -> np.ndarray:
    """Absolute value of the signed value, of an unsigned tile too (129 gives 127); the minimum stays itself."""
    return source if source.dtype == np.bool_ else np.abs(source)


@implements("maxi")
def maxi(lhs: np.ndarray, rhs: np.ndarray, *, signedness: Signedness) -> np.ndarray:
    """The larger operand."""
    a, b = as_signedness(lhs, signedness), as_signedness(rhs, signedness)
    return to_carrier_of(np.maximum(a, b), lhs)


@implements("mini")
def mini(lhs: np.ndarray, rhs: np.ndarray, *, signedness: Signedness) -> np.ndarray:
    """The smaller operand."""
    a, b = as_signedness(lhs, signedness), as_signedness(rhs, signedness)
    return to_carrier_of(np.minimum(a, b), lhs)


@implements("cmpi")
def cmpi(
    lhs: np.ndarray, rhs: np.ndarray, *, comparison_predicate: ComparisonPredicate, signedness: Signedness
) -> np.ndarray:
    """Comparison; the result is i1."""
    return _COMPARE[comparison_predicate](as_signedness(lhs, signedness), as_signedness(rhs, signedness))


@implements("andi")
def andi(lhs: np.ndarray, rhs: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Bitwise and."""
    return np.bitwise_and(lhs, rhs, out=out)


@implements("ori")
def ori(lhs: np.ndarray, rhs: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Bitwise or."""
    return np.bitwise_or(lhs, rhs, out=out)


@implements("xori")
def xori(lhs: np.ndarray, rhs: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Bitwise exclusive or."""
    return np.bitwise_xor(lhs, rhs, out=out)


@implements("shli", ignores=("overflow",))
def shli(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """Shift left by an unsigned count.

    Numerics: a count of the width or more, undefined in Tile IR, gives 0, as on the GPU.
    """
    return to_carrier_of(np.left_shift(as_unsigned(lhs), as_unsigned(rhs)), lhs)


@implements("shri")
def shri(lhs: np.ndarray, rhs: np.ndarray, *, signedness: Signedness) -> np.ndarray:
    """Shift right by an unsigned count: unsigned fills with zeros, signed with the sign bit.

    Numerics: a count of the width or more, undefined in Tile IR, gives only fill bits, as on the GPU.
    """
    value = as_signedness(lhs, signedness)
    # NumPy takes both operands of one type, where a large unsigned count would look negative: it is clamped first.
    count = np.minimum(as_unsigned(rhs), value.dtype.itemsize * 8).astype(value.dtype)
    return to_carrier_of(np.right_shift(value, count), lhs)
