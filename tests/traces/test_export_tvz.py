"""TileLens opens our traces: what its server says of them is what NumPy says."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tilelens_page import Page, box, lit

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

import traced_kernels  # noqa: E402
from traced_kernels import copy, matmul  # noqa: E402


@ct.kernel
def pick(x, index, y, TILE: ct.Constant[int]):
    at = ct.load(index, (ct.bid(0),), (TILE,))
    ct.scatter(y, at, ct.gather(x, at))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(shown: Callable[..., Page], dtype: Any, transposed: bool) -> None:
    rng = np.random.default_rng(0)
    m, n, k, tile = 40, 24, 36, 16
    a = rng.integers(-4, 5, (k, m)).astype(dtype).T if transposed else rng.integers(-4, 5, (m, k)).astype(dtype)
    b, c = rng.integers(-4, 5, (k, n)).astype(dtype), np.zeros((m, n), np.float32)
    page = shown(matmul, (3, 2), a, b, c, tile, tile, tile)
    assert page.client.get("/").status_code == 200
    grids = [record.idx for record in page.launches[0].records if type(record).__name__ == "Grid"]
    assert grids == [(i, j, 0) for j in range(2) for i in range(3)]
    assert sorted(page.ops) == sorted(map(str, grids))
    wide = {"a": a.astype(np.float32), "b": b.astype(np.float32), "c": c}
    np.testing.assert_array_equal(c, wide["a"] @ wide["b"])
    for i in range(3):
        for j in range(2):
            ops = page.block(i, j, 0)
            assert [op["type"] for op in ops] == ["Load", "Load", "Dot"] * 3 + ["Store"]
            assert [op["time_idx"] for op in ops] == list(range(10))
            rows, cols = (16 * i, min(16 * i + 16, m)), (16 * j, min(16 * j + 16, n))
            total = np.zeros((tile, tile), np.float32)
            for step in range(3):
                inner = (16 * step, min(16 * step + 16, k))
                for op, name, spans in (
                    (ops[3 * step], "a", (rows, inner)),
                    (ops[3 * step + 1], "b", (inner, cols)),
                ):
                    reply = page.ask("getLoadTensor", uuid=op["uuid"])
                    np.testing.assert_array_equal(np.array(reply["values"]), wide[name])
                    assert reply["min"] == wide[name].min() and reply["max"] == wide[name].max()
                    np.testing.assert_array_equal(lit(reply), box(wide[name].shape, *spans))
                    assert op["slice_shape"] == [16, 16]
                    assert op["bytes"] == lit(reply).sum() * np.dtype(dtype).itemsize
                left, right = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float32)
                left[: rows[1] - rows[0], : inner[1] - inner[0]] = wide["a"][slice(*rows), slice(*inner)]
                right[: inner[1] - inner[0], : cols[1] - cols[0]] = wide["b"][slice(*inner), slice(*cols)]
                dot = ops[3 * step + 2]
                for route, want in (("getMatmulA", left), ("getMatmulB", right), ("getMatmulC", left @ right)):
                    reply = page.ask(route, uuid=dot["uuid"])
                    np.testing.assert_array_equal(np.array(reply["values"]), want)
                    assert (reply["min"], reply["max"], reply["shape"]) == (want.min(), want.max(), [16, 16])
                total += left @ right
            reply = page.ask("getLoadTensor", uuid=ops[-1]["uuid"])
            np.testing.assert_array_equal(np.array(reply["values"]), c)
            np.testing.assert_array_equal(lit(reply), box(c.shape, rows, cols))
            np.testing.assert_array_equal(
                total[: rows[1] - rows[0], : cols[1] - cols[0]], c[slice(*rows), slice(*cols)]
            )


def test_every_other_route(shown: Callable[..., Page]) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-4, 5, (32, 16)).astype(np.float32), rng.integers(-4, 5, (16, 32)).astype(np.float32)
    c = np.zeros((32, 32), np.float32)
    page = shown(matmul, (2, 2), a, b, c, 16, 16, 16)
    load, _, dot, store = page.block(1, 0, 0)
    left, right = a[16:], b[:, :16]
    assert page.ask("getValue", uuid=dot["uuid"], matrixName="A", row=2, col=3)["value"] == left[2, 3]
    assert page.ask("getValue", uuid=dot["uuid"], matrixName="B", row=4, col=5)["value"] == right[4, 5]
    for step in (0, 1, 7, 16):
        got = page.ask("getValue", uuid=dot["uuid"], matrixName="C", row=6, col=7, currentStep=step)["value"]
        assert got == left[6, :step] @ right[:step, 7]
    assert page.ask("getLoadValue", uuid=load["uuid"], x=5, y=20, z=0)["value"] == a[20, 5]
    for uuid, source, values in ((load["uuid"], "GLOBAL", a), (store["uuid"], "GLOBAL", c), (dot["uuid"], "B", right)):
        reply = page.ask("histogram", uuid=uuid, source=source, bins=8)
        counts, edges = np.histogram(values.astype(np.float64), bins=8)
        assert reply["counts"] == counts.tolist() and reply["edges"] == edges.tolist() and reply["n"] == values.size
        np.testing.assert_array_equal(
            np.load(io.BytesIO(page.ask("download_tensor", uuid=uuid, source=source))), values
        )
    both = zipfile.ZipFile(io.BytesIO(page.ask("download_tensor", uuid=dot["uuid"], sources=["A", "C"])))
    saved = [np.load(io.BytesIO(both.read(name))) for name in sorted(both.namelist())]
    np.testing.assert_array_equal(saved[0], left)
    np.testing.assert_array_equal(saved[1], left @ right)

    # All blocks: who loads which element of a, who stores which of c.
    for op, name, owners in (
        (load, "load", lambda row, col: [[row // 16, 0, 0], [row // 16, 1, 0]]),
        (store, "store", lambda row, col: [[row // 16, col // 16, 0]]),
    ):
        place = {"overall_key": op["overall_key"], "time_idx": op["time_idx"], "op_index": op["op_index"]}
        reply = page.ask("getLoadStoreAllPrograms", type=op["type"], **place)
        shape = a.shape if name == "load" else c.shape
        assert len(reply["coords"]) == np.prod(shape) and reply["shape"] == list(shape)
        for row, col, key in reply["coords"]:
            assert reply["subsets"][key] == owners(row, col)
        tiles = page.ask(f"{name}_overall", key=op["overall_key"], time_idx=op["time_idx"])["tiles"]
        assert len(tiles) == 4
        assert len(page.ask(f"{name}_overall", key=op["overall_key"])["tiles"]) == 4

    file = Path(traced_kernels.__file__).resolve()
    first = file.read_text(encoding="utf-8").splitlines().index("        acc = ct.mma(x, y, acc)") + 1
    code = page.ask("op_code", uuid=dot["uuid"], context=2)
    assert (code["filename"], code["highlight"], code["start"]) == (str(file), first, first - 2)
    assert page.ask("setop", uuid=store["uuid"])["uuid"] == store["uuid"]
    assert page.ask("op_code")["highlight"] == first + 1
    usage = page.client.get("/api/sbuf").json
    assert [point["usage"] for point in usage["timeline"]] == [16 * 16 * 4, 2 * 16 * 16 * 4, 16 * 16 * 4]
    assert page.analysis() == {
        "Grid Size": [2, 2, 1],
        "Total number of bytes loaded": 4 * 2 * 16 * 16 * 4,
        "Masked Load Ratio": 1.0,
        "Total number of bytes stored": c.nbytes,
        "Masked Store Ratio": 1.0,
        "Load": 8,
        "Dot": 4,
        "Store": 4,
    }


@pytest.mark.parametrize(
    "dtype", [np.float32, ml_dtypes.bfloat16, np.int16, np.uint64, ml_dtypes.float8_e5m2, np.bool_]
)
@pytest.mark.parametrize("step", [1, 3])
def test_gather_and_scatter_with_masked_and_negative_indices(shown: Callable[..., Page], dtype: Any, step: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 8, 20 * step).astype(dtype)[::step]
    y = np.zeros(30 * step, dtype)[::step]
    index = rng.permutation(np.arange(-12, 36)).astype(np.int32)
    page = shown(pick, 3, x, index, y, 16)
    tried = {"Load": 0, "Store": 0}
    used = {"Load": 0, "Store": 0}
    for block in range(3):
        at = index[16 * block : 16 * block + 16]
        loads = page.block(block, 0, 0, kind="Load")
        (store,) = page.block(block, 0, 0, kind="Store")
        assert [op["global_shape"] for op in loads] == [[48], [20]]
        for op, array in ((loads[1], x), (store, y)):
            reply = page.ask("getLoadTensor", uuid=op["uuid"])
            inside = at[(at >= 0) & (at < len(array))]
            want = np.zeros(array.shape, bool)
            want[inside] = True
            np.testing.assert_array_equal(lit(reply), want)
            np.testing.assert_array_equal(np.array(reply["values"], np.float64), array.astype(np.float64))
            assert op["bytes"] == len(inside) * array.itemsize
            used[op["type"]] += op["bytes"]
            tried[op["type"]] += 16 * array.itemsize
        # The lanes themselves, in the order of the tile.
        record = [r for r in page.launches[0].records if type(r).__name__ == "Store"][block]
        np.testing.assert_array_equal(record.masks, (at >= 0) & (at < len(y)))
        item = {2: 4 if dtype == np.int16 else 2}.get(x.itemsize, 4 if dtype == ml_dtypes.float8_e5m2 else x.itemsize)
        np.testing.assert_array_equal(record.offsets[record.masks], at[record.masks] * item)
    analysis = page.analysis()
    assert analysis["Total number of bytes stored"] == used["Store"]
    assert analysis["Masked Store Ratio"] == round(used["Store"] / tried["Store"], 3)
    assert analysis["Total number of bytes loaded"] == used["Load"] + index.nbytes


@pytest.mark.parametrize("view", ["rows", "columns", "transposed", "inner"])
def test_strided_arrays(shown: Callable[..., Page], view: str) -> None:
    base = np.arange(40 * 30, dtype=np.float32).reshape(40, 30)
    x = {"rows": base[::2], "columns": base[:, ::3], "transposed": base.T, "inner": base[5:25, 3:21]}[view]
    y = np.zeros_like(base)[: x.shape[0], : x.shape[1]] if view != "transposed" else np.zeros((40, 30), np.float32).T
    grid = (-(-x.shape[0] // 8), -(-x.shape[1] // 16))
    page = shown(copy, grid, x, y, 8, 16)
    np.testing.assert_array_equal(y, x)
    for i in range(grid[0]):
        for j in range(grid[1]):
            want = box(x.shape, (8 * i, 8 * i + 8), (16 * j, 16 * j + 16))
            for op in page.block(i, j, 0):
                reply = page.ask("getLoadTensor", uuid=op["uuid"])
                np.testing.assert_array_equal(np.array(reply["values"]), x)
                np.testing.assert_array_equal(lit(reply), want)


@pytest.mark.parametrize(
    ("options", "chosen"), [({"blocks": ("1,0:2",)}, {(1, 0), (1, 1)}), ({"every": 5}, {(0, 0), (2, 1)})]
)
def test_only_some_blocks(shown: Callable[..., Page], options: dict[str, Any], chosen: set[tuple[int, int]]) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-4, 5, (40, 16)).astype(np.float32), rng.integers(-4, 5, (16, 24)).astype(np.float32)
    page = shown(matmul, (3, 2), a, b, np.zeros((40, 24), np.float32), 16, 16, 16, **options)
    assert set(page.ops) == {str((i, j, 0)) for i, j in chosen}
    for i, j in chosen:
        load, _, dot, store = page.block(i, j, 0)
        rows, cols = (16 * i, min(16 * i + 16, 40)), (16 * j, min(16 * j + 16, 24))
        np.testing.assert_array_equal(lit(page.ask("getLoadTensor", uuid=load["uuid"])), box(a.shape, rows, (0, 16)))
        np.testing.assert_array_equal(lit(page.ask("getLoadTensor", uuid=store["uuid"])), box((40, 24), rows, cols))
        left = np.array(page.ask("getMatmulA", uuid=dot["uuid"])["values"])
        np.testing.assert_array_equal(left[: rows[1] - rows[0]], a[slice(*rows)])
