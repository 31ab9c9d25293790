"""What is recorded is what the definitions of tile and gather say, block by block."""

from __future__ import annotations

from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from traced_kernels import count, matmul, overrun, pick  # noqa: E402

from cutile_sim.errors import OutOfBoundsError, UsageError  # noqa: E402
from cutile_sim.traces import LaunchTrace, load_trace, trace  # noqa: E402


@ct.kernel
def row_sums(x, y, WIDTH: ct.Constant[int]):
    row = ct.load(x, (ct.bid(0), 0), (1, WIDTH))
    if ct.bid(0) % 2 == 0:
        ct.store(y, (ct.bid(0),), ct.sum(row, axis=1))


@ct.kernel
def touches_none(x, y):
    ct.store(y, (ct.bid(0),), ct.zeros((1,), ct.float32))


def touched(launch: LaunchTrace, **filters: Any) -> Counter[tuple[Any, ...]]:
    """(kind, array, block, element) of everything that was touched, one by one."""
    found: Counter[tuple[Any, ...]] = Counter()
    for record in launch.records(**filters):
        for access in record.accesses:
            for which, block in enumerate(record.group.blocks):
                if access.takes_part(which):
                    for element in access.elements(which).ravel():
                        found[record.kind, access.array.name, tuple(block.tolist()), int(element)] += 1
    return found


def cut(i: int, tile: int, size: int) -> range:
    return range(i * tile, min((i + 1) * tile, size))


