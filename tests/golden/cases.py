"""Kernels that were run on an NVIDIA H200, with the inputs they had: what the GPU wrote lies in kernels.npz.

Recorded with cuda-tile 1.7.0 and tileiras 13.4 for sm_90. A key is case/argument, a value the raw bytes of every n-th
element, n = `sampling(size)`. Inputs are made anew from seeds. Cases without outputs in the file were not recorded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import cuda.tile as ct
import ml_dtypes
import numpy as np

TILE = 1024
MOST_RECORDED = 2048
PAD = ct.PaddingMode
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Case:
    """A launch. `outputs` are the arguments to compare; `determined` marks the elements to compare, None for all."""

    name: str
    kernel: Any
    grid: tuple[int, ...]
    inputs: Callable[[], list[Any]]
    outputs: tuple[int, ...]
    determined: Callable[[], np.ndarray] | None = None


def sampling(size: int) -> int:
    """Of an output with so many elements, every n-th is recorded: odd, so that pairs in a square are met evenly."""
    return 1 if size <= MOST_RECORDED else size // MOST_RECORDED | 1


def numpy_dtype(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name.rstrip("_"))


def special(name: str, n: int = 64) -> np.ndarray:
    """Values at a type's corners, repeated to fill `n`."""
    dtype = numpy_dtype(name)
    if name == "bool_":
        return np.resize(np.array([False, True]), n)
    if name in INTEGERS:
        info, bits = np.iinfo(dtype), dtype.itemsize * 8
        low, high = int(info.min), int(info.max)
        numbers = {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 127}
        numbers |= {high, high - 1, high // 2, low, low + 1}
        if low < 0:
            numbers |= {-1, -2, -3, -5, -7, -8, -16, -31, -32, -33, -100, low // 2}
        for b in range(4, bits - 1, 7):
            numbers |= {1 << b, (1 << b) - 1}
        return np.resize(np.array(sorted(x for x in numbers if low <= x <= high), dtype), n)
    info = ml_dtypes.finfo(dtype)
    tiny, least, big, eps = (float(x) for x in (info.tiny, info.smallest_subnormal, info.max, info.eps))
    reals = [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0, 0.1, -0.1, 0.3, 7.0, -7.0, 10.0,
        1 / 3, -1 / 3, 100.25, -100.75, 65504.0, 240.0, 448.0, 1e-3, -1e-3, 1 + eps, 1 - eps / 2, tiny, -tiny,
        tiny / 2, least, -least, 3 * least, big, -big, big / 2, np.pi, -np.e, 88.7, -88.7, 127.5, 128.5, 32767.5,
        2147483648.0, -2147483648.0, 4294967296.0, 9.3e18, -9.3e18,
    ]  # fmt: skip
    with np.errstate(all="ignore"):
        values = [np.array(reals).astype(dtype)]
        if name != "float8_e4m3fn":
            values.append(np.array([np.inf, -np.inf]).astype(dtype))
        values.append(np.array([np.nan, -np.nan]).astype(dtype))
    return np.resize(np.concatenate(values), n)


def every_value(name: str) -> np.ndarray:
    """Every value of an 8- or 16-bit type; 16,384 spread and special ones of a wider one."""
    dtype = numpy_dtype(name)
    if name == "bool_":
        return np.array([False, True] * 32)
    bits = dtype.itemsize * 8
    if bits <= 16:
        return np.arange(1 << bits, dtype=f"u{dtype.itemsize}").view(dtype)
    rng = np.random.default_rng(7)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    values = rng.integers(0, np.iinfo(unsigned).max, 65536, dtype=unsigned, endpoint=True).view(dtype).copy()
    corners = special(name)
    values[: corners.size] = corners
    if name in FLOATS:
        half = 32768
        with np.errstate(all="ignore"):
            spread = rng.standard_normal(half) * np.repeat([0.01, 1.0, 20.0, 300.0], half // 4)
            values[half:] = spread.astype(dtype)
    return np.concatenate([values[:64], values[64::4][:16320]])


def ramp(name: str, *shape: int) -> np.ndarray:
    return (np.arange(int(np.prod(shape))) % 120 + 1).astype(numpy_dtype(name)).reshape(shape)


def add(x, y):
    return x + y


def sub(x, y):
    return x - y


def mul(x, y):
    return x * y


def muladd(x, y):
    return x * y + x


def truediv(x, y):
    return x / y


def floordiv(x, y):
    return x // y


def mod(x, y):
    return x % y


def maximum(x, y):
    return ct.maximum(x, y)


def minimum(x, y):
    return ct.minimum(x, y)


def shl(x, y):
    return x << y


def shr(x, y):
    return x >> y


def binary_kernel(operation):
    @ct.kernel
    def kernel(x, y, z):
        i = ct.bid(0)
        ct.store(z, (i,), operation(ct.load(x, (i,), (TILE,)), ct.load(y, (i,), (TILE,))))

    return kernel


def operands(operation, name: str) -> list[np.ndarray]:
    corners = special(name)
    x, y = np.repeat(corners, 64), np.tile(corners, 64)
    if name in INTEGERS and operation in (floordiv, mod):
        y = np.where(y == 0, y.dtype.type(1), y)
        if name.startswith("int"):
            y = np.where((y == -1) & (x == np.iinfo(x.dtype).min), y.dtype.type(1), y)
    if operation in (shl, shr):
        y = np.tile(np.arange(64) % (x.dtype.itemsize * 8), 64).astype(x.dtype)
    return [x, y, np.zeros_like(x)]


def elementwise() -> Iterator[Case]:
    arithmetic, both = (add, sub, mul, maximum, minimum), (*INTEGERS, *FLOATS)
    rows = [(operation, both) for operation in arithmetic]
    rows += [(operation, INTEGERS) for operation in (floordiv, mod, shl, shr)]
    rows += [(operation, FLOATS) for operation in (muladd, truediv)]
    for operation, types in rows:
        kernel = binary_kernel(operation)
        for name in types:
            yield Case(f"{operation.__name__}-{name}", kernel, (4,), lambda o=operation, n=name: operands(o, n), (2,))


def cast_kernel(dtype):
    @ct.kernel
    def kernel(x, y):
        i = ct.bid(0)
        ct.store(y, (i,), ct.astype(ct.load(x, (i,), (256,)), dtype))

    return kernel


def casts() -> Iterator[Case]:
    """All values of the source; from floats to integers, the corners, also those out of range."""
    types = (*INTEGERS, *FLOATS, "float8_e4m3fn", "float8_e5m2", "bool_")
    kernels = {target: cast_kernel(getattr(ct, target)) for target in types}
    for source, target in itertools.permutations(types, 2):
        if source.startswith("float8") and target in INTEGERS:
            continue
        out_of_range = source in FLOATS and target in INTEGERS
        size = 256 if out_of_range else max(256, every_value(source).size)

        def inputs(source=source, target=target, size=size, corners=out_of_range) -> list[np.ndarray]:
            x = special(source, size) if corners else np.resize(every_value(source), size)
            return [x, np.zeros(size, numpy_dtype(target))]

        name = "out-of-range-" * out_of_range + f"{source}-to-{target}"
        yield Case(name, kernels[target], (size // 256,), inputs, (1,))


def load_kernel(tile: tuple[int, ...], order, padding):
    @ct.kernel
    def rank_1(x, y):
        i = ct.bid(0)
        ct.store(y, (i,), ct.load(x, (i,), tile, order=order, padding_mode=padding))

    @ct.kernel
    def rank_2(x, y):
        i, j = ct.bid(0), ct.bid(1)
        ct.store(y, (i, j), ct.load(x, (i, j), tile, order=order, padding_mode=padding))

    @ct.kernel
    def rank_3(x, y):
        i, j, k = ct.bid(0), ct.bid(1), ct.bid(2)
        ct.store(y, (i, j, k), ct.load(x, (i, j, k), tile, order=order, padding_mode=padding))

    return (rank_1, rank_2, rank_3)[len(tile) - 1]


def loads() -> Iterator[Case]:
    shapes = (((37,), (16,)), ((19, 45), (8, 16)), ((5, 6, 7), (2, 4, 8)))
    for name in ("float32", "bfloat16", "int32", "uint8"):
        for padding in ("ZERO", "NEG_ZERO", "NAN", "POS_INF", "NEG_INF", "UNDETERMINED"):
            if name in INTEGERS and padding not in ("ZERO", "UNDETERMINED"):
                continue
            for shape, tile in shapes:
                grid = tuple(-(-s // t) for s, t in zip(shape, tile, strict=True))
                whole = tuple(g * t for g, t in zip(grid, tile, strict=True))

                def inside(shape=shape, whole=whole) -> np.ndarray:
                    marks = np.zeros(whole, bool)
                    marks[tuple(slice(s) for s in shape)] = True
                    return marks

                yield Case(
                    f"load-{name}-{padding}-{len(shape)}d",
                    load_kernel(tile, "C", getattr(PAD, padding)),
                    grid,
                    lambda n=name, s=shape, w=whole: [ramp(n, *s), np.zeros(w, numpy_dtype(n))],
                    (1,),
                    determined=inside if padding == "UNDETERMINED" else None,
                )
    for order in ("F", (1, 0)):
        yield Case(
            f"load-order-{order}",
            load_kernel((8, 16), order, PAD.ZERO),
            (3, 3),
            lambda: [ramp("float32", 24, 40), np.zeros((48, 48), np.float32)],
            (1,),
        )
    views: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "transposed": lambda x: x.T,
        "strided": lambda x: x[:, ::2],
        "rows": lambda x: x[::2],
        "offset": lambda x: x[3:27, 5:37],
    }
    for name, view in views.items():

        def inputs(view=view) -> list[np.ndarray]:
            x = view(ramp("float32", 32, 64))
            return [x, np.zeros(tuple(-(-s // 8) * 8 for s in x.shape), np.float32)]

        grid = tuple(s // 8 for s in inputs()[1].shape)
        yield Case(f"load-{name}", load_kernel((8, 8), "C", PAD.ZERO), grid, inputs, (1,))


@ct.kernel
def overlapped(x, y):
    view = x.tiled_view((8,), padding_mode=PAD.ZERO, traversal_steps=(4,))
    i = ct.bid(0)
    ct.store(y, (i,), view.load((i,)))


@ct.kernel
def advanced(x, rows, y):
    at = ct.load(rows, (0,), (8,))
    ct.store(y, (0, 0), ct.load_advanced_indexing(x, (at, ct.Slice(4, 16)), padding_mode=PAD.ZERO))


@ct.kernel
def count_tiles(x, y):
    n = ct.num_tiles(x, 0, (8, 16)) * 1000 + ct.num_tiles(x, 1, (8, 16))
    ct.store(y, (0,), ct.full((2,), n, ct.int32))


def indexed() -> Iterator[Case]:
    rows = np.array([3, 1, 31, 0, 7, 7, 2, 30], np.int32)

    def zeros(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.float32)

    yield Case("advanced", advanced, (1,), lambda: [ramp("float32", 32, 32), rows, zeros(8, 16)], (2,))
    yield Case("overlapped", overlapped, (9,), lambda: [ramp("float32", 37), zeros(72)], (1,))
    yield Case("num-tiles", count_tiles, (1,), lambda: [ramp("float32", 19, 45), np.zeros(2, np.int32)], (1,))


def atomic_kernel(operation):
    @ct.kernel
    def kernel(y, where, v, old):
        i = ct.bid(0)
        ct.store(old, (i,), operation(y, ct.load(where, (i,), (32,)), ct.load(v, (i,), (32,))))

    return kernel


@ct.kernel
def swap(y, where, expected, desired, old):
    i = ct.bid(0)
    at, e = ct.load(where, (i,), (32,)), ct.load(expected, (i,), (32,))
    ct.store(old, (i,), ct.atomic_cas(y, at, e, ct.load(desired, (i,), (32,))))


@ct.kernel
def add_tiles(x, y):
    view = y.tiled_view((16,))
    view.atomic_store_add((ct.bid(0) % 2,), ct.load(x, (ct.bid(0),), (16,)))


def atomics() -> Iterator[Case]:
    rng = np.random.default_rng(5)
    distinct = (rng.permutation(80) - 8)[:64].astype(np.int32)
    for mode in ("add", "xchg", "max", "min", "and", "or", "xor"):
        types: tuple[str, ...] = ("int32", "uint32", "int64", "uint64")
        if mode in ("add", "xchg"):
            types += ("float32", "float64", *(("float16", "bfloat16") if mode == "add" else ()))
        kernel = atomic_kernel(getattr(ct, f"atomic_{mode}"))
        for name in types:
            v = rng.integers(0, 100, 64).astype(numpy_dtype(name))
            yield Case(
                f"atomic-{mode}-{name}",
                kernel,
                (2,),
                lambda n=name, v=v: [ramp(n, 64), distinct, v, np.zeros(64, numpy_dtype(n))],
                (0, 3),
            )
    for name in ("int32", "float32", "uint64", "float64"):

        def inputs(name=name) -> list[np.ndarray]:
            y = ramp(name, 64)
            e = y.copy()
            e[::3] = 0
            if name.startswith("float"):
                y[4], e[4] = 0.0, -0.0
                y[5] = e[5] = np.nan
            return [y, np.arange(64, dtype=np.int32), e, np.full(64, 77, y.dtype), np.zeros_like(y)]

        yield Case(f"atomic-cas-{name}", swap, (2,), inputs, (0, 4))
    yield Case("view-add", add_tiles, (8,), lambda: [ramp("float32", 128), np.zeros(32, np.float32)], (1,))


@ct.kernel
def loops(x, y, n):
    i = ct.bid(0)
    acc = ct.zeros((16,), ct.int32)
    k = 0
    while True:
        k += 1
        if k > n + i:
            break
        if k % 3 == 0:
            continue
        acc += k
    for j in range(0, n, 2):
        acc += j
        if j > 6:
            break
    ct.store(y, (i,), acc + ct.load(x, (i,), (16,)))


@ct.kernel
def ids(y):
    i, j, k = ct.bid(0), ct.bid(1), ct.bid(2)
    sizes = 1000 * ct.num_blocks(0) + 10000 * ct.num_blocks(1) + 100000 * ct.num_blocks(2)
    ct.store(y, (i, j, k), ct.full((1, 1, 1), i * 100 + j * 10 + k + sizes, ct.int32))


def control() -> Iterator[Case]:
    def zeros() -> np.ndarray:
        return np.zeros(128, np.int32)

    yield Case("loops", loops, (8,), lambda: [ramp("int32", 128), zeros(), 10], (1,))
    yield Case("ids", ids, (2, 3, 4), lambda: [np.zeros((2, 3, 4), np.int32)], (0,))


def cases() -> Iterator[Case]:
    for family in (elementwise, casts, loads, indexed, atomics, control):
        yield from family()
