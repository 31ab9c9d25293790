"""Variables are what Python says they are, or are not shown."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from python_oracle import lines_of

from cutile_sim import debug, simulate
from cutile_sim.debugger.follower import Program
from cutile_sim.debugger.positions import Frame

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

import followed  # noqa: E402
from random_programs import DATA, block, kernel_of  # noqa: E402

Shown = dict[tuple[str, int], set[str]]


def compare(
    path: Path, kernel: Any, name: str, block_id: tuple[int, ...], grid: tuple[int, ...], args: tuple[Any, ...]
) -> Shown:
    """Stop at every line of a kernel, and compare all that is shown with Python; the names that were, by line."""
    program = debug(kernel, grid, *args).subject.program
    coded = {(*calls_of(frame), s.line) for frame, s in program.coded}
    lines = sorted({chain[-1] for chain in coded})
    expected = [note for note in lines_of(path, name, block_id, grid, args) if note[1] in coded]
    stops = simulate(kernel, grid, *args, break_at=[f"{path}:{n}" for n in lines], break_blocks=block_id).stops
    skipped = {chain[-1] for chain in ambiguous(program)}
    stops = tuple(s for s in stops if s.line not in skipped)
    expected = [note for note in expected if note[1][-1] not in skipped]
    assert [(s.function, s.line) for s in stops] == [(function, chain[-1]) for function, chain, _ in expected]
    shown: Shown = {}
    for stop, (function, chain, variables) in zip(stops, expected, strict=True):
        for variable, tile in stop.tiles.items():
            assert variable in variables, f"line {chain}: {variable} is not assigned yet"
            np.testing.assert_array_equal(tile, variables[variable], err_msg=f"{variable} at line {chain}")
        shown.setdefault((function, chain[-1]), set()).update(stop.tiles)
    return shown


def ambiguous(program: Program) -> set[tuple[int, ...]]:
    """Lines of functions called several times from one line, where only some of these calls have code there."""
    frames: dict[tuple[int, ...], list[Frame]] = {}
    for frame in program.positions.frames.values():
        frames.setdefault(calls_of(frame), []).append(frame)
    found = set()
    for chain, same in frames.items():
        lines = [{s.line for f, s in program.coded if f is frame} for frame in same]
        found |= {(*chain, line) for each in lines for line in each if not all(line in other for other in lines)}
    return found


def calls_of(frame: Frame) -> tuple[int, ...]:
    """The lines from which a frame's function was called, outermost first."""
    return () if frame.parent is None or frame.call is None else (*calls_of(frame.parent), frame.call[1])


def line_of(module: ModuleType, text: str) -> int:
    """The one line of a module that holds a text."""
    assert module.__file__ is not None
    (number,) = [n for n, line in enumerate(Path(module.__file__).read_text().splitlines(), 1) if text in line]
    return number


def followed_by(name: str, *args: Any, blocks: int = 4) -> Shown:
    """Compare a kernel of `followed` in every block; the names shown in the last."""
    assert followed.__file__ is not None
    shown: Shown = {}
    for number in range(blocks):
        shown = compare(Path(followed.__file__), getattr(followed, name), name, (number,), (blocks,), tuple(args))
    return shown


def vectors() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(64, dtype=np.int32), np.zeros(64, np.int32)


def test_straight_code_and_calls() -> None:
    shown = followed_by("straight", *vectors(), 4, 16)
    end = shown["straight", line_of(followed, "tile=k + c + same + b * d + M)")]
    assert {"i", "n", "a", "same", "b", "c", "d", "e", "f", "g", "h", "k"} <= end
    assert {"a", "b", "s"} <= shown["plus", line_of(followed, "return s * 2")]


def test_loops() -> None:
    shown = followed_by("loops", *vectors(), 4, 16)
    assert {"a", "total", "other", "last", "k", "step"} <= shown["loops", line_of(followed, "total = total + step")]
    assert {"a", "total", "other", "last", "k", "j"} <= shown["loops", line_of(followed, "other = other + j")]
    assert {"a", "total", "other", "last"} <= shown["loops", line_of(followed, "tile=a + total + other + last)")]


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("turns", [1, 3, 6])
def test_branches(flag: bool, turns: int) -> None:
    shown = followed_by("branches", *vectors(), turns, 16, flag)
    assert {"a", "b", "c"} <= shown["branches", line_of(followed, "tile=a + b + r + c)")]


def test_unrolled_loops() -> None:
    shown = followed_by("unrolled", *vectors(), 4, 16)
    assert {"a", "b"} <= shown["unrolled", line_of(followed, "tile=a + b)")]


def test_tiles_of_narrow_floats() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-3, 4, (32, 32)).astype(np.float16) for _ in range(2))
    shown = followed_by("products", x, y, np.zeros((32, 8), np.float32), 4, 8)
    assert {"acc", "p", "q"} <= shown["products", line_of(followed, "acc = ct.mma(p")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate], database=None
)
@given(lines=block(3, None), at=st.sampled_from([(0, 0), (4, 3), (2, 1)]))
def test_random_kernels(lines: list[str], at: tuple[int, int], folder: Path) -> None:
    kernel, path = kernel_of(lines, folder)
    compare(path, kernel, "kernel", at, (5, 4), (DATA, np.zeros((20, 8), np.int32)))
