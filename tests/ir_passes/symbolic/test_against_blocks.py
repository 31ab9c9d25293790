"""Verdicts against what every block, run alone, does."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cutile_sim.proofs import prove_launch

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def f(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


PITFALLS: dict[str, tuple[tuple[int, ...], Callable[[], tuple[Any, ...]], set[str]]] = {
    "divides_in_one_arm": ((3,), lambda: (f(3), np.array([0, 1, 2], np.int32)), set()),
    "adds_up_turns": ((3,), lambda: (f(3),), set()),
    "line_up_or_down": ((3,), lambda: (f(16),), {"CTS101"}),
    "asserts_either": ((8,), lambda: (f(2),), {"CTS101"}),
    "bounded_by_own_turns": ((4,), lambda: (f(10), f(4)), {"CTS201", "CTS202"}),
    "squares": ((1,), lambda: (f(226, 4),), set()),
    "first_or_last": ((2,), lambda: (f(16, 8),), set()),
    "takes_a_part": ((4,), lambda: (f(8), f(16)), {"CTS101"}),
    "puts_a_part": ((2,), lambda: (f(8), f(16)), {"CTS101"}),
    "never_stores": ((4,), lambda: (f(8),), set()),
    "asks_for_one_more": ((3,), lambda: ([f(4), f(4)],), {"CTS705"}),
    "divides_nowhere": ((4,), lambda: (f(12),), set()),
    "bits": ((4,), lambda: (f(8),), set()),
    "fails_first": ((4,), lambda: (f(4), -1), {"CTS901"}),
    "fails_in_the_last": ((4,), lambda: (f(4), 3), {"CTS901"}),
    "fails_in_a_lane": ((4,), lambda: (f(16),), {"CTS901"}),
}
"""Of each kernel the grid, its arguments, and the ids of what must be found."""


@pytest.fixture(scope="module")
def pitfalls(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("pitfalls")


@pytest.fixture(scope="module")
def truth(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("truth")


@pytest.mark.parametrize("name", PITFALLS)
def test_pitfall(name: str, pitfalls: ModuleType, truth: ModuleType) -> None:
    grid, make, ids = PITFALLS[name]
    kernel = getattr(pitfalls, name)
    report = prove_launch(kernel, grid, *make())
    assert truth.contradictions(kernel, grid, make(), report) == []
    assert {found.id for found in report.findings} >= ids, "\n".join(map(str, report.verdicts))


def test_reasons_name_no_operation_of_the_ir(pitfalls: ModuleType) -> None:
    reasons = {v.reason for v in prove_launch(pitfalls.bits, 4, f(8)).of("not checked")}
    assert any("a bitwise or at line" in reason for reason in reasons) and not any("ori " in r for r in reasons)


@pytest.fixture(scope="module")
def random_kernels(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("random_kernels")


@pytest.mark.parametrize("seed", range(16))
def test_random_kernel(
    seed: int, random_kernels: ModuleType, truth: ModuleType, module_of: Callable[[str], ModuleType]
) -> None:
    case = random_kernels.random_launch(seed)
    kernel = module_of(case.source).kernel
    try:
        report = prove_launch(kernel, case.grid, *case.arguments())
    except ct.TileError as error:
        pytest.skip(f"no kernel: {error}")
    assert truth.contradictions(kernel, case.grid, case.arguments(), report) == [], case.source
