"""`cutile-sim trace`: the command, and what it refuses."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from cutile_sim.traces import load_trace

pytestmark = pytest.mark.cutile

OVERRUN = """
import cuda.tile as ct
import numpy as np


@ct.kernel
def overrun(x):
    at = ct.bid(0) * 4 + ct.arange(4, dtype=ct.int32)
    ct.scatter(x, at + 1, ct.gather(x, at), check_bounds=False)


def inputs():
    return {"x": np.zeros(16).astype(np.float32), "grid": 4}
"""


def test_a_trace_is_written(program: Callable[..., Result], add_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.ctrace"
    result = program("trace", add_file, "-o", path)
    assert result.exit_code == 0, result.output
    assert "x  float32[64]  4 loads, 0 stores, 0 updates" in result.output
    assert "y  float32[64]  4 loads, 0 stores, 0 updates" in result.output  # hoisted out of the loop
    assert "z  float32[64]  0 loads, 4 stores, 0 updates" in result.output
    with load_trace(path) as trace:
        assert trace.launches[0].kernel == "add"
        assert trace.launches[0].sources[str(add_file)] == add_file.read_text()
        assert trace.launches[0].printed == "0\n1\n2\n3\n"


def test_json_and_filters(program: Callable[..., Result], add_file: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.ctrace"
    words = ["--kind", "store", "--block", "1:3", "--array", "z", "--values", "--contents"]
    result = program("trace", add_file, "-o", path, "--json", *words)
    assert result.exit_code == 0, result.output
    fields = json.loads(result.output)
    assert fields["trace"] == str(path) and fields["bytes"] == path.stat().st_size
    assert {a["name"]: (a["loads"], a["stores"]) for a in fields["arrays"]} == {"x": (0, 0), "y": (0, 0), "z": (0, 2)}
    with load_trace(path) as trace:
        (record,) = trace.launches[0].records()
        assert record.value((2, 0, 0)).tolist() == [float(i + 2) for i in range(32, 48)]
        assert trace.launches[0].contents("z").tolist() == [float(i + 2) for i in range(64)]


def test_the_file_is_named_after_the_kernel(
    program: Callable[..., Result], add_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program("trace", add_file).exit_code == 0
    assert (tmp_path / "add.ctrace").exists()


def test_a_failing_launch_is_kept(program: Callable[..., Result], kernel_file: Callable[..., Path]) -> None:
    file = kernel_file(OVERRUN)
    path = file.with_name("x.ctrace")
    result = program("trace", file, "-o", path)
    assert result.exit_code == 1
    assert "x.ctrace holds the launch up to where it failed" in result.output
    assert "store outside memory" in result.output
    with load_trace(path) as trace:
        assert "store outside memory" in trace.launches[0].error["message"]


def test_findings_are_kept(program: Callable[..., Result], kernel_file: Callable[..., Path]) -> None:
    file = kernel_file(
        OVERRUN.replace("zeros(16", "arange(16")
        .replace("at + 1", "at * 0")
        .replace("check_bounds=False", "check_bounds=True")
    )
    path = file.with_name("x.ctrace")
    result = program("trace", file, "-o", path, "--sanitize")
    assert result.exit_code == 0, result.output
    with load_trace(path) as trace:
        found = trace.launches[0].findings
        assert found and found[0]["file"] == str(file) and found[0]["line"] == 9
        assert f"[{found[0]['id']}]" in result.output


@pytest.mark.parametrize("form", ["tvz", "perfetto"])
def test_other_formats_from_a_kernel_and_from_a_trace(
    program: Callable[..., Result], add_file: Path, tmp_path: Path, form: str
) -> None:
    trace, from_kernel, from_trace = tmp_path / "run.ctrace", tmp_path / "a", tmp_path / "b"
    result = program("trace", add_file, "--format", form, "-o", from_kernel)
    assert result.exit_code == 0, result.output
    assert f"{from_kernel}: " in result.output and " records of 4 blocks, " in result.output
    assert program("trace", add_file, "-o", trace, "--values", "--contents").exit_code == 0
    result = program("trace", trace, "--format", form, "-o", from_trace, "--json")
    assert result.exit_code == 0, result.output
    size = from_trace.stat().st_size
    assert json.loads(result.output) == {
        "trace": str(from_trace), "format": form, "launches": 1, "bytes": size, "notes": []
    }  # fmt: skip
    assert what_happened(from_kernel) == what_happened(from_trace) != []


def what_happened(path: Path) -> list[str]:
    """The operations in a file of another format, without their times."""
    if zipfile.is_zipfile(path):
        return [json.dumps(r) for r in json.loads(zipfile.ZipFile(path).read("manifest.json"))["launches"]]
    return [json.dumps([e["name"], e["args"]]) for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]


def test_a_converted_trace_is_named_after_it(
    program: Callable[..., Result], add_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program("trace", add_file).exit_code == 0
    assert "add.json: 1 launch, " in program("trace", "add.ctrace", "--format", "perfetto").output
    assert program("trace", add_file, "--format", "tvz").exit_code == 0
    assert {p.name for p in tmp_path.iterdir()} >= {"add.ctrace", "add.json", "add.tvz"}


@pytest.mark.parametrize("form", ["tvz", "perfetto"])
def test_a_failing_launch_in_another_format(
    program: Callable[..., Result], kernel_file: Callable[..., Path], form: str
) -> None:
    file = kernel_file(OVERRUN)
    path = file.with_name("x.out")
    result = program("trace", file, "--format", form, "-o", path)
    assert result.exit_code == 1
    assert "x.out holds the launch up to where it failed" in result.output
    assert "store outside memory" in result.output
    assert path.exists()


def test_a_trace_that_lacks_something(program: Callable[..., Result], add_file: Path, tmp_path: Path) -> None:
    assert program("trace", add_file, "-o", tmp_path / "x.ctrace").exit_code == 0
    result = program("trace", tmp_path / "x.ctrace", "--format", "tvz")
    assert result.exit_code == 2
    assert "record it with contents=True (--contents)" in result.output
    assert not (tmp_path / "x.tvz").exists()


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((), "say with --format what to make of it, tvz or perfetto"),
        (("--format", "perfetto", "--values"), "--values says what to run or record"),
        (("--format", "perfetto", "--grid", "3"), "--grid says what to run or record"),
        (("--format", "perfetto", "--launch", "1"), "has no launch 1; it has 0"),
        (("--format", "perfetto", "-o", "{tmp}/none/x.json"), "cannot write"),
        (("--format", "speedscope"), "'speedscope' is not one of"),
    ],
)
def test_wrong_conversions(
    program: Callable[..., Result], add_file: Path, tmp_path: Path, words: tuple[str, ...], text: str
) -> None:
    assert program("trace", add_file, "-o", tmp_path / "x.ctrace").exit_code == 0
    result = program("trace", tmp_path / "x.ctrace", *(w.format(tmp=tmp_path) for w in words))
    assert result.exit_code == 2
    assert text in result.output
    assert not list(tmp_path.glob("*.json"))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("-o", "{tmp}/none/x.ctrace"), "cannot write"),
        (("--kind", "loads"), "'loads' is not one of"),
        (("--block", "1,x"), "write a block along each axis"),
        (("--block", "3:3"), "there are no blocks from 3 to 3"),
        (("--block", "1,2,3,4"), "at most three axes"),
        (("--line", "k.py:x"), "write 12, 10-20, k.py:12"),
        (("--array", "nope"), "there is no array 'nope'"),
        (("--every", "0"), "0 is not in the range"),
        (("--grid", "0"), "a launch needs at least one block"),
        (("--launch", "0"), "--launch is for traces"),
        (("--format", "tvz", "-o", "{tmp}/none/x.tvz"), "cannot write"),
    ],
)
def test_wrong_uses(
    refused: Callable[..., str], add_file: Path, tmp_path: Path, words: tuple[str, ...], text: str
) -> None:
    assert text in refused("trace", add_file, *(w.format(tmp=tmp_path) for w in words))
    assert not list(tmp_path.glob("*.ctrace"))
