"""Verdicts against an enumeration of small grids: what is proved never happens, what is violated does."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cutile_sim.proofs import prove_launch

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


@pytest.fixture(scope="module")
def enumerator(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("enumerator")


def expected(case: Any, truth: Any) -> dict[str, bool]:
    """Whether each mistake happens, by the id of its finding."""
    written = {
        "CTS201": truth.overlaps,
        "CTS701": len(truth.owners) < case.length,
        "CTS501": truth.divides_by_zero,
    }
    if case.by_tile:
        return {**written, "CTS703": truth.leaves_index_space, "CTS704": truth.is_clipped}
    return {**written, "CTS101": truth.leaves_memory}


@pytest.mark.parametrize("seed", range(40))
def test_random_kernel(seed: int, enumerator: ModuleType, module_of: Callable[[str], ModuleType]) -> None:
    case = enumerator.random_case(seed)
    truth = enumerator.enumerate_case(case)
    array = np.zeros(case.length, np.float32)
    report = prove_launch(module_of(case.source).kernel, case.grid, array)
    assert not array.any()
    happens = expected(case, truth)
    statuses: dict[str, set[str]] = {}
    for verdict in report.verdicts:
        assert "mistake of cutile_sim" not in verdict.reason, f"{verdict}\n{case}"
        statuses.setdefault(verdict.check.value, set()).add(verdict.status)
    for check, wanted in happens.items():
        if check not in statuses or (truth.divides_by_zero and check != "CTS501"):
            continue
        assert not (wanted and statuses[check] == {"proved"}), f"{check} happens\n{case}"
        assert wanted or "violated" not in statuses[check], f"{check} does not happen\n{case}"


def test_most_is_decided(enumerator: ModuleType, module_of: Callable[[str], ModuleType]) -> None:
    verdicts = []
    for seed in range(100, 112):
        case = enumerator.random_case(seed)
        kernel = module_of(case.source).kernel
        verdicts += prove_launch(kernel, case.grid, np.zeros(case.length, np.float32)).verdicts
    assert sum(v.status == "not checked" for v in verdicts) < len(verdicts) / 8
