"""Kernels whose parameters are annotated in every way. None is launched here, so most have nothing to do."""

from __future__ import annotations

from typing import Annotated, Any

import cuda.tile as ct


@ct.kernel
def nothing():
    pass


@ct.kernel
def one(x):
    pass


@ct.kernel
def two(x, y):
    pass


@ct.kernel
def constant(x: ct.Constant):
    pass


@ct.kernel
def wide_scalar(x: ct.ScalarInt64):
    pass


@ct.kernel
def wide_index(x: ct.IndexedWithInt64[Any]):
    pass


@ct.kernel
def static_shape(x: Annotated[ct.Array, ct.ArrayAnnotation(static_shape_dims=(0, -1))]):
    pass


@ct.kernel
def static_stride(x: Annotated[ct.Array, ct.ArrayAnnotation(static_stride_dims=(0,))]):
    pass


@ct.kernel
def wide_list(
    x: Annotated[list, ct.ListAnnotation(element=ct.ArrayAnnotation(index_dtype=ct.int64, static_shape_dims=(0,)))],
):
    pass


@ct.kernel
def pair(x: tuple[int, ct.Constant[int]]):
    pass


@ct.kernel
def constants(x: tuple[ct.Constant[int], ...]):
    pass


@ct.kernel
def nested(x: tuple[ct.IndexedWithInt64[Any], tuple[ct.ScalarInt64, int]]):
    pass


@ct.kernel
def add(x, items, pair, scale, n: ct.ScalarInt64, size: ct.Constant[int]):
    """Uses every kind of parameter, so that its bytecode shows how each is passed."""
    i = ct.bid(0)
    tile = ct.load(x, (i,), (size,)) * scale + n
    if pair[1]:
        tile = tile + ct.load(items[0], (i,), (size,)) + ct.load(pair[0], (0, i), (1, size)).reshape((size,))
    ct.store(x, (i,), tile)


def broken_helper(tile):
    return tile.no_such_attribute


@ct.kernel
def broken(x):
    tile = ct.load(x, (0,), (4,))
    ct.store(x, (0,), broken_helper(tile))


@ct.kernel
def needs_newer_gpu(x):
    tile = ct.load(x, (0,), (16,))
    ct.store(x, (0,), (tile.astype(ct.float8_e4m3fn)).astype(ct.float32))
