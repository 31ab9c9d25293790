"""Softmax of each row: y = exp(x - max(x)) / sum(exp(x - max(x))).

    cutile-sim run examples/softmax.py

A tile's sides are powers of two, a row of 1000 is not: a block reads a tile of 1024 and has the 24 elements past the
row's end filled with minus infinity. It never is the maximum, and its exponential adds zero to the sum.
"""

import cuda.tile as ct
import numpy as np

ROWS = 4


@ct.kernel
def softmax(x, y, ROWS: ct.Constant[int], WIDTH: ct.Constant[int]):
    i = ct.bid(0)
    tile = ct.load(x, index=(i, 0), shape=(ROWS, WIDTH), padding_mode=ct.PaddingMode.NEG_INF)
    # Without the maximum taken off, exp would overflow from 89 on.
    e = ct.exp(tile - ct.max(tile, axis=1, keepdims=True))
    ct.store(y, index=(i, 0), tile=e / ct.sum(e, axis=1, keepdims=True))


def inputs():
    rng = np.random.default_rng(0)
    x = 3 * rng.standard_normal((30, 1000), dtype=np.float32)
    x += np.linspace(-100, 100, 30, dtype=np.float32)[:, None]
    width = 1 << (x.shape[1] - 1).bit_length()
    grid = (ct.cdiv(x.shape[0], ROWS),)
    return {"x": x, "y": np.full_like(x, np.nan), "ROWS": ROWS, "WIDTH": width, "grid": grid}


def check(args):
    x = args["x"].astype(np.float64)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(args["y"], e / e.sum(axis=1, keepdims=True), rtol=2e-5, atol=1e-12)
