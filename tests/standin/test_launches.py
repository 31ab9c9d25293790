"""A simulated launch: what it takes, what it refuses, in the words of the original."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cutile_sim import KernelError, OutOfBoundsError, UsageError
from cutile_sim.engine.observer import Observer
from cutile_sim.standin import launches

ct = pytest.importorskip("cuda.tile")
pytestmark = [pytest.mark.cutile, pytest.mark.usefixtures("installed")]

SIGNATURE = "launch(stream, grid, kernel, kernel_args, /, *, programmatic_dependent_launch=False)"


class OddStream:
    ptr = 3


@pytest.mark.parametrize("stream", [0, 7, True, OddStream(), SimpleNamespace(cuda_stream=1), SimpleNamespace(handle=2)])
def test_streams(kernels: Any, device_array: Any, stream: Any) -> None:
    x, y = device_array(range(32)), device_array(np.zeros(32))
    assert ct.launch(stream, (2,), kernels.increment, (x, y, 16)) is None
    np.testing.assert_array_equal(y.__cutile_sim_device_array__, np.arange(1, 33))


@pytest.mark.parametrize("grid", [(2,), (2, 1), (2, 1, 1), (True,)])
def test_grids(kernels: Any, device_array: Any, grid: Any) -> None:
    x, y = device_array(range(32)), device_array(np.zeros(32))
    ct.launch(0, grid, kernels.increment, (x, y, 16), programmatic_dependent_launch=True)
    assert (y.__cutile_sim_device_array__[:16] == np.arange(1, 17)).all()


def test_an_empty_grid_is_one_block(kernels: Any, device_array: Any) -> None:
    x, y = device_array(range(32)), device_array(np.zeros(32))
    ct.launch(0, (), kernels.increment, (x, y, 16))
    assert y.__cutile_sim_device_array__.tolist() == [*range(1, 17), *[0] * 16]


# These are refused by the original in the same words; it does so before it looks for a driver.
REFUSED_BEFORE_THE_DRIVER = [
    ((0, (1,)), TypeError, f"Wrong number of arguments to {SIGNATURE}"),
    ((None, (1,), "kernel", ()), TypeError, "Stream is required, got None"),
    (("s", (1,), "kernel", ()), TypeError, "Unsupported stream type 'str'."),
    ((0, [1], "kernel", ()), TypeError, "Grid must be a tuple"),
    ((0, 1, "kernel", ()), TypeError, "Grid must be a tuple"),
    ((0, (1, 1, 1, 1), "kernel", ()), ValueError, "Grid dimensions must be at most 3, got length 4"),
    ((0, (1.0,), "kernel", ()), TypeError, "an integer is required"),
    ((0, (np.int64(1),), "kernel", ()), TypeError, "an integer is required"),
    ((0, (-1,), "kernel", ()), OverflowError, "can't convert negative value to unsigned int"),
    ((0, (1, 2**32), "kernel", ()), ValueError, "Grid[1] value too big: 4294967296"),
    ((0, (2**64,), "kernel", ()), OverflowError, "Python int too large to convert to C unsigned long"),
    (
        (0, (2**24,), "kernel", ()),
        ValueError,
        "Grid[0] exceeds 24-bit limit: max=16777215, got=16777216. Use multiple kernel launches for larger workloads.",
    ),
    ((0, (1,), print, ()), TypeError, f"{SIGNATURE} expects a tile kernel as the third argument, got "),
    ((0, (1,), "kernel", [1]), TypeError, f"{SIGNATURE} expects a tuple as the fourth argument, got list"),
]


def _with_kernel(args: tuple[Any, ...], kernel: Any) -> tuple[Any, ...]:
    return tuple(kernel if isinstance(arg, str) and arg == "kernel" else arg for arg in args)


@pytest.mark.parametrize(("args", "error", "text"), REFUSED_BEFORE_THE_DRIVER)
def test_refused_as_by_the_original(kernels: Any, args: Any, error: type[Exception], text: str) -> None:
    from cutile_sim import uninstall
    from cutile_sim.standin import install

    args = _with_kernel(args, kernels.increment)
    with pytest.raises(error) as ours:
        ct.launch(*args)
    assert str(ours.value).startswith(text)
    uninstall()
    try:
        with pytest.raises(error) as theirs:
            ct.launch(*args)
    finally:
        install()
    assert str(theirs.value).startswith(text)


def test_keywords(kernels: Any, device_array: Any) -> None:
    args = (0, (1,), kernels.greet, (device_array([1]),))
    with pytest.raises(RuntimeError, match="Unexpected keyword argument stream_ordered"):
        ct.launch(*args, stream_ordered=True)
    with pytest.raises(TypeError, match="expected argument programmatic_dependent_launch to have type bool"):
        ct.launch(*args, programmatic_dependent_launch=1)


def test_grid_limits_of_the_driver(kernels: Any, device_array: Any) -> None:
    with pytest.raises(ValueError, match=r"Grid\[1\] is too big: max=65535, got=65536"):
        ct.launch(0, (1, 65536), kernels.greet, (device_array([1]),))
    with pytest.raises(RuntimeError, match=r"Failed to launch cuTile kernel.*\(2, 0, 1\)"):
        ct.launch(0, (2, 0), kernels.greet, (device_array([1]),))


def test_arguments_are_as_strict_as_on_a_gpu(kernels: Any, device_array: Any) -> None:
    x, y = device_array(range(32)), device_array(np.zeros(32))
    with pytest.raises(TypeError, match="Kernel expects 3 arguments but 2 were given"):
        ct.launch(0, (2,), kernels.increment, (x, y))
    with pytest.raises(TypeError, match="int64"):
        ct.launch(0, (2,), kernels.increment, (x, y, np.int64(16)))
    assert not y.__cutile_sim_device_array__.any()


def test_printed_text_and_faults(kernels: Any, device_array: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ct.launch(0, (3,), kernels.greet, (device_array([1]),))
    assert capsys.readouterr().out.split() == ["block", "0", "block", "1", "block", "2"]
    with pytest.raises(OutOfBoundsError, match="array 'x' of shape 64") as caught:
        ct.launch(0, (1,), kernels.store_past_the_end, (device_array(np.zeros(64)),))
    assert isinstance(caught.value, KernelError)
    inside = [frame for frame in caught.traceback if "cutile_sim" in str(frame.path) and "tests" not in str(frame.path)]
    assert len(inside) <= 1, "the frames of the engine are of no use to a program"


def test_a_compile_error_is_the_original(device_array: Any) -> None:
    @ct.kernel
    def wrong(x):
        ct.load(x, index=(0,), shape=(3,))

    with pytest.raises(ct.TileError, match="not a power of two"):
        ct.launch(0, (1,), wrong, (device_array(range(8)),))


def test_a_mistake_of_ours_says_so(kernels: Any, device_array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutile_sim import InternalError

    def broken(*args: Any, **kwargs: Any) -> None:
        raise KeyError("slot")

    monkeypatch.setattr(launches, "run_program", broken)
    with pytest.raises(InternalError, match=r"KeyError: 'slot' \(test_launches.py:\d+, in broken\).*report"):
        ct.launch(0, (1,), kernels.greet, (device_array([1]),))


def test_read_only_memory_is_refused(kernels: Any, device_array: Any) -> None:
    from cutile_sim import ReadOnlyError

    x, y = device_array(range(32)), device_array(np.zeros(32))
    y.__cutile_sim_device_array__.flags.writeable = False
    with pytest.raises(ReadOnlyError):
        ct.launch(0, (2,), kernels.increment, (x, y, 16))


def test_threads_do_not_mix(kernels: Any, device_array: Any) -> None:
    """Sums known beforehand: thread t counts up from t."""
    arrays = [(device_array(range(t, t + 64)), device_array(np.zeros(64))) for t in range(8)]
    barrier = threading.Barrier(len(arrays))

    def work(x: Any, y: Any) -> None:
        barrier.wait()
        for tile in (8, 16, 32, 64):
            ct.launch(0, (64 // tile,), kernels.increment, (x, y, tile))

    threads = [threading.Thread(target=work, args=pair) for pair in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for t, (_, y) in enumerate(arrays):
        assert y.__cutile_sim_device_array__.tolist() == list(range(t + 1, t + 65))


def test_hints_and_targets(device_array: Any) -> None:
    @ct.kernel(num_ctas=ct.ByTarget(sm_90=1, sm_100=2), occupancy=2)
    def double(x):
        ct.store(x, index=(0,), tile=ct.load(x, index=(0,), shape=(8,)) * 2)

    x = device_array(range(8))
    ct.launch(0, (1,), double.replace_hints(occupancy=4), (x,))
    assert x.__cutile_sim_device_array__.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]


def test_the_environment_gives_workers(kernels: Any, device_array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    real = launches.run_program

    def noting(*args: Any, **kwargs: Any) -> Any:
        counts.append(kwargs["workers"])
        return real(*args, **kwargs)

    monkeypatch.setattr(launches, "run_program", noting)
    x, y = device_array(range(32)), device_array(np.zeros(32))
    for text in ("", "1", "3"):
        monkeypatch.setenv("CUTILE_SIM_WORKERS", text)
        ct.launch(0, (2,), kernels.increment, (x, y, 16))
    assert counts == [1, 1, 3]
    assert y.__cutile_sim_device_array__.tolist() == list(range(1, 33))


def test_a_launch_that_is_watched_runs_on_one_thread(
    kernels: Any, device_array: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUTILE_SIM_WORKERS", "2")
    x, y = device_array(range(32)), device_array(np.zeros(32))
    with launches.watched_by(lambda: nullcontext(Observer())):
        ct.launch(0, (2,), kernels.increment, (x, y, 16))
    assert y.__cutile_sim_device_array__.tolist() == list(range(1, 33))


@pytest.mark.parametrize("text", ["two", "0", "-1", "1.5", "²"])
def test_workers_that_are_no_number(
    kernels: Any, device_array: Any, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("CUTILE_SIM_WORKERS", text)
    x = device_array(range(32))
    with pytest.raises(UsageError, match=f"CUTILE_SIM_WORKERS is '{text}': write how many threads"):
        ct.launch(0, (2,), kernels.increment, (x, x, 16))
