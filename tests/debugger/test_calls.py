"""Kernels whose code comes from several files and functions."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cutile_sim import UsageError, debug, simulate

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

HELPERS = """
import cuda.tile as ct


def scaled(tile, factor):
    product = tile - factor
    return product


def shifted(tile, by):
    moved = scaled(tile, 1) + by
    return moved
"""
KERNEL = """
import cuda.tile as ct
from helpers_of_test import scaled, shifted


def apply(function, tile):
    result = function(tile)
    return result


@ct.kernel
def kernel(x, y, N: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, (i,), (N,))

    def inner(tile, extra=3):
        sum_of_both = tile + a + extra
        return sum_of_both

    b = shifted(a, 2)
    c = scaled(tile=b, factor=4)
    d = inner(c)
    e = apply(lambda t: t + d, c)
    ct.store(y, (i,), e)
"""


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "helpers_of_test.py").write_text(HELPERS)
    path = tmp_path / "kernel_of_test.py"
    path.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delitem(sys.modules, "helpers_of_test")
    return module


def line_of(text: str, within: str) -> int:
    return next(n for n, line in enumerate(within.splitlines(), 1) if text in line)


def arrays() -> tuple[np.ndarray, np.ndarray, int]:
    return np.arange(32, dtype=np.int32), np.zeros(32, np.int32), 8


def test_frames_in_two_files(kernel: ModuleType) -> None:
    x = arrays()[0][8:16]
    line = line_of("product = tile - factor", HELPERS)
    with debug(kernel.kernel, 4, *arrays(), block=1) as session:
        session.break_at(f"helpers_of_test.py:{line}")
        assert session.cont() is not None
        chain = [(Path(h.file).name, h.function, h.line) for h in session.where()]
        assert chain == [
            ("kernel_of_test.py", "kernel", line_of("b = shifted(a, 2)", KERNEL)),
            ("helpers_of_test.py", "shifted", line_of("moved = ", HELPERS)),
            ("helpers_of_test.py", "scaled", line),
        ]
        np.testing.assert_array_equal(session.tile("tile"), x)
        assert session.value("factor") == 1
        assert session.up().function == "shifted" and session.value("by") == 2
        assert session.up().function == "kernel"
        np.testing.assert_array_equal(session.tile("a"), x)
        assert session.cont() is not None
        assert [h.function for h in session.where()] == ["kernel", "scaled"] and session.value("factor") == 4
        np.testing.assert_array_equal(session.tile("tile"), x + 1)


def test_nested_functions_and_lambdas(kernel: ModuleType) -> None:
    x = arrays()[0][:8]
    with debug(kernel.kernel, 4, *arrays()) as session:
        session.break_at(line_of("return sum_of_both", KERNEL) - 1)
        assert session.cont() is not None
        assert session.here is not None and session.here.function == "inner"
        np.testing.assert_array_equal(session.tile("tile"), x - 3)
        session.break_at(line_of("e = apply(", KERNEL))
        assert session.cont() is not None
        np.testing.assert_array_equal(session.tile("d"), 2 * x)
        assert session.step().function == "apply"  # type: ignore[union-attr]
        here = session.step()
        assert here is not None and here.function == "<lambda>"
        np.testing.assert_array_equal(session.tile("t"), x - 3)
        assert session.next().function == "kernel"  # type: ignore[union-attr]
        np.testing.assert_array_equal(session.tile("e"), 3 * x - 3)


def test_lines_of_other_files(kernel: ModuleType) -> None:
    line = line_of("product = tile - factor", HELPERS)
    stops = simulate(kernel.kernel, 4, *arrays(), break_at=f"helpers_of_test.py:{line}", break_blocks=[2]).stops
    assert [s.function for s in stops] == ["scaled", "scaled"] and set(stops[0].tiles) == {"tile"}
    with pytest.raises(UsageError, match=r"its code comes from .*kernel_of_test.py, .*helpers_of_test.py"):
        simulate(kernel.kernel, 4, *arrays(), break_at=f"helpers.py:{line}")
