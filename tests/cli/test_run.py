from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

pytestmark = pytest.mark.cutile

Program = Callable[..., Result]

X, Y, Z = ("--arg", "x=arange:f32[64]"), ("--arg", "y=ones:f32[64]"), ("--arg", "z=zeros:f32[64]")
ARGUMENTS = (*X, *Y, *Z, "--arg", "N=16")

SCALE = """
import cuda.tile as ct


@ct.kernel
def scale(pair, items, factor, N: ct.Constant[int]):
    for j in range(len(items)):
        tile = ct.load(items[j], index=(ct.bid(0),), shape=(N,))
        ct.store(pair[1], index=(j,), tile=tile * factor)
"""

SPIN = """
import cuda.tile as ct


@ct.kernel
def spin(x):
    i = ct.load(x, index=(0,), shape=(1,))
    while ct.sum(i) < 1:
        i = i * 2
    ct.store(x, index=(0,), tile=i)
"""

TICKETS = """
import cuda.tile as ct


@ct.kernel
def tickets(x):
    ct.store(x, index=(1 + ct.bid(0),), tile=ct.reshape(ct.atomic_add(x, 0, 1), (1,)))
"""


def test_inputs_and_check_of_the_file(program: Program, add_file: Path) -> None:
    result = program("run", add_file)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[:5] == ["0", "1", "2", "3", "z  float32[64]  2 3 4 5 ...  min 2  max 65"]
    assert re.fullmatch(r"4 blocks \(4, 1, 1\), \d+ operations, 512 bytes loaded, 256 stored, \S+ s", lines[5])
    assert lines[6:] == ["check: ok"]


def test_options_win_over_inputs(program: Program, add_file: Path) -> None:
    result = program("run", f"{add_file}::add", "--grid", "2,1", "--arg", "y=full(2):f32[64]", "--json")
    shown = json.loads(result.stdout)
    assert shown["grid"] == [2, 1, 1] and shown["blocks"] == 2 and shown["printed"] == "0\n1\n"
    assert shown["written"][0]["first"] == [4, 5, 6, 7] and shown["written"][0]["nan_count"] == 32
    assert result.exit_code == 1 and not shown["check"]["ok"] and "Arrays are not equal" in shown["check"]["problem"]


def test_failed_check_shows_its_line(program: Program, kernel_file: Callable[..., Path], add_file: Path) -> None:
    text = add_file.read_text().partition("def check")[0] + "def check(args):\n    assert args['z'][0] == 7\n"
    result = program("run", kernel_file(text))
    assert result.exit_code == 1
    assert "check: the assertion failed\n" in result.output and "assert args['z'][0] == 7" in result.output


