"""Where footprints are added up: along the axes of an array whose elements have one index each, else along memory."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from cutile_sim.analysis.cells import Cells, binned
from cutile_sim.analysis.combs import Comb, Footprint, merged

_ONE = Comb(1, np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))


class Box(NamedTuple):
    """A part of a space, what is added along each of its axes, and what is common to all of it."""

    at: tuple[slice, ...]
    combs: tuple[Comb, ...]
    common: Comb


NOWHERE = Box((), (), _ONE)


class NestedSpace:
    """The cells of an array whose elements have one index each, along those of its axes that have several elements.

    Attributes:
        shape: Cells along these axes.
    """

    def __init__(self, cells: Cells, axes: list[int]) -> None:
        self.cells = cells
        self.axes = sorted(axes)
        self.shape = tuple(cells.shape[a] for a in self.axes)
        self._strides = cells.array.strides_elems
        # The longest stride first: so is an index read off a place in memory.
        self._order = sorted(axes, key=lambda a: -self._strides[a])

    def find(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(number of each place's cell, whether it has one)."""
        cells = self.cells
        rest, inside = places, places >= 0
        along = {}
        for axis in self._order:
            index = np.clip(rest // self._strides[axis], 0, cells.array.shape[axis] - 1)
            rest = rest - index * self._strides[axis]
            first, end = cells.region[axis]
            inside = inside & (index >= first) & (index < end)
            edges = cells.edges[axis]
            along[axis] = index - first if len(edges) == end - first + 1 else np.searchsorted(edges, index, "right") - 1
        number = np.zeros(places.shape, np.int64)
        for axis, n in zip(self.axes, self.shape, strict=True):
            number = number * n + along[axis]
        return number, inside & (rest == 0) & (min(self.cells.shape, default=1) > 0)

    def project(self, found: Footprint) -> Box | None:
        """A footprint along the axes, `NOWHERE` where it misses the region; None where it does not follow the axes."""
        rest, start = found.first, {}
        for axis in self._order:
            start[axis] = min(rest // self._strides[axis], self.cells.array.shape[axis] - 1)
            rest -= start[axis] * self._strides[axis]
        if rest or found.first < 0:
            return None
        along: dict[int, list[Comb]] = {axis: [] for axis in self._order}
        common = _ONE
        for comb in found.combs:
            if comb.size == 1:
                common = common.scaled(comb)
                continue
            followed = next((a for a in self._order if comb.step % self._strides[a] == 0), None)
            if followed is None:
                return None
            along[followed].append(comb)
        at, cut = [], []
        for axis in self.axes:
            stride = self._strides[axis]
            steps = sum((c.size - 1) * (c.step // stride) for c in along[axis])
            if start[axis] + steps >= self.cells.array.shape[axis]:
                return None
            ordered = sorted(along[axis], key=lambda c: c.step)
            one = self._cut(axis, start[axis], merged(ordered, stride) if ordered else _ONE)
            if one is None:
                return NOWHERE
            at.append(one[0])
            cut.append(one[1])
        return Box(tuple(at), tuple(cut), common)

    def _cut(self, axis: int, start: int, comb: Comb) -> tuple[slice, Comb] | None:
        """A comb of single elements from `start` on, in the cells along an axis."""
        first, end = self.cells.region[axis]
        begin, stop = max(first, start), min(end, start + comb.size)
        if begin >= stop:
            return None
        part = slice(begin - start, stop - start)
        cut = Comb(1, comb.weights[part], comb.low[part], comb.high[part])
        edges = self.cells.edges[axis]
        if len(edges) == end - first + 1:
            return slice(begin - first, stop - first), cut
        from_cell = int(np.searchsorted(edges, begin, "right")) - 1
        to_cell = int(np.searchsorted(edges, stop, "left"))
        starts = np.maximum(edges[from_cell:to_cell] - begin, 0)
        sums = np.add.reduceat(cut.weights, starts)
        lows, highs = np.minimum.reduceat(cut.low, starts), np.maximum.reduceat(cut.high, starts)
        return slice(from_cell, to_cell), Comb(1, sums, lows, highs)

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sums in this space as sums in the array's cells."""
        for axis, edges in enumerate(self.cells.edges):
            if axis not in self.axes:
                sizes = np.diff(edges)
                values = np.expand_dims(values, axis)
                values = values * sizes.reshape((-1,) + (1,) * (values.ndim - 1 - axis))
        return values

    def each(self, values: np.ndarray) -> np.ndarray:
        """Values of single elements of this space for the array's elements."""
        lacking = [axis for axis in range(len(self.cells.edges)) if axis not in self.axes]
        return np.broadcast_to(np.expand_dims(values, tuple(lacking)), self.cells.shape)


class MemorySpace:
    """Single elements along an array's memory, from its first to its last."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.shape = (cells.array.span_elems,)

    def find(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(each place itself, whether it is in the array)."""
        return places, (places >= 0) & (places < self.shape[0])

    def project(self, found: Footprint) -> Box | None:
        """None: places are added one by one."""
        return None

    def each(self, values: np.ndarray) -> np.ndarray:
        """Values along memory for the array's elements in the region."""
        array = self.cells.array
        steps = tuple(s * values.itemsize for s in array.strides_elems)
        whole = np.lib.stride_tricks.as_strided(values, array.shape, steps, writeable=False)
        return whole[tuple(slice(first, end) for first, end in self.cells.region)]

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sums along memory as sums in the array's cells."""
        return binned(self.each(values), self.cells.edges)


def space_of(cells: Cells) -> NestedSpace | MemorySpace:
    """The space for an array's cells."""
    array = cells.array
    # Along an axis of one element, or of stride 0, the place in memory does not change.
    axes = [a for a, n in enumerate(array.shape) if n > 1 and array.strides_elems[a] > 0]
    reach = 0
    for axis in sorted(axes, key=lambda a: array.strides_elems[a]):
        if array.strides_elems[axis] <= reach:
            return MemorySpace(cells)
        reach += (array.shape[axis] - 1) * array.strides_elems[axis]
    return NestedSpace(cells, axes)


def space_bytes(cells: Cells) -> int:
    """How much memory eight bytes for every place of the space take."""
    return 8 * prod(space_of(cells).shape)
