"""Hyperbolic tangent in float32 as the special function unit of an NVIDIA Hopper GPU computes it.

This is what `ct.tanh(x, rounding_mode=ct.RoundingMode.APPROX)` becomes there: PTX `tanh.approx.f32`, a table of
quadratic polynomials in fixed-point arithmetic. Source: recordings of an H200 (sm_90), which it meets bit for bit
for each of the 2**32 arguments. Other architectures may hold other tables.

How it was found. Below 2**-8 the recorded result is the argument, from 8 on it is 1. In between, flipping the low bits
of the argument showed how many are read, 17 to 21 of the fraction: the first 0 to 4 choose a segment of the binade, the
next 17 are the position in it. Within a segment, a linear regression of the result on those 17 bits and on all products
of two of them leaves nothing but one rounding toward zero; its pairwise weights are those of a square of which every
column below 2**19 is absent. The three coefficients of a segment are then a least-squares fit, rounded to integers.
"""

from __future__ import annotations

import functools

import numpy as np

_IDENTITY_BELOW = np.float32(2.0**-8)
_ONE_FROM = np.float32(8.0)
_LEAST_EXPONENT = -8
_FRACTION_BITS = 23
_POSITION_BITS = 17
# The square of a position leaves out the columns below this bit, and so the carries out of them.
_LOWEST_SQUARE_COLUMN = 19
# So many elements at a time: their intermediates stay in the cache.
_PIECE_ELEMS = 4096
# A NaN of any payload becomes this one.
_NAN = np.uint32(0x7FFFFFFF).view(np.float32)

# Of each binade from 2**-8 on: how many bits of the fraction choose the segment.
_SEGMENT_BITS = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3, 4, 3], np.int64)
# The binade's first row in the table of coefficients.
_FIRST_SEGMENT = np.cumsum(1 << _SEGMENT_BITS) - (1 << _SEGMENT_BITS)
# The unit of a binade's coefficients, as a power of two: a unit in the last place of the binade's largest result.
_UNIT_EXPONENT = np.minimum(np.arange(_LEAST_EXPONENT, 3) - _FRACTION_BITS, -24).astype(np.int32)
# Of each segment: the value at its start, the slope and the curvature, for a position that runs from 0 to 1.
# fmt: off
_COEFFICIENTS = np.array([
    # 2**-8 <= |x| < 2**-7: 1 segment.
    (8388608, 8388608, -256),
    # 2**-7 <= |x| < 2**-6: 1 segment.
    (8388480, 8388096, -768),
    # 2**-6 <= |x| < 2**-5: 1 segment.
    (8387968, 8387072, -3328),
    # 2**-5 <= |x| < 2**-4: 2 segments.
    (8385888, 4190464, -2624),
    (12573728, 4185216, -3520),
    # 2**-4 <= |x| < 2**-3: 2 segments.
    (8377696, 4178688, -10176),
    (12546144, 4158464, -14208),
    # 2**-3 <= |x| < 2**-2: 4 segments.
    (8345192, 2065024, -8944),
    (10401240, 2047104, -10816),
    (12437488, 2025472, -12640),
    (14450304, 2000192, -14256),
    # 2**-2 <= |x| < 2**-1: 4 segments.
    (8218080, 1972352, -33104),
    (10157208, 1905920, -38592),
    (12024448, 1828576, -42976),
    (13809984, 1742432, -46304),
    # 2**-1 <= |x| < 2**0: 4 segments.
    (7753000, 1650272, -98592),
    (9304656, 1451968, -100608),
    (10656104, 1250016, -96608),
    (11809672, 1056352, -88688),
    # 2**0 <= |x| < 2**1: 8 segments.
    (12777544, 878752, -78584),
    (13577912, 721632, -67824),
    (14231944, 586144, -57152),
    (14761140, 472016, -47384),
    (15185952, 377440, -38736),
    (15524804, 300160, -31376),
    (15793720, 237600, -25152),
    (16006268, 187456, -20072),
    # 2**1 <= |x| < 2**2: 16 segments.
    (16173728, 147496, -15946),
    (16305345, 115768, -12590),
    (16408581, 90696, -9898),
    (16489421, 70984, -7784),
    (16552657, 55480, -6094),
    (16602069, 43340, -4776),
    (16640655, 33828, -3734),
    (16670765, 26396, -2920),
    (16694254, 20584, -2278),
    (16712570, 16048, -1778),
    (16726848, 12508, -1386),
    (16737977, 9748, -1082),
    (16746648, 7596, -842),
    (16753405, 5916, -654),
    (16758669, 4608, -508),
    (16762770, 3588, -394),
    # 2**2 <= |x| < 2**3: 8 segments.
    (16766000, 10544, -3504),
    (16773088, 3888, -1296),
    (16775696, 1424, -464),
    (16776656, 528, -176),
    (16777012, 192, -64),
    (16777140, 80, -32),
    (16777188, 32, -16),
    (16777204, 16, -8),
], np.int64).T.copy()
# fmt: on


