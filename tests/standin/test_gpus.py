"""The table of GPUs."""

from __future__ import annotations

import pytest

from cutile_sim import UsageError
from cutile_sim.standin.gpus import gpu_of


@pytest.mark.parametrize(
    ("arch", "capability"), [("sm_80", (8, 0)), ("sm_89", (8, 9)), ("sm_90", (9, 0)), ("sm_120", (12, 0))]
)
def test_capability(arch: str, capability: tuple[int, int]) -> None:
    gpu = gpu_of(arch)
    assert (gpu.major, gpu.minor) == capability
    assert "simulated" in gpu.name


@pytest.mark.parametrize("arch", ["", "90", "sm_9", "sm_90a", "SM_90", "compute_90"])
def test_unknown(arch: str) -> None:
    with pytest.raises(UsageError, match="possible are sm_80"):
        gpu_of(arch)
