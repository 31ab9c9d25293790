"""The footprints of all accesses to an array, those that are alike as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from cutile_sim.analysis.access_table import AccessTable, Form, Pattern, access_table
from cutile_sim.analysis.combs import Comb, Footprint
from cutile_sim.analysis.footprints import Scattered, Selector, footprints, scattered_lanes, window
from cutile_sim.analysis.starts import merged, singles, starts
from cutile_sim.traces.options import BlockBox
from cutile_sim.traces.reader import LaunchTrace

LANES_AT_ONCE = 1 << 18
KEPT_FOOTPRINTS = 1 << 12
"""Footprints of an array are kept for the next question if they are no more than so many, and no single lanes."""
Found = tuple[str, Footprint | Scattered]


def found_footprints(
    launch: LaunchTrace,
    array: str,
    kinds: Sequence[str],
    between: tuple[int, int] | None = None,
    blocks: Sequence[Any] = (),
    lines: Sequence[Any] = (),
    *,
    numbered: str = "",
    apart: bool = False,
) -> Iterator[Found]:
    """(kind, footprint) of all accesses to an array, in any order; `numbered` by "blocks", by "records", or not.

    Those of tiles at different places are `apart`, if that is asked for.
    """
    key = found_footprints, array, tuple(kinds), numbered, apart
    is_whole = between is None and not blocks and not lines
    if is_whole and key in launch.kept:
        yield from launch.kept[key]
        return
    kept: list[Found] | None = [] if is_whole else None
    for found in _found(launch, array, kinds, between, blocks, lines, numbered, apart):
        if kept is not None:
            kept.append(found)
            if isinstance(found[1], Scattered) or len(kept) > KEPT_FOOTPRINTS:
                kept = None
        yield found
    if kept is not None:
        launch.kept[key] = kept


def _found(
    launch: LaunchTrace,
    array: str,
    kinds: Sequence[str],
    between: tuple[int, int] | None,
    blocks: Sequence[Any],
    lines: Sequence[Any],
    numbered: str,
    apart: bool,
) -> Iterator[Found]:
    table = access_table(launch)
    rows = table.rows(launch.chosen_ops(kinds, lines), launch.array(array).number, between)
    boxes = [BlockBox.of(b) for b in blocks]
    if not rows.size:
        return
    if boxes:
        groups, of_row = np.unique(table.group[rows], return_inverse=True)
        met = [any(table.group_of(g).meets(box) for box in boxes) for g in groups.tolist()]
        yield from _one_by_one(launch, table, rows[np.array(met, bool)[of_row]], blocks, numbered)
        return
    for kind in dict.fromkeys(kinds):
        of_kind = np.array([op.kind == kind for op in launch.ops], bool)
        for form, pattern, alike in table.alike(rows[of_kind[table.op[rows]]]):
            for found in _alike(launch, table, alike, form, pattern, numbered, apart):
                yield kind, found


def _one_by_one(
    launch: LaunchTrace, table: AccessTable, rows: np.ndarray, blocks: Sequence[Any], numbered: str
) -> Iterator[Found]:
    selector = Selector(launch, blocks)
    for row, access in table.accesses(rows):
        kind, record = launch.ops[int(table.op[row])].kind, int(table.record[row])
        for found in footprints(access, selector.of(access.group), numbered=numbered == "blocks"):
            yield kind, _of_record(found, record) if numbered == "records" else found


def _of_record(found: Footprint | Scattered, record: int) -> Footprint | Scattered:
    if isinstance(found, Scattered):
        numbers = np.full(found.places.shape, record)
        return found._replace(low=numbers, high=numbers)
    number = np.array([record])
    return Footprint(found.first, (Comb(1, np.ones(1, np.int64), number, number), *found.combs))


def _alike(
    launch: LaunchTrace, table: AccessTable, rows: np.ndarray, form: Form, pattern: Pattern, numbered: str, apart: bool
) -> Iterator[Footprint | Scattered]:
    """Footprints of accesses that differ in their offset and in which blocks they are of."""
    if not pattern.parts:
        return
    items, rest = divmod(form.unit_bytes, form.array.item_bytes)
    if (form.is_window and rest) or (not form.is_window and not pattern.is_whole):
        yield from (found for _, found in _one_by_one(launch, table, rows, (), numbered))
        return
    numbers = np.zeros(len(rows), np.int64)
    if numbered == "records":
        numbers = table.record[rows]
    elif numbered == "blocks":
        numbers = table.first_block[table.group[rows]]
    if not form.is_window:
        at_once = max(1, LANES_AT_ONCE // max(prod(form.shape), 1))
        for first in range(0, len(rows), at_once):
            some = slice(first, first + at_once)
            yield from _scattered(table, rows[some], numbers[some], form, pattern, numbered == "blocks")
        return
    at = starts(table.offset[rows] * items, numbers)
    for part in pattern.parts:
        found = window(form, part, numbered == "blocks")
        if found is not None:
            moved = at._replace(places=at.places + found.first)
            yield from singles(found.combs, moved) if apart else merged(found.combs, moved, form.array)


def _scattered(
    table: AccessTable, rows: np.ndarray, numbers: np.ndarray, form: Form, pattern: Pattern, numbered: bool
) -> Iterator[Scattered]:
    done = 0
    for of_chunk, lanes, mask in table.lanes(rows):
        yield scattered_lanes(form, pattern.parts[0], lanes, mask, numbers[done : done + len(of_chunk)], numbered)
        done += len(of_chunk)
