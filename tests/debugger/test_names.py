"""Variables are what Python says they are, or are not shown."""

from __future__ import annotations

import importlib.util
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from python_oracle import Noted, lines_of

from cutile_sim import UsageError, debug, simulate
from cutile_sim.debugger import Subject
from cutile_sim.debugger.bindings import ArrayArgument, Names, settled
from cutile_sim.debugger.follower import Follower, Program
from cutile_sim.debugger.positions import Frame

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

import followed  # noqa: E402
from random_arithmetic import random_arithmetic  # noqa: E402
from random_programs import DATA, block, kernel_of  # noqa: E402

Shown = dict[tuple[str, int], set[str]]


class Diary(Follower):
    """Notes all that could be shown, in all frames, whenever a block comes to a line."""

    def __init__(self, subject: Subject, block_id: tuple[int, ...]) -> None:
        super().__init__(subject.program, subject.expect_block(block_id))
        self.contents = subject.contents
        self.noted: list[Noted] = []

    def reached(self, cx: Any) -> None:
        standing = self.standing
        assert standing is not None
        for depth in range(len(standing.entries) if standing.fresh is None else standing.fresh, len(standing.entries)):
            entries = standing.entries[: depth + 1]
            frames = [self.shown(self.program.names_at(standing, level)) for level in range(depth + 1)]
            self.noted.append((entries[-1].frame.function, tuple(e.statement.line for e in entries), frames))

    def shown(self, names: Names) -> dict[str, Any]:
        found = {}
        for name, binding in names.items():
            if not isinstance(settled(binding), ArrayArgument):
                with suppress(UsageError):
                    found[name] = self.contents.of(name, binding, self)
        return found


def diary_of(kernel: Any, block_id: tuple[int, ...], grid: tuple[int, ...], args: tuple[Any, ...]) -> Diary:
    subject = debug(kernel, grid, *args).subject
    diary = Diary(subject, block_id)
    simulate(kernel, grid, *args, observer=diary)
    return diary


def compare(
    path: Path, kernel: Any, name: str, block_id: tuple[int, ...], grid: tuple[int, ...], args: tuple[Any, ...]
) -> Shown:
    """Compare all that is shown at every line of a kernel with Python; the names that were, by function and line."""
    before = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    diary = diary_of(kernel, block_id, grid, args)
    coded = {(*calls_of(frame), s.line) for frame, s in diary.program.coded} - ambiguous(diary.program)
    expected = [note for note in lines_of(path, name, block_id, grid, before) if note[1] in coded]
    noted = [note for note in diary.noted if note[1] in coded]
    assert [note[:2] for note in noted] == [note[:2] for note in expected]
    shown: Shown = {}
    for (function, chain, frames), (_, _, variables) in zip(noted, expected, strict=True):
        for ours, theirs in zip(frames, variables, strict=True):
            for variable, value in ours.items():
                assert variable in theirs, f"line {chain}: {variable} is not assigned yet"
                np.testing.assert_array_equal(value, theirs[variable], err_msg=f"{variable} at line {chain}")
        shown.setdefault((function, chain[-1]), set()).update(frames[-1])
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


@pytest.mark.parametrize("turns", [0, 2, 4])
def test_forms_of_assignments_and_calls(turns: int) -> None:
    shown = followed_by("forms", *vectors(), turns, 16)
    end = shown["forms", line_of(followed, "tile=z)")]
    assert {"a", "b", "c", "d", "e", "f", "g", "i", "q", "r", "s", "u", "v", "w", "z"} <= end
    assert {"a", "i", "more"} <= shown["twice", line_of(followed, "i += more")]


@pytest.mark.parametrize("turns", [0, 2, 3])
def test_returns_in_the_middle(turns: int) -> None:
    shown = followed_by("calls", *vectors(), turns, 16)
    assert {"a", "b", "j"} <= shown["calls", line_of(followed, "tile=a + j + b)")]


def test_unrolled_loops() -> None:
    shown = followed_by("unrolled", *vectors(), 4, 16)
    assert {"a", "b"} <= shown["unrolled", line_of(followed, "tile=a + b)")]


def test_tiles_of_narrow_floats() -> None:
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-3, 4, (32, 32)).astype(np.float16) for _ in range(2))
    shown = followed_by("products", x, y, np.zeros((32, 8), np.float32), 4, 8)
    assert {"acc", "p", "q"} <= shown["products", line_of(followed, "acc = ct.mma(p")]


def arithmetic(folder: Path, seed: int, *, is_unrolled: bool) -> tuple[Path, Any, tuple[Any, ...]]:
    """A random kernel's file, the kernel, and arguments for it."""
    path = folder / f"arithmetic_{seed}_{is_unrolled}.py"
    path.write_text(random_arithmetic(seed, is_unrolled=is_unrolled))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    x = np.random.default_rng(seed).integers(-4, 5, 32).astype(np.float32)
    return path, module.kernel, (x, np.zeros(32, np.float32), 2)


@pytest.mark.parametrize("seed", range(8))
def test_random_arithmetic(seed: int, folder: Path) -> None:
    path, kernel, args = arithmetic(folder, seed, is_unrolled=False)
    compare(path, kernel, "kernel", (seed % 4,), (4,), args)


@pytest.mark.parametrize("seed", range(30, 38))
def test_random_arithmetic_in_unrolled_loops(seed: int, folder: Path) -> None:
    """A line may have code in one turn alone, so each stop is compared with the next time that Python has the same."""
    path, kernel, args = arithmetic(folder, seed, is_unrolled=True)
    expected = lines_of(path, "kernel", (seed % 4,), (4,), args)
    at = 0
    for _, chain, frames in diary_of(kernel, (seed % 4,), (4,), args).noted:
        same = (n for n in range(at, len(expected)) if expected[n][1] == chain and holds(expected[n][2], frames))
        found = next(same, None)
        assert found is not None, f"line {chain}: Python never has {frames[-1]}"
        at = found


def holds(variables: list[dict[str, Any]], frames: list[dict[str, Any]]) -> bool:
    """Whether Python's variables are those shown."""
    return all(
        name in theirs and np.array_equal(value, theirs[name])
        for ours, theirs in zip(frames, variables, strict=True)
        for name, value in ours.items()
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kernels")


@settings(max_examples=12, suppress_health_check=list(HealthCheck), phases=[Phase.generate], database=None)
@given(lines=block(3, None), at=st.sampled_from([(0, 0), (4, 3), (2, 1)]))
def test_random_kernels(lines: list[str], at: tuple[int, int], folder: Path) -> None:
    kernel, path = kernel_of(lines, folder)
    try:
        compare(path, kernel, "kernel", at, (5, 4), (DATA, np.zeros((20, 8), np.int32)))
    except ct.TileInternalError:
        assume(False)  # a mistake of the front-end's own
