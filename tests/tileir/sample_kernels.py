"""Small kernels that the decoder's tests export: between them loops, branches, calls, reductions, atomics,
prints.
"""

import cuda.tile as ct
from cuda.tile.compilation import ArrayConstraint, CallingConvention, KernelSignature


@ct.kernel
def add(x, y, out):
    i = ct.bid(0)
    left = ct.load(x, (i,), (16,))
    right = ct.load(y, (i,), (16,))
    ct.store(out, (i,), left + right)


def scaled(tile):
    return tile * 2.5


def softened(tile):
    return ct.exp(scaled(tile))


@ct.kernel
def calls(x, y, out):
    tile = ct.load(x, (ct.bid(0),), (16,))
    ct.store(out, (ct.bid(0),), softened(tile))


@ct.kernel
def loops(x, y, out):
    total = ct.full((16,), 0.0, ct.float32)
    for k in range(4):
        tile = ct.load(x, (k,), (16,), padding_mode=ct.PaddingMode.ZERO)
        if ct.bid(0) > 2:
            total = total + tile
        else:
            total = total - tile
    count = 0
    while True:
        count += 1
        if count > 5:
            break
    ct.store(out, (0,), total + ct.sum(total) + ct.cumsum(total) + count)


@ct.kernel
def atomics(x, y, out):
    i = ct.arange(16, dtype=ct.int32)
    ct.atomic_add(out, (i,), ct.gather(x, (i,), check_bounds=False))
    ct.printf("sum %f\\n", ct.sum(ct.gather(y, (i,))))
    ct.assert_(ct.bid(0) < 100, "too many blocks")


def _array():
    return ArrayConstraint(
        ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
        stride_constant=[1], stride_divisible_by=[1], shape_divisible_by=[1], base_addr_divisible_by=16,
    )  # fmt: skip


def _signature():
    return KernelSignature([_array()] * 3, CallingConvention.cutile_python_v1())


KERNELS = {name: (globals()[name], _signature()) for name in ("add", "calls", "loops", "atomics")}
