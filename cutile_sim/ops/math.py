"""Elementary functions, element by element.

Numerics: a float32 function is computed in float64 and rounded once, so that it is the correctly rounded one
but for a handful of arguments; sin and cos are the exception, where NumPy's float32 functions are within 1
unit on every CPU and far faster. float64 functions are NumPy's. float16 and bfloat16 functions are the
float32 function rounded once, as on the GPU. How far the GPU itself lies from the correctly rounded result is
in the table of operations.
"""

from __future__ import annotations

import numpy as np

from cutile_sim import exact
from cutile_sim.dtypes import F32, F64, ElementType
from cutile_sim.ops.registry import implements
from cutile_sim.ops.tanh_approx import tanh_approx
from cutile_sim.optable.encoding import RoundingMode
from cutile_sim.rounding import flush, round_to
from cutile_sim.tileir.types import TileType, element_of

_LOG2_E = np.float32(1.4426950408889634)


def _evaluate(function: np.ufunc, element: ElementType, *sources: np.ndarray) -> np.ndarray:
    """A float64 ufunc's values rounded to the element type."""
    if element is F64:
        return function(*sources)
    if element is F32:
        # NumPy converts to and fro in its own buffers, which fit the cache.
        shape = np.broadcast_shapes(*(x.shape for x in sources))
        result = np.empty_like(sources[0], np.float32, shape=shape)
        return function(*sources, out=result, dtype=np.float64, casting="same_kind")
    return round_to(function(*sources), element)


@implements("exp")
def exp(source: np.ndarray, *, rounding_mode: RoundingMode, result_type: TileType) -> np.ndarray:
    """e to the power of the source.

    Numerics: the approx mode is 2 to the power of the source times log2(e), that product rounded to float32,
    as on the GPU.
    """
    element = element_of(result_type)
    if rounding_mode is RoundingMode.APPROX:
        return _evaluate(np.exp2, element, source * _LOG2_E)
    return _evaluate(np.exp, element, source)


@implements("exp2")
def exp2(source: np.ndarray, *, flush_to_zero: bool, result_type: TileType) -> np.ndarray:
    """2 to the power of the source."""
    element = element_of(result_type)
    if flush_to_zero:
        return flush(_evaluate(np.exp2, element, flush(source, element)), element)
    return _evaluate(np.exp2, element, source)


@implements("log")
def log(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Natural logarithm."""
    return _evaluate(np.log, element_of(result_type), source)


@implements("log2")
def log2(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Logarithm to base 2."""
    return _evaluate(np.log2, element_of(result_type), source)


@implements("sin")
def sin(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Sine of radians."""
    element = element_of(result_type)
    return np.sin(source) if element is F32 else _evaluate(np.sin, element, source)


@implements("cos")
def cos(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Cosine of radians."""
    element = element_of(result_type)
    return np.cos(source) if element is F32 else _evaluate(np.cos, element, source)


@implements("tan")
def tan(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Tangent of radians."""
    return _evaluate(np.tan, element_of(result_type), source)


@implements("sinh")
def sinh(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Hyperbolic sine."""
    return _evaluate(np.sinh, element_of(result_type), source)


@implements("cosh")
def cosh(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Hyperbolic cosine."""
    return _evaluate(np.cosh, element_of(result_type), source)


@implements("tanh")
def tanh(source: np.ndarray, *, rounding_mode: RoundingMode, result_type: TileType) -> np.ndarray:
    """Hyperbolic tangent.

    Numerics: the approx mode, of float32 alone, gives the bits of a Hopper GPU's special function unit.
    """
    if rounding_mode is RoundingMode.APPROX:
        return tanh_approx(source)
    return _evaluate(np.tanh, element_of(result_type), source)


@implements("sqrt")
def sqrt(source: np.ndarray, *, rounding_mode: RoundingMode, flush_to_zero: bool, result_type: TileType) -> np.ndarray:
    """Square root, rounded once. The approx mode is computed as nearest_even; the GPU is within 1 unit."""
    element = element_of(result_type)
    if flush_to_zero:
        source = flush(source, element)  # a root is never subnormal
    if rounding_mode in (RoundingMode.NEAREST_EVEN, RoundingMode.APPROX):
        root = np.sqrt(source)
        return round_to(root, element) if element.is_narrow else root
    if element is F64:
        return exact.sqrt64(source, rounding_mode)
    # The float64 root of a 24-bit number is never nearer than 2**-52 to another 24-bit number: no double
    # rounding.
    return round_to(np.sqrt(source.astype(np.float64)), element, rounding_mode)


@implements("rsqrt")
def rsqrt(source: np.ndarray, *, flush_to_zero: bool, result_type: TileType) -> np.ndarray:
    """1 / square root. The sign of a zero makes the sign of the infinity."""
    element = element_of(result_type)
    if flush_to_zero:
        source = flush(source, element)  # the result is never subnormal
    return round_to(source.dtype.type(1) / np.sqrt(source), element)


@implements("pow")
def pow_(source: np.ndarray, exponent: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """`source` to the power `exponent`, both floats; special cases as in IEEE 754 `pow`."""
    return _evaluate(np.power, element_of(result_type), source, exponent)


@implements("fpowi")
def fpowi(source: np.ndarray, exponent: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """`source` to the power of a signed integer.

    Numerics: by repeated squaring from the lowest bit, each product rounded, and a reciprocal at the end for
    a negative exponent: the same bits as the GPU, whose x ** -3 is 0 where x ** 3 overflows. Narrow types do
    it in float32 and round once.
    """
    element = element_of(result_type)
    base = source
    power = np.ones((1,) * source.ndim, source.dtype)
    left = np.abs(exponent).view(f"u{exponent.dtype.itemsize}")
    while True:
        odd = (left & 1).astype(np.bool_)
        power = power * base if odd.all() else np.where(odd, power * base, power)
        left = left >> 1
        if not left.any():
            break
        base = base * base
    negative = exponent < 0
    if negative.any():
        power = np.where(negative, power.dtype.type(1) / power, power)
    return round_to(power, element)


@implements("atan2")
def atan2(x: np.ndarray, y: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Angle of the point with ordinate `x` and abscissa `y`: arc tangent of x / y in the right quadrant."""
    return _evaluate(np.arctan2, element_of(result_type), x, y)


@implements("floor")
def floor(source: np.ndarray) -> np.ndarray:
    """The largest whole number that is not greater."""
    return np.floor(source)


@implements("ceil")
def ceil(source: np.ndarray) -> np.ndarray:
    """The smallest whole number that is not less."""
    return np.ceil(source)
