"""Compute capability, grid limits and tuning without a driver."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from cutile_sim.standin import cutile_private, launches
from cutile_sim.standin.gpus import gpu_of
from cutile_sim.standin.rebind import Rebinder

ct = pytest.importorskip("cuda.tile")
pytestmark = [pytest.mark.cutile, pytest.mark.usefixtures("installed")]


def test_the_capability_is_that_of_the_chosen_gpu() -> None:
    from cutile_sim import simulated_launches

    capability = importlib.import_module("cuda.tile._cext").get_compute_capability
    assert capability() == capability(0) == (9, 0)
    with simulated_launches("sm_121"):
        assert capability() == (12, 1)
    with pytest.raises(RuntimeError, match="invalid device ordinal 1"):
        capability(1)


def test_tuning_runs_each_configuration_once(device_array: Any, capsys: pytest.CaptureFixture[str]) -> None:
    @ct.kernel
    def count(x, TILE: ct.Constant[int]):
        ct.store(x, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)) + 1)

    x = device_array(np.zeros(8))
    found = ct.tune.exhaustive_search(
        [3, 4, 8], 0, grid_fn=lambda tile: (1,), kernel=count, args_fn=lambda tile: (x, tile), quiet=True
    )
    assert found.best.config == 4
    assert [m.config for m in found.successes] == [4, 8]
    assert [(config, issubclass(kind, ct.TileError)) for config, kind, _ in found.failures] == [(3, True)]
    assert x.__cutile_sim_device_array__.tolist() == [2, 2, 2, 2, 1, 1, 1, 1]


def test_trials_are_not_sanitized(device_array: Any) -> None:
    """They are given whatever memory there is, to see how long they take."""
    from cutile_sim.sanitize import Session

    @ct.kernel
    def invert(x, TILE: ct.Constant[int]):
        ct.store(x, index=(0,), tile=1.0 / ct.load(x, index=(0,), shape=(TILE,)))

    session = Session()
    x = device_array(np.zeros(8, np.float32))
    with launches.watched_by(session.watching):
        ct.tune.exhaustive_search([4, 8], 0, lambda c: (1,), invert, lambda c: (x, c), quiet=True)
        assert session.take() == ()
        zeros = device_array(np.zeros(8, np.float32))
        ct.launch(0, (1,), invert, (zeros, 8))
    assert [f.id for f in session.take()] == ["CTS602"]


def test_long_tuning_compiles_the_rest(device_array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @ct.kernel
    def count(x, TILE: ct.Constant[int]):
        ct.store(x, index=(0,), tile=ct.load(x, index=(0,), shape=(TILE,)) + 1)

    monkeypatch.setattr(cutile_private, "_ENOUGH_S", 0.0)
    x = device_array(np.zeros(8))
    found = ct.tune.exhaustive_search([4, 8, 3], 0, lambda c: (1,), count, lambda c: (x, c), quiet=True)
    assert [m.config for m in found.successes] == [4, 8]
    assert [config for config, _, _ in found.failures] == [3]
    assert x.__cutile_sim_device_array__.tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


def test_tuning_gives_up_on_a_configuration_that_hangs(device_array: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    @ct.kernel
    def hang(flag):
        while ct.gather(flag, 0) == 0:
            ct.atomic_add(flag, 0, 0)

    monkeypatch.setattr(cutile_private, "_LEAST_TIMEOUT_S", 0.2)
    x = [device_array([1], np.int32), device_array([0], np.int32)]
    found = ct.tune.exhaustive_search(
        [0, 1], 0, lambda c: (1,), hang, lambda c: (x[c],), quiet=True, single_run_timeout_sec=0.1
    )
    assert [m.config for m in found.successes] == [0]
    assert [(config, kind.__name__) for config, kind, _ in found.failures] == [(1, "TileLaunchTimeoutError")]


def test_a_release_without_one_of_the_names_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cutile_private, "_of_extension", lambda gpu: {"gone_in_this_release": lambda: None})
    monkeypatch.setattr(launches, "_warned", set())
    rebinder = Rebinder()
    cutile_private.stand_in(rebinder, lambda: gpu_of("sm_90"))
    rebinder.restore()
    assert "this cuda-tile has no cuda.tile._cext.gone_in_this_release" in capsys.readouterr().err
