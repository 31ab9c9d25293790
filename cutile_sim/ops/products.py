"""Matrix products of many tiles at once, as calls of BLAS.

A block's product must not depend on which blocks run beside it, to the last bit. BLAS may add up in another order for
another shape, so that each block has a call of its own, unless this BLAS is seen to add up alike in one call for all.
"""

from __future__ import annotations

from functools import cache
from math import prod

import numpy as np

from cutile_sim.blas import blas_threads
from cutile_sim.engine.values import SharedTiles, each

_LARGE_OPERANDS = 1 << 14
"""So many elements of both operands take longer to convert than a call of NumPy's takes."""
MOST_IN_VAIN = 1.5
"""How many times as many products as blocks may be made."""
_WORTH_STACKING = 1 << 18
"""From so many multiplications on, one call for all tiles is worth finding out whether it may be made."""


Factor = np.ndarray | SharedTiles


def product(lhs: Factor, rhs: Factor) -> np.ndarray:
    """lhs @ rhs in the operands' dtype, float32 or float64: (..., M, K) and (..., K, N) with the same number of axes in
    front, which broadcast. The result is a fresh array, not always contiguous.

    Where lhs is the same along some axes and rhs along others, as in a matrix product over a grid, all tiles are
    multiplied in one call, if that gives the same bits as a call a block.
    """
    if isinstance(lhs, SharedTiles) and isinstance(rhs, SharedTiles):
        return _of_shared(lhs, rhs)
    lhs, rhs = _for_blas(each(lhs)), _for_blas(each(rhs))
    leading = range(lhs.ndim - 2)
    rows = [a for a in leading if rhs.shape[a] == 1 < lhs.shape[a]]
    columns = [a for a in leading if lhs.shape[a] == 1 < rhs.shape[a]]
    if rows and columns:
        m, k, n = *lhs.shape[-2:], rhs.shape[-1]
        down, across = prod([lhs.shape[a] for a in rows]), prod([rhs.shape[a] for a in columns])
        # For a matrix times its own transpose NumPy calls another routine of BLAS.
        worth_it = down * m * k * n * across >= _WORTH_STACKING and not np.may_share_memory(lhs, rhs)
        layouts = _is_by_rows(lhs), _is_by_rows(rhs)
        if worth_it and adds_alike(lhs.dtype, (down, m), k, (n, across), layouts, blas_threads()):
            return _stacked(lhs, rhs, rows, columns)
    return np.matmul(lhs, rhs)


def _of_shared(lhs: SharedTiles, rhs: SharedTiles) -> np.ndarray:
    """The product where blocks share tiles of either side, such as those that take the tiles of a whole product in
    turn: of each tile of lhs with each of rhs, if that is not much more than is asked for.
    """
    left, right = np.broadcast_arrays(lhs.which, rhs.which)
    if len(lhs.tiles) * len(rhs.tiles) > MOST_IN_VAIN * left.size:
        return product(lhs.each(), rhs.each())
    return product(lhs.tiles[:, None], rhs.tiles[None])[left, right]


def product_in_float64(lhs: Factor, rhs: Factor) -> np.ndarray:
    """lhs @ rhs of float32 tiles, as `product` of float64 ones. Block by block where no two share a large tile: what is
    converted then stays in the cache. The bits are the same either way.
    """
    if isinstance(lhs, SharedTiles) and isinstance(rhs, SharedTiles):
        wide = (SharedTiles(f.tiles.astype(np.float64, order="C"), f.which) for f in (lhs, rhs))
        return product(*wide)
    lhs, rhs = each(lhs), each(rhs)
    m, k, n = *lhs.shape[-2:], rhs.shape[-1]
    if lhs.shape[:-2] != rhs.shape[:-2] or k * (m + n) < _LARGE_OPERANDS:
        return product(lhs.astype(np.float64, order="C"), rhs.astype(np.float64, order="C"))
    total = np.empty((*lhs.shape[:-1], n))
    left, right = np.empty((m, k)), np.empty((k, n))
    for block in np.ndindex(*lhs.shape[:-2]):
        left[...], right[...] = lhs[block], rhs[block]
        np.matmul(left, right, out=total[block])
    return total


def _stacked(lhs: np.ndarray, rhs: np.ndarray, rows: list[int], columns: list[int]) -> np.ndarray:
    """The product with the tiles of lhs, along axes `rows`, one below the other and those of rhs, along axes `columns`,
    side by side.
    """
    *_, m, k = lhs.shape
    n = rhs.shape[-1]
    both = [a for a in range(lhs.ndim - 2) if a not in rows and a not in columns]
    tall, wide = [lhs.shape[a] for a in rows], [rhs.shape[a] for a in columns]
    last = lhs.ndim - 2
    left = lhs.transpose(*both, *columns, *rows, last, last + 1)
    left = left.reshape(*left.shape[: len(both)], prod(tall) * m, k)
    right = rhs.transpose(*both, *rows, last, *columns, last + 1)
    right = right.reshape(*right.shape[: len(both)], k, prod(wide) * n)
    total = np.matmul(_for_blas(left), _for_blas(right))
    total = total.reshape(*total.shape[: len(both)], *tall, m, *wide, n)
    order = [*both, *rows, last, *columns, last + 1]
    return total.transpose(np.argsort(order))


@cache
def adds_alike(
    dtype: np.dtype, rows: tuple[int, int], k: int, columns: tuple[int, int], by_rows: tuple[bool, bool], threads: int
) -> bool:
    """Whether this BLAS adds up the products of many tiles in one call as it does in a call a tile: found by trying.

    Each element of a product of random numbers shows the order in which it was summed in its last bits.

    Args:
        dtype: float32 or float64.
        rows: Tiles of lhs one below the other, and the rows of each.
        k: Elements that are summed.
        columns: Columns of each tile of rhs, and how many tiles lie side by side.
        by_rows: Whether each operand lies row by row in memory, or column by column.
        threads: Threads of BLAS; it is asked with as many as it has now.
    """
    (down, m), (n, across) = rows, columns
    random = np.random.default_rng(0)
    left = np.require(random.random((down * m, k), np.float32), dtype, "C" if by_rows[0] else "F")
    right = np.require(random.random((k, across * n), np.float32), dtype, "C" if by_rows[1] else "F")
    left -= dtype.type(0.5)
    right -= dtype.type(0.5)
    together = (left @ right).reshape(down, m, across, n).swapaxes(1, 2)
    apart = np.matmul(left.reshape(down, 1, m, k), right.reshape(k, across, n).swapaxes(0, 1))
    return np.array_equal(together, apart)


def _for_blas(matrices: np.ndarray) -> np.ndarray:
    """The matrices as BLAS takes them, copied where they are not: NumPy's own loop would add up in another order."""
    row_bytes, column_bytes = matrices.strides[-2:]
    m, item = matrices.shape[-2], matrices.itemsize
    by_columns = row_bytes == item and column_bytes >= m * item and column_bytes % item == 0
    return matrices if by_columns or _is_by_rows(matrices) else np.ascontiguousarray(matrices)


def _is_by_rows(matrices: np.ndarray) -> bool:
    row_bytes, column_bytes = matrices.strides[-2:]
    item = matrices.itemsize
    return column_bytes == item and row_bytes >= matrices.shape[-1] * item and row_bytes % item == 0
