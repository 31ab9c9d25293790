"""What the planner asks about a function's structure."""

from __future__ import annotations

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.tileir.core import Op, Region, Value
from cutile_sim.tileir.types import TileType


def homes(region: Region) -> dict[Op, Region]:
    """The region that each operation stands in."""
    found: dict[Op, Region] = {}
    for op in region.ops:
        found[op] = region
        for nested in op.regions:
            found.update(homes(nested))
    return found


def is_uniform(op: Op, uniform: set[Value]) -> bool:
    """Whether an operation gives every block the same, however often: it may run once a launch, ahead of all blocks."""
    return (
        op.spec.effect == "pure"
        and not op.regions
        and op.name != "get_tile_block_id"
        and all(v in uniform for v in op.inputs)
    )


def stop_flag(region: Region) -> Value | None:
    """The flag with which a counted loop skips all turns that are left: how the front-end writes a `break` out of one.

    Its body begins with `if flag { continue }` that hands everything on as it is.
    """
    first = region.ops[0]
    if first.name != "if" or first.inputs[0] not in region.arguments[1:] or first.results:
        return None
    then = first.regions[0].ops
    otherwise = first.regions[1].ops if len(first.regions) > 1 else ()
    if len(then) != 1 or then[0].name != "continue" or then[0].inputs != region.arguments[1:]:
        return None
    return first.inputs[0] if all(o.name == "yield" for o in otherwise) else None


def leaves(region: Region) -> bool:
    """Whether a branch ends by leaving: its loop, or the function."""
    return region.ops[-1].name != "yield"


def reads_memory(region: Region) -> bool:
    """Whether anything in a region could see what another block wrote."""
    return any(o.spec.effect in ("read", "read_write") for op in region.ops for o in op.walk())


WINDOW_SHARE = 4
"""A loaded tile that needs no conversion is mostly a window of memory that is read once: it counts for so much less."""


def carrier_of(kind: TileType) -> np.dtype:
    """The type of the arrays that carry tiles of a type; a pointer is an int64."""
    return kind.element.carrier if isinstance(kind.element, ElementType) else np.dtype(np.int64)


def tile_bytes(value: Value, maker: Op | None = None) -> int:
    """Bytes the engine needs to carry a value of one block, made by `maker`; 0 for what is not a tile."""
    if not isinstance(value.type, TileType):
        return 0
    element, item = value.type.element, carrier_of(value.type).itemsize
    count = 1
    for n in value.type.shape:
        count *= n
    if maker is not None and maker.name == "load_view_tko" and isinstance(element, ElementType):
        return count * item // (WINDOW_SHARE if element.storage == element.carrier else 1)
    return count * item
