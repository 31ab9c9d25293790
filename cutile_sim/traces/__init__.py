"""Traces: what every block of a launch read, wrote and computed, in one file that opens anywhere.

    trace(kernel, grid, *args, to="run.ctrace")
    for record in load_trace("run.ctrace").launches[0].records(kinds=("store",)): ...

docs/traces.md describes the file.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cutile_sim.traces.active import tracing
    from cutile_sim.traces.export_perfetto import write_perfetto
    from cutile_sim.traces.export_tvz import write_tvz
    from cutile_sim.traces.options import TraceOptions
    from cutile_sim.traces.reader import LaunchTrace, Trace, load_trace
    from cutile_sim.traces.run import trace

__all__ = ["LaunchTrace", "Trace", "TraceOptions", "load_trace", "trace", "tracing", "write_perfetto", "write_tvz"]

_HOMES = {
    "trace": "run",
    "tracing": "active",
    "TraceOptions": "options",
    "write_perfetto": "export_perfetto",
    "write_tvz": "export_tvz",
}


def __getattr__(name: str) -> Any:
    # Every launch asks `active` whether it is traced; the rest is loaded where it is.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'reader')}"), name)
    return value
