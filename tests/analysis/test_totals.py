"""Sums over lines, arrays and the whole launch, against what the kernels' definitions give."""

from __future__ import annotations

import inspect
from typing import Any

import ml_dtypes
import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from sample_launches import count, matmul, row_sums, window_sums  # noqa: E402

from cutile_sim.analysis import GPUS, lines, summary  # noqa: E402
from cutile_sim.errors import UsageError  # noqa: E402
from cutile_sim.traces import LaunchTrace, trace  # noqa: E402

M, N, K = 50, 40, 72
TILES = 16, 32, 8
GRID = 4, 2


def product_of(dtype: Any = np.float32, **options: Any) -> LaunchTrace:
    a, b, c = np.ones((M, K), dtype), np.ones((K, N), dtype), np.zeros((M, N), dtype)
    return trace(matmul, GRID, a, b, c, *TILES, **options).launches[0]


def line_of(kernel: Any, text: str) -> int:
    source, first = inspect.getsourcelines(kernel._pyfunc)
    return next(first + n for n, line in enumerate(source) if text in line)


def test_lines_of_a_matrix_product() -> None:
    launch = product_of(blocks=((0, 0),))  # what is counted is of the whole launch
    by_line = {line.line: line for line in lines(launch)}
    steps = K // TILES[2]
    load, mma, store = (by_line[line_of(matmul, text)] for text in ("ct.load(a", "ct.mma", "ct.store"))
    assert load.executions == mma.executions == 8 * steps and store.executions == 8
    assert load.bytes_loaded == 4 * M * K * GRID[1] and load.bytes_stored == 0
    assert store.bytes_stored == 4 * M * N
    assert mma.flops == 8 * steps * 2 * 16 * 32 * 8
    assert sum(line.share for line in by_line.values()) == pytest.approx(1)
    assert sum(line.operations for line in by_line.values()) == int(launch.counts["blocks"].sum())
    assert [line.line for line in lines(launch)][:-1] == sorted(line.line for line in by_line.values() if line.line)
    assert load.file.endswith("sample_launches.py")


def test_traffic_of_a_matrix_product() -> None:
    found = summary(product_of())
    a, b, c = found.arrays
    assert (a.loaded_bytes, a.distinct_loaded_bytes, a.reuse) == (4 * M * K * 2, 4 * M * K, 2)
    assert (b.loaded_bytes, b.distinct_loaded_bytes, b.reuse) == (4 * K * N * 4, 4 * K * N, 4)
    assert (c.stored_bytes, c.distinct_written_bytes, c.loaded_bytes, c.reuse) == (4 * M * N, 4 * M * N, 0, 0)
    moved = 4 * (M * K * 2 + K * N * 4 + M * N)
    flops = 8 * 9 * 2 * 16 * 32 * 8
    assert found.flops == flops and found.blocks == 8
    assert found.bytes_loaded + found.bytes_stored == moved
    assert found.intensity == flops / moved
    assert found.distinct_intensity == flops / (4 * (M * K + K * N + M * N))
    assert not found.is_partial and found.roofline is None


def test_lanes_outside_the_arrays() -> None:
    load_a, load_b, store = summary(product_of()).waste
    steps = K // TILES[2]
    assert (load_a.tile, load_a.lanes) == ((16, 8), 8 * steps * 16 * 8)
    assert load_a.idle_lanes == load_a.lanes - M * K * 2
    assert load_b.idle_lanes == 8 * steps * 8 * 32 - K * N * 4
    assert store.kind == "store" and store.share == 1 - M * N / (8 * 16 * 32)


def test_updates_and_gathers() -> None:
    x = np.random.default_rng(2).integers(0, 8, 64).astype(np.int32)
    launch = trace(count, 4, x, np.zeros(16, np.int32), 16).launches[0]
    bins = summary(launch).arrays[1]
    assert (bins.updated_bytes, bins.loaded_bytes, bins.stored_bytes) == (4 * 64, 0, 0)
    assert bins.distinct_written_bytes == 4 * len(set(x.tolist()))
    launch = trace(window_sums, 8, np.ones(70, np.float32), np.zeros(64, np.float32), 8, 5).launches[0]
    gathered = summary(launch).arrays[0]
    assert (gathered.loaded_bytes, gathered.distinct_loaded_bytes) == (4 * 64 * 5, 4 * 68)


