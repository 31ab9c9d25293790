"""Causal attention without the matrix of scores: out = softmax(scale * Q @ K.T + mask) @ V, head by head.

    cutile-sim run examples/flash_attention.py

Block (i, h) owns 64 queries of head h. It walks over the keys, 32 at a time, and keeps for each query three running
things: the largest score so far, the sum of exponentials relative to it, and the weighted sum of values. When a larger
score turns up, what was summed before is scaled down to match. A query sees no key behind its own position.
"""

import math

import cuda.tile as ct
import numpy as np

TQ, TK = 64, 32


@ct.kernel
def flash_attention(q, k, v, out, scale, D: ct.Constant[int], TQ: ct.Constant[int], TK: ct.Constant[int]):
    i, h = ct.bid(0), ct.bid(1)
    zero = ct.PaddingMode.ZERO
    queries = ct.load(q, index=(h, i, 0), shape=(1, TQ, D), padding_mode=zero).reshape((TQ, D))
    query_at = i * TQ + ct.arange(TQ, dtype=ct.int32)[:, None]

    top = ct.full((TQ, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((TQ, 1), dtype=ct.float32)
    acc = ct.zeros((TQ, D), dtype=ct.float32)

    # Keys behind the block's last query are masked for all of its queries: the walk ends there.
    n = k.shape[1]
    for j in range(ct.cdiv(min((i + 1) * TQ, n), TK)):
        keys = ct.load(k, index=(h, j, 0), shape=(1, TK, D), padding_mode=zero).reshape((TK, D))
        values = ct.load(v, index=(h, j, 0), shape=(1, TK, D), padding_mode=zero).reshape((TK, D))
        scores = ct.mma(queries, ct.transpose(keys), ct.zeros((TQ, TK), dtype=ct.float32)) * scale
        key_at = j * TK + ct.arange(TK, dtype=ct.int32)[None, :]
        scores = ct.where((key_at <= query_at) & (key_at < n), scores, -math.inf)

        new_top = ct.maximum(top, ct.max(scores, axis=1, keepdims=True))
        shrink = ct.exp(top - new_top)
        p = ct.exp(scores - new_top)
        weight = weight * shrink + ct.sum(p, axis=1, keepdims=True)
        acc = ct.mma(p.astype(v.dtype), values, acc * shrink)
        top = new_top

    ct.store(out, index=(h, i, 0), tile=(acc / weight).astype(out.dtype).reshape((1, TQ, D)))


def inputs():
    rng = np.random.default_rng(0)
    heads, length, depth = 4, 200, 64
    q, k, v = rng.standard_normal((3, heads, length, depth)).astype(np.float16)
    out = np.full_like(q, np.nan)
    return {
        "q": q,
        "k": k,
        "v": v,
        "out": out,
        "scale": depth**-0.5,
        "D": depth,
        "TQ": TQ,
        "TK": TK,
        "grid": (ct.cdiv(length, TQ), heads),
    }


def check(args):
    q, k, v = (args[name].astype(np.float64) for name in "qkv")
    scores = args["scale"] * q @ k.transpose(0, 2, 1)
    scores[:, ~np.tri(q.shape[1], dtype=bool)] = -np.inf
    p = np.exp(scores - scores.max(axis=2, keepdims=True))
    expected = (p / p.sum(axis=2, keepdims=True)) @ v
    # Probabilities and result are float16: 2**-11 each.
    np.testing.assert_allclose(args["out"].astype(np.float64), expected, rtol=2e-3, atol=2e-3)
