"""C = A @ B in tiles: float16 in, float32 sums.

    cutile-sim run examples/matmul.py

Block (i, j) owns one tile of C and walks along K, one tile of A and one of B at a time. No size divides its tile here:
tiles at the edges hang over. Along K the overhang must be zeros, or it would get into the sums; that is what
`padding_mode` asks for.
"""

import cuda.tile as ct
import numpy as np

TM, TN, TK = 64, 64, 32


@ct.kernel
def matmul(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        x = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(i, j), tile=acc.astype(c.dtype))


def inputs():
    rng = np.random.default_rng(0)
    m, n, k = 250, 200, 150
    return {
        "a": rng.standard_normal((m, k)).astype(np.float16),
        "b": rng.standard_normal((k, n)).astype(np.float16),
        "c": np.full((m, n), np.nan, np.float32),
        "TM": TM,
        "TN": TN,
        "TK": TK,
        "grid": (ct.cdiv(m, TM), ct.cdiv(n, TN)),
    }


def check(args):
    # A float32 sum of K products, in any order, is off by at most K * 2**-24 times the sum of their magnitudes.
    a, b = args["a"].astype(np.float64), args["b"].astype(np.float64)
    bound = a.shape[1] * 2.0**-24 * (abs(a) @ abs(b))
    error = abs(args["c"] - a @ b)
    assert (error <= bound).all(), f"off by up to {(error / bound).max():.3g} of what rounding explains"
