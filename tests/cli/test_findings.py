from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

pytestmark = pytest.mark.cutile

Program = Callable[..., Result]

KERNELS = """
import cuda.tile as ct


@ct.kernel
def mean(x, y):
    ct.store(y, (0,), ct.sum(ct.load(x, (0,), (32,))) / x.shape[0])


@ct.kernel
def locked(lock):
    while ct.atomic_cas(lock, 0, 0, 1) == 1:
        pass
"""
MEAN = ("--grid", "1", "--arg", "x=ones:f32[20]", "--arg", "y=zeros:f32[1]")


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def test_finding_is_shown_and_counts_as_failure(program: Program, kernels: Path) -> None:
    result = program("run", f"{kernels}::mean", *MEAN, "--sanitize")
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0].startswith("error: an undetermined value is stored: it comes from lanes outside array 'x'")
    assert lines[1] == f"  {kernels}:7:5, in mean" and lines[3].strip() == "^" and "1 finding" in lines
    fine = program("run", f"{kernels}::mean", *MEAN[:2], "--arg", "x=ones:f32[32]", *MEAN[4:], "--sanitize")
    assert fine.exit_code == 0 and fine.output.startswith("nothing was found\n")


def test_plain_run_does_not_look(program: Program, kernels: Path) -> None:
    assert program("run", f"{kernels}::mean", *MEAN).exit_code == 0


BARRIER = """
import cuda.tile as ct


@ct.kernel
def barrier(count):
    ct.atomic_add(count, 0, 1)
    while ct.atomic_add(count, 0, 0) < ct.num_blocks(0):
        pass
"""


def test_blocks_that_a_gpu_has_room_for(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "barrier.py"
    path.write_text(BARRIER)
    words: tuple[Any, ...] = ("run", path, "--grid", "20", "--arg", "count=zeros:i32[1]", "--sanitize")
    assert program(*words).exit_code == 0
    result = program(*words, "--resident-blocks", "8")
    assert result.exit_code == 1 and "[CTS803]" in result.output and f"{path}:8:5" in result.output


def test_json_and_sarif(program: Program, kernels: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.sarif"
    result = program("run", f"{kernels}::mean", *MEAN, "--sanitize", "--json", "--sarif", log)
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["id"], finding["line"], finding["severity"]) == ("CTS301", 7, "error")
    assert json.loads(log.read_text())["runs"][0]["results"][0]["ruleId"] == "CTS301"


def test_baseline(program: Program, kernels: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    assert program("run", f"{kernels}::mean", *MEAN, "--sanitize", "--write-baseline", known).exit_code == 1
    kernels.write_text("# one line more\n" + KERNELS)
    result = program("run", f"{kernels}::mean", *MEAN, "--sanitize", "--baseline", known)
    assert result.exit_code == 0 and result.output.startswith("nothing was found, 1 more in the baseline\n")


def test_launch_that_is_stopped(program: Program, kernels: Path) -> None:
    words: tuple[Any, ...] = ("run", f"{kernels}::locked", "--grid", "2", "--arg", "lock=zeros:i32[1]", "--sanitize")
    result = program(*words)
    assert result.exit_code == 1 and "1 block waits for ever" in result.output and "[CTS801]" in result.output
    shown = json.loads(program(*words, "--json").stdout)
    assert [f["id"] for f in shown["findings"]] == ["CTS801"] and "for ever" in shown["error"]


def test_options(program: Program, kernels: Path) -> None:
    assert program("run", f"{kernels}::mean", *MEAN, "--sanitize", "--checks", "races, bounds").exit_code == 0
    for words, message in (
        (("--checks", "races"), "need --sanitize"),
        (("--resident-blocks", "4"), "need --sanitize"),
        (("--sanitize", "--checks", "speed"), "there is no check 'speed'"),
        (("--sanitize", "--output", "z"), "there is no array 'z'"),
        (("--sanitize", "--sarif", "none/there/log.sarif"), "cannot write"),
    ):
        result = program("run", f"{kernels}::mean", *MEAN, *words)
        assert result.exit_code == 2 and message in result.output
