"""Runs NVIDIA cuTile kernels exactly, on any CPU.

from cutile_sim import simulate
result = simulate(kernel, grid, *args)      # arrays are written in place, as by ct.launch
"""

from cutile_sim.api import load, simulate
from cutile_sim.checker import CheckReport, Finding, check
from cutile_sim.errors import (
    AssertionFailedError,
    BudgetExceededError,
    CutileSimError,
    DecodeError,
    InternalError,
    KernelError,
    MisalignedError,
    OutOfBoundsError,
    ReadOnlyError,
    UnsupportedError,
    UsageError,
    VerifyError,
)
from cutile_sim.launch import LaunchResult

__version__ = "0.1.0"

__all__ = [
    "AssertionFailedError",
    "BudgetExceededError",
    "CheckReport",
    "CutileSimError",
    "DecodeError",
    "Finding",
    "InternalError",
    "KernelError",
    "LaunchResult",
    "MisalignedError",
    "OutOfBoundsError",
    "ReadOnlyError",
    "UnsupportedError",
    "UsageError",
    "VerifyError",
    "check",
    "load",
    "simulate",
]
