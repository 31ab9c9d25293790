"""Runs NVIDIA cuTile kernels exactly, on any CPU.

from cutile_sim import simulate
result = simulate(kernel, grid, *args)      # arrays are written in place, as by ct.launch

PYTEST_DONT_REWRITE: with CUTILE_SIM set, this package is loaded before pytest, which would warn of that.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from cutile_sim.version import __version__

if TYPE_CHECKING:
    from cutile_sim.api import debug, load, simulate
    from cutile_sim.checker import CheckReport, check
    from cutile_sim.debugger import Session, Stop
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
    from cutile_sim.findings import Finding
    from cutile_sim.launch import LaunchResult
    from cutile_sim.page import view, write_html
    from cutile_sim.pictures import plot
    from cutile_sim.proofs import ProofReport, prove_launch
    from cutile_sim.standin import install, simulated_launches, uninstall
    from cutile_sim.traces import Trace, TraceOptions, load_trace, trace, tracing


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
    "ProofReport",
    "ReadOnlyError",
    "Session",
    "Stop",
    "Trace",
    "TraceOptions",
    "UnsupportedError",
    "UsageError",
    "VerifyError",
    "__version__",
    "check",
    "debug",
    "install",
    "load",
    "load_trace",
    "plot",
    "prove_launch",
    "simulate",
    "simulated_launches",
    "trace",
    "tracing",
    "uninstall",
    "view",
    "write_html",
]

_HOMES = {
    "debug": "api",
    "load": "api",
    "simulate": "api",
    "CheckReport": "checker",
    "Finding": "findings",
    "check": "checker",
    "LaunchResult": "launch",
    "plot": "pictures",
    "ProofReport": "proofs",
    "prove_launch": "proofs",
    "install": "standin",
    "simulated_launches": "standin",
    "uninstall": "standin",
    "Session": "debugger",
    "Stop": "debugger",
    "Trace": "traces",
    "TraceOptions": "traces",
    "load_trace": "traces",
    "trace": "traces",
    "tracing": "traces",
    "view": "page",
    "write_html": "page",
}
"""The module of each name above; `errors` for the rest."""


def __getattr__(name: str) -> Any:
    # Loaded at the first use: the pytest plugin and CUTILE_SIM's hook are in processes that may never need any of it.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
