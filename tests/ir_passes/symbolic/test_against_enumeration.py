"""Verdicts against an enumeration of small grids: what is proved never happens, what is violated does."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from cutile_sim.proofs import prove_launch  # noqa: E402


def _load(path: Path, name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


enumerator = _load(Path(__file__).with_name("enumerator.py"), "symbolic_enumerator")


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


@pytest.mark.parametrize("seed", range(400))
def test_random_kernel(seed: int, tmp_path: Path) -> None:
    case = enumerator.random_case(seed)
    path = tmp_path / f"case{seed}.py"
    path.write_text(case.source)
    kernel = _load(path, f"symbolic_case{seed}").kernel
    truth = enumerator.enumerate_case(case)
    array = np.zeros(case.length, np.float32)
    report = prove_launch(kernel, case.grid, array)
    assert not array.any()
    happens = expected(case, truth)
    for verdict in report.verdicts:
        wanted = happens.get(verdict.check.value)
        if wanted is None or (truth.divides_by_zero and verdict.check.value != "CTS501"):
            continue
        if verdict.status == "violated":
            assert wanted, f"{verdict}\n{case}"
        assert "mistake of cutile_sim" not in verdict.reason, f"{verdict}\n{case}"
    for check, wanted in happens.items():
        statuses = {v.status for v in report.verdicts if v.check.value == check}
        if wanted and statuses and not truth.divides_by_zero:
            assert statuses != {"proved"}, f"{check} happens\n{case}"


def test_most_is_decided(tmp_path: Path) -> None:
    """Half of all verdicts would be a poor prover: of these kernels, nearly all are decided."""
    verdicts = []
    for seed in range(100, 115):
        case = enumerator.random_case(seed)
        path = tmp_path / f"case{seed}.py"
        path.write_text(case.source)
        kernel = _load(path, f"symbolic_case{seed}").kernel
        verdicts += prove_launch(kernel, case.grid, np.zeros(case.length, np.float32)).verdicts
    undecided = [v for v in verdicts if v.status == "not checked"]
    assert len(undecided) < len(verdicts) / 8
