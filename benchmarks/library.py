"""Ten kernels in the shapes that libraries of model layers have them."""

from __future__ import annotations

import math

import cuda.tile as ct
import numpy as np

from benchmarks.basic import BFLOAT16, LOG2_E, Int
from benchmarks.problem import Outputs, Problem, normal, poisoned

INT_MIN = -(2**31)


@ct.kernel
def persistent_product(a, b, c, m: Int, n: Int, k: Int, group: Int):
    down, across = ct.num_tiles(c, axis=0, shape=(m, n)), ct.num_tiles(c, axis=1, shape=(m, n))
    for tile in range(ct.bid(0), down * across, ct.num_blocks(0)):
        first = tile // (group * across) * group
        height = min(down - first, group)
        row, column = first + tile % (group * across) % height, tile % (group * across) // height
        total = ct.zeros((m, n), dtype=ct.float32)
        for step in range(ct.num_tiles(a, axis=1, shape=(m, k))):
            total = ct.mma(ct.load(a, (row, step), (m, k)), ct.load(b, (step, column), (k, n)), total)
        ct.store(c, (row, column), total.astype(c.dtype))


@ct.kernel
def split_k_product(a, b, c, m: Int, n: Int, k: Int, steps: Int):
    row, column, part = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((m, n), dtype=ct.float32)
    for step in range(part * steps, (part + 1) * steps):
        total = ct.mma(ct.load(a, (row, step), (m, k)), ct.load(b, (step, column), (k, n)), total)
    rows = row * m + ct.arange(m, dtype=ct.int32)
    columns = column * n + ct.arange(n, dtype=ct.int32)
    ct.atomic_add(c, (rows[:, None], columns[None, :]), total)


@ct.kernel
def grouped_product(lefts, rights, outs, m: Int, n: Int, k: Int):
    done = 0
    at = ct.bid(0)
    for g in range(len(lefts)):
        a, b, c = lefts[g], rights[g], outs[g]
        down, across = ct.num_tiles(c, axis=0, shape=(m, n)), ct.num_tiles(c, axis=1, shape=(m, n))
        while at < done + down * across:
            row, column = (at - done) // across, (at - done) % across
            total = ct.zeros((m, n), dtype=ct.float32)
            for step in range(ct.num_tiles(a, axis=1, shape=(m, k))):
                total = ct.mma(ct.load(a, (row, step), (m, k)), ct.load(b, (step, column), (k, n)), total)
            ct.store(c, (row, column), total.astype(c.dtype))
            at += ct.num_blocks(0)
        done += down * across


@ct.kernel
def normalize_rms(x, weight, out, eps, n: Int):
    r = ct.bid(0)
    row = ct.load(x, (r, 0), (1, n)).astype(ct.float32)
    scale = ct.rsqrt(ct.sum(row * row, axis=1, keepdims=True) / n + eps)
    w = ct.load(weight, (0,), (n,)).astype(ct.float32)
    ct.store(out, (r, 0), (row * scale * w).astype(out.dtype))


@ct.kernel
def rotate(x, cosine, sine, out, rows: Int, half: Int):
    i, head = ct.bid(0), ct.bid(1)
    c = ct.load(cosine, (i, 0), (rows, half))
    s = ct.load(sine, (i, 0), (rows, half))
    low = ct.load(x, (head, i, 0), (1, rows, half)).reshape((rows, half)).astype(ct.float32)
    high = ct.load(x, (head, i, 1), (1, rows, half)).reshape((rows, half)).astype(ct.float32)
    ct.store(out, (head, i, 0), (low * c - high * s).astype(out.dtype).reshape((1, rows, half)))
    ct.store(out, (head, i, 1), (high * c + low * s).astype(out.dtype).reshape((1, rows, half)))


@ct.kernel
def gate(x, out, n: Int):
    r = ct.bid(0)
    gates = ct.load(x, (r, 0), (1, n)).astype(ct.float32)
    values = ct.load(x, (r, 1), (1, n)).astype(ct.float32)
    ct.store(out, (r, 0), (gates / (1 + ct.exp(-gates)) * values).astype(out.dtype))


