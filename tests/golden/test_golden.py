"""Kernels run on an H200: the simulator writes the same bits, and prints the same text."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from cutile_sim import AssertionFailedError, simulate

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")

HERE = Path(__file__).parent


def sibling(name: str):
    """A module beside this file: kernels need a source file of their own."""
    spec = importlib.util.spec_from_file_location(f"golden_{name}", HERE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = sibling("cases")
PRINTING = sibling("printing")
with np.load(HERE / "kernels.npz") as file:
    RECORDED = {key: file[key] for key in file.files}
WITH_RECORD = [case for case in CASES.cases() if f"{case.name}/{case.outputs[0]}" in RECORDED]


def test_every_record_has_its_case():
    keys = [f"{case.name}/{j}" for case in WITH_RECORD for j in case.outputs]
    assert sorted(keys) == sorted(RECORDED)
    assert len(keys) > 250


@pytest.mark.parametrize("case", WITH_RECORD, ids=lambda case: case.name)
def test_same_bits(case):
    args = case.inputs()
    simulate(case.kernel, case.grid, *args)
    for j in case.outputs:
        out = args[j]
        step = CASES.sampling(out.size)
        got = np.ascontiguousarray(out.reshape(-1)[::step])
        want = np.ascontiguousarray(RECORDED[f"{case.name}/{j}"]).view(out.dtype).reshape(-1)
        differ = got.view(np.uint8).reshape(got.size, -1) != want.view(np.uint8).reshape(got.size, -1)
        wrong = differ.any(axis=1)
        if out.dtype.kind not in "biu":
            with np.errstate(all="ignore"):
                wrong &= ~(np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64)))
        if case.determined is not None:
            wrong &= case.determined().reshape(-1)[::step]
        at = np.flatnonzero(wrong)
        assert not at.size, f"element {at[0] * step}: {got[at[0]]}, on the GPU {want[at[0]]} ({at.size} differ)"


@pytest.mark.parametrize("version", ["13.1", "13.4"])
@pytest.mark.parametrize("name", list(PRINTING.KERNELS))
def test_same_text(name, version):
    recorded = json.loads((HERE / "printing.json").read_text())[name]
    kernel = PRINTING.KERNELS[name]
    if name != "asserting":
        assert simulate(kernel, 1, PRINTING.VALUES, bytecode_version=version, echo=False).printed == recorded
        return
    with pytest.raises(AssertionFailedError) as caught:
        simulate(kernel, 1, PRINTING.VALUES, bytecode_version=version, echo=False)
    location = caught.value.location
    assert location is not None
    assert caught.value.printed == f"{location.file}:{location.line}{recorded}"
