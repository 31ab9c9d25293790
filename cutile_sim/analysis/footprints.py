"""From the accesses of a trace to footprints: which places some blocks touch, without naming each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cutile_sim.analysis.combs import FAR, Comb, Footprint
from cutile_sim.traces.options import BlockBox
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import Access, GroupInfo

ACCESS_KINDS = ("load", "store", "atomic")
_KEPT_SELECTIONS = 256
MOST_ALIKE = 1 << 12
"""Combs of up to so many places are kept for the next access."""


class Part(NamedTuple):
    """Blocks of a group that are a product of choices along z, y, x: whether each position is taken, and what it adds
    to the block's number.
    """

    taken: tuple[np.ndarray, np.ndarray, np.ndarray]
    ids: tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Selection:
    """The blocks of a group that are asked for.

    Attributes:
        taken: Which of the recorded blocks (bool [n]).
        numbers: Their places in launch order (int64 [n]).
        parts: The same as products of choices along the axes.
    """

    taken: np.ndarray
    numbers: np.ndarray
    parts: tuple[Part, ...]


class Selector:
    """Finds which blocks of a group are asked for; all of them without `blocks`."""

    def __init__(self, launch: LaunchTrace, blocks: Sequence[Any]) -> None:
        self._grid = launch.grid
        self._boxes = [BlockBox.of(b) for b in blocks]
        self._known: dict[int, tuple[GroupInfo, Selection]] = {}

    def of(self, group: GroupInfo) -> Selection:
        """The selection of a group."""
        known = self._known.get(id(group))
        if known is None:
            if len(self._known) >= _KEPT_SELECTIONS:
                self._known.clear()
            # The group is kept with it, so that its identity is not given to another.
            known = self._known[id(group)] = group, self._select(group)
        return known[1]

    def _select(self, group: GroupInfo) -> Selection:
        x, y, z = group.blocks.T
        gx, gy, _ = self._grid
        numbers = x + gx * (y + gy * z)
        taken = np.ones(group.size, bool)
        if self._boxes:
            taken[:] = False
            for box in self._boxes:
                taken |= box.holds((z, y, x))
        if not taken.any():
            return Selection(taken, numbers, ())
        mask = np.zeros(group.shape, bool)
        mask.reshape(-1)[group.positions] = taken
        if group.shape[:2] == (1, 1):
            along = np.zeros(group.shape[2], np.int64)
            along[group.positions] = numbers
            one, none = np.ones(1, bool), np.zeros(1, np.int64)
            return Selection(taken, numbers, (Part((one, one, mask[0, 0]), (none, none, along)),))
        # More than one axis: blocks of a box, whose numbers are sums over the axes.
        ids = []
        for values, at, n in zip(
            (z * gx * gy, y * gx, x), np.unravel_index(group.positions, group.shape), group.shape, strict=True
        ):
            along = np.zeros(n, np.int64)
            along[at] = values
            ids.append(along)
        parts = tuple(Part(choice, (ids[0], ids[1], ids[2])) for choice in _products(mask))
        return Selection(taken, numbers, parts)


def _products(mask: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A choice of a box's positions as products of choices along z, y, x."""
    z, y, x = (np.asarray(mask.any(axis=others)) for others in ((1, 2), (0, 2), (0, 1)))
    if np.array_equal(mask, z[:, None, None] & y[None, :, None] & x):
        yield z, y, x
        return
    for i in np.flatnonzero(z):
        for j in np.flatnonzero(mask[i].any(axis=1)):
            yield np.arange(len(z)) == i, np.arange(len(y)) == j, mask[i, j]


class Scattered(NamedTuple):
    """Lanes that lie anywhere: places, how often each counts, smallest and largest number of its blocks; flat."""

    places: np.ndarray
    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray


def footprints(access: Access, selection: Selection, *, numbered: bool) -> Iterator[Footprint | Scattered]:
    """What the selected blocks touch in an access, in elements of the array from its element 0.

    Blocks that need not be told apart are taken as one where not `numbered`, which makes for fewer and longer runs.
    """
    if not selection.parts:
        return
    if access.is_window and access.unit_bytes % access.array.item_bytes == 0:
        for part in selection.parts:
            found = _window(access, part, numbered)
            if found is not None:
                yield found
    elif access.is_window:
        for which in np.flatnonzero(selection.taken):
            if access.takes_part(int(which)):
                places = access.elements(int(which)).reshape(-1)
                number = np.full(places.shape, selection.numbers[which])
                yield Scattered(places, np.ones_like(places), number, number)
    else:
        yield _scattered(access, selection)


def _window(access: Access, part: Part, numbered: bool) -> Footprint | None:
    assert access.strides is not None
    items = access.unit_bytes // access.array.item_bytes
    first, combs = access.offset * items, []
    for axis in range(3):
        span = slice(access.begin[axis], access.end[axis])
        taken, ids = part.taken[axis][span], part.ids[axis][span]
        if not taken.any():
            return None
        step = access.strides[axis] * items if access.shape[axis] > 1 else 0
        if numbered or not taken.all() or taken.size > MOST_ALIKE:
            comb, shift = Comb.of_blocks(taken, ids if numbered else np.zeros_like(ids), step)
        else:
            comb, shift = Comb.of_lanes(taken.size, step)
        combs.append(comb)
        first += shift
    for count, stride in zip(access.tile_shape, access.strides[3:], strict=True):
        if count == 0:
            return None
        comb, shift = Comb.of_lanes(count, stride * items)
        combs.append(comb)
        first += shift
    if items > 1:
        combs.append(Comb.of_lanes(items, 1)[0])
    return Footprint(first, tuple(combs))


def _scattered(access: Access, selection: Selection) -> Scattered:
    """The lanes of an access that is no window. Blocks that share lanes count as often as there are of them."""
    group, shape = access.group, access.shape
    count, low, high = (
        selection.taken.astype(np.int64),
        np.where(selection.taken, selection.numbers, FAR),
        np.where(selection.taken, selection.numbers, -FAR),
    )
    if group.is_whole:
        count, low, high = (a.reshape(group.shape) for a in (count, low, high))
    else:
        count, low, high = (a.reshape(1, 1, -1) for a in (count, low, high))
    shared = tuple(axis for axis in range(3) if shape[axis] == 1)
    count = count.sum(axis=shared, keepdims=True)
    low, high = low.min(axis=shared, keepdims=True), high.max(axis=shared, keepdims=True)
    tail = (1,) * (len(shape) - 3)
    used = np.broadcast_to((count > 0).reshape(count.shape + tail), shape)
    if access.mask is not None:
        used = used & access.mask
    places = access.lanes[used].astype(np.int64) + access.offset
    spread = [np.broadcast_to(a.reshape(a.shape + tail), shape)[used] for a in (count, low, high)]
    item = access.array.item_bytes
    if access.unit_bytes > item and access.unit_bytes % item == 0:
        items = access.unit_bytes // item
        places = (places[:, None] * items + np.arange(items)).reshape(-1)
        spread = [np.repeat(a, items) for a in spread]
    else:
        places = places * access.unit_bytes // item
    return Scattered(places, spread[0], spread[1], spread[2])