@ct.kernel
def route(logits, chosen, weights, load, rows: Int, experts: Int):
    i = ct.bid(0)
    left = ct.load(logits, (i, 0), (rows, experts))
    numbers = ct.arange(experts, dtype=ct.int32)[None, :]
    first = ct.argmax(left, axis=1)
    best = ct.max(left, axis=1)
    left = ct.where(numbers == first[:, None], -math.inf, left)
    second = ct.argmax(left, axis=1)
    share = 1 / (1 + ct.exp(ct.max(left, axis=1) - best))
    ct.store(chosen, (i, 0), first[:, None])
    ct.store(chosen, (i, 1), second[:, None])
    ct.store(weights, (i, 0), share[:, None])
    ct.store(weights, (i, 1), (1 - share)[:, None])
    ct.atomic_add(load, first, 1)
    ct.atomic_add(load, second, 1)


@ct.kernel
def transform(real, imag, basis_r, basis_i, twiddle_r, twiddle_i, out_r, out_i, n: Int):
    i = ct.bid(0)
    x, y = ct.load(real, (i, 0, 0), (1, n, n)).reshape((n, n)), ct.load(imag, (i, 0, 0), (1, n, n)).reshape((n, n))
    c, s = ct.load(basis_r, (0, 0), (n, n)), ct.load(basis_i, (0, 0), (n, n))
    tc, ts = ct.load(twiddle_r, (0, 0), (n, n)), ct.load(twiddle_i, (0, 0), (n, n))
    zero = ct.zeros((n, n), dtype=ct.float32)
    u, v = ct.mma(c, x, zero) - ct.mma(s, y, zero), ct.mma(c, y, ct.mma(s, x, zero))
    u, v = u * tc - v * ts, u * ts + v * tc
    x, y = ct.mma(u, c, zero) - ct.mma(v, s, zero), ct.mma(v, c, ct.mma(u, s, zero))
    ct.store(out_r, (i, 0, 0), ct.transpose(x).reshape((1, n, n)))
    ct.store(out_i, (i, 0, 0), ct.transpose(y).reshape((1, n, n)))


@ct.kernel
def choose_top(x, values, places, n: Int, k: Int):
    r = ct.bid(0)
    row = ct.load(x, (r, 0), (1, n))
    numbers = ct.arange(n, dtype=ct.int32)[None, :]
    for rank in range(k):
        place = ct.argmax(row, axis=1)
        ct.store(places, (r, rank), place[:, None])
        ct.store(values, (r, rank), ct.max(row, axis=1, keepdims=True))
        row = ct.where(numbers == place[:, None], -math.inf, row)


@ct.kernel
def lose(logits, targets, losses, rows: Int, n: Int):
    i = ct.bid(0)
    top = ct.full((rows, 1), -math.inf, dtype=ct.float32)
    total = ct.zeros((rows, 1), dtype=ct.float32)
    for j in range(ct.num_tiles(logits, axis=1, shape=(rows, n))):
        part = ct.load(logits, (i, j), (rows, n)).astype(ct.float32)
        new_top = ct.maximum(top, ct.max(part, axis=1, keepdims=True))
        powers = ct.exp2((part - new_top) * LOG2_E)
        total = total * ct.exp2((top - new_top) * LOG2_E) + ct.sum(powers, axis=1, keepdims=True)
        top = new_top
    at = i * rows + ct.arange(rows, dtype=ct.int32)
    hit = ct.gather(logits, (at, ct.load(targets, (i,), (rows,)))).astype(ct.float32)
    ct.store(losses, (i,), (ct.log(total) + top).reshape((rows,)) - hit)


def gemm_persistent(size: int, blocks: int) -> Problem:
    a, b = normal(20, (size, size), np.float16), normal(21, (size, size), np.float16)

    def numpy() -> Outputs:
        return {2: np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)}

    args = (a, b, poisoned(a.shape, np.float16), 64, 64, 64, 4)
    return Problem(persistent_product, (blocks,), args, numpy, (1e-2, 2e-2))


