"""Kernels that come as bytecode: with their source at hand, without it, and without debug information."""

from __future__ import annotations

import importlib.util
import linecache
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutile_sim import UsageError, debug, simulate
from cutile_sim.tileir.core import Function, Module, Op, Region
from cutile_sim.tileir.decode import decode

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

SOURCE = """import cuda.tile as ct


@ct.kernel
def twice(x, y, N: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, (i,), (N,))
    b = a + a
    ct.store(y, (i,), b)
"""


def exported(path: Path) -> Module:
    from cutile_sim.frontend.export import prepare_launch

    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return decode(prepare_launch(module.twice, (*arrays(), 8))[0].bytecode)


def arrays() -> tuple[np.ndarray, np.ndarray]:
    return np.arange(32, dtype=np.float32), np.zeros(32, np.float32)


@pytest.fixture
def module(tmp_path: Path) -> Module:
    return exported(tmp_path / "twice.py")


def test_with_the_source_at_hand(module: Module) -> None:
    x, y = arrays()
    with debug(module, 4, x, y, block=1) as session:
        session.break_at("twice.py:9")
        session.cont()
        np.testing.assert_array_equal(session.tile("b"), 2 * x[8:16])
        np.testing.assert_array_equal(session.value("arg0"), x)
        with pytest.raises(UsageError, match="x is not available here: the launch does not say"):
            session.value("x")
    np.testing.assert_array_equal(y, 2 * x)


def test_without_the_source(module: Module, tmp_path: Path) -> None:
    (tmp_path / "twice.py").unlink()
    linecache.clearcache()
    x, y = arrays()
    with debug(module, 4, x, y) as session:
        assert session.here is not None and session.here.line == 6
        assert str(session.here).endswith("twice.py:6 in twice, block (0, 0, 0)")
        assert session.step().line == 7  # type: ignore[union-attr]
        session.break_at(8)
        assert session.cont().line == 8  # type: ignore[union-attr]
        assert session.names() == () and session.locals() == {}
        with pytest.raises(UsageError, match="b is not available here: the source of twice could not be read"):
            session.value("b")
        assert session.op is not None
        np.testing.assert_array_equal(session.tile(repr(session.op.inputs[0])), x[:8])
    (stop,) = simulate(module, 4, x, y, break_at=9).stops
    assert stop.line == 9 and stop.tiles == {}


def without_lines(module: Module) -> Module:
    def bare(op: Op) -> Op:
        regions = tuple(Region(r.arguments, tuple(map(bare, r.ops))) for r in op.regions)
        return replace(op, regions=regions, location=None)

    def bare_function(function: Function) -> Function:
        body = Region(function.body.arguments, tuple(map(bare, function.body.ops)))
        return replace(function, body=body, location=None)

    return replace(module, functions=tuple(map(bare_function, module.functions)))


def test_without_debug_information(module: Module) -> None:
    x, y = arrays()
    with debug(without_lines(module), 4, x, y, block=2) as session:
        assert session.here is not None and session.here.line == 0 and "without a source line" in str(session.here)
        seen: list[Any] = []
        while session.op is not None and session.op.name != "store_view_tko":
            seen.append(session.op.name)
            assert session.step_op() is not None
        assert "load_view_tko" in seen and session.where() == ()
        np.testing.assert_array_equal(session.tile(repr(session.op.inputs[0])), 2 * x[16:24])  # type: ignore[union-attr]
        for command in (session.step, session.next, session.finish, lambda: session.until(3)):
            with pytest.raises(UsageError, match="no debug information: step by operation"):
                command()
        with pytest.raises(UsageError, match="no debug information, so no line of it can be named"):
            session.break_at("twice.py:9")
        with pytest.raises(UsageError, match="b is not available here"):
            session.value("b")
    with pytest.raises(UsageError, match="no debug information"):
        simulate(without_lines(module), 4, x, y, break_at=9)
