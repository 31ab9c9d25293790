"""The examples run through the library and the command line, and their checks can fail."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cutile_sim import simulate

FOLDER = Path(__file__).resolve().parents[2] / "examples"
NAMES = ("vector_add", "matmul", "softmax", "layer_norm", "flash_attention")
# A matrix product sums in an order that depends on how many blocks run in step.
SUMMED_BY_BLAS = ("matmul", "flash_attention")

pytestmark = pytest.mark.cutile


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(module: ModuleType, name: str, **options: Any) -> dict[str, Any]:
    args = module.inputs()
    grid = args.pop("grid")
    simulate(getattr(module, name), grid, *args.values(), **options)
    return args


def written(args: dict[str, Any]) -> np.ndarray:
    """The one array that is full of NaN before a run."""
    (output,) = (v for v in args.values() if isinstance(v, np.ndarray) and np.isnan(v.astype(np.float32)).all())
    return output


def test_every_example_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_library(name: str) -> None:
    pytest.importorskip("cuda.tile")
    module = load(name)
    module.check(run(module, name))


@pytest.mark.parametrize("name", NAMES)
def test_result_depends_neither_on_batches_nor_on_the_fill(name: str) -> None:
    pytest.importorskip("cuda.tile")
    module = load(name)
    whole, single = run(module, name), run(module, name, batch_blocks=1, undetermined="ones")
    module.check(single)
    if name not in SUMMED_BY_BLAS:
        for key, value in whole.items():
            np.testing.assert_array_equal(value, single[key], strict=isinstance(value, np.ndarray))


@pytest.mark.parametrize("name", NAMES)
def test_check_notices_one_wrong_element(name: str) -> None:
    pytest.importorskip("cuda.tile")
    module = load(name)
    untouched = module.inputs()
    with pytest.raises(AssertionError):
        module.check(untouched)
    position = next(key for key, value in untouched.items() if value is written(untouched))
    args = run(module, name)
    output = args[position]
    output.flat[-1] = output.flat[-1] * output.dtype.type(1.02) + output.dtype.type(0.02)
    with pytest.raises(AssertionError):
        module.check(args)


@pytest.mark.parametrize("name", NAMES)
def test_command_line(name: str) -> None:
    pytest.importorskip("cuda.tile")
    code = "import sys; from cutile_sim.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "run", str(FOLDER / f"{name}.py"), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["check"] == {"ok": True, "problem": None}
    assert [array["nan_count"] for array in result["written"]] == [0]
