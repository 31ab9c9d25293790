"""Answers about blocks: what each does, what it touches, how two differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from cutile_sim.analysis import compare_blocks, tiles_of
from cutile_sim.analysis.runs import distinct
from cutile_sim.errors import UsageError
from cutile_sim.page.arrays import ACCESS_KINDS
from cutile_sim.page.block_totals import per_block
from cutile_sim.page.packing import pack
from cutile_sim.page.questions import Question
from cutile_sim.page.records import LANES, TOUCHES, numbers_of
from cutile_sim.traces.reader import LaunchTrace

MOST_BLOCKS = 1 << 22


def grid(question: Question) -> dict[str, Any]:
    """What each block of a layer of the grid does: bytes moved, records, and the first of them (-1: none)."""
    launch = question.launch
    x, y, z = launch.grid
    layer = question.number("z", 0, z)
    if x * y > MOST_BLOCKS:
        raise UsageError(f"a grid of {x * y:,} blocks is too large to be shown whole")
    found = per_block(launch, layer)
    return {
        "blocks": x * y,
        **{name: {"values": pack(v, _width(v)), "most": int(v.max(initial=0))} for name, v in found.items()},
    }


def _width(values: np.ndarray) -> str:
    return "i4" if values.max(initial=0) < 1 << 31 else "f8"


def block(question: Question) -> dict[str, Any]:
    """What one block touches, in time order: boxes of arrays, or single elements where they form none."""
    launch, asked = question.launch, question.block()
    tiles = tiles_of(launch, asked, at_most=TOUCHES + 1)
    numbers = {array.name: array.number for array in launch.arrays}
    scattered = {t.record for t in tiles if not t.is_box}
    lanes = dict(_lanes(launch, asked, scattered))
    moved = dict.fromkeys(ACCESS_KINDS, 0)
    found = []
    for tile in tiles[:TOUCHES]:
        array = launch.arrays[numbers[tile.array]]
        moved[tile.kind] += tile.elements * array.item_bytes
        entry = {"record": tile.record, "op": tile.op, "kind": tile.kind, "array": array.number, "box": _box(tile.box)}
        if not tile.is_box:
            entry["lanes"] = pack(lanes[tile.record, array.number], "f8")
        found.append(entry)
    return {
        "touches": found,
        "total": len(found),
        "is_cut": len(tiles) > TOUCHES,
        "bytes_loaded": moved["load"] + moved["atomic"],
        "bytes_stored": moved["store"] + moved["atomic"],
    }


def _box(box: tuple[tuple[int, int], ...]) -> list[list[int]]:
    return [list(along) for along in box]


def _lanes(
    launch: LaunchTrace, asked: tuple[int, int, int], records: set[int]
) -> Iterator[tuple[tuple[int, int], np.ndarray]]:
    """((record, array), elements in C order of the array's index) of some records of a block."""
    left = LANES
    for record in launch.records_at(sorted(records)):
        which = record.group.find(asked)
        assert which is not None
        parts: dict[int, list[np.ndarray]] = {}
        for access in record.accesses:
            if access.takes_part(which):
                parts.setdefault(access.array.number, []).append(numbers_of(access, access.offsets(which)))
        for array, found in parts.items():
            kept = distinct(np.concatenate(found))[:left]
            left -= kept.size
            yield (record.number, array), kept


def compare(question: Question) -> dict[str, Any]:
    """How two blocks differ: elements that one or both touch, and lines that they ran unequally often."""
    launch = question.launch
    found = compare_blocks(launch, question.block("a"), question.block("b"))
    return {
        "arrays": [asdict(array) for array in found.arrays],
        "lines": [{"file": at.file, "line": at.line, "a": at.operations_a, "b": at.operations_b} for at in found.lines],
    }
