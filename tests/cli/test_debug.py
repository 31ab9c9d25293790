"""`cutile-sim debug`: the prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cutile_sim.cli.main import cli

pytestmark = pytest.mark.cutile

Typed = Callable[..., Result]
LOOP = 14
CALL = 15


@pytest.fixture
def typed(add_file: Path, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Runs the debugger on the kernel add, of which block 1 is looked at, with commands on standard input."""
    monkeypatch.chdir(add_file.parent)

    def run(*commands: str, options: tuple[str, ...] = ("--block", "1")) -> Result:
        words = ["debug", add_file.name, *options]
        result = CliRunner().invoke(cli, words, input="".join(f"{c}\n" for c in commands), prog_name="cutile-sim")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def answers(result: Result) -> list[str]:
    """What was printed after each command, without the commands."""
    parts = result.output.split("(cutile-sim) ")
    return [parts[0], *(part.partition("\n")[2] for part in parts[1:])]


def test_a_walk_through_a_kernel(typed: Typed) -> None:
    result = typed("n", "n", "s", "s", "where", "p a[:2]", "up", "p a[:2]", "down", "finish", "c", "q")
    assert result.exit_code == 0, result.output
    first, at_load, at_loop, at_call, inside, chain, *_ = answers(result)
    assert first == "> kernels.py:12 in add, block (1, 0, 0)\n-> i = ct.bid(0)\n"
    assert at_load.startswith("> kernels.py:13 in add") and at_loop.startswith(f"> kernels.py:{LOOP} in add")
    assert (
        at_call == f"> kernels.py:{CALL} in add, block (1, 0, 0)\n-> a = plus(a, ct.load(y, index=(i,), shape=(N,)))\n"
    )
    assert inside == "> kernels.py:7 in plus, block (1, 0, 0)\n-> return a + b\n"
    assert chain.splitlines()[0] == f"  kernels.py:{CALL} in add" and chain.splitlines()[2] == "> kernels.py:7 in plus"
    assert "float32[2]\n[16. 17.]" in result.output
    assert "the launch has ended: 4 blocks" in result.output and "z  float32[64]" in result.output


def test_breakpoints(typed: Typed) -> None:
    result = typed("b", f"b {CALL}", f"tbreak kernels.py:{CALL} if i == 1", "c", "b", "delete 1", "c", "b")
    found = answers(result)
    assert found[1:4] == [
        "no breakpoints\n",
        f"breakpoint 1 at kernels.py:{CALL}\n",
        f"breakpoint 2 at kernels.py:{CALL} if i == 1, once\n",
    ]
    assert "breakpoint 1\n" in found[4] and "hit 1 times" in found[5]
    assert f"2  kernels.py:{CALL} if i == 1, once" in found[5]
    assert "breakpoint 2, i == 1" in found[7] and found[8] == "no breakpoints\n"


def test_looking(typed: Typed) -> None:
    looks = ("list", "l", "locals", "info args", "info op", "info blocks", "info breakpoints")
    found = answers(
        typed("b 7", "c", *looks, "display b", "display", "undisplay 1", "display", "until 8", "i findings")
    )
    assert "   7 ->     return a + b" in found[3] and found[4].startswith("  13 ")
    assert found[5] == "a = float32[16] 16 .. 31\nb = float32[16] 1 .. 1\n"
    assert "x  float32[64], strides 1 elements, 256 bytes\n" in found[6] and "N  16\n" in found[6]
    assert "addf" in found[7] and "float32[16] 16 .. 31" in found[7]
    assert "grid (4, 1, 1): 4 blocks" in found[8] and "4 blocks run in step" in found[8]
    assert found[9] == "1  kernels.py:7, hit 1 times\n"
    assert found[10] == found[11] == "1: b = float32[16] 1 .. 1\n" and found[12] == found[13] == ""
    assert found[15] == "no findings\n"


def test_what_is_displayed_may_be_missing(typed: Typed) -> None:
    found = answers(typed("display i", "display N", "display"))
    missing = "i is not available here: it is not assigned yet\n"
    assert found[1] == f"error: {missing}" and found[3] == f"1: i: {missing}2: N = 16\n"


