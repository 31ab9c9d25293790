"""TileLens: atomic updates, reductions, lists of arrays, several launches; what cannot be shown is refused or noted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tilelens_page import Page, lit

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from traced_kernels import copy, count, matmul, overrun  # noqa: E402

from cutile_sim import simulate  # noqa: E402
from cutile_sim.errors import OutOfBoundsError, UsageError  # noqa: E402
from cutile_sim.traces import export_tvz, load_trace, trace, tracing, write_tvz  # noqa: E402


@ct.kernel
def batched(a, b, c):
    x = ct.load(a, (0, 0, 0), (2, 16, 16))
    y = ct.load(b, (0, 0, 0), (2, 16, 16))
    ct.store(c, (0, 0, 0), ct.matmul(x, y))


@ct.kernel
def choose(xs, y, T: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(xs[i], (0,), (T,)))


@ct.kernel
def one_each(x, y):
    ct.scatter(y, ct.bid(0), ct.gather(x, ct.bid(0)))


@ct.kernel
def row_max(x, y, M: ct.Constant[int], N: ct.Constant[int]):
    ct.store(y, (ct.bid(0),), ct.max(ct.load(x, (ct.bid(0), 0), (M, N)), axis=1))


def test_lists_of_arrays(tmp_path: Path) -> None:
    xs = [np.full(16, n, np.float32) for n in range(3)]
    notes = write_tvz(trace(choose, 3, xs, np.zeros(48, np.float32), 16, contents=True), tmp_path / "x.tvz")
    assert notes == ("accesses to list of arrays were left out: it is no argument",)
    page = Page(tmp_path / "x.tvz")
    for block in range(3):
        (load,) = page.block(block, 0, 0, kind="Load")
        reply = page.ask("getLoadTensor", uuid=load["uuid"])
        assert reply["values"] == [block] * 16 and lit(reply).all()


def test_tiles_of_one_number(shown: Callable[..., Page]) -> None:
    page = shown(one_each, 3, np.arange(3, dtype=np.float32), np.zeros(3, np.float32))
    for block in range(3):
        for op in page.block(block, 0, 0):
            reply = page.ask("getLoadTensor", uuid=op["uuid"])
            assert op["slice_shape"] == [1] and np.flatnonzero(lit(reply)).tolist() == [block]


def test_products_of_batches_are_one_each(shown: Callable[..., Page]) -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, (2, 16, 16)).astype(np.float16) for _ in range(2))
    page = shown(batched, 1, a, b, np.zeros((2, 16, 16), np.float16))
    dots = page.block(0, 0, 0, kind="Dot")
    assert len(dots) == 2
    for which, op in enumerate(dots):
        want = a[which].astype(np.float32) @ b[which].astype(np.float32)
        np.testing.assert_array_equal(np.array(page.ask("getMatmulC", uuid=op["uuid"])["values"]), want)


def test_atomic_updates_are_loads_and_stores(shown: Callable[..., Page]) -> None:
    x = np.random.default_rng(4).integers(0, 8, 32).astype(np.int32)
    page = shown(count, 2, x, np.zeros(8, np.int32), 16)
    for block in range(2):
        ops = page.block(block, 0, 0)
        assert [op["type"] for op in ops] == ["Load", "Load", "Store"]
        for op in ops[1:]:
            np.testing.assert_array_equal(
                lit(page.ask("getLoadTensor", uuid=op["uuid"])), np.isin(np.arange(8), x[16 * block : 16 * block + 16])
            )


def test_reductions(shown: Callable[..., Page]) -> None:
    page = shown(row_max, 2, np.ones((8, 8), np.float32), np.zeros(8, np.float32), 4, 8)
    found = [r for r in page.launches[0].records if type(r).__name__.startswith("Reduce")]
    assert [(type(r).__name__, r.input_shape, r.index, r.output_shape) for r in found] == [
        ("ReduceMax", (4, 8), 1, (4,))
    ] * 2
    assert page.analysis()["Reduce"] == 2
    assert found[0].call_path[-1].line_of_code.strip().startswith("ct.store(y, (ct.bid(0),), ct.max(")


def test_a_launch_that_failed(tmp_path: Path) -> None:
    with pytest.raises(OutOfBoundsError):
        trace(overrun, 4, np.arange(16, dtype=np.float32), to=tmp_path / "x.ctrace", values=True, contents=True)
    with load_trace(tmp_path / "x.ctrace") as found:
        assert write_tvz(found, tmp_path / "x.tvz") == ()
    page = Page(tmp_path / "x.tvz")
    (store,) = page.block(3, 0, 0, kind="Store")
    np.testing.assert_array_equal(np.flatnonzero(lit(page.ask("getLoadTensor", uuid=store["uuid"]))), [13, 14, 15])
    record = [r for r in page.launches[0].records if type(r).__name__ == "Store"][-1]
    assert record.offsets.tolist() == [13 * 4, 14 * 4, 15 * 4, 16 * 4] and record.masks.all()


def test_numbers_that_are_not_finite_are_noted(tmp_path: Path) -> None:
    x = np.array([[1, np.nan], [np.inf, 4]], np.float32)
    notes = write_tvz(trace(copy, 1, x, np.zeros_like(x), 2, 2, contents=True), tmp_path / "x.tvz")
    assert [note.partition(" numbers")[0] for note in notes] == ["x: 2", "y: 2"]
    page = Page(tmp_path / "x.tvz")
    reply = page.ask("getLoadTensor", uuid=page.block(0, 0, 0)[0]["uuid"])
    assert reply["values"] == [[1, 0], [0, 4]] and lit(reply).all()


def test_several_launches(tmp_path: Path) -> None:
    x, y = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
    with tracing(tmp_path / "x.ctrace", contents=True):
        simulate(copy, (2, 2), x, y, 2, 2)
        simulate(copy, (1, 1), x, y, 4, 4)
    with load_trace(tmp_path / "x.ctrace") as found:
        assert write_tvz(found, tmp_path / "x.tvz") == ("TileLens shows the last of 2 launches",)
        page = Page(tmp_path / "x.tvz")
        assert [launch.grid for launch in page.launches] == [(2, 2, 1), (1, 1, 1)]
        assert list(page.ops) == ["(0, 0, 0)"]
        assert write_tvz(found, tmp_path / "x.tvz", launches=(0,)) == ()
        assert len(Page(tmp_path / "x.tvz").ops) == 4
        with pytest.raises(UsageError, match="has no launch 2; it has 0, 1"):
            write_tvz(found, tmp_path / "y.tvz", launches=(2,))


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    args = *(np.ones((16, 16), np.float32) for _ in range(3)), 16, 16, 16
    with pytest.raises(UsageError, match=r"record it with contents=True \(--contents\) and values=True"):
        write_tvz(trace(matmul, 1, *args), tmp_path / "x.tvz")
    with pytest.raises(UsageError, match=r"record it with values=True \(--values\)$"):
        write_tvz(trace(matmul, 1, *args, contents=True), tmp_path / "x.tvz")
    whole = trace(matmul, 1, *args, contents=True, values=True)
    with pytest.raises(UsageError, match="cannot write"):
        write_tvz(whole, tmp_path / "none" / "x.tvz")
    monkeypatch.setattr(export_tvz, "MOST_LANES", 1000)
    with pytest.raises(UsageError, match="record fewer of its 1 blocks, such as --block 0:4,0:4"):
        write_tvz(whole, tmp_path / "x.tvz")
    assert not list(tmp_path.glob("*.tvz"))
