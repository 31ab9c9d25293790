"""Compile errors of cuTile, rendered with the user's lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cutile_sim.frontend import compile_kernel, explain

pytestmark = pytest.mark.cutile


def line_of(text):
    """Line and column of a text in kernels.py, from 1."""
    for number, line in enumerate(Path(__file__).with_name("kernels.py").read_text().splitlines(), 1):
        if text in line:
            return number, line.index(text) + 1
    raise AssertionError(text)


def test_the_place_and_its_callers(kernels):
    ct = pytest.importorskip("cuda.tile")
    with pytest.raises(ct.TileError) as raised:
        compile_kernel(kernels.broken, (np.zeros(4, np.float32),))
    file = str(Path(__file__).with_name("kernels.py"))
    inner, outer = line_of("tile.no_such_attribute"), line_of("broken_helper(tile))")
    text = explain(raised.value)
    assert text is not None
    first, *rest = text.splitlines()
    assert first.startswith("TypeCheckingError: No such attribute 'no_such_attribute'")
    assert rest == [
        f"  {file}:{inner[0]}:{inner[1]}, in broken_helper",
        "    return tile.no_such_attribute",
        "           ^",
        f"  called from {file}:{outer[0]}:{outer[1]}, in broken",
        "    ct.store(x, (0,), broken_helper(tile))",
        "                      ^",
    ]


def test_without_a_place(kernels):
    ct = pytest.importorskip("cuda.tile")
    assert explain(ct.TileTypeError("no place")) == f"{ct.TileTypeError.__name__}: no place"


@pytest.mark.parametrize("error", [ValueError("x"), TypeError("y"), KeyError("z")])
def test_other_errors_are_not_explained(error):
    assert explain(error) is None