def gemm_split_k(size: int, depth: int, parts: int) -> Problem:
    a, b = normal(22, (size, depth)), normal(23, (depth, size))
    tiles = size // 64
    args = (a, b, np.zeros((size, size), np.float32), 64, 64, 32, depth // 32 // parts)
    return Problem(
        split_k_product, (tiles, tiles, parts), args, lambda: {2: np.matmul(a, b)}, (1e-3, 1e-2), accumulates=(2,)
    )


def gemm_grouped(unit: int, blocks: int) -> Problem:
    sizes = [(unit * m, unit * n, unit * k) for m, n, k in ((4, 4, 4), (2, 4, 4), (4, 2, 8), (1, 4, 4))]
    lefts = [normal(24 + i, (m, k), np.float16) for i, (m, _, k) in enumerate(sizes)]
    rights = [normal(28 + i, (k, n), np.float16) for i, (_, n, k) in enumerate(sizes)]
    outs = [poisoned((m, n), np.float16) for m, n, _ in sizes]

    def numpy() -> Outputs:
        products = [
            np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
            for a, b in zip(lefts, rights, strict=True)
        ]
        return {2: np.concatenate([p.ravel() for p in products])}

    return ListProblem(grouped_product, (blocks,), (lefts, rights, outs, 64, 64, 64), numpy, (1e-2, 2e-2))


class ListProblem(Problem):
    """A problem whose output is a list of arrays, which NumPy gives laid end to end."""

    def check(self) -> None:
        (position,) = self.numpy()
        args = list(self.args)
        args[position] = np.concatenate([array.ravel() for array in args[position]])
        Problem(self.kernel, self.grid, tuple(args), self.numpy, self.tolerance).check()


def rms_norm(rows: int, columns: int) -> Problem:
    x, weight = normal(32, (rows, columns), BFLOAT16), normal(33, columns, BFLOAT16)

    def numpy() -> Outputs:
        wide = x.astype(np.float32)
        wide *= 1 / np.sqrt(np.square(wide).mean(axis=1, keepdims=True) + np.float32(1e-6))
        wide *= weight.astype(np.float32)
        return {2: wide.astype(BFLOAT16)}

    args = (x, weight, poisoned(x.shape, BFLOAT16), 1e-6, columns)
    return Problem(normalize_rms, (rows,), args, numpy, (1e-2, 1e-2))


def rope(heads: int, length: int, d: int) -> Problem:
    x = normal(34, (heads, length, d), np.float16)
    half = d // 2
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(half) / half)
    cosine, sine = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def numpy() -> Outputs:
        wide = x.astype(np.float32)
        low, high = wide[..., :half], wide[..., half:]
        out = np.empty(x.shape, np.float16)
        out[..., :half] = low * cosine - high * sine
        out[..., half:] = high * cosine + low * sine
        return {3: out}

    args = (x, cosine, sine, poisoned(x.shape, np.float16), 64, half)
    return Problem(rotate, (length // 64, heads), args, numpy, (2e-3, 2e-3))


def swiglu(rows: int, columns: int) -> Problem:
    x = normal(35, (rows, 2 * columns), BFLOAT16)

    def numpy() -> Outputs:
        wide = x.astype(np.float32)
        gates, values = wide[:, :columns], wide[:, columns:]
        return {1: (gates / (1 + np.exp(-gates)) * values).astype(BFLOAT16)}

    return Problem(gate, (rows,), (x, poisoned((rows, columns), BFLOAT16), columns), numpy, (1e-2, 1e-2))


def moe_routing(tokens: int, experts: int) -> Problem:
    logits = normal(36, (tokens, experts))

    def numpy() -> Outputs:
        numbers = np.arange(experts)
        first = logits.argmax(axis=1)
        left = np.where(numbers == first[:, None], np.float32(-np.inf), logits)
        second = left.argmax(axis=1)
        share = 1 / (1 + np.exp(left.max(axis=1) - logits.max(axis=1)))
        chosen = np.stack([first, second], axis=1)
        return {
            1: chosen.astype(np.int32),
            2: np.stack([share, 1 - share], axis=1),
            3: np.bincount(chosen.ravel(), minlength=experts),
        }

    outs = poisoned((tokens, 2), np.int32), poisoned((tokens, 2), np.float32), np.zeros(experts, np.int32)
    args = (logits, *outs, 32, experts)
    return Problem(route, (tokens // 32,), args, numpy, (1e-5, 1e-6), accumulates=(3,))


def fft(count: int, n: int) -> Problem:
    size = n * n
    x = (normal(37, (count, n, n)) + 1j * normal(38, (count, n, n))).astype(np.complex64)
    steps = np.outer(np.arange(n), np.arange(n))
    basis = np.exp(-2j * np.pi * steps / n).astype(np.complex64)
    twiddle = np.exp(-2j * np.pi * steps / size).astype(np.complex64)

    def numpy() -> Outputs:
        out = np.matmul(np.matmul(basis, x) * twiddle, basis).transpose(0, 2, 1)
        return {6: np.ascontiguousarray(out.real), 7: np.ascontiguousarray(out.imag)}

    parts = [np.ascontiguousarray(p) for z in (x, basis, twiddle) for p in (z.real, z.imag)]
    outs = poisoned(x.shape, np.float32), poisoned(x.shape, np.float32)
    return Problem(transform, (count,), (*parts, *outs, n), numpy, (1e-3, 1e-3))


def top_k(rows: int, columns: int, k: int) -> Problem:
    x = normal(39, (rows, columns))

    def numpy() -> Outputs:
        left = x
        numbers = np.arange(columns)
        values, places = np.empty((rows, k), np.float32), np.empty((rows, k), np.int32)
        for rank in range(k):
            place = left.argmax(axis=1)
            places[:, rank], values[:, rank] = place, left.max(axis=1)
            left = np.where(numbers == place[:, None], np.float32(-np.inf), left)
        return {1: values, 2: places}

    args = (x, poisoned((rows, k), np.float32), poisoned((rows, k), np.int32), columns, k)
    return Problem(choose_top, (rows,), args, numpy)


def cross_entropy(rows: int, classes: int, tile: tuple[int, int]) -> Problem:
    logits = normal(40, (rows, classes), BFLOAT16)
    targets = np.random.default_rng(41).integers(0, classes, rows, dtype=np.int32)

    def numpy() -> Outputs:
        wide = logits.astype(np.float32)
        hit = wide[np.arange(rows), targets]
        top = wide.max(axis=1)
        wide -= top[:, None]
        np.exp(wide, out=wide)
        return {2: np.log(wide.sum(axis=1)) + top - hit}

    return Problem(lose, (rows // tile[0],), (logits, targets, poisoned(rows, np.float32), *tile), numpy, (1e-4, 1e-4))


PROBLEMS = {
    "GEMM f16, persistent": (lambda: gemm_persistent(768, 48), lambda: gemm_persistent(256, 6)),
    "GEMM f32, split-K": (lambda: gemm_split_k(256, 4096, 8), lambda: gemm_split_k(64, 256, 4)),
    "GEMM f16, grouped": (lambda: gemm_grouped(128, 32), lambda: gemm_grouped(64, 5)),
    "RMS norm bf16": (lambda: rms_norm(1024, 2048), lambda: rms_norm(16, 256)),
    "RoPE f16": (lambda: rope(16, 1024, 128), lambda: rope(2, 128, 64)),
    "SwiGLU bf16": (lambda: swiglu(1024, 2048), lambda: swiglu(16, 256)),
    "MoE routing f32": (lambda: moe_routing(16384, 64), lambda: moe_routing(128, 16)),
    "FFT c64 by products": (lambda: fft(1024, 32), lambda: fft(8, 16)),
    "top-k f32": (lambda: top_k(2048, 1024, 8), lambda: top_k(16, 128, 3)),
    "cross entropy bf16": (lambda: cross_entropy(1024, 8192, (4, 1024)), lambda: cross_entropy(16, 512, (4, 128))),
}
"""As in `basic`."""
