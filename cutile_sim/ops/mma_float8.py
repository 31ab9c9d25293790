"""Matrix products of 8-bit floats as the tensor cores of an NVIDIA Hopper GPU sum them: in 14 bits.

Each step takes 32 products and the sum so far, cuts each of them 13 bits below the leading bit of the largest, toward
zero, adds them exactly, and cuts the sum 13 bits below its own. Fitted to recordings of an H200, which it meets bit for
bit: tiles of 64 to 256 rows, K of 32 to 512, both element types, with and without a loop around.
"""

from __future__ import annotations

import numpy as np

_STEP = 32
_FRACTION_BITS = 13
# Of the 23 bits of a float32's fraction, those that such a sum keeps.
_KEPT = np.int32(-1 << (23 - _FRACTION_BITS))
# Stands for the exponent of zero: below that of every product.
_NO_EXPONENT = np.int16(-1024)
# So many elements along K are summed before the sum joins the float32 accumulator.
_PROMOTION_INTERVAL = 128
# Of a smaller tile the compiler makes another instruction, which sums in about float32.
_FEWEST_ROWS = 64
_FEWEST_COLUMNS = 8


def applies(lhs: np.ndarray, rhs: np.ndarray) -> bool:
    """Whether tiles of these shapes, (..., M, K) and (..., K, N), are summed so."""
    return lhs.shape[-2] >= _FEWEST_ROWS and lhs.shape[-1] >= _STEP and rhs.shape[-1] >= _FEWEST_COLUMNS


def sum_products(lhs: np.ndarray, rhs: np.ndarray, start: np.ndarray) -> np.ndarray:
    """start + lhs @ rhs, without promotion to a wider accumulator.

    Shapes: lhs (..., M, K), rhs (..., K, N), start (..., M, N); all float32; K a multiple of 32; the rest broadcasts.
    """
    total = (start.view(np.int32) & _KEPT).view(np.float32)
    for first in range(0, lhs.shape[-1], _STEP):
        total = _step(lhs[..., first : first + _STEP], rhs[..., first : first + _STEP, :], total)
    return total


def sum_products_promoted(lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray) -> np.ndarray:
    """acc + lhs @ rhs, where each 128 along K is summed from zero and added to a float32 accumulator."""
    zero = np.zeros((1,) * acc.ndim, np.float32)
    for first in range(0, lhs.shape[-1], _PROMOTION_INTERVAL):
        part = slice(first, first + _PROMOTION_INTERVAL)
        acc = acc + sum_products(lhs[..., part], rhs[..., part, :], zero)
    return acc


def _step(lhs: np.ndarray, rhs: np.ndarray, total: np.ndarray) -> np.ndarray:
    left_exponents, right_exponents = _exponents(lhs), _exponents(rhs)
    grid = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2], total.shape[:-2])
    shape = (*grid, lhs.shape[-2], rhs.shape[-1])
    top = np.empty(shape, np.int16)
    top[...] = _exponents(total)
    for k in range(_STEP):
        np.maximum(top, left_exponents[..., :, k, None] + right_exponents[..., k, None, :], out=top)
    scale = np.ldexp(np.float32(1), np.where(top <= _NO_EXPONENT, 0, _FRACTION_BITS - top).astype(np.int32))
    sums = np.trunc(total * scale)
    product = np.empty(shape, np.float32)
    for k in range(_STEP):
        np.multiply(lhs[..., :, k, None], rhs[..., k, None, :], out=product)
        np.multiply(product, scale, out=product)
        np.trunc(product, out=product)
        sums += product
    return ((sums / scale).view(np.int32) & _KEPT).view(np.float32)


def _exponents(values: np.ndarray) -> np.ndarray:
    """Exponents of the leading bits."""
    return np.where(values == 0, _NO_EXPONENT, np.frexp(values)[1].astype(np.int16) - np.int16(1))
