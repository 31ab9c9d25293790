"""Layer norm of each row: y = (x - mean) / sqrt(variance + eps) * weight + bias.

    cutile-sim run examples/layer_norm.py

A block takes one row, in pieces of 256: once for the mean, once for the variance, once for the result. The last piece
hangs over the end of the row. Its zeros do no harm to the sum of x, but (0 - mean)**2 would to the variance: there the
kernel masks them out.
"""

import cuda.tile as ct
import numpy as np

WIDTH = 256


@ct.kernel
def layer_norm(x, weight, bias, y, eps, WIDTH: ct.Constant[int]):
    row = ct.bid(0)
    n = x.shape[1]
    pieces = ct.num_tiles(x, axis=1, shape=(1, WIDTH))

    total = ct.zeros((1, WIDTH), dtype=ct.float32)
    for p in range(pieces):
        total += ct.load(x, index=(row, p), shape=(1, WIDTH), padding_mode=ct.PaddingMode.ZERO)
    mean = ct.sum(total, axis=1, keepdims=True) / n

    squares = ct.zeros((1, WIDTH), dtype=ct.float32)
    for p in range(pieces):
        piece = ct.load(x, index=(row, p), shape=(1, WIDTH), padding_mode=ct.PaddingMode.ZERO)
        inside = p * WIDTH + ct.arange(WIDTH, dtype=ct.int32) < n
        centred = ct.where(inside, piece - mean, 0.0)
        squares += centred * centred
    scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / n + eps)

    for p in range(pieces):
        piece = ct.load(x, index=(row, p), shape=(1, WIDTH))
        w = ct.load(weight, index=(p,), shape=(WIDTH,))
        b = ct.load(bias, index=(p,), shape=(WIDTH,))
        ct.store(y, index=(row, p), tile=(piece - mean) * scale * w + b)


def inputs():
    rng = np.random.default_rng(0)
    x = 3 + rng.standard_normal((40, 1000), dtype=np.float32)
    weight, bias = rng.standard_normal((2, x.shape[1]), dtype=np.float32)
    y = np.full_like(x, np.nan)
    return {"x": x, "weight": weight, "bias": bias, "y": y, "eps": 1e-5, "WIDTH": WIDTH, "grid": (x.shape[0],)}


def check(args):
    x = args["x"].astype(np.float64)
    mean, variance = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    expected = (x - mean) / np.sqrt(variance + args["eps"]) * args["weight"] + args["bias"]
    np.testing.assert_allclose(args["y"], expected, rtol=1e-5, atol=1e-5)
