"""Analyses of decoded Tile IR. They read, never rewrite, and need no arrays and no GPU.

    from ir_passes import run
    roots = run("memory_roots", module)

Each pass is a function of a module or function in a file of its own; `PASSES` names them all, and loads one when asked.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from cutile_sim.tileir.core import Function

PASSES: dict[str, str] = {
    "dataflow": "ir_passes.dataflow:dataflow_graph",
    "memory_roots": "ir_passes.memory_roots:memory_roots",
    "block_order": "ir_passes.block_order:block_order",
    "block_dependence": "ir_passes.block_dependence:block_dependence",
    "grid_axes": "ir_passes.grid_axes:grid_axes",
}
"""Name of each pass, and where it lives: "module:function"."""


def run(name: str, function: Function, **options: Any) -> Any:
    """The result of one pass on one function. Raises KeyError, naming the passes there are, for an unknown one."""
    if name not in PASSES:
        raise KeyError(f"there is no pass {name!r}; there are {', '.join(PASSES)}")
    module, _, attribute = PASSES[name].partition(":")
    return getattr(import_module(module), attribute)(function, **options)
