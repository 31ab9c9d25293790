"""What is added along one axis of an array, as runs of neighbours that are all touched alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cutile_sim.analysis.combs import FAR, Comb

PIECES_AT_ONCE = 1 << 20
MOST_KEPT = 1 << 12
"""Runs of combs with up to so many places are kept: the accesses of a loop differ in where they begin only."""


@dataclass(frozen=True)
class Runs:
    """Disjoint runs of indices in ascending order, each touched at least once (int64 [runs]).

    Attributes:
        starts, ends: Where each begins, and the index behind it.
        weights: How often each index of a run is touched.
        low, high: The smallest and largest share of the number of a block that touches it.
    """

    starts: np.ndarray
    ends: np.ndarray
    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def repeated(self, comb: Comb, every: int) -> Runs:
        """These runs again at each place of a comb, which are `every` indices apart."""
        used = np.flatnonzero(comb.weights)
        places = used * every
        starts, ends = _outer(np.add, places, self.starts), _outer(np.add, places, self.ends)
        weights = _outer(np.multiply, comb.weights[used], self.weights)
        low, high = _outer(np.add, comb.low[used], self.low), _outer(np.add, comb.high[used], self.high)
        apart = used.size < 2 or every >= int(self.ends[-1] - self.starts[0])
        return (_joined if apart else _overlaid)(starts, ends, weights, low, high)

    def within(self, shift: int, first: int, end: int) -> Runs | None:
        """Moved by `shift`, and what of them lies from `first` up to `end`; None for nothing."""
        starts, ends = np.maximum(self.starts + shift, first), np.minimum(self.ends + shift, end)
        kept = starts < ends
        if kept.all():
            return Runs(starts, ends, self.weights, self.low, self.high)
        if not kept.any():
            return None
        return Runs(starts[kept], ends[kept], self.weights[kept], self.low[kept], self.high[kept])

    def sums(self, edges: np.ndarray) -> tuple[slice, np.ndarray]:
        """(cells that they meet, sums of the weights in each), for cells between these edges."""
        first = int(np.searchsorted(edges, self.starts[0], "right")) - 1
        end = int(np.searchsorted(edges, self.ends[-1], "left"))
        at = edges[first : end + 1]
        before = np.concatenate([[0], np.cumsum(self.weights * (self.ends - self.starts))])
        run = np.searchsorted(self.starts, at, "right")
        last = np.maximum(run - 1, 0)
        inside = np.maximum(self.ends[last] - at, 0) * self.weights[last]
        total = np.where(run > 0, before[run] - inside, 0)
        return slice(first, end), np.diff(total)

    def cells(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(first cell, end) of each run, where no cell is cut by one."""
        if edges.size == edges[-1] - edges[0] + 1:  # cells of one element
            return self.starts - edges[0], self.ends - edges[0]
        return np.searchsorted(edges, self.starts), np.searchsorted(edges, self.ends)

    def spread(self, edges: np.ndarray, *fields: tuple[np.ndarray, int]) -> tuple[slice, list[np.ndarray]]:
        """(cells from the first to the last that the runs meet, values in each), where no cell is cut by a run.

        Args:
            edges: Of the cells.
            fields: Values of each run, and what cells between runs have instead.

        Returns:
            Of each field int64 [cells], or [1] where it is the same in all.
        """
        starts, ends = self.cells(edges)
        first, end = int(starts[0]), int(ends[-1])
        if starts.size == 1:
            return slice(first, end), [values for values, _ in fields]
        found = []
        for values, empty in fields:
            steps = np.zeros(end - first + 1, np.int64)
            steps[starts - first] += values - empty
            steps[ends - first] -= values - empty
            found.append(np.cumsum(steps[:-1]) + empty)
        return slice(first, end), found


def along(combs: Sequence[Comb], stride: int) -> Runs:
    """All combinations of the places of combs whose steps are multiples of a stride, along an axis with that stride."""
    small = sum(comb.size for comb in combs) <= MOST_KEPT
    return _along(tuple(combs), stride) if small else _combined(combs, stride)


@lru_cache(256)
def _along(combs: tuple[Comb, ...], stride: int) -> Runs:
    return _combined(combs, stride)


def _combined(combs: Sequence[Comb], stride: int) -> Runs:
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)
    runs = Runs(zero, one, one, zero, zero)
    for comb in sorted(combs, key=lambda c: c.step):
        runs = runs.repeated(comb, comb.step // stride)
    return runs


def distinct(values: np.ndarray) -> np.ndarray:
    """The different values in ascending order. NumPy's own `unique` hashes first, which is slow where most differ."""
    ordered = np.sort(values, axis=None)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if ordered.size else ordered


def _outer(function: np.ufunc, far: np.ndarray, near: np.ndarray) -> np.ndarray:
    return np.asarray(function.outer(far, near)).reshape(-1)


def _joined(starts: np.ndarray, ends: np.ndarray, weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> Runs:
    """Runs in order that do not overlap; neighbours that are alike become one."""
    new = starts[1:] != ends[:-1]
    for values in (weights, low, high):
        new |= values[1:] != values[:-1]
    first = np.concatenate([[0], np.flatnonzero(new) + 1])
    last = np.append(first[1:] - 1, starts.size - 1)
    return Runs(starts[first], ends[last], weights[first], low[first], high[first])


def _overlaid(starts: np.ndarray, ends: np.ndarray, weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> Runs:
    """Runs that may overlap, cut at each other's ends."""
    edges = distinct(np.concatenate([starts, ends]))
    first, last = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
    steps = np.zeros(edges.size, np.int64)
    np.add.at(steps, first, weights)
    np.subtract.at(steps, last, weights)
    total = np.cumsum(steps)[:-1]
    lowest, highest = np.full(total.size, FAR, np.int64), np.full(total.size, -FAR, np.int64)
    if not low.any() and not high.any():
        lowest[:], highest[:] = 0, 0
    else:
        pieces = np.cumsum(last - first)
        begin = 0
        while begin < starts.size:
            done = pieces[begin - 1] if begin else 0
            end = max(int(np.searchsorted(pieces, done + PIECES_AT_ONCE)), begin + 1)
            counts = last[begin:end] - first[begin:end]
            within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
            at = np.repeat(first[begin:end], counts) + within
            np.minimum.at(lowest, at, np.repeat(low[begin:end], counts))
            np.maximum.at(highest, at, np.repeat(high[begin:end], counts))
            begin = end
    used = total > 0
    return _joined(edges[:-1][used], edges[1:][used], total[used], lowest[used], highest[used])
