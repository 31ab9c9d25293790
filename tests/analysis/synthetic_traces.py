"""Traces written row by row, with windows, lanes and groups of blocks as no kernel of ours would make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import product
from typing import Any

import numpy as np

from cutile_sim.traces import LaunchTrace, load_trace
from cutile_sim.traces.writer import ArchiveWriter, Chunks

KINDS = ("load", "store", "atomic")
DTYPES = {1: "uint8", 2: "int16", 4: "float32", 8: "float64"}


@dataclass
class Group:
    """Blocks in step: `ids` along z, y, x for a box, else the block ids (x, y, z) of a list. `chosen`: which count."""

    shape: tuple[int, int, int]
    ids: Any
    is_box: bool = True
    chosen: list[int] | None = None

    def block(self, at: tuple[int, int, int]) -> tuple[int, int, int]:
        if not self.is_box:
            return tuple(self.ids[at[2]])
        z, y, x = (self.ids[axis][i] for axis, i in enumerate(at))
        return x, y, z

    def positions(self) -> list[tuple[int, int, int]]:
        every = list(product(*map(range, self.shape)))
        return every if self.chosen is None else [every[i] for i in self.chosen]


@dataclass
class Window:
    """A row of the table of accesses: lanes at even distances, or `lanes` with a `mask`."""

    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    offset: int = 0
    begin: tuple[int, int, int] = (0, 0, 0)
    end: tuple[int, int, int] | None = None
    unit_bytes: int = 4
    lanes: np.ndarray | None = None
    mask: np.ndarray | None = None
    array: int = 0


@dataclass
class Row:
    kind: str
    group: Group
    accesses: list[Window] = field(default_factory=list)


def launch_of(
    arrays: Sequence[tuple[tuple[int, ...], tuple[int, ...]]],
    rows: Sequence[Row],
    grid: tuple[int, int, int],
    item_bytes: int = 4,
    chunk_rows: int = 1 << 14,
) -> LaunchTrace:
    """A launch with arrays a, b, ... of these (shape, strides in elements), and these records in order."""
    file = BytesIO()
    archive = ArchiveWriter(file)
    number = archive.begin("synthetic")
    chunks = Chunks(archive, number)
    for at, row in enumerate(rows):
        if at and at % chunk_rows == 0:
            chunks.flush()
        _write(chunks, row)
    chunks.flush()
    ops = [
        {
            "name": kind, "kind": kind, "at": [[0, line, 1, "k"]], "line": 0, "parent": -1, "region": 0,
            "operands": {"view": line}, "results": [], "arguments": [], "flops": 0, "tile": None,
        }
        for line, kind in enumerate(KINDS, 1)
    ]  # fmt: skip
    archive.end(
        number,
        chunks.written,
        {
            "kernel": "synthetic",
            "grid": list(grid),
            "options": {"kinds": list(KINDS), "blocks": [], "lines": [], "names": [], "every": 1},
            "arrays": [
                {
                    "name": chr(ord("a") + n), "dtype": DTYPES[item_bytes], "item_bytes": item_bytes,
                    "shape": list(shape), "strides": list(strides), "is_argument": True,
                }
                for n, (shape, strides) in enumerate(arrays)
            ],
            "elements": [],
            "ops": ops,
            "parameters": [],
            "files": [{"path": "k.py", "text": None}],
            "counts": {name: [0] * 3 for name in ("executions", "blocks", "took_ns", "bytes_loaded", "bytes_stored")},
        },
    )  # fmt: skip
    archive.close()
    return load_trace(file).launches[0]


def _write(chunks: Chunks, row: Row) -> None:
    group = row.group
    if group.is_box:
        ids = np.concatenate([np.asarray(i, np.int32) for i in group.ids])
    else:
        ids = np.ascontiguousarray(np.asarray(group.ids, np.int32)[:, ::-1].T).reshape(-1)
    size = int(np.prod(group.shape))
    count = size if group.chosen is None else len(group.chosen)
    chosen = -1 if group.chosen is None else chunks.keep(np.asarray(group.chosen, np.int32))
    chunks.rows["groups"].append((group.shape, int(group.is_box), chunks.keep(ids), count, chosen))
    first = len(chunks.rows["accesses"])
    for access in row.accesses:
        lanes = mask = -1
        lane_bytes = 0
        if access.lanes is not None:
            lanes, lane_bytes = chunks.keep(access.lanes), access.lanes.itemsize
            mask = -1 if access.mask is None else chunks.keep(access.mask)
        dims = chunks.add_dims((*access.shape, *access.strides))
        end = group.shape if access.end is None else access.end
        chunks.rows["accesses"].append(
            (
                access.array, access.unit_bytes, access.offset, access.begin, end, len(access.shape), dims, lanes,
                lane_bytes, mask,
            )
        )  # fmt: skip
    number = len(chunks.rows["groups"]) - 1
    chunks.rows["records"].append((KINDS.index(row.kind), number, 0, 0, first, len(row.accesses), 0, 0))


def touched(row: Row, access: Window, item_bytes: int) -> list[tuple[tuple[int, int, int], int]]:
    """(block, element) for every lane of every block, one by one, as the format's definition says."""
    found = []
    group, wide = row.group, max(access.unit_bytes // item_bytes, 1)
    end = group.shape if access.end is None else access.end
    for which, at in enumerate(group.positions()):
        if not all(b <= p < e for b, p, e in zip(access.begin, at, end, strict=True)):
            continue
        for lane in product(*map(range, access.shape[3:])):
            if access.lanes is None:
                inner = [p - b if n > 1 else 0 for p, b, n in zip(at, access.begin, access.shape, strict=False)]
                unit = access.offset + sum(i * s for i, s in zip((*inner, *lane), access.strides, strict=True))
            else:
                batch = access.shape[:3]
                if group.chosen is None:
                    where = tuple(min(p, n - 1) for p, n in zip(at, batch, strict=True))
                else:
                    where = (0, 0, min(which, batch[2] - 1))
                if access.mask is not None and not access.mask[(*where, *lane)]:
                    continue
                unit = access.offset + int(access.lanes[(*where, *lane)])
            first = unit * access.unit_bytes // item_bytes
            found += [(group.block(at), first + i) for i in range(wide)]
    return found
