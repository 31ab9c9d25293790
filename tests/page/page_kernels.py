"""Kernels whose traces the page is to show."""

from __future__ import annotations

from typing import Any

import cuda.tile as ct
import numpy as np

from cutile_sim.traces import Trace, trace


@ct.kernel
def matmul(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        x = ct.load(a, (i, k), (M, K), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, j), (K, N), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    if i == 0:
        ct.printf("column %d\n", j)
    ct.store(c, (i, j), acc)


@ct.kernel
def pick(x, index, y, TILE: ct.Constant[int]):
    at = ct.load(index, (ct.bid(0),), (TILE,))
    ct.scatter(y, at, ct.gather(x, at))


@ct.kernel
def slices(q, out, D: ct.Constant[int]):
    ct.store(out, (ct.bid(1), ct.bid(0), 0), ct.load(q, (ct.bid(1), ct.bid(0), 0), (1, 8, D)) * 2)


@ct.kernel
def count(x, bins, TILE: ct.Constant[int]):
    ct.atomic_add(bins, ct.load(x, (ct.bid(0),), (TILE,)), 1)


@ct.kernel
def overrun(x):
    at = ct.bid(0) * 4 + ct.arange(4, dtype=ct.int32)
    ct.scatter(x, at + 1, ct.gather(x, at), check_bounds=False)


def matmul_trace(**options: Any) -> Trace:
    """4 by 3 blocks over edges, with values and contents."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((50, 40), np.float32), rng.standard_normal((40, 70), np.float32)
    c = np.full((50, 70), np.nan, np.float32)
    options = {"values": True, "contents": True, "sanitize": True} | options
    return trace(matmul, (4, 3), a, b, c, 16, 32, 16, **options)


def pick_trace(**options: Any) -> Trace:
    """Lanes anywhere; elements of y that are never written, and some by several blocks, which the sanitizer finds."""
    index = np.random.default_rng(1).integers(0, 64, 64).astype(np.int32)
    options = {"contents": True, "sanitize": True} | options
    return trace(pick, 4, np.arange(64, dtype=np.float32), index, np.zeros(64, np.float32), 16, **options)


def slices_trace() -> Trace:
    """An array of three axes."""
    q = np.arange(4 * 24 * 16, dtype=np.float32).reshape(4, 24, 16)
    return trace(slices, (3, 4), q, np.zeros_like(q), 16, contents=True)
