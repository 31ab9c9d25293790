"""c = a + b: the smallest whole kernel.

    cutile-sim run examples/vector_add.py

One block adds one tile. 1000 elements make seven whole tiles of 128 and one of 104: the last block's tile hangs over
the end of the arrays. What lies outside is undetermined when loaded, and left out when stored, so the kernel need not
care.
"""

import cuda.tile as ct
import numpy as np

TILE = 128


@ct.kernel
def vector_add(a, b, c, TILE: ct.Constant[int]):
    i = ct.bid(0)
    x = ct.load(a, index=(i,), shape=(TILE,))
    y = ct.load(b, index=(i,), shape=(TILE,))
    ct.store(c, index=(i,), tile=x + y)


def inputs():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 1000), dtype=np.float32)
    return {"a": a, "b": b, "c": np.full_like(a, np.nan), "TILE": TILE, "grid": (ct.cdiv(a.size, TILE),)}


def check(args):
    # One float32 addition is rounded once, so nothing may differ.
    expected = (args["a"].astype(np.float64) + args["b"]).astype(np.float32)
    np.testing.assert_array_equal(args["c"], expected)
