"""Verdicts on several accesses together, against an enumeration of small grids: no proof of what happens, no witness of
what does not.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutile_sim.proofs import prove_launch

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

SCALARS = st.sampled_from(["bx", "by", "t", "nx", "0", "1", "2", "3", "5", "total", "top", "low"])


def combined(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(children, children)
    return st.one_of(
        pair.map(lambda p: f"({p[0]} + {p[1]})"),
        pair.map(lambda p: f"({p[0]} - {p[1]})"),
        pair.map(lambda p: f"({p[0]} * {p[1]})"),
        st.tuples(children, st.sampled_from([2, 3, 4])).map(lambda p: f"({p[0]} // {p[1]})"),
        st.tuples(children, st.sampled_from([2, 3, 4])).map(lambda p: f"({p[0]} % {p[1]})"),
    )


LIKELY = st.sampled_from(
    ["bx", "bx + nx * by", "bx * 2", "bx * 2 + 1", "bx * 3 + t", "nx - 1 - bx", "(bx + 1) % nx", "bx // 2", "t"]
)
EXPRESSIONS = st.one_of(LIKELY, LIKELY, st.recursive(SCALARS, combined, max_leaves=4))
CONDITIONS = st.sampled_from(["True", "True", "True", "bx < 2", "bx >= 2", "t == 0", "by == 0", "bx != by"])


@st.composite
def statements(draw: st.DrawFn) -> dict[str, Any]:
    by_tile = draw(st.booleans())
    index = draw(EXPRESSIONS)
    if not by_tile:
        index = draw(st.sampled_from([f"({index}) * 4", f"({index}) * 4 + 1", index, f"{index} + run"]))
    return {
        "kind": draw(st.sampled_from(["load", "load", "store", "store", "store", "update"])),
        "target": draw(st.sampled_from(["y", "y", "y", "0", "t", "bx", "bx + by"])),
        "index": index,
        "condition": draw(CONDITIONS),
        "by_tile": by_tile,
    }


@st.composite
def programs(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "statements": draw(st.lists(statements(), min_size=1, max_size=3)),
        "turns": draw(
            st.sampled_from([("0", "1", 1), ("0", "2", 1), ("bx", "5", 1), ("bx", "9", 4), ("0", "by + 1", 1)])
        ),
        "grid": draw(st.sampled_from([(1, 1), (2, 1), (4, 1), (3, 2), (4, 3)])),
        "length": draw(st.sampled_from([4, 8, 13, 16, 24])),
        "lengths": draw(st.sampled_from([(8,), (8, 8), (16, 16, 16), (8, 12), (16, 5, 16)])),
        "numbers": draw(st.sampled_from([(1, 0), (2, 1), (0, 3), (3, 7)])),
    }


@pytest.fixture(scope="module")
def counting(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("statements")


@settings(max_examples=40, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(programs())
def test_random_program(counting: ModuleType, module_of: Callable[[str], ModuleType], parts: dict[str, Any]) -> None:
    each = tuple(counting.Statement(**s) for s in parts["statements"])
    program = counting.Program(**{**parts, "statements": each})
    blocks = program.grid[0] * program.grid[1]
    y, out = np.zeros(program.length, np.float32), np.zeros(blocks * counting.TILE, np.float32)
    xs = [np.zeros(n, np.float32) for n in program.lengths]
    report = prove_launch(module_of(program.source).kernel, program.grid, xs, y, out)
    for verdict in report.verdicts:
        assert "mistake of cutile_sim" not in verdict.reason, f"{verdict}\n{program.source}"
    happens = counting.touched(program)
    for name, touches in happens.items():
        compare(name, touches, report, program)


def compare(name: str, touches: Any, report: Any, program: Any) -> None:
    elements = program.length if name == "y" else sum(program.lengths)
    clashes = {
        "CTS201": (touches.clash("store", "store"), touches.clash("store", "update")),
        "CTS202": (touches.clash("load", "store"), touches.clash("load", "update")),
        "CTS701": (len(touches.blocks["store"]) < elements and len(touches.blocks["update"]) == 0, False),
    }
    for check, (happens, may_happen) in clashes.items():
        own = [v for v in report.verdicts if v.check.value == check and (v.array or "").partition("[")[0] == name]
        said = {v.status for v in own}
        where = f"{check} of {name} in {program.grid}, lengths {program.length} {program.lengths}\n{program.source}"
        if happens or may_happen:
            assert not own or said != {"proved"}, f"proved, but happens: {where}"
        if not happens:
            assert "violated" not in said, f"violated, but does not happen: {where}"
        if check == "CTS202" and happens:
            assert own, f"nothing is said: {where}"