def test_arguments_alone(program: Program, add_file: Path, kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(add_file.read_text().partition("def inputs")[0], name="bare.py")
    result = program("run", path, "--grid", "4", *ARGUMENTS)
    assert result.exit_code == 0 and "z  float32[64]  2 3 4 5 ..." in result.output and "check" not in result.output


def test_tuples_and_lists(program: Program, kernel_file: Callable[..., Path]) -> None:
    words = ("--arg", "pair=(3, zeros:i32[2,4])", "--arg", "items=[ones:i32[4], arange:i32[4]]")
    path = kernel_file(
        SCALE.replace("pair[1], index=(j,)", "pair[1], index=(j, 0)").replace(
            "tile * factor", "ct.reshape(tile * factor, (1, N))"
        )
    )
    result = program(
        "run", path, "--grid", "1", *words, "--arg", "factor=3", "--arg", "N=4", "--expect", "pair[1]=full(3):i32[2,4]"
    )
    assert "pair[1]  int32[2,4]  3 3 3 3 ...  min 0  max 9" in result.output
    assert "expect pair[1]: 3 of 8 elements differ; pair[1][1, 0] is 0, not 3" in result.output
    assert result.exit_code == 1


def test_expect(program: Program, add_file: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "z.npy", np.arange(64, dtype=np.float32) + 2.001)
    expect = ("--expect", f"z={tmp_path / 'z.npy'}")
    off = program("run", add_file, *expect)
    assert off.exit_code == 1 and "expect z: 64 of 64 elements differ; z[0] is 2.0, not 2.001" in off.output
    near = program("run", add_file, *expect, "--atol", "0.01", "--json")
    assert near.exit_code == 0 and json.loads(near.stdout)["expect"] == [{"name": "z", "ok": True, "problem": None}]
    assert program("run", add_file, *expect, "--rtol", "1e-2").exit_code == 0


def test_save(program: Program, add_file: Path, tmp_path: Path) -> None:
    assert program("run", add_file, "--save", tmp_path / "out.npz").exit_code == 0
    with np.load(tmp_path / "out.npz") as saved:
        assert list(saved) == ["z"] and np.array_equal(saved["z"], np.arange(64) + 2)


def test_seed(program: Program, add_file: Path) -> None:
    def first(*words: str) -> Any:
        result = program("run", add_file, "--arg", "x=rand:f32[64]", "--arg", "y=zeros:f32[64]", "--json", *words)
        return json.loads(result.stdout)["written"][0]["first"]

    assert first() == first("--seed", "0") != first("--seed", "1")


def test_batch_does_not_change_the_result(program: Program, add_file: Path) -> None:
    outputs = {program("run", add_file, "--batch", n).output.partition("blocks")[0] for n in (1, 3, 64)}
    assert len(outputs) == 1


def test_undetermined(program: Program, kernel_file: Callable[..., Path], add_file: Path) -> None:
    path = kernel_file(add_file.read_text().partition("def check")[0], name="unchecked.py")
    words = ("run", path, "--arg", "x=ones:i32[60]", "--arg", "y=zeros:i32[64]", "--arg", "z=zeros:i32[64]", "--json")
    highs = [
        json.loads(program(*words, "--undetermined", fill).stdout)["written"][0]
        for fill in ("sentinel", "zero", "ones")
    ]
    assert [h["max"] for h in highs] == [0x5A5A5A5A, 1, 1] and [h["min"] for h in highs] == [1, 0, -1]


def test_kernel_fault(program: Program, kernel_file: Callable[..., Path], add_file: Path) -> None:
    head, store, tail = add_file.read_text().partition("    ct.store(z")
    path = kernel_file(head, '    ct.assert_(a < 50, "too large")\n', store, tail, name="fault.py")
    result = program("run", path)
    assert result.exit_code == 1 and "Traceback" not in result.output
    assert "too large" in result.output and "fault.py:" in result.output and "^" in result.output
    shown = json.loads(program("run", path, "--json").stdout)
    assert shown["error"]["class"] == "AssertionFailedError" and shown["error"]["block"] == [3, 0, 0]
    assert shown["error"]["line"] == path.read_text()[: path.read_text().index("ct.assert_")].count("\n") + 1


def test_step_limit(program: Program, kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(SPIN)
    result = program("run", path, "--grid", "1", "--arg", "x=zeros:f32[1]", "--step-limit", "1000", "--json")
    assert result.exit_code == 1
    error = json.loads(result.stdout)["error"]
    assert error["class"] == "BudgetExceededError" and error["line"] is not None


def test_compile_error(program: Program, add_file: Path) -> None:
    result = program("run", add_file, "--arg", "N=15")
    assert result.exit_code == 1 and "not a power of two" in result.output
    assert "a = ct.load(x" in result.output and "    ^" in result.output
    assert (
        json.loads(program("run", add_file, "--arg", "N=15", "--json").stdout)["error"]["class"] == "TypeCheckingError"
    )


def test_bytecode(program: Program, add_file: Path, tmp_path: Path) -> None:
    from cutile_sim.frontend.export import compile_kernel
    from cutile_sim.frontend.loadfile import select

    arrays = [np.zeros(64, np.float32) for _ in range(3)]
    path = tmp_path / "add.tileirbc"
    path.write_bytes(compile_kernel(select(str(add_file)), (*arrays, 16)).bytecode)
    words = ("--arg", "arg0=arange:f32[64]", "--arg", "arg1=ones:f32[64]", "--arg", "arg2=zeros:f32[64]")
    result = program("run", path, "--grid", "4", *words)
    assert result.exit_code == 0 and "arg2  float32[64]  2 3 4 5 ...  min 2  max 65" in result.output


def test_what_the_file_prints_stays_out_of_the_json(program: Program, add_file: Path) -> None:
    add_file.write_text(
        "print('loading')\n"
        + add_file.read_text().replace("def check(args):", "def check(args):\n    print('checking')")
    )
    result = program("run", add_file, "--json")
    assert json.loads(result.stdout)["check"] == {"ok": True, "problem": None}
    assert "checking" in program("run", add_file).stdout


def test_workers_share_the_blocks(program: Program, add_file: Path) -> None:
    one, two = (json.loads(program("run", add_file, "--json", "--workers", n).stdout) for n in (1, 2))
    assert two["check"]["ok"] and two["warnings"] == []
    assert {**one, "seconds": 0} == {**two, "seconds": 0}


def test_workers_without_effect_say_why(program: Program, kernel_file: Callable[..., Path]) -> None:
    result = program("run", kernel_file(TICKETS), "--grid", "2", "--arg", "x=zeros:i32[3]", "--workers", "2")
    assert result.exit_code == 0, result.output
    assert "warning: workers=2 has no effect: " in result.output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--workers", "0"), "0 is not in the range x>=1"),
        (("--workers", "two"), "'two' is not a valid integer"),
        (("--workers", "2", "--sanitize"), "--sanitize watches the launch, which then runs on one thread"),
    ],
)
def test_wrong_workers(refused: Callable[..., str], add_file: Path, words: tuple[str, ...], message: str) -> None:
    assert message in refused("run", add_file, *words)
