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
                part, weights = runs.spread(edges)[:2] if self._are_uniform else runs.sums(edges)
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
                part, _, lowest, highest = runs.spread(edges)
                low, high = np.add.outer(low, lowest), np.add.outer(high, highest)
                parts.append(part)
            at = tuple(parts)
            self._low[at] = np.minimum(self._low[at], low)
            self._high[at] = np.maximum(self._high[at], high)

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(whether any block touches the elements, whether several do): bool, of the cells' shape."""
        touched = self._low < FAR // 2
        return self.space.each(touched), self.space.each(touched & (self._low != self._high))


class Edges:
    """Finds cells, within some others, in which all elements are touched alike by all that is added.

    They are as coarse as can be, but single elements where that costs less than to tell apart which are touched.
    """

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._space = space_of(cells)
        self._found: dict[int, list[np.ndarray]] = {a: [e] for a, e in enumerate(cells.edges)}
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
                        self._note(axis, near, near + 1)
        else:
            for axis, runs in zip(self._space.axes, box.runs, strict=False):
                self._note(axis, runs.starts, runs.ends)

    def _note(self, axis: int, *edges: np.ndarray) -> None:
        self._found[axis] += edges
        self._count += sum(e.size for e in edges)
        if self._count > _KEPT_EDGES:
            self._found = {a: [distinct(np.concatenate(e))] for a, e in self._found.items()}
            self._count = 0

    def cells(self, at_most: int) -> Iterator[Cells]:
        """These cells, at most so many at once."""
        array = self._cells.array
        if not isinstance(self._space, NestedSpace) or self._scattered > MOST_SCATTERED:
            for region in parts(self._cells.region, at_most):
                yield Cells.of(array, region)
            return
        edges = [distinct(np.concatenate(self._found[a])) for a in sorted(self._found)]
        for part in parts([(0, len(e) - 1) for e in edges], at_most):
            yield Cells(array, [e[a : b + 1] for e, (a, b) in zip(edges, part, strict=True)], are_uniform=True)


def _pieces(found: Footprint | Scattered) -> Iterable[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    return [found] if isinstance(found, Scattered) else found.places(PLACES_AT_ONCE)
