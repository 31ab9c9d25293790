"""Where footprints are added up: along the axes of an array whose elements have one index each, else along memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cutile_sim.analysis.cells import Cells
from cutile_sim.analysis.combs import Comb, Footprint
from cutile_sim.analysis.runs import Runs, along
from cutile_sim.traces.model import ArrayInfo

_ONE = Comb(1, np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64))


class Box(NamedTuple):
    """What a footprint adds along each axis of a space, and what is common to all of it."""

    runs: tuple[Runs, ...]
    common: Comb


NOWHERE = Box((), _ONE)


class NestedSpace:
    """The cells of an array whose elements have one index each, along those of its axes that have several elements.

    Attributes:
        axes: These axes, in ascending order.
        shape: Cells along them.
        edges: Of the cells.
    """

    def __init__(self, cells: Cells, axes: list[int]) -> None:
        self.cells = cells
        self.axes = sorted(axes)
        self.shape = tuple(cells.shape[a] for a in self.axes)
        self.edges = tuple(cells.edges[a] for a in self.axes)
        self._strides = cells.array.strides_elems
        # The longest stride first: so is an index read off a place in memory.
        self._order = sorted(axes, key=lambda a: -self._strides[a])
        self._is_empty = 0 in cells.shape

    def indices(self, places: np.ndarray) -> tuple[dict[int, np.ndarray], np.ndarray]:
        """(index along each axis, whether it is an element of the region) of places in memory."""
        rest, inside = places, places >= 0
        found = {}
        for axis in self._order:
            index = np.clip(rest // self._strides[axis], 0, self.cells.array.shape[axis] - 1)
            rest = rest - index * self._strides[axis]
            inside = inside & (index >= self.cells.edges[axis][0]) & (index < self.cells.edges[axis][-1])
            found[axis] = index
        return found, inside & (rest == 0) & (not self._is_empty)

    def find(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(number of each place's cell, whether it has one)."""
        indices, inside = self.indices(places)
        number = np.zeros(places.shape, np.int64)
        for axis, n, edges in zip(self.axes, self.shape, self.edges, strict=True):
            at = indices[axis] - edges[0] if n == edges[-1] - edges[0] else _cell(edges, indices[axis])
            number = number * n + at
        return number, inside

    def project(self, found: Footprint) -> Box | None:
        """A footprint along the axes, `NOWHERE` where it misses the region; None where it does not follow the axes."""
        rest, start = found.first, {}
        for axis in self._order:
            start[axis] = min(rest // self._strides[axis], self.cells.array.shape[axis] - 1)
            rest -= start[axis] * self._strides[axis]
        if rest or found.first < 0:
            return None
        followed: dict[int, list[Comb]] = {axis: [] for axis in self._order}
        common = _ONE
        for comb in found.combs:
            if comb.size == 1:
                common = common.scaled(comb)
                continue
            axis = next((a for a in self._order if comb.step % self._strides[a] == 0), -1)
            if axis < 0:
                return None
            followed[axis].append(comb)
        for axis, combs in followed.items():
            steps = sum((c.size - 1) * (c.step // self._strides[axis]) for c in combs)
            if start[axis] + steps >= self.cells.array.shape[axis]:
                return None
        if self._is_empty:
            return NOWHERE
        runs = []
        for axis, edges in zip(self.axes, self.edges, strict=True):
            cut = along(followed[axis], self._strides[axis]).within(start[axis], int(edges[0]), int(edges[-1]))
            if cut is None:
                return NOWHERE
            runs.append(cut)
        return Box(tuple(runs), common)

    def total(self, values: np.ndarray) -> int:
        """The sum over all elements of memory of what holds for each in a cell; flags count as 1."""
        for edges in reversed(self.edges):
            single = edges.size == edges[-1] - edges[0] + 1
            values = values.sum(axis=-1, dtype=np.int64) if single else values @ np.diff(edges)
        return int(values)

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sums in this space as sums in the array's cells."""
        for axis, edges in enumerate(self.cells.edges):
            if axis not in self.axes:
                values = np.expand_dims(values, axis)
                values = values * np.diff(edges).reshape((-1,) + (1,) * (values.ndim - 1 - axis))
        return values

    def each(self, values: np.ndarray) -> np.ndarray:
        """What holds for each element of the cells of this space, for the array's cells."""
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

    def total(self, values: np.ndarray) -> int:
        """The sum over all places; flags count as 1."""
        return int(values.sum(dtype=np.int64))

    def each(self, values: np.ndarray) -> np.ndarray:
        """Values along memory for the array's elements in the region."""
        array = self.cells.array
        steps = tuple(s * values.itemsize for s in array.strides_elems)
        whole = np.lib.stride_tricks.as_strided(values, array.shape, steps, writeable=False)
        return whole[tuple(slice(first, end) for first, end in self.cells.region)]

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Sums along memory as sums in the array's cells."""
        found = self.each(values)
        for axis, edges in enumerate(self.cells.edges):
            if len(edges) - 1 != found.shape[axis]:
                found = np.add.reduceat(found, edges[:-1] - edges[0], axis=axis)
        return found


def _cell(edges: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.searchsorted(edges, index, "right") - 1


def nested_axes(array: ArrayInfo) -> list[int] | None:
    """The axes along which the place in memory changes; None where some elements have several indices along them."""
    # Along an axis of one element, or of stride 0, the place does not change.
    axes = [a for a, n in enumerate(array.shape) if n > 1 and array.strides_elems[a] > 0]
    reach = 0
    for axis in sorted(axes, key=lambda a: array.strides_elems[a]):
        if array.strides_elems[axis] <= reach:
            return None
        reach += (array.shape[axis] - 1) * array.strides_elems[axis]
    return axes


def space_of(cells: Cells) -> NestedSpace | MemorySpace:
    """The space for an array's cells."""
    axes = nested_axes(cells.array)
    return MemorySpace(cells) if axes is None else NestedSpace(cells, axes)
