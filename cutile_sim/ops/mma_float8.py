"""Matrix products of 8-bit floats as the tensor cores of an NVIDIA Hopper GPU sum them: in 14 bits.

Each step takes 32 products and the sum so far, cuts each of them 13 bits below the leading bit of the largest, toward
zero, adds them exactly, and cuts the sum 13 bits below its own. The leading bit of a product counts where those of its
factors put it, so that the product is less than four times as much. Fitted to recordings of an H200, which it meets bit
for bit: tiles of 64 to 256 rows, K of 32 to 512, both element types, with and without a loop around.

Where to cut differs from one element of the result to the next, so that no product of matrices does a step. But rows of
`lhs` and columns of `rhs` can be scaled so that every product p is below 1, and then p + sign(p), which BLAS makes as a
product of matrices with K = 2, has the same exponent for all p, and to cut it is to clear the last bits of it. The ones
are taken off again by the product of the signs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_STEP = 32
_FRACTION_BITS = 13
# So many elements along K are summed before the sum joins the float32 accumulator.
_PROMOTION_INTERVAL = 128
# Of a smaller tile the compiler makes another instruction, which sums in about float32.
_FEWEST_ROWS = 64
_FEWEST_COLUMNS = 8

_FLOAT32_FRACTION_BITS = 23
_BIAS = 127
# Of scaled products the largest leading bit is at 2**-2 at most. p + sign(p) is rounded to 23 bits behind the point; if
# the largest leading bit is at 2**-4 or above, that does not change where p is cut (tests try every pair).
_HIGHEST = -2
_LOWEST = -4
# 2**8 to the power of an exponent: the largest of 32 exponents is read off the sum of such powers.
_POWER_BITS = 3
_POWER_SHIFT = _FLOAT32_FRACTION_BITS + _POWER_BITS
# Rows and columns of a result, elements of results, and products of each that are worked on at once: what fits a cache.
_SIDE = 128
_ELEMENTS = 1 << 13
_AT_ONCE = 8


def applies(lhs: np.ndarray, rhs: np.ndarray) -> bool:
    """Whether tiles of these shapes, (..., M, K) and (..., K, N), are summed so."""
    return lhs.shape[-2] >= _FEWEST_ROWS and lhs.shape[-1] >= _STEP and rhs.shape[-1] >= _FEWEST_COLUMNS


def sum_products(lhs: np.ndarray, rhs: np.ndarray, start: np.ndarray) -> np.ndarray:
    """start + lhs @ rhs, without promotion to a wider accumulator.

    Shapes: lhs (..., M, K), rhs (..., K, N), start (..., M, N); all float32; K a multiple of 32; the rest broadcasts.
    """
    return _by_parts(lhs, rhs, start, promoted=False)


def sum_products_promoted(lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray) -> np.ndarray:
    """acc + lhs @ rhs, where each 128 along K is summed from zero and added to a float32 accumulator.

    Shapes as of `sum_products`.
    """
    return _by_parts(lhs, rhs, acc, promoted=True)


def _by_parts(lhs: np.ndarray, rhs: np.ndarray, start: np.ndarray, promoted: bool) -> np.ndarray:
    """Some tiles at a time, or a part of one."""
    grid = np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2], start.shape[:-2])
    m, n = lhs.shape[-2], rhs.shape[-1]
    result = np.empty((*grid, m, n), np.float32)
    result[...] = start
    if not result.size:
        return result
    totals = result.reshape(-1, m, n)
    lhs_of, rhs_of = (_tile_numbers(x.shape[:-2], grid) for x in (lhs, rhs))
    lhs, rhs = (x.reshape(-1, *x.shape[-2:]) for x in (lhs, rhs))
    tiles = max(1, _ELEMENTS // (min(m, _SIDE) * min(n, _SIDE)))
    for first in range(0, len(totals), tiles):
        some = slice(first, first + tiles)
        for column in range(0, n, _SIDE):
            right = _Factors.of(rhs[rhs_of[some], :, column : column + _SIDE])
            for row in range(0, m, _SIDE):
                left = _Factors.of(lhs[lhs_of[some], row : row + _SIDE].swapaxes(1, 2))
                part = totals[some, row : row + _SIDE, column : column + _SIDE]
                room = _Room.of(*part.shape)
                part[...] = (_sum_promoted if promoted else _sum)(left, right, part, room)
    return result


def _tile_numbers(axes: tuple[int, ...], grid: tuple[int, ...]) -> np.ndarray:
    """For each tile of the grid in order, the number of the tile of an operand that has these axes in front."""
    return np.broadcast_to(np.arange(np.prod(axes, dtype=np.intp)).reshape(axes), grid).ravel()


class _Factors(NamedTuple):
    """One side of the products: R rows of `lhs` (transposed) or columns of `rhs`, of T tiles.

    values: float32 (T, K, R).
    pairs: float32 (T, K, 2, R): the values, scaled so that the largest of a step and row is in [0.5, 1); their signs.
    powers: float32 (T, K, R): 2**8 to the power of the exponents, less the largest of step and row; 0 for small values.
    exponents: int32 (T, K / 32, R): of the scales.
    zero: bool (T, K / 32, R): where all values are.
    special: bool (T, K / 32, R): where infinities or NaN are. `pairs` and `powers` have zeros for them.
    """

    values: np.ndarray
    pairs: np.ndarray
    powers: np.ndarray
    exponents: np.ndarray
    zero: np.ndarray
    special: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> _Factors:
        values = np.ascontiguousarray(values)
        tiles, k, r = values.shape
        by_step = (tiles, k // _STEP, _STEP, r)
        finite, exponents = values, _exponents(values).reshape(by_step)
        largest = exponents.max(axis=2)
        special = largest > _BIAS
        if special.any():
            finite = np.where(np.isfinite(values), values, np.float32(0))
            exponents = _exponents(finite).reshape(by_step)
            largest = exponents.max(axis=2)
        zero = largest == -_BIAS
        largest[zero] = 0
        exponents -= largest[:, :, None]
        exponents <<= _POWER_BITS
        np.maximum(exponents, -_BIAS, out=exponents)
        powers = _power_of_two(exponents, out=exponents).reshape(values.shape)
        largest += 1
        pairs = np.empty((tiles, k, 2, r), np.float32)
        scaled = pairs[:, :, 0].reshape(by_step)
        np.multiply(finite.reshape(by_step), _power_of_two(-largest)[:, :, None], out=scaled)
        np.sign(finite, out=pairs[:, :, 1])
        return cls(values, pairs, powers, largest, zero, special)

    def step(self, number: int) -> _Factors:
        """Those of one step, without the axis of steps."""
        k = slice(number * _STEP, (number + 1) * _STEP)
        of_k, of_steps = (self.values, self.pairs, self.powers), (self.exponents, self.zero, self.special)
        return _Factors(*(x[:, k] for x in of_k), *(x[:, number] for x in of_steps))


class _Room(NamedTuple):
    """Memory to work in, for T tiles: to get it anew each time would cost more than the arithmetic.

    products: float32 (T, 8, M, N).
    sums, part, last: float32 (T, M, N).
    unit, mask: int32 (T, M, N).
    """

    products: np.ndarray
    sums: np.ndarray
    part: np.ndarray
    last: np.ndarray
    unit: np.ndarray
    mask: np.ndarray

    @classmethod
    def of(cls, tiles: int, m: int, n: int) -> _Room:
        floats, integers = np.empty((3, tiles, m, n), np.float32), np.empty((2, tiles, m, n), np.int32)
        return cls(np.empty((tiles, _AT_ONCE, m, n), np.float32), *floats, *integers)


def _sum_promoted(left: _Factors, right: _Factors, acc: np.ndarray, room: _Room) -> np.ndarray:
    steps = left.exponents.shape[1]
    per_promotion = _PROMOTION_INTERVAL // _STEP
    zero = np.zeros_like(acc)
    for first in range(0, steps, per_promotion):
        acc = acc + _sum(left, right, zero, room, range(first, min(first + per_promotion, steps)))
    return acc


def _sum(left: _Factors, right: _Factors, start: np.ndarray, room: _Room, steps: range | None = None) -> np.ndarray:
    total = _cut(np.array(start))
    for step in range(left.exponents.shape[1]) if steps is None else steps:
        _add_step(left.step(step), right.step(step), total, room)
    return total


def _add_step(left: _Factors, right: _Factors, total: np.ndarray, room: _Room) -> None:
    """One step: the next sum takes the place of `total`. Both are in 14 bits."""
    # The exponent of the last bit that is kept of scaled products. The largest of these says it, or the total.
    powers = np.matmul(left.powers.swapaxes(1, 2), right.powers, out=room.last)
    last = powers.view(np.int32)
    last -= (_BIAS << _FLOAT32_FRACTION_BITS) + ((_FRACTION_BITS - _HIGHEST) << _POWER_SHIFT)
    last >>= _POWER_SHIFT
    unit = np.add(left.exponents[:, :, None], right.exponents[:, None, :] + np.int32(_BIAS), out=room.unit)
    by_total = np.right_shift(total.view(np.int32), _FLOAT32_FRACTION_BITS, out=room.mask)
    by_total &= 0xFF
    by_total -= _FRACTION_BITS
    by_total -= unit
    np.maximum(last, by_total, out=last)
    unusual = _unusual(left, right, last, total)

    # The same bit without the scale, as float32.
    unit += last
    unit <<= _FLOAT32_FRACTION_BITS
    unit = unit.view(np.float32)
    if last.max() > 0:  # Products are below 1: nothing is left of them.
        np.minimum(last, 0, out=last)
    mask = np.add(last, _FLOAT32_FRACTION_BITS, out=room.mask)
    np.left_shift(np.int32(-1), mask, out=mask)
    units = np.subtract(_BIAS, last, out=last)
    units <<= _FLOAT32_FRACTION_BITS
    sums = _sum_cut_products(left.pairs, right.pairs, mask, room)
    sums *= units.view(np.float32)
    np.divide(total, unit, out=total)
    np.trunc(total, out=total)
    total += sums
    total *= unit
    for where, values in unusual:
        total.reshape(-1)[where] = values
    _cut(total)


def _sum_cut_products(left: np.ndarray, right: np.ndarray, mask: np.ndarray, room: _Room) -> np.ndarray:
    """Sums of the scaled products of a step, each cut where `mask` says; of pairs (T, 32, 2, M) and (T, 32, 2, N)."""
    products, sums, part = room.products, room.sums, room.part
    bits, ones = products.view(np.int32), np.ones((1, _AT_ONCE), np.float32)
    rows, row = products.reshape(len(products), _AT_ONCE, -1), part.reshape(len(part), 1, -1)
    np.matmul(left[:, :, 1].swapaxes(1, 2), right[:, :, 1], out=sums)
    np.negative(sums, out=sums)
    for first in range(0, _STEP, _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        np.matmul(left[:, some].swapaxes(2, 3), right[:, some], out=products)
        np.bitwise_and(bits, mask[:, None], out=bits)
        np.matmul(ones, rows, out=row)
        sums += part
    return sums


def _unusual(
    left: _Factors, right: _Factors, last: np.ndarray, total: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """What `_sum_cut_products` is not for: numbers of elements, and what these sum to, not cut yet."""
    found = []
    low = last < _LOWEST - _FRACTION_BITS
    if left.zero.any() or right.zero.any():
        zero = left.zero[:, :, None] | right.zero[:, None, :]
        low &= ~zero
        where = np.flatnonzero(zero)
        found.append((where, total.reshape(-1)[where]))
    if left.special.any() or right.special.any():
        low |= left.special[:, :, None] | right.special[:, None, :]
    where = np.flatnonzero(low)
    if where.size:
        tile, row, column = np.unravel_index(where, low.shape)
        sums = _sum_singly(left.values[tile, :, row], right.values[tile, :, column], total.reshape(-1)[where])
        found.append((where, sums))
    return found


def _sum_singly(left: np.ndarray, right: np.ndarray, total: np.ndarray) -> np.ndarray:
    """A step for E elements of a result, not cut yet: left and right (E, 32), total (E,)."""
    largest = np.max(_exponents(left) + _exponents(right), axis=1)
    largest = np.maximum(np.minimum(largest, _BIAS), _exponents(total))
    unit = _power_of_two(np.maximum(largest - _FRACTION_BITS, 1 - _BIAS))
    return (np.trunc(left * right / unit[:, None]).sum(axis=1) + np.trunc(total / unit)) * unit


def _cut(sums: np.ndarray) -> np.ndarray:
    """Only 14 bits of the sums, toward zero; in place."""
    bits = sums.view(np.int32)
    bits &= np.int32(-1 << (_FLOAT32_FRACTION_BITS - _FRACTION_BITS))
    return sums


def _exponents(values: np.ndarray) -> np.ndarray:
    """Exponents of the leading bits of float32: -127 for zero, 128 for infinities and NaN."""
    exponents = values.view(np.int32) >> _FLOAT32_FRACTION_BITS
    exponents &= 0xFF
    exponents -= _BIAS
    return exponents


def _power_of_two(exponents: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """2**exponents as float32, for int32 exponents from -126 to 127; 0 for -127. In the memory of `out`."""
    bits = np.add(exponents, _BIAS, out=out)
    bits <<= _FLOAT32_FRACTION_BITS
    return bits.view(np.float32)
