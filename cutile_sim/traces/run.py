"""Run a kernel and record what it does."""

from __future__ import annotations

import os
from io import BytesIO
from typing import Any

from cutile_sim.api import simulate
from cutile_sim.traces.active import Tracer, options_of, tracing_here
from cutile_sim.traces.options import OPTION_NAMES
from cutile_sim.traces.reader import Trace, load_trace


def trace(
    kernel: Any,
    grid: Any,
    *args: Any,
    to: str | os.PathLike[str] | None = None,
    values: bool = False,
    contents: bool = False,
    **options: Any,
) -> Trace:
    """Run a kernel as `simulate` does, and record what its blocks do.

    Args:
        kernel, grid, args: What `simulate` takes.
        to: The file to write, usually `NAME.ctrace`; None keeps it in memory.
        values: Record the tiles that are moved, multiplied and reduced, too.
        contents: Record the arrays' contents before and after, too.
        options: The other fields of `TraceOptions`, and the keyword arguments of `simulate`.

    Returns:
        The trace; its `result` is what `simulate` returns.

    Raises:
        UsageError: The file cannot be written, or an option makes no sense.
        CutileSimError: What `simulate` raises; the file then holds all up to there.
    """
    chosen = {name: options.pop(name) for name in OPTION_NAMES if name in options}
    file: Any = BytesIO() if to is None else to
    tracer = Tracer(file, options_of({"values": values, "contents": contents, **chosen}), needs_names=True)
    with tracing_here(tracer):
        result = simulate(kernel, grid, *args, **options)
    found = load_trace(file)
    found.result = result
    return found
