"""Lanes at even distances, as one weighted comb for each direction: what makes counting them cheap.

A window of memory is the set of places `first + i0*s0 + i1*s1 + ...`, with one term for each axis of the grid and of
the tile. How often each place is touched is the product of what the terms say, so a group of a million blocks is
described by a few short vectors and never enumerated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

FAR = 1 << 58
"""Stands for no block at all, in `low`; its negative does in `high`. Sums of a few stay within int64."""


@dataclass(frozen=True, eq=False)
class Comb:
    """Places 0, step, 2*step and so on. Two of them are the same only if they are one object.

    Attributes:
        step: The distance between two places, positive; 1 where there is only one.
        weights: How often each is touched (int64 [n]).
        low, high: The smallest and largest share that this direction adds to the number of a block that touches it
            (int64 [n]).
    """

    step: int
    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def size(self) -> int:
        """The number of places."""
        return len(self.weights)

    @classmethod
    @lru_cache(1024)
    def of_lanes(cls, count: int, step: int) -> tuple[Comb, int]:
        """A direction of a tile: every place once, by whatever block; and what it adds to the first place."""
        zeros = np.zeros(count, np.int64)
        return cls.made(step, np.ones(count, np.int64), zeros, zeros)

    @classmethod
    def of_blocks(cls, taken: np.ndarray, ids: np.ndarray, step: int) -> tuple[Comb, int]:
        """A direction of the grid: the blocks that are `taken` (bool [n]), which share `ids` of the block number."""
        return cls.made(step, taken.astype(np.int64), np.where(taken, ids, FAR), np.where(taken, ids, -FAR))

    @classmethod
    def made(cls, step: int, weights: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[Comb, int]:
        """A comb of any step, and what it adds to the first place. There must be a weight that is not zero."""
        if step == 0:
            return cls(1, weights.sum(keepdims=True), low.min(keepdims=True), high.max(keepdims=True)), 0
        if step < 0:
            comb, shift = cls.made(-step, weights[::-1], low[::-1], high[::-1])
            return comb, shift + (len(weights) - 1) * step
        used = np.flatnonzero(weights)
        first, end = int(used[0]), int(used[-1]) + 1
        cut = slice(first, end)
        return cls(step if end - first > 1 else 1, weights[cut], low[cut], high[cut]), first * step

    def scaled(self, other: Comb) -> Comb:
        """With one that has a single place, which only adds weight."""
        return Comb(self.step, self.weights * other.weights, self.low + other.low, self.high + other.high)


@dataclass(frozen=True)
class Footprint:
    """What some blocks touch: places `first` plus one place of each comb."""

    first: int
    combs: tuple[Comb, ...]

    def places(self, at_most: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
        """(places, weights, low, high), flat, at most so many at once."""
        total = 1
        for comb in self.combs:
            total *= comb.size
        if total > at_most:
            longest = max(range(len(self.combs)), key=lambda i: self.combs[i].size)
            comb = self.combs[longest]
            middle = comb.size // 2
            for begin, end in ((0, middle), (middle, comb.size)):
                part = Comb(comb.step, comb.weights[begin:end], comb.low[begin:end], comb.high[begin:end])
                combs = (*self.combs[:longest], part, *self.combs[longest + 1 :])
                yield from Footprint(self.first + begin * comb.step, combs).places(at_most)
            return
        places = np.array([self.first], np.int64)
        weights, low, high = np.ones(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64)
        for comb in self.combs:
            places = np.add.outer(places, np.arange(comb.size, dtype=np.int64) * comb.step).reshape(-1)
            weights = np.multiply.outer(weights, comb.weights).reshape(-1)
            low = np.add.outer(low, comb.low).reshape(-1)
            high = np.add.outer(high, comb.high).reshape(-1)
        used = weights > 0
        yield places[used], weights[used], low[used], high[used]