@pytest.mark.parametrize("shape", [(64, 64, 64), (50, 40, 70)])
@pytest.mark.parametrize("transposed", [False, True])
def test_tiles_of_a_matrix_product(shape: tuple[int, int, int], transposed: bool) -> None:
    m, n, k = shape
    tm, tn, tk = 16, 32, 16
    a = np.ones((k, m), np.float32).T if transposed else np.ones((m, k), np.float32)
    b, c = np.ones((k, n), np.float32), np.zeros((m, n), np.float32)
    grid = (-(-m // tm), -(-n // tn))
    launch = trace(matmul, grid, a, b, c, tm, tn, tk).launches[0]
    strides = {name: tuple(s // 4 for s in v.strides) for name, v in (("a", a), ("b", b), ("c", c))}
    want: Counter[tuple[Any, ...]] = Counter()
    for i in range(grid[0]):
        for j in range(grid[1]):
            for step in range(-(-k // tk)):
                for row in cut(i, tm, m):
                    for col in cut(step, tk, k):
                        want["load", "a", (i, j, 0), row * strides["a"][0] + col * strides["a"][1]] += 1
                for row in cut(step, tk, k):
                    for col in cut(j, tn, n):
                        want["load", "b", (i, j, 0), row * strides["b"][0] + col] += 1
            for row in cut(i, tm, m):
                for col in cut(j, tn, n):
                    want["store", "c", (i, j, 0), row * n + col] += 1
    assert touched(launch) == want
    assert launch.grid == (*grid, 1)
    np.testing.assert_array_equal(c, k)


def test_boxes_are_in_the_arrays_own_axes() -> None:
    a = np.ones((24, 32), np.float32).T
    launch = trace(matmul, (2, 1), a, np.ones((24, 16), np.float32), np.zeros((32, 16), np.float32), 16, 16, 16)
    boxes = [b for r in launch.launches[0].records(names=("a",)) for b in r.boxes()]
    assert {(block, box) for block, _, box in boxes} == {
        ((i, 0, 0), ((16 * i, 16 * i + 16), cols)) for i in range(2) for cols in ((0, 16), (16, 24))
    }


def test_gathered_and_scattered_lanes() -> None:
    rng = np.random.default_rng(1)
    index = rng.integers(-5, 25, 64).astype(np.int32)  # some outside: masked off
    x, y = np.arange(20, dtype=np.float32), np.full(64, -1, np.float32)
    launch = trace(pick, 4, x, index, y, 16).launches[0]
    want: Counter[tuple[Any, ...]] = Counter()
    for at, i in enumerate(index.tolist()):
        block = (at // 16, 0, 0)
        want["load", "index", block, at] += 1
        want["store", "y", block, at] += 1
        if 0 <= i < 20:
            want["load", "x", block, i] += 1
    assert touched(launch) == want


def test_atomic_updates() -> None:
    x = np.random.default_rng(2).integers(0, 8, 64).astype(np.int32)
    launch = trace(count, 4, x, np.zeros(8, np.int32), 16).launches[0]
    want = Counter(("atomic", "bins", (at // 16, 0, 0), int(v)) for at, v in enumerate(x))
    assert touched(launch, kinds=("atomic",)) == want


def test_blocks_that_part() -> None:
    x, y = np.ones((6, 16), np.float32), np.zeros(6, np.float32)
    launch = trace(row_sums, 6, x, y, 16).launches[0]
    assert touched(launch, kinds=("store",)) == Counter({("store", "y", (i, 0, 0), i): 1 for i in (0, 2, 4)})
    reduced = list(launch.records(kinds=("reduce",)))
    assert sorted(b[0] for r in reduced for b in r.group.blocks.tolist()) == [0, 2, 4]


@pytest.mark.parametrize("blocks", [((1, 2),), ("0:2,1",), (":,0", (3, 3)), (3,)])
def test_only_some_blocks(blocks: Any) -> None:
    a, b, c = (np.ones((64, 64), np.float32) for _ in range(3))
    whole = touched(trace(matmul, (4, 4), a, b, c, 16, 16, 16).launches[0])
    some = touched(trace(matmul, (4, 4), a, b, c, 16, 16, 16, blocks=blocks).launches[0])
    wanted = {
        ((1, 2),): {(1, 2)},
        ("0:2,1",): {(0, 1), (1, 1)},
        (":,0", (3, 3)): {(0, 0), (1, 0), (2, 0), (3, 0), (3, 3)},
        (3,): {(3, y) for y in range(4)},
    }[blocks]
    assert some == Counter({k: n for k, n in whole.items() if k[2][:2] in wanted})


def test_every_other_block_of_lanes() -> None:
    index = np.random.default_rng(1).integers(0, 20, 64).astype(np.int32)
    args = np.arange(20, dtype=np.float32), index, np.zeros(64, np.float32), 16
    whole = touched(trace(pick, 4, *args).launches[0])
    launch = trace(pick, 4, *args, every=2, values=True).launches[0]
    assert touched(launch) == Counter({k: n for k, n in whole.items() if k[2][0] % 2 == 0})
    (load,) = launch.records(names=("x",))
    np.testing.assert_array_equal(load.value((2, 0, 0)), index[32:48])
    with pytest.raises(UsageError, match=r"\(1, 0, 0\) is not among those"):
        load.value((1, 0, 0))


def test_filters_by_line_array_and_kind() -> None:
    a, b, c = (np.ones((32, 32), np.float32) for _ in range(3))
    traced = trace(matmul, (2, 2), a, b, c, 16, 16, 16)
    line = next(r.op.location.line for r in traced.launches[0].records(kinds=("store",)))
    for filters in (
        {"lines": (line,)},
        {"names": ("c",)},
        {"kinds": ("store",)},
        {"lines": (f"traced_kernels.py:{line}",)},
    ):
        only = trace(matmul, (2, 2), a, b, c, 16, 16, 16, **filters).launches[0]
        want = touched(traced.launches[0], **filters)
        assert touched(only) == want
        assert {k[:2] for k in want} == {("store", "c")}
    assert not touched(traced.launches[0], lines=(f"other.py:{line}",))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_values_of_operands_and_results(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, (32, 32)).astype(dtype) for _ in range(2))
    c = np.zeros((32, 32), dtype)
    launch = trace(matmul, (2, 2), a, b, c, 16, 16, 16, values=True).launches[0]
    products = list(launch.records(kinds=("product",)))
    total = np.zeros((16, 16))
    for k, product in enumerate(products):
        left, right = a[16:, 16 * k : 16 * k + 16], b[16 * k : 16 * k + 16, :16]
        np.testing.assert_array_equal(product.value((1, 0, 0), operand=0), left)
        np.testing.assert_array_equal(product.value((1, 0, 0), operand=1), right)
        assert product.value((1, 0, 0), operand=0).dtype == np.dtype(dtype)
        total = total + left.astype(np.float64) @ right.astype(np.float64)
        np.testing.assert_array_equal(product.value((1, 0, 0)), total)
    (store,) = launch.records(kinds=("store",))
    np.testing.assert_array_equal(store.value((0, 1, 0)), c[:16, 16:])


@pytest.mark.parametrize(
    "dtype",
    [
        np.bool_, np.int8, np.uint16, np.int64, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
    ],
)  # fmt: skip
def test_contents_of_every_type(dtype: Any) -> None:
    x = np.random.default_rng(4).integers(0, 2, (3, 5)).astype(dtype)
    y = np.zeros(3, np.float32)
    launch = trace(touches_none, 1, x[:, ::2], y, contents=True).launches[0]
    got = launch.contents("x", "before")
    assert got is not None and got.dtype == x.dtype
    np.testing.assert_array_equal(got, x[:, ::2])


def test_contents_before_and_after() -> None:
    x, bins = np.array([1, 1, 2, 3], np.int32), np.zeros(4, np.int32)
    launch = trace(count, 1, x, bins, 4, contents=True).launches[0]
    np.testing.assert_array_equal(launch.contents("bins", "before"), [0, 0, 0, 0])
    np.testing.assert_array_equal(launch.contents("bins"), [0, 2, 1, 1])
    assert trace(count, 1, x, bins, 4).launches[0].contents("bins") is None


def test_a_launch_that_fails_is_recorded_to_its_end(tmp_path) -> None:
    path = tmp_path / "x.ctrace"
    with pytest.raises(OutOfBoundsError):
        trace(overrun, 4, np.arange(16, dtype=np.float32), to=path)
    with load_trace(path) as found:
        (launch,) = found.launches
        assert launch.error is not None and launch.error["block"] == [3, 0, 0]
        assert launch.error["line"] == next(r.op.location.line for r in launch.records(kinds=("store",)))


def test_counts_are_of_all_blocks() -> None:
    a, b, c = (np.ones((64, 64), np.float32) for _ in range(3))
    launch = trace(matmul, (4, 4), a, b, c, 16, 16, 16, blocks=((0, 0),)).launches[0]
    blocks = {op.name: int(launch.counts["blocks"][op.number]) for op in launch.ops}
    stored = {op.name: int(launch.counts["bytes_stored"][op.number]) for op in launch.ops}
    flops = {op.name: op.flops for op in launch.ops}
    assert blocks["mmaf"] == 16 * 4
    assert blocks["make_partition_view"] == 16  # though it is made once, for all
    assert stored["store_view_tko"] == c.nbytes
    assert flops["mmaf"] * blocks["mmaf"] == 2 * 64**3
