"""Adds up footprints in the cells of an array."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cutile_sim.analysis.cells import Cells
from cutile_sim.analysis.combs import FAR, Footprint
from cutile_sim.analysis.footprints import Scattered
from cutile_sim.analysis.spaces import NOWHERE, space_of

PLACES_AT_ONCE = 1 << 20


class Sums:
    """How often the elements in each cell are touched."""

    def __init__(self, cells: Cells) -> None:
        self._space = space_of(cells)
        self._values = np.zeros(self._space.shape, np.int64)

    def add(self, found: Footprint | Scattered) -> None:
        """Add what some blocks touch."""
        box = self._space.project(found) if isinstance(found, Footprint) else None
        if box is None:
            for places, weights, _, _ in _pieces(found):
                where, inside = self._space.find(places)
                np.add.at(self._values.reshape(-1), where[inside], weights[inside])
        elif box is not NOWHERE:
            total = box.common.weights[0]
            for comb in box.combs:
                total = np.multiply.outer(total, comb.weights)
            self._values[box.at] += total

    def result(self) -> np.ndarray:
        """The sum in each cell (int64, of the cells' shape)."""
        return self._space.summed(self._values)

    def once(self) -> np.ndarray:
        """The sums of elements that have one place in memory, each once (int64)."""
        return self._values


class Writers:
    """The smallest and largest number of a block that touches each element. Its cells must be single elements."""

    def __init__(self, cells: Cells) -> None:
        self._space = space_of(cells)
        self._low = np.full(self._space.shape, FAR, np.int64)
        self._high = np.full(self._space.shape, -FAR, np.int64)

    def add(self, found: Footprint | Scattered) -> None:
        """Add what some blocks touch."""
        box = self._space.project(found) if isinstance(found, Footprint) else None
        if box is None:
            for places, _, low, high in _pieces(found):
                where, inside = self._space.find(places)
                np.minimum.at(self._low.reshape(-1), where[inside], low[inside])
                np.maximum.at(self._high.reshape(-1), where[inside], high[inside])
        elif box is not NOWHERE:
            low, high = box.common.low[0], box.common.high[0]
            for comb in box.combs:
                low, high = np.add.outer(low, comb.low), np.add.outer(high, comb.high)
            self._low[box.at] = np.minimum(self._low[box.at], low)
            self._high[box.at] = np.maximum(self._high[box.at], high)

    def result(self) -> tuple[np.ndarray, np.ndarray]:
        """(whether any block touches an element, whether several do): bool, of the cells' shape."""
        touched = self._low < FAR // 2
        return self._space.each(touched), self._space.each(touched & (self._low != self._high))


def _pieces(found: Footprint | Scattered) -> Iterable[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    return [found] if isinstance(found, Scattered) else found.places(PLACES_AT_ONCE)
