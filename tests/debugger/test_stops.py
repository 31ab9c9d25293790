"""simulate(..., break_at=...): what is noted, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cutile_sim import OutOfBoundsError, UsageError, simulate

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

import followed  # noqa: E402

FILE = Path(followed.__file__ or "")
LINES = FILE.read_text().splitlines()
ADDS = next(n for n, line in enumerate(LINES, 1) if "total = total + step" in line)
CALLED = next(n for n, line in enumerate(LINES, 1) if "return s * 2" in line)


def arguments() -> tuple[Any, ...]:
    return np.arange(64, dtype=np.int32), np.zeros(64, np.int32), 4, 16


def test_one_stop_each_time_a_block_comes_to_a_line() -> None:
    result = simulate(followed.loops, 4, *arguments(), break_at=ADDS)
    assert [(s.block, s.line, s.function) for s in result.stops] == [((0, 0, 0), ADDS, "loops")] * 4
    assert [int(s.tiles["k"]) for s in result.stops] == [0, 1, 2, 3]
    assert all(Path(s.file) == FILE for s in result.stops)
    first = result.stops[0].tiles
    assert first["k"].shape == () and first["k"].dtype == np.int32 and first["total"].shape == (16,)
    np.testing.assert_array_equal(first["step"], np.arange(16))


def test_several_lines_and_blocks() -> None:
    result = simulate(
        followed.loops, 4, *arguments(), break_at=[f"{FILE.name}:{ADDS}", f"debugger/{FILE.name}:{CALLED}"],
        break_blocks=[(1, 0), 3, (1, 0, 0)], batch_blocks=1,
    )  # fmt: skip
    assert {s.block for s in result.stops} == {(1, 0, 0), (3, 0, 0)} and len(result.stops) == 2 * 2 * 4
    called = [s for s in result.stops if s.function == "plus"]
    assert set(called[0].tiles) == {"a", "b", "s"}
    np.testing.assert_array_equal(called[0].tiles["s"], called[0].tiles["a"] + called[0].tiles["b"])
    np.testing.assert_array_equal(called[-1].block, (3, 0, 0))


def test_stops_do_not_change_the_launch() -> None:
    plain, watched = arguments(), arguments()
    simulate(followed.loops, 4, *plain)
    result = simulate(followed.loops, 4, *watched, break_at=ADDS, break_blocks=[0, 1, 2, 3], sanitize=True)
    np.testing.assert_array_equal(watched[1], plain[1])
    assert len(result.stops) == 16 and result.findings == ()
    assert simulate(followed.loops, 4, *arguments()).stops == ()


def test_tiles_keep_their_values_though_memory_changes() -> None:
    @ct.kernel
    def in_place(x):
        a = ct.load(x, (0,), (4,))
        ct.store(x, (0,), a + 1)
        ct.store(x, (0,), a + 2)

    line = 1 + next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "(x, (0,), a + 1)" in text
    )
    x = np.arange(4, dtype=np.float32)
    (stop,) = simulate(in_place, 1, x, break_at=line).stops
    np.testing.assert_array_equal(stop.tiles["a"], [0, 1, 2, 3])
    np.testing.assert_array_equal(x, [2, 3, 4, 5])


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float16, np.uint8, np.bool_, np.int64]
)
def test_dtypes(dtype: Any) -> None:
    @ct.kernel
    def copies(x, y):
        a = ct.load(x, (0,), (8,))
        ct.store(y, (0,), a)

    x = (np.arange(8) * 25).astype(dtype)
    line = 1 + next(
        n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "a = ct.load(x, (0,), (8,))" in text
    )
    (stop,) = simulate(copies, 1, x, np.zeros(8, dtype), break_at=line).stops
    assert stop.tiles["a"].dtype == np.dtype(dtype)
    assert stop.tiles["a"].tobytes() == x.tobytes()


def test_stops_up_to_an_error() -> None:
    @ct.kernel
    def faulty(x, y):
        i = ct.bid(0)
        ct.store(y, (i,), ct.gather(x, ct.arange(16, dtype=ct.int32) + i * 16, check_bounds=False))

    line = 1 + next(n for n, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "i = ct.bid(0)" in text)
    with pytest.raises(OutOfBoundsError) as caught:
        simulate(faulty, 2, np.zeros(16, np.float32), np.zeros(32, np.float32), break_at=line)
    assert [s.line for s in caught.value.stops] == [line]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (1, r"line 1 of .*followed.py has no code that runs in this kernel; the nearest that has is line \d+"),
        (10**6, "the nearest that has is line"),
        ("followed.py:0", "no line: write FILE:LINE"),
        ("followed.py", "no line: write FILE:LINE"),
        (-3, "no line"),
        (True, "no line"),
        ("other.py:3", "no code of the kernel comes from other.py; its code comes from .*followed.py"),
        ([ADDS, "x"], "no line"),
    ],
)
def test_lines_that_are_refused(line: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        simulate(followed.loops, 4, *arguments(), break_at=line)


def test_blocks_that_are_refused() -> None:
    for block in ((4,), [(0,), (9, 9)], "x"):
        with pytest.raises(UsageError, match="block"):
            simulate(followed.loops, 4, *arguments(), break_at=ADDS, break_blocks=block)


def test_watched_launches_stay_on_one_thread() -> None:
    with pytest.raises(UsageError, match="one thread"):
        simulate(followed.loops, 4, *arguments(), break_at=ADDS, workers=2)
    with pytest.raises(UsageError, match="executor"):
        simulate(followed.loops, 4, *arguments(), break_at=ADDS, executor=object())
