from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

pytestmark = pytest.mark.cutile

Program = Callable[..., Result]

TWO = """
import cuda.tile as ct
import numpy as np


@ct.kernel
def floor_third(x, N: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, index=(i,), tile=ct.load(x, index=(i,), shape=(N,)) // 3)


@ct.kernel
def double(y, N: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(y, index=(i,), shape=(N,)) * 2)
"""

X, Y, N = ("--arg", "x=zeros:i32[64]"), ("--arg", "y=zeros:i32[64]"), ("--arg", "N=16")


def test_fine(program: Program, add_file: Path) -> None:
    result = program("check", add_file)
    assert result.exit_code == 0
    first, *_, last = result.output.splitlines()
    assert first == f"{add_file}::add: ok" and last == "1 checked, 0 with findings, 0 not checked"
    assert "compiled for any GPU" in result.output


def test_finding_of_the_front_end(program: Program, add_file: Path) -> None:
    result = program("check", add_file, "--arg", "N=15")
    assert result.exit_code == 1
    assert (
        "1 finding(s)" in result.output and "not a power of two [compile]" in result.output and "   ^" in result.output
    )


def test_finding_of_the_verifier(program: Program, kernel_file: Callable[..., Path]) -> None:
    result = program("check", kernel_file(TWO), "--arg", "x=zeros:u32[64]", *Y, *N, "--json")
    assert result.exit_code == 1
    first, second = json.loads(result.stdout)["kernels"]
    assert not first["ok"] and second["ok"]
    (finding,) = first["findings"]
    assert "negative_inf" in finding["message"] and finding["line"] == 9 and finding["file"].endswith("kernels.py")


def test_kernels_without_arguments_are_not_fine(program: Program, kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(TWO)
    result = program("check", path)
    assert result.exit_code == 2 and result.output.count("NOT CHECKED: kernel") == 2
    some = program("check", path, *Y, *N)
    assert some.exit_code == 0 and "1 checked, 0 with findings, 1 not checked" in some.output
    assert f"{path}::floor_third: NOT CHECKED: kernel floor_third gets nothing for x" in some.output
    assert program("check", f"{path}::double", *Y, *N).exit_code == 0


def test_a_file_without_checked_kernels_is_not_fine(
    program: Program, kernel_file: Callable[..., Path], add_file: Path
) -> None:
    result = program("check", add_file, kernel_file(TWO, name="two.py"), "--json")
    assert result.exit_code == 2
    kernels = json.loads(result.stdout)["kernels"]
    assert [kernel["checked"] for kernel in kernels] == [True, False, False]


def test_inputs_of_one_kernel(program: Program, kernel_file: Callable[..., Path]) -> None:
    shared = "\n\ndef inputs():\n    return dict(y=np.zeros(64, np.int32), N=16)\n"
    own = "\n\ndef inputs_floor_third():\n    return np.zeros(64, np.int32), 16\n"
    result = program("check", kernel_file(TWO, shared))
    assert "1 checked, 0 with findings, 1 not checked" in result.output
    result = program("check", kernel_file(TWO, shared, own, name="both.py"))
    assert result.exit_code == 0 and "2 checked, 0 with findings, 0 not checked" in result.output


def test_bytecode(program: Program, add_file: Path, tmp_path: Path) -> None:
    from cutile_sim.frontend.export import compile_kernel
    from cutile_sim.frontend.loadfile import select

    path = tmp_path / "add.tileirbc"
    arrays = [np.zeros(64, np.float32) for _ in range(3)]
    path.write_bytes(compile_kernel(select(str(add_file)), (*arrays, 16)).bytecode)
    result = program("check", path)
    assert result.exit_code == 0 and f"{path}::add: ok" in result.output


def test_unknown_gpu(program: Program, add_file: Path) -> None:
    result = program("check", add_file, "--arch", "hopper")
    assert result.exit_code == 2 and "'hopper' is not the name of a GPU" in result.output


ODD_TILE = """
import cuda.tile as ct


@ct.kernel
def odd_tile(x):
    ct.store(x, (0,), ct.load(x, (0,), (15,)))


@ct.kernel
def past_the_end(y):
    ct.store(y, (ct.bid(0),), ct.load(y, (ct.bid(0) + 1,), (16,), check_bounds=False))
"""
ODD = ("--arg", "x=zeros:f32[60]", "--arg", "y=zeros:f32[64]")


def test_sarif(program: Program, kernel_file: Callable[..., Path], tmp_path: Path) -> None:
    log = tmp_path / "log.sarif"
    path = kernel_file(ODD_TILE)
    result = program("check", path, *ODD, "--grid", "4", "--sarif", log)
    assert result.exit_code == 1
    (run,) = json.loads(log.read_text())["runs"]
    found = {(r["ruleId"], r["locations"][0]["physicalLocation"]["region"]["startLine"]) for r in run["results"]}
    assert found >= {("compile", 7), ("CTS102", 12)}
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {id for id, _ in found}


def test_baseline(program: Program, kernel_file: Callable[..., Path], tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    path = kernel_file(ODD_TILE)
    words: tuple[object, ...] = ("check", path, *ODD, "--grid", "4")
    first = program(*words, "--write-baseline", known)
    assert first.exit_code == 1 and "2 checked, 2 with findings, 0 not checked" in first.output
    second = program(*words, "--baseline", known)
    assert second.exit_code == 0 and "[compile]" not in second.output
    assert "2 checked, 0 with findings, 0 not checked, " in second.output and "more in the baseline" in second.output
    path.write_text("# one more line\n" + ODD_TILE.replace("(15,)", "(13,)"))
    third = program(*words, "--baseline", known, "--json")
    assert third.exit_code == 1
    fields = json.loads(third.stdout)
    assert [k["ok"] for k in fields["kernels"]] == [False, True] and fields["findings_in_baseline"] > 0
    assert [f["id"] for k in fields["kernels"] for f in k["findings"]] == ["compile"]


def test_files_of_findings_that_cannot_be(program: Program, add_file: Path, tmp_path: Path) -> None:
    for option, path, words in (
        ("--baseline", tmp_path / "none.json", "cannot read"),
        ("--baseline", add_file, "is not a baseline"),
        ("--sarif", tmp_path / "none" / "log.sarif", "cannot write"),
        ("--write-baseline", tmp_path / "none" / "known.json", "cannot write"),
    ):
        result = program("check", add_file, option, path)
        assert result.exit_code == 2 and words in result.output, result.output
