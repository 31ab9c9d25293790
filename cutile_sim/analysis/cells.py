"""Cells over an array's elements, single or in bins."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from cutile_sim.errors import UsageError
from cutile_sim.traces.model import ArrayInfo


class Cells:
    """Cells over a part of an array, of one element each or of several neighbours along each axis.

    Attributes:
        region: (first, end) along each axis of the array.
        edges: Along each axis, where each cell begins, and the end of the last (int64 [cells + 1]).

    Raises:
        UsageError: The region is no part of the array, or the bins do not fit its axes.
    """

    def __init__(
        self, array: ArrayInfo, region: Sequence[tuple[int, int]] | None = None, bins: Sequence[int] | None = None
    ) -> None:
        self.array = array
        self.region = _checked_region(array, region)
        rank = len(array.shape)
        if bins is not None and (len(bins) != rank or any(b < 1 for b in bins)):
            raise UsageError(f"bins: array {array.name} has {rank} axes; give a number of at least 1 for each")
        self.edges = [
            _edges(first, end, end - first if bins is None else bins[axis])
            for axis, (first, end) in enumerate(self.region)
        ]

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis of the array."""
        return tuple(len(e) - 1 for e in self.edges)

    @property
    def elements(self) -> int:
        """Elements of the region."""
        return prod(end - first for first, end in self.region)

    def sizes(self) -> np.ndarray:
        """Elements in each cell (int64, of `shape`)."""
        total = np.ones((), np.int64)
        for edges in self.edges:
            total = np.multiply.outer(total, np.diff(edges))
        return total


def binned(values: np.ndarray, edges: Sequence[np.ndarray]) -> np.ndarray:
    """Sums over cells of values (one an element) that begin at the first edge along each axis; no cell is empty."""
    for axis, along in enumerate(edges):
        if len(along) - 1 != values.shape[axis]:
            values = np.add.reduceat(values, along[:-1] - along[0], axis=axis)
    return values


def _checked_region(array: ArrayInfo, region: Sequence[tuple[int, int]] | None) -> tuple[tuple[int, int], ...]:
    if region is None:
        return tuple((0, n) for n in array.shape)
    if len(region) != len(array.shape) or any(
        not 0 <= first <= end <= n for (first, end), n in zip(region, array.shape, strict=True)
    ):
        shape = "x".join(map(str, array.shape))
        raise UsageError(
            f"region {list(region)} is no part of array {array.name} of shape {shape}; give (first, end) for each axis"
        )
    return tuple((int(first), int(end)) for first, end in region)


def _edges(first: int, end: int, cells: int) -> np.ndarray:
    cells = min(int(cells), end - first)
    return first + np.arange(cells + 1, dtype=np.int64) * (end - first) // max(cells, 1)
