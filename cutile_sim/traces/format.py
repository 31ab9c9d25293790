"""The layout of a trace file: names of its members and the columns of its tables. docs/traces.md says it in words."""

from __future__ import annotations

import numpy as np

FORMAT = "cutile_sim trace"
VERSION = 1
MANIFEST = "manifest.json"
ALIGNMENT_BYTES = 8
"""Where each array in a pool starts."""
RESULT = 128
"""The role of a tile that is a result; smaller ones count operands."""

RECORDS = np.dtype(
    [
        ("op", "<i4"),
        ("group", "<i4"),
        ("start_ns", "<i8"),
        ("took_ns", "<i8"),
        ("access", "<i4"),
        ("accesses", "<i4"),
        ("tile", "<i4"),
        ("tiles", "<i4"),
    ]
)
"""One execution of an operation by a group of blocks: `accesses` rows of the table of accesses from row `access` on,
and as many tiles.
"""
ACCESSES = np.dtype(
    [
        ("array", "<i4"),
        ("unit_bytes", "<i4"),
        ("offset", "<i8"),
        ("begin", "<i4", (3,)),
        ("end", "<i4", (3,)),
        ("rank", "<i4"),
        ("dims", "<i8"),
        ("lanes", "<i8"),
        ("lane_bytes", "<i4"),
        ("mask", "<i8"),
    ]
)
"""Where a group's lanes lie in one array, in units of `unit_bytes` from its element 0. A window: `offset` plus steps
along the axes. Lanes: one offset each, in the pool at `lanes`; `mask` says which count. -1: there is none. `begin` and
`end` are the blocks it is of, as positions on the group's axes z, y, x.
"""
TILES = np.dtype([("role", "<i4"), ("element", "<i4"), ("rank", "<i4"), ("dims", "<i8"), ("data", "<i8")])
"""A tile's values, in storage form in the pool at `data`; its shape, batch axes first, lies in the dims."""
GROUPS = np.dtype([("shape", "<i4", (3,)), ("is_box", "<i4"), ("ids", "<i8"), ("count", "<i8"), ("chosen", "<i8")])
"""Blocks in step: batch shape z, y, x; in the pool at `ids` the block ids along z, y, x (int32; of a box one an axis
position, else one a block each); `count` blocks that were recorded, at `chosen` their positions (int32) unless all
were.
"""
TABLES = {"records": RECORDS, "accesses": ACCESSES, "tiles": TILES, "groups": GROUPS, "dims": np.dtype("<i8")}


def member(launch: int, chunk: int, table: str) -> str:
    """The name of a table of one chunk, or of its `pool`."""
    return f"launches/{launch}/{chunk}/{table}" + (".npy" if table != "pool" else ".bin")


def launch_member(launch: int) -> str:
    """The name of what is known of a whole launch."""
    return f"launches/{launch}/launch.json"


def contents_member(launch: int, array: int, when: str) -> str:
    """The name of an array's contents `before` or `after` the launch, in storage form, as bytes."""
    return f"launches/{launch}/arrays/{array}_{when}.bin"
