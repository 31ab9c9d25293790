"""The program under test, and a folder with kernels for it to work on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cutile_sim.cli.main import cli

ADD = """
import cuda.tile as ct
import numpy as np


def plus(a, b):
    return a + b


@ct.kernel
def add(x, y, z, N: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(N,))
    for _ in range(2):
        a = plus(a, ct.load(y, index=(i,), shape=(N,)))
    ct.print(i)
    ct.store(z, index=(i,), tile=a)
"""

INPUTS = """

def inputs():
    x = np.arange(64, dtype=np.float32)
    return dict(x=x, y=np.ones(64, np.float32), z=np.full(64, np.nan, np.float32), N=16, grid=4)
"""

CHECK = """

def check(args):
    np.testing.assert_array_equal(args["z"], args["x"] + 2 * args["y"])
"""

ARGUMENTS = ["--arg", "x=arange:f32[64]", "--arg", "y=ones:f32[64]", "--arg", "z=zeros:f32[64]", "--arg", "N=16"]


@pytest.fixture
def program() -> Callable[..., Result]:
    """Runs `cutile-sim` with the words given; an exception that it lets through fails the test."""

    def run(*words: object) -> Result:
        result = CliRunner().invoke(cli, [str(word) for word in words], prog_name="cutile-sim")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def refused(program: Callable[..., Result]) -> Callable[..., str]:
    """Runs `cutile-sim` on a wrong use: exit code 2 and one message, which is returned."""

    def run(*words: object) -> str:
        result = program(*words)
        assert result.exit_code == 2, result.output
        assert result.output.startswith("error: ") and result.output.count("error: ") == 1
        assert "Traceback" not in result.output
        return result.output

    return run


@pytest.fixture
def kernel_file(tmp_path: Path) -> Callable[..., Path]:
    """Writes a Python file of that text (kernels, inputs, check) and returns its path."""
    pytest.importorskip("cuda.tile")

    def write(*parts: str, name: str = "kernels.py") -> Path:
        path = tmp_path / name
        path.write_text("".join(parts))
        return path

    return write


@pytest.fixture
def add_file(kernel_file: Callable[..., Path]) -> Path:
    """A file with inputs(), check() and a kernel add(x, y, z, N), which prints its block id and writes z = x + 2 y."""
    return kernel_file(ADD, INPUTS, CHECK)
