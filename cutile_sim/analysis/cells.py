"""Cells over an array's elements: single ones, bins of neighbours, or neighbours that are touched alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from cutile_sim.errors import UsageError
from cutile_sim.traces.model import ArrayInfo


class Cells:
    """Cells over a part of an array, each of neighbours along each axis.

    Attributes:
        edges: Along each axis, where each cell begins, and the end of the last (int64 [cells + 1]).
        are_uniform: Whether all elements of a cell are touched alike, so that one stands for all.
    """

    def __init__(self, array: ArrayInfo, edges: Sequence[np.ndarray], *, are_uniform: bool) -> None:
        self.array = array
        self.edges = tuple(edges)
        self.are_uniform = are_uniform

    @classmethod
    def of(
        cls, array: ArrayInfo, region: Sequence[tuple[int, int]] | None = None, bins: Sequence[int] | None = None
    ) -> Cells:
        """Single elements of a region, or about so many bins along each axis, of whole elements.

        Raises UsageError where the region is no part of the array, or the bins do not fit its axes.
        """
        region = _checked_region(array, region)
        rank = len(array.shape)
        if bins is not None and (len(bins) != rank or any(b < 1 for b in bins)):
            raise UsageError(f"bins: array {array.name} has {rank} axes; give a number of at least 1 for each")
        lengths = [end - first for first, end in region]
        counts = lengths if bins is None else [min(int(b), n) for b, n in zip(bins, lengths, strict=True)]
        edges = [
            np.arange(first, end + 1, dtype=np.int64)
            if count == end - first
            else first + np.arange(count + 1, dtype=np.int64) * (end - first) // count
            for (first, end), count in zip(region, counts, strict=True)
        ]
        return cls(array, edges, are_uniform=counts == lengths)

    @property
    def region(self) -> tuple[tuple[int, int], ...]:
        """(first, end) along each axis of the array."""
        return tuple((int(e[0]), int(e[-1])) for e in self.edges)

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells along each axis."""
        return tuple(len(e) - 1 for e in self.edges)

    def sizes(self) -> np.ndarray:
        """Elements in each cell (int64, of `shape`)."""
        total = np.ones((), np.int64)
        for edges in self.edges:
            total = np.multiply.outer(total, np.diff(edges))
        return total


def parts(region: Sequence[tuple[int, int]], at_most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """A region, given as (first, end) along each axis, in parts of at most so many elements."""
    counts = [end - first for first, end in region]
    if prod(counts) <= at_most:
        yield tuple(region)
        return
    longest = counts.index(max(counts))
    first, end = region[longest]
    middle = first + counts[longest] // 2
    for half in ((first, middle), (middle, end)):
        yield from parts((*region[:longest], half, *region[longest + 1 :]), at_most)


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
