"""What the tests of the stand-ins share: kernels, and arrays on the simulated GPU without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cutile_sim.standin import activation

ct = pytest.importorskip("cuda.tile")


@ct.kernel
def increment(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) + 1)


@ct.kernel
def greet(x):
    ct.print("block", ct.bid(0))


@ct.kernel
def store_past_the_end(x):
    ct.scatter(x, ct.arange(128, dtype=ct.int32), 1.0, check_bounds=False)


class DeviceArray:
    """An array on the simulated GPU, as the stand-ins for other packages make them."""

    def __init__(self, values: Any, dtype: Any = np.float32) -> None:
        self.__cutile_sim_device_array__ = np.array(values, dtype)


# The protocol is looked up on the type.
DeviceArray.__cutile_sim_device_array__ = None  # type: ignore[attr-defined]


@pytest.fixture
def kernels() -> SimpleNamespace:
    return SimpleNamespace(increment=increment, greet=greet, store_past_the_end=store_past_the_end)


@pytest.fixture
def device_array() -> type[DeviceArray]:
    return DeviceArray


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Launches simulated for one test, whatever this computer has."""
    monkeypatch.setattr(activation, "real_gpu_present", lambda: False)
    with activation.simulated_launches():
        yield


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs Python with the words given, in a folder of its own and an environment that asks for nothing."""

    def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("CUTILE_SIM", "PYTEST", "COV_"))}
        return subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=tmp_path,
            env={**clean, **environment},
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


PROGRAM = """
import sys

import cupy as cp
import cuda.tile as ct
from cuda.tile import launch


@ct.kernel
def increment(x, y, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) + 1)


@ct.kernel
def store_past_the_end(x):
    ct.scatter(x, ct.arange(128, dtype=ct.int32), 1.0, check_bounds=False)


x = cp.arange(64, dtype=cp.float32)
y = cp.zeros_like(x)
launch(cp.cuda.get_current_stream(), (4,), increment, (x, y, 16))
print("sum", float(y.sum()), *sys.argv[1:], __name__)
if "exit" in sys.argv:
    sys.exit(5)
if "fault" in sys.argv:
    launch(cp.cuda.get_current_stream(), (1,), store_past_the_end, (x,))
if "refused" in sys.argv:
    launch(cp.cuda.get_current_stream(), (4,), increment, (x, y, 15))
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    """A script for the GPU, in the folder that `python` runs in."""
    if "cupy" in sys.modules:
        pytest.skip("the programs of these tests use CuPy's stand-in")
    (tmp_path / "program.py").write_text(PROGRAM)
    return "program.py"
