"""Install, uninstall, nesting, and names that were imported before."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import cutile_sim
from cutile_sim import UsageError, install, simulated_launches, uninstall
from cutile_sim.standin import activation

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

# Not a global of its own, or it would be replaced as well.
ORIGINALS = [ct.launch]


@pytest.fixture(autouse=True)
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activation, "real_gpu_present", lambda: False)


@pytest.fixture
def user_module() -> Any:
    module = ModuleType("a_program_that_imported_before")
    module.launch = module.start = ct.launch  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def test_names_imported_before_and_since(user_module: Any, kernels: Any, device_array: Any) -> None:
    x, y = device_array(range(32)), device_array(np.zeros(32))
    with simulated_launches():
        assert user_module.launch is user_module.start is ct.launch is not ORIGINALS[0]
        user_module.since = ct.launch
        user_module.start(0, (2,), kernels.increment, (x, y, 16))
    assert y.__cutile_sim_device_array__.tolist() == list(range(1, 33))
    assert user_module.launch is user_module.start is user_module.since is ct.launch is ORIGINALS[0]


def test_installs_nest() -> None:
    install("sm_90")
    install()
    install("sm_100")
    assert activation.current_gpu().arch == "sm_100"
    uninstall()
    assert activation.current_gpu().arch == "sm_90"
    uninstall()
    assert ct.launch is not ORIGINALS[0]
    uninstall()
    assert ct.launch is ORIGINALS[0]
    with pytest.raises(UsageError, match="without install"):
        uninstall()


def test_the_block_ends_on_an_exception() -> None:
    with pytest.raises(KeyError), simulated_launches("sm_80"):
        raise KeyError
    assert ct.launch is ORIGINALS[0]
    assert not activation.is_installed()


def test_unknown_gpu() -> None:
    with pytest.raises(UsageError, match=r"no stand-in for .*'sm_70'.*sm_90"):
        install("sm_70")
    assert not activation.is_installed()


def test_a_real_gpu_needs_an_explicit_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activation, "real_gpu_present", lambda: True)
    with pytest.raises(UsageError, match=r"this computer has a GPU.*force=True.*--force.*CUTILE_SIM=force"):
        install()
    assert ct.launch is ORIGINALS[0]
    with simulated_launches(force=True):
        assert ct.launch is not ORIGINALS[0]


def test_processes_started_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTILE_SIM_ARCH", "sm_80")
    with simulated_launches("sm_90"):
        take_back = activation.pass_on()
        assert (os.environ["CUTILE_SIM"], os.environ["CUTILE_SIM_ARCH"]) == ("1", "sm_90")
        take_back()
    assert "CUTILE_SIM" not in os.environ
    assert os.environ["CUTILE_SIM_ARCH"] == "sm_80"


def test_public_names() -> None:
    assert {"install", "uninstall", "simulated_launches"} <= set(cutile_sim.__all__) <= set(dir(cutile_sim))
    assert all(hasattr(cutile_sim, name) for name in cutile_sim.__all__)
    with pytest.raises(AttributeError, match="no attribute 'simulated'"):
        _ = cutile_sim.simulated


def test_the_launch_says_once_that_it_is_simulated(python: Any, program: str) -> None:
    done = python("-c", "import runpy, cutile_sim; cutile_sim.install(force=True); runpy.run_path('program.py')")
    assert done.stdout.split()[:2] == ["sum", "2080.0"]
    assert done.stderr == "cutile_sim: launches are simulated on the CPU (sm_90)\n"