@pytest.mark.parametrize(
    "options", [{"blocks": ((0, 0),)}, {"kinds": ("store",)}, {"names": ("a",)}, {"lines": (3,)}, {"every": 2}]
)
def test_what_was_left_out_is_said(options: dict[str, Any]) -> None:
    assert summary(product_of(**options)).is_partial


def test_which_accesses_may_use_tma() -> None:
    a, b, c = summary(product_of()).tma
    assert (a.array, a.may, a.reasons, a.copies) == ("a", True, (), 1)  # rows of 288 bytes
    assert b.may and c.may  # rows of 160 bytes
    x, y, z = (np.ones(shape, np.float32) for shape in ((16, 6), (6, 2), (16, 2)))
    narrow = trace(matmul, (1, 1), x, y, z, 16, 2, 8)
    a, b, c = summary(narrow.launches[0]).tma
    assert a.reasons == ("axis 0 has a stride of 24 bytes, not a multiple of 16",)
    assert set(b.reasons) == {
        "axis 0 has a stride of 8 bytes, not a multiple of 16",
        "the tile has 8 bytes along the contiguous axis, not a multiple of 16",
    }
    assert not (a.may or b.may or c.may) and a.copies == 0


def test_tma_of_other_accesses() -> None:
    sums = trace(row_sums, 2, np.ones((4, 1024), np.float32)[::2], np.zeros(2, np.float32), 1024).launches[0]
    x, y = summary(sums).tma
    assert (x.may, x.copies) == (True, 4)  # rows of 1024 elements, 256 a copy
    assert y.reasons == ("the tile has 4 bytes along the contiguous axis, not a multiple of 16",)
    strided = trace(row_sums, 4, np.ones((4, 256), np.float32)[:, ::2], np.zeros(4, np.float32), 128).launches[0]
    assert summary(strided).tma[0].reasons[0] == "no axis is contiguous"
    launch = trace(window_sums, 8, np.ones(70, np.float32), np.zeros(64, np.float32), 8, 5).launches[0]
    assert summary(launch).tma[0].reasons == ("its lanes are gathered or scattered, not a tile of an array",)
    updates = trace(count, 1, np.zeros(16, np.int32), np.zeros(16, np.int32), 16).launches[0]
    assert summary(updates).tma[1].reasons == ("it is an atomic update",)


def test_roofline() -> None:
    flops = 8 * 9 * 2 * 16 * 32 * 8
    half = summary(product_of(ml_dtypes.bfloat16), gpu="h200").roofline
    assert half is not None and half.gpu == "H200 SXM"
    assert half.matrix_s == pytest.approx(flops / 989.4e12)
    assert half.memory_s == pytest.approx(2 * (M * K + K * N + M * N) / 4.8e12)
    assert half.uncached_s == pytest.approx(2 * (M * K * 2 + K * N * 4 + M * N) / 4.8e12)
    assert half.at_least_s == max(half.matrix_s, half.memory_s) and half.bound == "memory"
    assert half.ridge_flops_per_byte == pytest.approx(989.4 / 4.8)
    whole = summary(product_of(), gpu="A100").roofline
    assert whole is not None and whole.matrix_s == 0
    assert whole.vector_s == pytest.approx(flops / 19.5e12)


def test_a_gpu_that_is_not_known() -> None:
    with pytest.raises(UsageError, match="there are no rates of a GPU 'TPU'; there are A100 SXM 80GB, H100 SXM"):
        summary(product_of(), gpu="TPU")


def test_every_gpu_has_what_an_estimate_needs() -> None:
    for gpu in GPUS.values():
        assert gpu.bytes_per_s > 1e11 and gpu.vector_flops_per_s["f32"] > 1e13 and gpu.source
        assert gpu.matrix_flops_per_s["bf16"] > gpu.vector_flops_per_s["f32"] > gpu.vector_flops_per_s["f64"]
