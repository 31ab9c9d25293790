"""`cutile-sim debug` at a terminal: lines are edited, an empty one repeats, Ctrl-C stops what runs."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")
pytestmark = pytest.mark.cutile

# The first terminal that the leader of a session opens becomes the session's own, from which Ctrl-C comes.
PROGRAM = "import os; os.close(os.open(os.ttyname(0), os.O_RDWR)); from cutile_sim.cli.main import main; main()"
PROMPT = "(cutile-sim) "
ENDLESS = """
import cuda.tile as ct
import numpy as np


@ct.kernel
def spins(x):
    n = ct.load(x, (0,), (1,))
    total = n
    while ct.sum(total) >= 0:
        total = total * 1
    ct.store(x, (0,), total)


def inputs():
    return {"x": np.zeros(1, np.int32), "grid": 1}
"""


class Terminal:
    """A program with a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.end, inner = pty.openpty()
        environment = os.environ | {"TERM": "dumb"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            stdin=inner, stdout=inner, stderr=inner, start_new_session=True, env=environment,
        )  # fmt: skip
        os.close(inner)

    def until(self, text: str, seconds: float = 60) -> str:
        """What is printed up to a text."""
        seen = ""
        deadline = time.monotonic() + seconds
        while text not in seen:
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.end], [], [], left)[0], f"no {text!r} in {seen!r}"
            seen += os.read(self.end, 4096).decode()
        return seen.replace("\r", "")

    def type(self, text: str) -> None:
        os.write(self.end, text.encode())

    def interrupt(self) -> str:
        """Type Ctrl-C until it is answered, and give the answer.

        Python's input() shows its prompt a moment before it waits for keys. A signal between the two is handled at the
        next key, whoever reads the line.
        """
        seen = ""
        for _ in range(60):
            self.type("\x03")
            while PROMPT not in seen and select.select([self.end], [], [], 1)[0]:
                seen += os.read(self.end, 4096).decode()
            if PROMPT in seen:
                return seen.replace("\r", "")
        raise AssertionError(f"Ctrl-C has no effect but {seen!r}")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.end)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def start(*words: str) -> Terminal:
        opened.append(Terminal("debug", *words))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


def test_lines_and_repetition(terminal: Callable[..., Terminal], add_file: Path) -> None:
    window = terminal(str(add_file), "--block", "1")
    assert "kernels.py:12 in add" in window.until(PROMPT)
    window.type("next\n")
    assert "kernels.py:13 in add" in window.until(PROMPT)
    window.type("\n")
    assert "kernels.py:14 in add" in window.until(PROMPT)
    window.type("foo\n")
    assert "there is no command 'foo'" in window.until(PROMPT)
    window.interrupt()
    window.type("quit\n")
    assert window.process.wait(60) == 0


def test_an_interrupt_stops_a_launch_that_runs(
    terminal: Callable[..., Terminal], kernel_file: Callable[..., Path]
) -> None:
    window = terminal(str(kernel_file(ENDLESS)))
    window.until(PROMPT)
    window.type("continue\n")
    time.sleep(1)
    assert "interrupted" in window.interrupt()
    window.type("p total\n")
    assert "int32[1]" in window.until(PROMPT)
    window.type("q\n")
    assert window.process.wait(60) == 0
