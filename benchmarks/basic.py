"""Nine launches of seven kernels that every library of kernels begins with."""

from __future__ import annotations

import math
from typing import Any

import cuda.tile as ct
import ml_dtypes
import numpy as np

from benchmarks.problem import Outputs, Problem, normal, poisoned

Int = ct.Constant[int]
LOG2_E = math.log2(math.e)


@ct.kernel
def add_vectors(x, y, out, n: Int):
    i = ct.bid(0)
    ct.store(out, (i,), ct.load(x, (i,), (n,)) + ct.load(y, (i,), (n,)))


@ct.kernel
def multiply_matrices(a, b, c, m: Int, n: Int, k: Int):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((m, n), dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(m, k))):
        left = ct.load(a, (row, step), (m, k), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (step, column), (k, n), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (row, column), total.astype(c.dtype))


@ct.kernel
def softmax(x, out, n: Int):
    r = ct.bid(0)
    row = ct.load(x, (r, 0), (1, n))
    powers = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, (r, 0), powers / ct.sum(powers, axis=1, keepdims=True))


@ct.kernel
def normalize_layer(x, weight, bias, out, mean, rstd, eps, n: Int):
    r = ct.bid(0)
    row = ct.load(x, (r, 0), (1, n)).astype(ct.float32)
    average = ct.sum(row, axis=1, keepdims=True) / n
    centered = row - average
    scale = ct.rsqrt(ct.sum(centered * centered, axis=1, keepdims=True) / n + eps)
    w = ct.load(weight, (0,), (n,)).astype(ct.float32)
    b = ct.load(bias, (0,), (n,)).astype(ct.float32)
    ct.store(out, (r, 0), (centered * scale * w + b).astype(out.dtype))
    ct.store(mean, (r,), average.reshape((1,)))
    ct.store(rstd, (r,), scale.reshape((1,)))


