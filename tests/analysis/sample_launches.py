"""Kernels whose accesses are easy to say, for the tests of this folder."""

from __future__ import annotations

import cuda.tile as ct

PAD = ct.PaddingMode.ZERO


@ct.kernel
def matmul(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        x = ct.load(a, (i, k), (M, K), padding_mode=PAD)
        y = ct.load(b, (k, j), (K, N), padding_mode=PAD)
        acc = ct.mma(x, y, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def permute(x, y, A: ct.Constant[int], B: ct.Constant[int], C: ct.Constant[int]):
    i, j, k = ct.bid(0), ct.bid(1), ct.bid(2)
    ct.store(y, (k, i, j), ct.permute(ct.load(x, (i, j, k), (A, B, C), padding_mode=PAD), (2, 0, 1)))


@ct.kernel
def row_sums(x, y, WIDTH: ct.Constant[int]):
    row = ct.load(x, (ct.bid(0), 0), (1, WIDTH), padding_mode=PAD)
    if ct.bid(0) % 2 == 0:
        ct.store(y, (ct.bid(0),), ct.sum(row, axis=1))


@ct.kernel
def count(x, bins, TILE: ct.Constant[int]):
    ct.atomic_add(bins, ct.load(x, (ct.bid(0),), (TILE,)), 1)


@ct.kernel
def window_sums(x, y, TILE: ct.Constant[int], WIDTH: ct.Constant[int]):
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    total = ct.zeros((TILE,), ct.float32)
    for i in range(WIDTH):
        total += ct.gather(x, at + i)
    ct.scatter(y, at, total)


@ct.kernel
def all_store_one(x, TILE: ct.Constant[int]):
    ct.store(x, (ct.bid(0) // 2,), ct.full((TILE,), 1, ct.float32))


@ct.kernel
def overrun(x):
    at = ct.bid(0) * 4 + ct.arange(4, dtype=ct.int32)
    ct.scatter(x, at + 1, ct.gather(x, at), check_bounds=False)
