"""Adds up footprints in the cells of an array."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from cutile_sim.analysis.cells import Cells, parts
from cutile_sim.analysis.combs import FAR, Footprint
from cutile_sim.analysis.footprints import Scattered
from cutile_sim.analysis.runs import distinct
from cutile_sim.analysis.spaces import NOWHERE, NestedSpace, space_of

PLACES_AT_ONCE = 1 << 20
NO_BLOCK = FAR // 2
"""Numbers of blocks are below this."""
MOST_SCATTERED = 1 << 18
"""How many single lanes are told apart before an array's elements are."""
_KEPT_EDGES = 1 << 20


class Sums:
    """How often elements are touched: the sum in each cell, or where cells are uniform the number for each element."""

    def __init__(self, cells: Cells) -> None:
        self.space = space_of(cells)
        self._are_uniform = cells.are_uniform
        self.values = np.zeros(self.space.shape, np.int64)

    def add(self, found: Footprint | Scattered) -> None:
        """Add what some blocks touch."""
        box = self.space.project(found) if isinstance(found, Footprint) else None
        if box is None:
            for places, weights, _, _ in _pieces(found):
                where, inside = self.space.find(places)
                np.add.at(self.values.reshape(-1), where[inside], weights[inside])
        elif box is not NOWHERE:
            assert isinstance(self.space, NestedSpace)
            total, at = box.common.weights[0], []
            for runs, edges in zip(box.runs, self.space.edges, strict=True):
                if self._are_uniform:
                    part, (weights,) = runs.spread(edges, (runs.weights, 0))
                else:
                    part, weights = runs.sums(edges)
                total = np.multiply.outer(total, weights)
                at.append(part)
            self.values[tuple(at)] += total

    def result(self) -> np.ndarray:
        """The sum in each cell (int64, of the cells' shape), where it was added up as such."""
        return self.space.summed(self.values)


class Writers:
    """The smallest and largest number of a block that touches each element. Its cells must be uniform."""

    def __init__(self, cells: Cells) -> None:
        self.space = space_of(cells)
        self._low = np.full(self.space.shape, FAR, np.int64)
        self._high = np.full(self.space.shape, -FAR, np.int64)

    def add(self, found: Footprint | Scattered) -> None:
        """Add what some blocks touch."""
        box = self.space.project(found) if isinstance(found, Footprint) else None
        if box is None:
            for places, _, low, high in _pieces(found):
                where, inside = self.space.find(places)
                np.minimum.at(self._low.reshape(-1), where[inside], low[inside])
                np.maximum.at(self._high.reshape(-1), where[inside], high[inside])
        elif box is not NOWHERE:
            assert isinstance(self.space, NestedSpace)
            low, high, parts = box.common.low[0], box.common.high[0], []
            for runs, edges in zip(box.runs, self.space.edges, strict=True):
                part, (lowest, highest) = runs.spread(edges, (runs.low, FAR), (runs.high, -FAR))
                low, high = np.add.outer(low, lowest), np.add.outer(high, highest)
                parts.append(part)
            at = tuple(parts)
            self._low[at] = np.minimum(self._low[at], low)
            self._high[at] = np.maximum(self._high[at], high)

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(whether any block touches the elements, whether several do): bool, of the cells' shape."""
        touched = self._low < NO_BLOCK
        return self.space.each(touched), self.space.each(touched & (self._low != self._high))

    def numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """(smallest, largest number of a block that touches the elements): int64, of the cells' shape, -1 for none."""
        touched = self._low < NO_BLOCK
        low, high = (self.space.each(np.where(touched, values, -1)) for values in (self._low, self._high))
        return low, high


class Edges:
    """Finds cells, within some others, in which all elements are touched alike by all that is added.

    They are as coarse as can be, but single elements where that costs less than to tell apart which are touched.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._space = space_of(cells)
        axes = range(len(cells.edges))
        self._of_windows: list[list[np.ndarray]] = [[] for _ in axes]
        self._of_places: list[list[np.ndarray]] = [[] for _ in axes]
        self._count = 0
        self._scattered = 0

    def add(self, found: Footprint | Scattered) -> None:
        """Take note of what some blocks touch."""
        if not isinstance(self._space, NestedSpace):
            return
        box = self._space.project(found) if isinstance(found, Footprint) else None
        if box is None:
            for places, _, _, _ in _pieces(found):
                self._scattered += places.size
                if self._scattered <= MOST_SCATTERED:
                    indices, inside = self._space.indices(places)
                    for axis, index in indices.items():
                        near = distinct(index[inside])
                        self._note(self._of_places[axis], near, near + 1)
        else:
            for axis, runs in zip(self._space.axes, box.runs, strict=False):
                self._note(self._of_windows[axis], runs.starts, runs.ends)

    def _note(self, noted: list[np.ndarray], *edges: np.ndarray) -> None:
        noted += edges
        self._count += sum(e.size for e in edges)
        if self._count > _KEPT_EDGES:
            self._of_windows = [[_all(e)] for e in self._of_windows]
            self._of_places = [[_all(e)] for e in self._of_places]
            self._count = 0

    def cells(self, at_most: int) -> Iterator[Cells]:
        """These cells, at most so many at once."""
        if self._are_single:
            for region in parts(self._cells.region, at_most):
                yield Cells.of(self._cells.array, region)
            return
        cells = self.all_cells()
        for part in parts([(0, n) for n in cells.shape], at_most):
            edges = [e[first : end + 1] for e, (first, end) in zip(cells.edges, part, strict=True)]
            yield Cells(cells.array, edges, are_uniform=True)

    def all_cells(self) -> Cells:
        """These cells, all of them."""
        if self._are_single:
            return Cells.of(self._cells.array, self._cells.region)
        noted = zip(self._cells.edges, self._of_windows, self._of_places, strict=True)
        edges = [_all([given, *windows, *places]) for given, windows, places in noted]
        return Cells(self._cells.array, edges, are_uniform=True)

    def of_windows(self) -> tuple[np.ndarray, ...]:
        """Along each axis, where tiles that lie evenly begin and end."""
        return tuple(map(_all, self._of_windows))

    @property
    def _are_single(self) -> bool:
        return not isinstance(self._space, NestedSpace) or self._scattered > MOST_SCATTERED


def _all(edges: list[np.ndarray]) -> np.ndarray:
    return distinct(np.concatenate([np.zeros(0, np.int64), *edges]))


def _pieces(found: Footprint | Scattered) -> Iterable[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    return [found] if isinstance(found, Scattered) else found.places(PLACES_AT_ONCE)
