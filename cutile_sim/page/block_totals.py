"""What each block of a layer of the grid does, in three numbers."""

from __future__ import annotations

from math import prod

import numpy as np

from cutile_sim.analysis.access_table import AccessTable, Form, access_table
from cutile_sim.analysis.window_boxes import first_lanes
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import Access


def per_block(launch: LaunchTrace, layer: int) -> dict[str, np.ndarray]:
    """`bytes`, `records` and `first` (-1: none) of each block of one layer along z (int64 [x * y], x fastest)."""
    x, y, _ = launch.grid
    table = access_table(launch)
    blocks = _Blocks(table, layer, x, y)
    found = {name: np.zeros(x * y, np.int64) for name in ("bytes", "records")}
    first = np.full(x * y, len(table.record_group), np.int64)
    groups, first_of, counts = np.unique(table.record_group, return_index=True, return_counts=True)
    blocks.add(found["records"], groups, counts)
    blocks.least(first, groups, first_of)
    for number, form in enumerate(table.forms):
        rows = np.flatnonzero(table.form == number)
        if form.has_mask:
            for row, access in table.accesses(rows):
                blocks.add_each(found["bytes"], int(table.group[row]), _bytes_a_block(access))
            continue
        # In which part of its array a window lies makes no difference.
        groups, counts = np.unique(table.group[rows], return_counts=True)
        size = prod(form.tile_shape) * form.unit_bytes
        blocks.add(found["bytes"], groups, counts * size, form if form.is_window else None)
    return {**found, "first": np.where(first == len(table.record_group), -1, first)}


class _Blocks:
    """Numbers of the blocks of groups within a layer. Groups of one block, of which there may be many, go at once."""

    def __init__(self, table: AccessTable, layer: int, x: int, y: int) -> None:
        self._table, self._layer, self._x, self._size = table, layer, x, x * y
        self._is_single = table.is_single
        self._known: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def add(self, total: np.ndarray, groups: np.ndarray, values: np.ndarray, window: Form | None = None) -> None:
        """Add a value to all blocks of each group, or to those that a window is of."""
        if window is not None and not prod(window.tile_shape):
            return
        single = self._is_single[groups]
        if window is None or all(b <= 0 < e for b, e in zip(window.begin, window.end, strict=True)):
            numbers, inside = self._numbers(groups[single])
            np.add.at(total, numbers[inside], values[single][inside])
        for group, value in zip(groups[~single].tolist(), values[~single].tolist(), strict=True):
            inside, numbers = self._of(group)
            if window is not None:
                taken = first_lanes(window, self._table.group_of(group))[0][inside]
                numbers = numbers[taken]
            total[numbers] += value

    def add_each(self, total: np.ndarray, group: int, values: np.ndarray) -> None:
        """Add a value of its own to each block of a group."""
        inside, numbers = self._of(group)
        total[numbers] += values[inside]

    def least(self, total: np.ndarray, groups: np.ndarray, values: np.ndarray) -> None:
        """Keep the smallest value of all groups that a block is of."""
        single = self._is_single[groups]
        numbers, inside = self._numbers(groups[single])
        np.minimum.at(total, numbers[inside], values[single][inside])
        for group, value in zip(groups[~single].tolist(), values[~single].tolist(), strict=True):
            numbers = self._of(group)[1]
            total[numbers] = np.minimum(total[numbers], value)

    def _numbers(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(numbers of the blocks of groups of one, whether they are of the layer)."""
        numbers = self._table.first_block[groups] - self._layer * self._size
        return numbers, (numbers >= 0) & (numbers < self._size)

    def _of(self, group: int) -> tuple[np.ndarray, np.ndarray]:
        """(which of a group's blocks are of the layer, their numbers there)."""
        found = self._known.get(group)
        if found is None:
            blocks = self._table.group_of(group).blocks
            inside = np.flatnonzero(blocks[:, 2] == self._layer)
            found = self._known[group] = inside, blocks[inside, 0] + self._x * blocks[inside, 1]
        return found


def _bytes_a_block(access: Access) -> np.ndarray:
    """Bytes that each recorded block of the group touches where a mask says which (int64 [blocks])."""
    assert access.mask is not None
    return access.group.each(access.mask.reshape(*access.shape[:3], -1).sum(axis=3) * access.unit_bytes)