def test_operations_and_blocks(typed: Typed) -> None:
    result = typed("stepi", "si 3", "block 2", "p i", "block 9", "block", "help", "help s")
    found = answers(result)
    assert " = " in found[1].splitlines()[2] and result.exit_code == 2
    assert "block (2, 0, 0)" in found[3] and found[4] == "2\n"
    assert found[5] == "error: block (9, 0, 0) is outside the grid of (4, 1, 1) blocks\n"
    assert found[6].startswith("error: which block?")
    assert "continue         c    run to the next breakpoint" in found[7] and found[8].startswith("step [N]")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("foo", "there is no command 'foo'; help lists them"),
        ("steq", "there is no command 'steq'; did you mean step?"),
        ("un", "un is short for undisplay, until"),
        ("b 99", "line 99 of"),
        ("b other.py:3", "no code of the kernel comes from other.py"),
        ("b 15 if", "if what?"),
        ("b 15 if i =", "'i =' is no expression"),
        ("b 15 if open(1)", "open(1) cannot be evaluated here"),
        ("p", "print what?"),
        ("p nothing", "nothing is not available here: add has no such variable"),
        ("delete 7", "there is no breakpoint 7"),
        ("delete x", "'x' is no number from 1 on"),
        ("until", "until which line?"),
        ("step -1", "'-1' is no number from 1 on"),
        ("step " + "1" * 5000, "'1111"),
        ("delete ²", "'²' is no number from 1 on"),
        ("b " + "1" * 5000, "'1111"),
        ("c there", "continue, or continue finding"),
        ("c finding", "nothing looks for findings"),
        ("info", "info about what?"),
        ("list 500", "there are no lines from 495 on"),
        ("undisplay 3", "nothing is displayed under 3"),
        ("up", "this is the kernel itself"),
        ("block x", "'x' is no block"),
    ],
)
def test_mistakes_are_explained_and_the_session_goes_on(typed: Typed, command: str, message: str) -> None:
    result = typed(command, "p 1 + 1")
    assert result.exit_code == 2
    assert answers(result)[1].startswith(f"error: {message}") and answers(result)[2] == "2\n"


def test_commands_from_a_file(typed: Typed, tmp_path: Path) -> None:
    script = tmp_path / "commands"
    script.write_text(f"# a comment\n\nbreak {CALL}\ncontinue\nprint a[0]\n")
    result = typed(options=("-x", str(script)))
    assert result.exit_code == 0 and "(cutile-sim) print a[0]\n0.0\n" in result.output
    for wrong in (tmp_path / "missing", tmp_path):
        result = typed(options=("-x", str(wrong)))
        assert result.exit_code == 2 and "cannot read" in result.output
    script.write_bytes(b"\xff\xfe\x00")
    assert "is no text file" in typed(options=("-x", str(script))).output


def test_the_end_of_the_commands_ends_the_launch(typed: Typed) -> None:
    result = typed("next")
    assert result.exit_code == 0 and "the launch has ended" not in result.output
    result = typed("c", "p i", "step", "where")
    assert "error: the launch has ended" in result.output and result.exit_code == 2


def test_wrong_options(typed: Typed) -> None:
    for options, message in (
        (("--block", "7"), "block (7, 0, 0) is outside the grid of (4, 1, 1) blocks"),
        (("--block", "a,b"), "'a,b' is no block"),
        (("--grid", "x"), "--grid x"),
        (("--time-limit", "5"), "a launch that is debugged takes no time_limit"),
        (("--arg", "q=3"), "has no parameter 'q'"),
    ):
        result = typed(options=options)
        assert result.exit_code == 2 and message in result.output


FAULTY = """
import cuda.tile as ct
import numpy as np


@ct.kernel
def past(x, y):
    i = ct.bid(0)
    at = ct.arange(16, dtype=ct.int32) + i * 16
    t = ct.gather(x, at, check_bounds=False)
    ct.store(y, (0,), t)


def inputs():
    return {"x": np.zeros(40, np.float32), "y": np.zeros(16, np.float32), "grid": 3}
"""


def test_a_mistake_of_the_kernel(kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(FAULTY)

    def run(*options: str, commands: str) -> Result:
        return CliRunner().invoke(cli, ["debug", str(path), *options], input=commands, prog_name="cutile-sim")

    result = run("--block", "2", commands="c\np at[0]\nwhere\nstep\n")
    assert result.exit_code == 1 and "error: load outside memory" in result.output
    assert "what block (2, 0, 0) held can still be printed" in result.output and "\n32\n" in result.output
    result = run("--sanitize", commands="c finding\ninfo findings\nc finding\nc finding\nc finding\n")
    assert result.exit_code == 1 and "CTS" in result.output and "finding CTS" in result.output
