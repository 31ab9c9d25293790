"""The session shown in docs/debugger.md is what happens, and the page names every command."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cutile_sim.cli.prompt import Prompt

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "debugger.md").read_text(encoding="utf-8")
PROGRAM = "from cutile_sim.cli.main import main; main()"
NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.mark.cutile
def test_session() -> None:
    pytest.importorskip("cuda.tile")
    ((command, expected),) = re.findall(r"```console\n\$ cutile-sim ([^\n]*)\n(.*?)```", PAGE, re.S)
    typed = re.findall(r"^\(cutile-sim\) (.*)$", expected, re.M)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *shlex.split(command)],
        cwd=ROOT,
        input="\n".join([*typed, ""]),
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.stderr == "" and done.returncode == 0
    assert NUMBER.sub("N", re.sub(" +", " ", done.stdout)) == NUMBER.sub("N", re.sub(" +", " ", expected))
    # The order in which a processor adds up changes the last digits.
    shown, wanted = (list(map(float, NUMBER.findall(text))) for text in (done.stdout, expected))
    assert shown == pytest.approx(wanted, rel=1e-4)


def test_every_command_is_explained() -> None:
    commands = {name[3:] for name in vars(Prompt) if name.startswith("do_")}
    cells = re.findall(r"^\| (`[^|]*) \|[^|]*\|[^|]*\|$", PAGE, re.M)
    assert commands == {name for cell in cells for name in re.findall(r"`(\w+)", cell)}
