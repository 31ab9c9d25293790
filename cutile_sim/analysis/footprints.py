"""From the accesses of a trace to footprints: which places some blocks touch, without naming each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from cutile_sim.analysis.combs import FAR, Comb, Footprint
from cutile_sim.traces.model import ArrayInfo
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
            found = window(access, part, numbered)
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


class Even(Protocol):
    """What `window` needs to know of an access."""

    @property
    def array(self) -> ArrayInfo: ...
    @property
    def unit_bytes(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def begin(self) -> tuple[int, ...]: ...
    @property
    def end(self) -> tuple[int, ...]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def tile_shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...] | None: ...


def window(access: Even, part: Part, numbered: bool) -> Footprint | None:
    """What some blocks touch in a window of whole elements; None for nothing."""
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
    group = access.group
    shape = group.shape if group.is_whole else (1, 1, group.size)
    count = selection.taken.astype(np.int64).reshape(shape)
    low = np.where(selection.taken, selection.numbers, FAR).reshape(shape)
    high = np.where(selection.taken, selection.numbers, -FAR).reshape(shape)
    lanes = access.lanes[None].astype(np.int64) + access.offset
    mask = None if access.mask is None else access.mask[None]
    return _of_lanes(access, lanes, mask, count, low[None], high[None])


def scattered_lanes(
    access: Even, part: Part, lanes: np.ndarray, mask: np.ndarray | None, numbers: np.ndarray, numbered: bool
) -> Scattered:
    """The lanes of several accesses that are no windows, along a first axis, by all blocks of their groups.

    `numbers` are added to those of blocks where these are told apart, and stand for them where not.
    """
    z, y, x = part.ids
    ids = z[:, None, None] + y[:, None] + x
    if not numbered:
        ids = np.zeros_like(ids)
    blocks = ids + numbers.reshape(-1, 1, 1, 1)
    return _of_lanes(access, lanes, mask, np.ones(ids.shape, np.int64), blocks, blocks)


def _of_lanes(
    access: Even, lanes: np.ndarray, mask: np.ndarray | None, count: np.ndarray, low: np.ndarray, high: np.ndarray
) -> Scattered:
    shape = access.shape
    shared = tuple(axis for axis in range(3) if shape[axis] == 1)
    after = tuple(axis + 1 for axis in shared)
    count = count.sum(axis=shared, keepdims=True)
    low, high = low.min(axis=after, keepdims=True), high.max(axis=after, keepdims=True)
    tail = (1,) * (len(shape) - 3)
    used = np.broadcast_to((count > 0).reshape(count.shape + tail), lanes.shape)
    if mask is not None:
        used = used & mask
    places = lanes[used]
    spread = [np.broadcast_to(a.reshape(a.shape + tail), lanes.shape)[used] for a in (count, low, high)]
    item = access.array.item_bytes
    if access.unit_bytes > item and access.unit_bytes % item == 0:
        items = access.unit_bytes // item
        places = (places[:, None] * items + np.arange(items)).reshape(-1)
        spread = [np.repeat(a, items) for a in spread]
    else:
        places = places * access.unit_bytes // item
    return Scattered(places, spread[0], spread[1], spread[2])
