"""`cutile-sim plot`: the command, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from cutile_sim import simulate
from cutile_sim.traces import tracing

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.cutile


def is_png(path: Path) -> bool:
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def traced(program: Callable[..., Result], add_file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "run.ctrace"
    assert program("trace", add_file, "-o", path).exit_code == 0
    return path


def test_of_a_kernel(program: Callable[..., Result], add_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "z.png"
    result = program("plot", add_file, "--array", "z", "-o", path)
    assert (result.exit_code, result.output) == (0, f"{path}\n")
    assert is_png(path)


@pytest.mark.parametrize("words", [["--what", "tiles"], ["--kind", "store", "--block", "1"], ["--what", "values"]])
def test_what_is_drawn(program: Callable[..., Result], add_file: Path, tmp_path: Path, words: list[str]) -> None:
    path = tmp_path / "z.svg"
    result = program("plot", add_file, "--array", "z", "-o", path, "--json", *words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.output) == {
        "picture": str(path),
        "array": "z",
        "what": words[1] if words[0] == "--what" else "touches",
        "kernel": "add",
    }
    assert "<svg" in path.read_text()


def test_of_a_trace(
    program: Callable[..., Result], traced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = program("plot", traced, "--array", "x", "--block", "0", "--block", "2,0", "--what", "tiles")
    assert (result.exit_code, result.output) == (0, "x.png\n")
    assert is_png(tmp_path / "x.png")


def test_one_of_several_launches(program: Callable[..., Result], tmp_path: Path) -> None:
    from sample_launches import count

    path, picture = tmp_path / "two.ctrace", tmp_path / "x.png"
    with tracing(path):
        for _ in range(2):
            simulate(count, 1, np.zeros(4, np.int32), np.zeros(4, np.int32), 4)
    result = program("plot", path, "--array", "x", "-o", picture)
    assert result.exit_code == 2 and "holds 2 launches: choose one with --launch, from 0 on" in result.output
    assert program("plot", path, "--array", "x", "-o", picture, "--launch", "1").exit_code == 0
    result = program("plot", path, "--array", "x", "-o", picture, "--launch", "2")
    assert result.exit_code == 2 and "--launch 2:" in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--array", "q"], "there is no array 'q'; there are x, y, z"),
        (["--array", "x", "--block", "a"], "--block a: write whole numbers, such as 1,2"),
        (["--array", "x", "--block", "9"], "has no block (9,)"),
        (["--array", "x", "--slice", "1"], "array x of shape 64 has no slice (1,)"),
        (["--array", "x", "--what", "values"], "the trace holds no contents of array x"),
        (["--array", "x", "--grid", "4"], "--grid says what to run, but"),
        (["--array", "x", "-o", "x.txt"], "cannot write x.txt: the ending must be one of"),
        (["--array", "x", "-o", "no/such/x.png"], "cannot write no/such/x.png: there is no folder"),
        ([], "Missing option '--array'"),
    ],
)
def test_what_is_refused(
    program: Callable[..., Result], traced: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str],
    message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    result = program("plot", traced, *words)
    assert result.exit_code == 2 and message in result.output
    assert not list(tmp_path.glob("*.png"))


def test_launch_is_for_traces(program: Callable[..., Result], add_file: Path, tmp_path: Path) -> None:
    result = program("plot", add_file, "--array", "x", "--launch", "0", "-o", tmp_path / "x.png")
    assert result.exit_code == 2 and "--launch is for traces" in result.output
