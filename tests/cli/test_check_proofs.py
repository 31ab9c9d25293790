"""`cutile-sim check --prove` and `--grid`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

pytestmark = pytest.mark.cutile

Program = Callable[..., Result]

SHARED = """
import cuda.tile as ct
import numpy as np


@ct.kernel
def halve(x, y, N: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i // 2,), tile=ct.load(x, index=(i,), shape=(N,)))


def inputs():
    return dict(x=np.ones(64, np.float32), y=np.ones(32, np.float32), N=16, grid=(4,))
"""

FINE = SHARED.replace("i // 2", "i").replace("32", "64").replace("float64", "float32")


def test_a_finding(program: Program, kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(SHARED)
    result = program("check", path, "--prove")
    assert result.exit_code == 1
    assert "two blocks store to one element of y; the other block is (1, 0, 0)" in result.output
    assert "[CTS201]" in result.output and "ct.store(y, index=(i // 2,)" in result.output
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "ct.store" in text)
    assert f"VIOLATED     {path.name}:{line}: two blocks store" in result.output
    assert f"PROVED       {path.name}:{line}: every store stays inside y" in result.output


def test_nothing_is_proved_unless_asked(program: Program, kernel_file: Callable[..., Path]) -> None:
    result = program("check", kernel_file(SHARED))
    assert result.exit_code == 0 and "PROVED" not in result.output


def test_the_grid_counts(program: Program, kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(FINE)
    assert program("check", path, "--prove").exit_code == 0
    result = program("check", path, "--grid", "3")
    assert result.exit_code == 1 and "an element of y is never written; such as [63]" in result.output
    result = program("check", path, "--grid", "5")
    assert result.exit_code == 1 and "names a tile that lies wholly outside x" in result.output


def test_open_sizes(program: Program, kernel_file: Callable[..., Path]) -> None:
    path = kernel_file(FINE)
    sizes = ("--size", "x=L", "--size", "y=L", "--multiple", "L=16")
    assert program("check", path, "--grid", "cdiv(L,16)", *sizes).exit_code == 0
    result = program("check", path, "--grid", "L//32*2", *sizes)
    assert result.exit_code == 1 and "this happens whenever 32 * floor(L / 32) + 1 <= L" in result.output


def test_json(program: Program, kernel_file: Callable[..., Path]) -> None:
    result = program("check", kernel_file(SHARED), "--prove", "--json")
    (kernel,) = json.loads(result.stdout)["kernels"]
    assert not kernel["ok"] and [f["id"] for f in kernel["findings"]] == ["CTS201"]
    statuses = {proof["check"]: proof["status"] for proof in kernel["proofs"]}
    assert statuses["CTS201"] == "violated" and statuses["CTS101"] == "proved"


BY_DATA = """
import cuda.tile as ct
import numpy as np


@ct.kernel
def spread(x, y, N: ct.Constant[int]):
    target = ct.load(x, (ct.bid(0),), (1,)).item()
    ct.store(y, (target,), ct.zeros((N,), ct.float32))


def inputs():
    return dict(x=np.ones(64, np.int32), y=np.ones(32, np.float32), N=16, grid=(4,))
"""


def test_what_is_not_checked_is_said(program: Program, kernel_file: Callable[..., Path]) -> None:
    result = program("check", kernel_file(BY_DATA), "--prove")
    assert "NOT CHECKED" in result.output and "depends on data read at line" in result.output
    assert "checks could NOT be made" in result.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--size", "x=L"), "are for proofs"),
        (("--prove", "--size", "x"), "write NAME=VALUE"),
        (("--prove", "--multiple", "L=a"), "a whole number"),
        (("--prove", "--multiple", "L=²"), "a whole number"),
        (("--grid", "²"), "'²' is no expression"),
        (("--grid", "M"), "which is part of no size"),
    ],
)
def test_wrong_options(
    options: tuple[str, ...], words: str, program: Program, kernel_file: Callable[..., Path]
) -> None:
    result = program("check", kernel_file(FINE), *options)
    assert result.exit_code == 2 and words in result.output
