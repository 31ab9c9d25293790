"""What each operation does: one function an operation, named as Tile IR names it, in the file of its family.

`IMPLEMENTATIONS` maps each mnemonic to its function. Control flow is laid out by the engine's plan and has none.
"""

from cutile_sim.ops import (
    atomics,
    conversion,
    debug,
    floating,
    grid,
    integer,
    math,
    memory,
    mma,
    reduce,
    shape,
    views,
)
from cutile_sim.ops.registry import IMPLEMENTATIONS

__all__ = [
    "IMPLEMENTATIONS",
    "atomics",
    "conversion",
    "debug",
    "floating",
    "grid",
    "integer",
    "math",
    "memory",
    "mma",
    "reduce",
    "shape",
    "views",
]
