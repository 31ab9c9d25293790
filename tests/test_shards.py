"""Launches cut into shards: the results are those of one launch, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from cutile_sim import simulate
from cutile_sim.engine.plan import make_plan
from cutile_sim.errors import OutOfBoundsError, UsageError
from cutile_sim.shards import cut

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")
Int = ct.Constant[int]


@ct.kernel
def scale(x, y, n: Int):
    i = ct.bid(0)
    ct.store(y, (i, ct.bid(1)), 2.0 * ct.load(x, (i, ct.bid(1)), (1, n)))
    ct.printf("%d,%d;", i, ct.bid(1))


@ct.kernel
def count(x, bins, n: Int):
    ct.atomic_add(bins, ct.load(x, (ct.bid(0),), (n,)), 2)


@ct.kernel
def extremes(x, best, n: Int):
    tile = ct.load(x, (ct.bid(0),), (n,))
    ct.atomic_max(best, tile % 4, tile)


@ct.kernel
def add_floats(x, total, n: Int):
    ct.atomic_add(total, 0, ct.sum(ct.load(x, (ct.bid(0),), (n,))))


@ct.kernel
def all_store_first(x):
    ct.store(x, (0,), ct.bid(0))


@ct.kernel
def store_lists(arrays, n: Int):
    for k in range(len(arrays)):
        i = ct.bid(0)
        ct.scatter(arrays[k], i * n + ct.arange(n, dtype=ct.int32), i + k + ct.zeros((n,), ct.int32))


@ct.kernel
def overrun(x, n: Int):
    i = ct.bid(0)
    ct.scatter(x, 3 * i + ct.arange(n, dtype=ct.int32), i + ct.zeros((n,), ct.int32), check_bounds=False)


@ct.kernel
def count_again(values, bins, n: Int):
    ct.atomic_add(bins, ct.load(values, (ct.bid(0),), (n,)), 1)


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def check_all(executor: Any) -> None:
    x = np.arange(3 * 50, dtype=np.float32).reshape(3, 50)
    wide = np.full((3, 60), -1, np.float32)
    y = wide[:, 5:55]
    result = simulate(scale, (3, 4), x, y, 16, executor=executor, workers=2, echo=False)
    np.testing.assert_array_equal(y, 2 * x)
    assert (wide[:, :5] == -1).all() and (wide[:, 55:] == -1).all()
    assert result.printed == "".join(f"{i},{j};" for j in range(4) for i in range(3))
    assert (result.blocks, result.written) == (12, ("y",))
    values = np.random.default_rng(1).integers(0, 8, 64).astype(np.int32)
    bins = np.full(8, 100, np.int32)
    simulate(count, 8, values, bins, 8, executor=executor, workers=3)
    np.testing.assert_array_equal(bins, 100 + 2 * np.bincount(values, minlength=8))
    best = np.array([0, 90, 0, 90], np.int32)
    simulate(extremes, 8, values, best, 8, executor=executor, workers=2)
    np.testing.assert_array_equal(best, [values[values % 4 == k].max(initial=v) for k, v in enumerate((0, 90, 0, 90))])


def test_results_are_those_of_one_launch(threads: ThreadPoolExecutor) -> None:
    check_all(threads)


def test_a_plan_is_made_once_a_process(threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def note(function: Any, **options: Any) -> Any:
        made.append(function.name)
        return make_plan(function, **options)

    monkeypatch.setattr("cutile_sim.launch.make_plan", note)
    for n in range(3):
        values, bins = np.arange(64, dtype=np.int32) % 8, np.full(8, n, np.int32)
        simulate(count_again, 8, values, bins, 8, executor=threads, workers=2)
        assert (bins == n + 8).all()
    # One here, to know the kernel; one where it runs, and one that notes what is written.
    assert made == ["count_again"] * 3


def test_on_processes() -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        check_all(pool)
        with pytest.raises(OutOfBoundsError, match="past its last") as caught:
            simulate(overrun, 8, np.zeros(10, np.int32), 4, executor=pool, workers=2)
        assert caught.value.block == (3, 0, 0)


def test_on_a_local_dask_cluster() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        check_all(client)


def test_lists_of_arrays(threads: ThreadPoolExecutor) -> None:
    arrays = [np.zeros(16, np.int32), np.zeros(16, np.int32)]
    with pytest.raises(UsageError, match="through pointers it computes"):
        simulate(store_lists, 4, arrays, 4, executor=threads, workers=2)


def test_what_has_no_one_result_is_refused(threads: ThreadPoolExecutor) -> None:
    with pytest.raises(UsageError, match="depends on the order of the blocks"):
        simulate(add_floats, 4, np.ones(16, np.float32), np.zeros(1, np.float32), 4, executor=threads, workers=2)
    x = np.full(1, 9, np.int32)
    with pytest.raises(UsageError, match="'x' cannot be put together"):
        simulate(all_store_first, 4, x, executor=threads, workers=2)
    assert x[0] == 9
    with pytest.raises(UsageError, match="cannot be watched"):
        simulate(all_store_first, 4, x, executor=threads, sanitize=True)


def test_the_fault_is_that_of_the_first_shard(threads: ThreadPoolExecutor) -> None:
    x = np.zeros(10, np.int32)
    with pytest.raises(OutOfBoundsError) as caught:
        simulate(overrun, 8, x, 4, executor=threads, workers=4)
    assert caught.value.block == (3, 0, 0)
    assert not x.any()


def test_cuts_cover_the_grid_in_launch_order() -> None:
    assert cut((5, 1, 1), 2) == [((0, 2), (0, 1), (0, 1)), ((2, 5), (0, 1), (0, 1))]
    assert cut((5, 2, 1), 4) == [((0, 5), (0, 1), (0, 1)), ((0, 5), (1, 2), (0, 1))]
    assert cut((1, 1, 1), 4) == [((0, 1), (0, 1), (0, 1))]