def tanh_approx(values: np.ndarray) -> np.ndarray:
    """The hardware's approximate hyperbolic tangent, element by element.

    values: float32 of any shape, subnormals included; the result is of the same shape and type. At most 134 units
    in the last place from the exact one; odd; a NaN gives the NaN 0x7fffffff.
    """
    magnitude = np.abs(values)
    result = np.where(magnitude < _IDENTITY_BELOW, magnitude, np.float32(1))
    inside = (magnitude >= _IDENTITY_BELOW) & (magnitude < _ONE_FROM)
    inner = magnitude[inside]
    for first in range(0, inner.size, _PIECE_ELEMS):
        piece = slice(first, first + _PIECE_ELEMS)
        inner[piece] = _interpolate(inner[piece])
    result[inside] = inner
    return np.where(np.isnan(values), _NAN, np.copysign(result, values))


def _interpolate(magnitude: np.ndarray) -> np.ndarray:
    """Of float32 values from 2**-8 up to 8."""
    bits = magnitude.view(np.uint32).astype(np.int64)
    binade = (bits >> _FRACTION_BITS) - (127 + _LEAST_EXPONENT)
    fraction = bits & ((1 << _FRACTION_BITS) - 1)
    segment_bits = _SEGMENT_BITS[binade]
    segment = _FIRST_SEGMENT[binade] + (fraction >> (_FRACTION_BITS - segment_bits))
    position = (fraction >> (_FRACTION_BITS - _POSITION_BITS - segment_bits)) & ((1 << _POSITION_BITS) - 1)
    value, slope, curvature = (column.take(segment) for column in _COEFFICIENTS)
    # In 2**-34 of the binade's unit; a value of that unit is of 23 or 24 bits.
    total = (value << 2 * _POSITION_BITS) + (slope * position << _POSITION_BITS) + curvature * _squares().take(position)
    halves = total >> (2 * _POSITION_BITS - 1)
    halves &= np.where(halves >> (_FRACTION_BITS + 1), -2, -1)  # toward zero, to float32's 24 bits
    return np.ldexp(halves.astype(np.float32), _UNIT_EXPONENT[binade] - np.int32(1))


@functools.cache
def _squares() -> np.ndarray:
    """The square of each integer of 17 bits, of which the columns below 2**19 are absent: 1 MiB, made once."""
    position = np.arange(1 << _POSITION_BITS, dtype=np.int64)
    total = np.zeros_like(position)
    for high in range((_LOWEST_SQUARE_COLUMN + 1) // 2, _POSITION_BITS):
        lower = ((1 << high) - 1) & (-1 << (_LOWEST_SQUARE_COLUMN - 1 - high))
        total += np.where(position >> high & 1, (1 << 2 * high) + ((position & lower) << (high + 1)), 0)
    total.flags.writeable = False
    return total