@ct.kernel
def attend(q, k, v, out, scale, d: Int, m: Int, n: Int):
    i, head = ct.bid(0), ct.bid(1)
    queries = ct.load(q, (head, i, 0), (1, m, d)).reshape((m, d))
    top = ct.full((m, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((m, 1), dtype=ct.float32)
    total = ct.zeros((m, d), dtype=ct.float32)
    for j in range(ct.num_tiles(k, axis=1, shape=(1, n, d))):
        keys = ct.load(k, (head, j, 0), (1, n, d)).reshape((n, d))
        values = ct.load(v, (head, j, 0), (1, n, d)).reshape((n, d))
        scores = ct.mma(queries, ct.transpose(keys), ct.zeros((m, n), dtype=ct.float32)) * (scale * LOG2_E)
        new_top = ct.maximum(top, ct.max(scores, axis=1, keepdims=True))
        powers = ct.exp2(scores - new_top)
        shrink = ct.exp2(top - new_top)
        weight = weight * shrink + ct.sum(powers, axis=1, keepdims=True)
        total = ct.mma(powers.astype(v.dtype), values, total * shrink)
        top = new_top
    ct.store(out, (head, i, 0), (total / weight).astype(out.dtype).reshape((1, m, d)))


@ct.kernel
def gather_scatter(x, index, out, n: Int):
    i = ct.bid(0)
    places = i * n + ct.arange(n, dtype=ct.int32)
    ct.scatter(out, places, ct.gather(x, ct.load(index, (i,), (n,))))


@ct.kernel
def count_bins(x, bins, n: Int):
    ct.atomic_add(bins, ct.load(x, (ct.bid(0),), (n,)), 1)


def vector_add(size: int, tile: int) -> Problem:
    x, y, whole = normal(1, size), normal(2, size), np.empty(size, np.float32)

    def numpy() -> Outputs:
        return {2: np.add(x, y, out=whole)}

    return Problem(add_vectors, (-(-size // tile),), (x, y, poisoned(size, np.float32), tile), numpy)


def matrix_product(size: int, dtype: Any, tolerance: tuple[float, float]) -> Problem:
    a, b = normal(3, (size, size), dtype), normal(4, (size, size), dtype)

    def numpy() -> Outputs:
        product = np.matmul(a.astype(np.float32, copy=False), b.astype(np.float32, copy=False))
        return {2: product.astype(dtype, copy=False)}

    tiles = -(-size // 64)
    args = (a, b, poisoned((size, size), dtype), 64, 64, 32)
    return Problem(multiply_matrices, (tiles, tiles), args, numpy, tolerance)


def softmax_rows(rows: int, columns: int) -> Problem:
    x = normal(5, (rows, columns))

    def numpy() -> Outputs:
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        powers /= powers.sum(axis=1, keepdims=True)
        return {1: powers}

    return Problem(softmax, (rows,), (x, poisoned(x.shape, np.float32), columns), numpy, (1e-5, 1e-7))


def layer_norm(rows: int, columns: int) -> Problem:
    x, weight, bias = (normal(6 + i, s, np.float16) for i, s in enumerate(((rows, columns), columns, columns)))
    eps = 1e-5

    def numpy() -> Outputs:
        wide = x.astype(np.float32)
        mean = wide.mean(axis=1, keepdims=True)
        wide -= mean
        rstd = 1 / np.sqrt(np.square(wide).mean(axis=1, keepdims=True) + np.float32(eps))
        wide *= rstd
        wide *= weight.astype(np.float32)
        wide += bias.astype(np.float32)
        return {3: wide.astype(np.float16), 4: mean[:, 0], 5: rstd[:, 0]}

    moments = poisoned(rows, np.float32), poisoned(rows, np.float32)
    args = (x, weight, bias, poisoned(x.shape, np.float16), *moments, eps, columns)
    return Problem(normalize_layer, (rows,), args, numpy, (2e-3, 2e-3))


def attention(heads: int, length: int, d: int) -> Problem:
    q, k, v = (normal(9 + i, (heads, length, d), np.float16) for i in range(3))
    scale = 1 / math.sqrt(d)

    def numpy() -> Outputs:
        wide = [t.astype(np.float32) for t in (q, k, v)]
        scores = wide[0] @ wide[1].transpose(0, 2, 1)
        scores *= np.float32(scale)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        weight = scores.sum(axis=-1, keepdims=True)
        return {3: (scores @ wide[2] / weight).astype(np.float16)}

    args = (q, k, v, poisoned(q.shape, np.float16), scale, d, 64, 64)
    return Problem(attend, (-(-length // 64), heads), args, numpy, (5e-3, 2e-3))


def gather(size: int, tile: int) -> Problem:
    x, index = normal(12, size), np.random.default_rng(13).integers(0, size, size, dtype=np.int32)
    args = (x, index, poisoned(size, np.float32), tile)
    return Problem(gather_scatter, (-(-size // tile),), args, lambda: {2: x[index]})


def histogram(size: int, bins: int, tile: int) -> Problem:
    x = np.random.default_rng(14).integers(0, bins, size, dtype=np.int32)
    args = (x, np.zeros(bins, np.int32), tile)
    return Problem(count_bins, (-(-size // tile),), args, lambda: {1: np.bincount(x, minlength=bins)}, accumulates=(1,))


BFLOAT16 = ml_dtypes.bfloat16

PROBLEMS = {
    "vector add f32, tile 1024": (lambda: vector_add(2**22, 1024), lambda: vector_add(2**13, 1024)),
    "vector add f32, tile 128": (lambda: vector_add(2**22, 128), lambda: vector_add(2**12, 128)),
    "matrix product f32": (
        lambda: matrix_product(1024, np.float32, (1e-4, 1e-3)),
        lambda: matrix_product(128, np.float32, (1e-4, 1e-3)),
    ),
    "matrix product bf16": (
        lambda: matrix_product(512, BFLOAT16, (1e-2, 1e-2)),
        lambda: matrix_product(128, BFLOAT16, (1e-2, 1e-2)),
    ),
    "softmax f32": (lambda: softmax_rows(4096, 1024), lambda: softmax_rows(64, 1024)),
    "layer norm f16": (lambda: layer_norm(2048, 1024), lambda: layer_norm(32, 1024)),
    "attention f16": (lambda: attention(8, 512, 64), lambda: attention(2, 128, 64)),
    "gather f32": (lambda: gather(2**20, 256), lambda: gather(2**12, 256)),
    "histogram i32": (lambda: histogram(2**20, 256, 256), lambda: histogram(2**12, 256, 256)),
}
"""By name: how to make the problem in full, and small for a quick check."""
