"""Matrix products of tiles, accumulated: acc + lhs @ rhs.

Shapes: lhs (..., M, K), rhs (..., K, N), acc and result (..., M, N); a tile may have one batch dimension in front.
"""

from __future__ import annotations

import numpy as np

from cutile_sim.dtypes import F8E4M3FN, F8E5M2, F16, F32
from cutile_sim.engine.values import each
from cutile_sim.ops import mma_float8
from cutile_sim.ops.products import Factor, product, product_in_float64
from cutile_sim.ops.registry import implements
from cutile_sim.optable.encoding import RoundingMode, Signedness
from cutile_sim.rounding import round_to
from cutile_sim.tileir.types import TileType, element_of

# Up to here every integer is a float32, and a float64.
_EXACT_IN_FLOAT32 = 1 << 24
_LONG_F16_SUM = 64
"""Products of f16 over more elements than these, which merged turns of a loop make, sum in float64. Programs compare
them to the last bit, where sums cancel, with a product rounded once: over 512 elements float32 would be off ten times
as far (measured). Up to here it is off two to three times as far, as the float32 sum from turn to turn is too.
"""


def add_to(total: np.ndarray, acc: np.ndarray) -> np.ndarray:
    """total + acc, in the memory of `total`, which must be fresh, where the sum fits there."""
    fits = np.broadcast_shapes(total.shape, acc.shape) == total.shape and total.flags.writeable
    return np.add(total, acc, out=total if fits else None)


@implements("mmaf")
def mmaf(
    lhs: Factor,
    rhs: Factor,
    acc: np.ndarray,
    *,
    fast_acc: bool,
    result_type: TileType,
    operand_types: dict[str, TileType],
) -> np.ndarray:
    """Floating-point acc + lhs @ rhs.

    Numerics: exact inputs; products and sums in float32 (float64 for f64, and for f16 over more than 64 elements) in
    any order, rounded once to the type of `acc`. Only 8-bit floats, in tiles large enough for the tensor core's own
    instruction, are summed as it does, in 14 bits (mma_float8.py): `fast_acc` all along K, else with promotion to
    float32 on the way.
    """
    element, inputs = element_of(result_type), operand_types["lhs"].element
    if inputs in (F8E4M3FN, F8E5M2):
        lhs, rhs = each(lhs), each(rhs)
        if element is F32 and mma_float8.applies(lhs, rhs):
            return (mma_float8.sum_products if fast_acc else mma_float8.sum_products_promoted)(lhs, rhs, acc)
    in_float64 = inputs is F16 and lhs.shape[-1] > _LONG_F16_SUM
    total = add_to(product_in_float64(lhs, rhs) if in_float64 else product(lhs, rhs), acc)
    if element.is_narrow:
        return round_to(total, element, RoundingMode.NEAREST_EVEN)
    return total.astype(element.carrier, copy=False)


@implements("mmaf_scaled")
def mmaf_scaled(
    lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray, lhs_scale: np.ndarray, rhs_scale: np.ndarray
) -> np.ndarray:
    """acc + (lhs * lhs_scale) @ (rhs * rhs_scale), where a scale holds for a block of neighbours along K.

    Shapes: lhs_scale (..., M, K / V), rhs_scale (..., K / V, N), for a block of V elements.
    Numerics: in float64, where scaled elements are exact and extreme scales stay finite; rounded once to f32.
    """
    left = _scaled(lhs, lhs_scale)
    right = _scaled(rhs.swapaxes(-1, -2), rhs_scale.swapaxes(-1, -2)).swapaxes(-1, -2)
    return add_to(product(left, right), acc).astype(np.float32)


def _scaled(tile: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """float64 elements (..., K) times a scale (..., K / V) for each V neighbours."""
    blocks = tile.reshape(*tile.shape[:-1], scale.shape[-1], -1) * scale.astype(np.float64)[..., None]
    return blocks.reshape(*blocks.shape[:-2], -1)


def _largest_magnitude(signedness: Signedness) -> int:
    return 128 if signedness is Signedness.SIGNED else 255


@implements("mmai")
def mmai(
    lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray, *, signedness_lhs: Signedness, signedness_rhs: Signedness
) -> np.ndarray:
    """Integer acc + lhs @ rhs modulo 2**32; each i8 operand of its own signedness, acc and result i32.

    Numerics: exact. BLAS does it in floating point, in float32 as long as no sum can pass 2**24.
    """
    left = lhs if signedness_lhs is Signedness.SIGNED else lhs.view(np.uint8)
    right = rhs if signedness_rhs is Signedness.SIGNED else rhs.view(np.uint8)
    bound = lhs.shape[-1] * _largest_magnitude(signedness_lhs) * _largest_magnitude(signedness_rhs)
    work = np.float32 if bound <= _EXACT_IN_FLOAT32 else np.float64
    total = product(left.astype(work), right.astype(work))
    if bound >= 1 << 31:
        return (total.astype(np.int64) + acc).astype(np.int32)
    return add_to(total.astype(np.int32), acc)
