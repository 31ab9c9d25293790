"""Kernels whose accesses are known by the definitions of tile and gather."""

from __future__ import annotations

import cuda.tile as ct


@ct.kernel
def matmul(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        x = ct.load(a, (i, k), (M, K), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, j), (K, N), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def pick(x, index, y, TILE: ct.Constant[int]):
    at = ct.load(index, (ct.bid(0),), (TILE,))
    ct.scatter(y, ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32), ct.gather(x, at))


@ct.kernel
def count(x, bins, TILE: ct.Constant[int]):
    ct.atomic_add(bins, ct.load(x, (ct.bid(0),), (TILE,)), 1)


@ct.kernel
def overrun(x):
    at = ct.bid(0) * 4 + ct.arange(4, dtype=ct.int32)
    ct.scatter(x, at + 1, ct.gather(x, at), check_bounds=False)


@ct.kernel
def copy(x, y, M: ct.Constant[int], N: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (i, j), ct.load(x, (i, j), (M, N)))
