"""Which blocks touched an element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from cutile_sim.analysis.access_table import AccessTable, access_table
from cutile_sim.analysis.footprints import ACCESS_KINDS
from cutile_sim.analysis.window_boxes import first_lanes
from cutile_sim.errors import UsageError
from cutile_sim.traces.boxes import steps_of
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import Access

Block = tuple[int, int, int]
MOST_LANES = 1 << 18
"""How many lanes an access may have for all of them to be compared with an element."""


@dataclass(frozen=True)
class Touch:
    """One record that touched an element.

    Attributes:
        record, op: Numbers of the record and of its operation.
        kind: "load", "store" or "atomic".
        file, line: Where the operation is in the source; "" and 0 where that is unknown.
        blocks: The blocks that touched the element (x, y, z), at most as many as were asked for in all.
        block_count: How many there are.
    """

    record: int
    op: int
    kind: str
    file: str
    line: int
    blocks: tuple[Block, ...]
    block_count: int


@dataclass(frozen=True)
class Visitors:
    """What touched one element, in time order.

    Attributes:
        array, index: The element.
        touches: At most as many as were asked for.
        is_cut: Whether there is more than that.
    """

    array: str
    index: tuple[int, ...]
    touches: tuple[Touch, ...]
    is_cut: bool


def who(
    launch: LaunchTrace,
    array: str,
    index: Sequence[int],
    *,
    between: tuple[int, int] | None = None,
    at_most: int = 100,
) -> Visitors:
    """The records and blocks that touched one element, in time order.

    Args:
        array: The array's name.
        index: The element's, one number along each axis.
        between: Only records with numbers from the first up to but without the second.
        at_most: How many records, and how many blocks in all, to name.

    Raises:
        UsageError: There is no such array or element.
    """
    info = launch.array(array)
    index = tuple(int(i) for i in index)
    if len(index) != len(info.shape) or any(not 0 <= i < n for i, n in zip(index, info.shape, strict=True)):
        raise UsageError(f"array {array} of shape {'x'.join(map(str, info.shape))} has no element {index}")
    element = sum(i * s for i, s in zip(index, info.strides_elems, strict=True))
    found: list[Touch] = []
    left = at_most
    table = access_table(launch)
    rows = table.rows(launch.chosen_ops(ACCESS_KINDS), info.number, between)
    near = np.unique(table.record[rows[_may_touch(table, rows, element)]])
    for record in launch.records_at(near):
        which = np.zeros(record.group.size, bool)
        for access in record.accesses:
            if access.array.number == info.number:
                which |= _touching(access, element)
        if not which.any():
            continue
        if len(found) == at_most:
            return Visitors(array, index, tuple(found), True)
        hits = np.flatnonzero(which)
        found.append(
            Touch(
                record.number,
                record.op.number,
                record.kind,
                *record.op.file_and_line,
                tuple((x, y, z) for x, y, z in record.group.blocks[hits[:left]].tolist()),
                len(hits),
            )
        )
        left -= len(found[-1].blocks)
    return Visitors(array, index, tuple(found), any(len(t.blocks) < t.block_count for t in found))


def _may_touch(table: AccessTable, rows: np.ndarray, element: int) -> np.ndarray:
    """Which accesses may touch an element, whatever their blocks (bool [rows]): for `_touching` to look at."""
    found = np.ones(len(rows), bool)
    for number in np.unique(table.form[rows]).tolist():
        form = table.forms[number]
        item = form.array.item_bytes
        items, rest = divmod(form.unit_bytes, item)
        size = max(prod(form.shape), 1)
        if (form.is_window and rest) or size > MOST_LANES:
            continue
        alike = np.flatnonzero(table.form[rows] == number)
        if form.is_window:
            assert form.strides is not None
            lanes = steps_of(form.shape, form.strides)
            found[alike] = np.isin(element // items - table.offset[rows[alike]], lanes)
            continue
        at_once = MOST_LANES // size
        for first in range(0, len(alike), at_once):
            some = alike[first : first + at_once]
            hits = []
            for _, lanes, _ in table.lanes(rows[some]):
                hit = lanes == element // items if items and not rest else lanes * form.unit_bytes // item == element
                hits.append(hit.reshape(len(hit), -1).any(axis=1))
            found[some] = np.concatenate(hits)
    return found


def _touching(access: Access, element: int) -> np.ndarray:
    """Which recorded blocks of an access's group touch an element of its array (bool [n])."""
    group, item = access.group, access.array.item_bytes
    if access.is_window and access.unit_bytes % item == 0:
        return _in_window(access, element, access.unit_bytes // item)
    if access.is_window:
        return np.array(
            [access.takes_part(n) and bool((access.elements(n) == element).any()) for n in range(group.size)], bool
        )
    places = access.lanes.astype(np.int64) + access.offset
    items = access.unit_bytes // item if access.unit_bytes % item == 0 else 1
    hit = places == element // items if items > 1 else places * access.unit_bytes // item == element
    if access.mask is not None:
        hit = hit & access.mask
    return group.each(hit.reshape(*hit.shape[:3], -1).any(axis=3))


def _in_window(access: Access, element: int, items: int) -> np.ndarray:
    steps = access.steps
    if not steps.size:
        return np.zeros(access.group.size, bool)
    possible, first = first_lanes(access, access.group)
    distance = element // items - first
    possible &= (distance >= steps.min()) & (distance <= steps.max())
    possible[possible] = np.isin(distance[possible], steps)
    return possible
