"""Many footprints that differ only in where they begin, as few.

Tiles that a loop or the blocks of several batches touch lie evenly, as a rule: where they begin is then a comb along
each axis of the array, as the lanes of a tile are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cutile_sim.analysis.combs import FAR, Comb, Footprint
from cutile_sim.analysis.spaces import nested_axes
from cutile_sim.traces.model import ArrayInfo

SPARSEST = 4
"""Beginnings along an axis are no comb if it would have so many times as many places."""
FEWEST = 3


class Starts(NamedTuple):
    """Where footprints begin, ascending: places, how often each counts, smallest and largest number that it adds."""

    places: np.ndarray
    weights: np.ndarray
    low: np.ndarray
    high: np.ndarray


def starts(places: np.ndarray, numbers: np.ndarray) -> Starts:
    """Each place once."""
    order = np.argsort(places, kind="stable")
    places, numbers = places[order], numbers[order]
    first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    weights = np.diff(np.append(first, places.size))
    return Starts(places[first], weights, np.minimum.reduceat(numbers, first), np.maximum.reduceat(numbers, first))


def merged(combs: tuple[Comb, ...], at: Starts, array: ArrayInfo) -> Iterator[Footprint]:
    """What these combs touch from all the starts on, in as few footprints as are found easily."""
    if at.places.size < FEWEST:
        yield from singles(combs, at)
        return
    axes = nested_axes(array)
    # The longest stride first: so is an index read off a place in memory.
    order = sorted(axes, key=lambda a: -array.strides_elems[a]) if axes else []
    strides = [array.strides_elems[a] for a in order] or [1]
    index, rest = [], at.places
    for n, stride in enumerate(strides):
        along = rest // stride
        if order:
            along = np.minimum(along, array.shape[order[n]] - 1)
        index.append(along)
        rest = rest - along * stride
    fits = (rest == 0) & (at.places >= 0)
    yield from (_single(combs, at, n) for n in np.flatnonzero(~fits).tolist())
    if fits.any():
        whole = Starts(*(column[fits] for column in at))
        yield from _merged(combs, whole, np.stack([i[fits] for i in index], axis=1), strides)


def singles(combs: tuple[Comb, ...], at: Starts) -> Iterator[Footprint]:
    """What these combs touch from each of the starts on."""
    return (_single(combs, at, n) for n in range(at.places.size))


def _single(combs: tuple[Comb, ...], at: Starts, n: int) -> Footprint:
    one = slice(n, n + 1)
    return Footprint(int(at.places[n]), (Comb(1, at.weights[one], at.low[one], at.high[one]), *combs))


def _merged(combs: tuple[Comb, ...], at: Starts, index: np.ndarray, strides: list[int]) -> Iterator[Footprint]:
    patterns: list[tuple[Comb, ...]] = [()]
    pattern = np.zeros(len(index), np.int64)
    for axis in reversed(range(len(strides))):
        at, index, pattern = _along(at, index, pattern, patterns, axis, strides)
    for n, number in enumerate(pattern.tolist()):
        one = _single((), at, n)
        yield Footprint(one.first, (*one.combs, *patterns[number], *combs))


def _along(
    at: Starts, index: np.ndarray, pattern: np.ndarray, patterns: list[tuple[Comb, ...]], axis: int, strides: list[int]
) -> tuple[Starts, np.ndarray, np.ndarray]:
    """Starts that have their pattern and all but their index along an axis in common become one, with a new pattern."""
    others = [a for a in range(index.shape[1]) if a != axis]
    keys = [index[:, axis], *(index[:, a] for a in reversed(others)), pattern]
    order = np.lexsort(keys)
    ordered = np.column_stack(keys[1:])[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(order)))
    kept = [order[np.repeat(counts, counts) == 1]]
    found: list[tuple[int, int, int, int, int]] = []  # row that stays, pattern, weight, low, high
    known: dict[tuple[object, ...], int] = {}
    for begin, count in zip(first[counts > 1].tolist(), counts[counts > 1].tolist(), strict=True):
        rows = order[begin : begin + count]
        along = index[rows, axis]
        step = int(np.gcd.reduce(np.diff(along)))
        if (along[-1] - along[0]) // step >= SPARSEST * count:
            kept.append(rows)
            continue
        row = int(rows[0])
        weight = int(np.gcd.reduce(at.weights[rows]))
        low, high = int(at.low[row]), int(at.high[row])
        place = (along - along[0]) // step
        columns = np.zeros(place[-1] + 1, np.int64), np.full(place[-1] + 1, FAR), np.full(place[-1] + 1, -FAR)
        for column, values in zip(
            columns, (at.weights[rows] // weight, at.low[rows] - low, at.high[rows] - high), strict=True
        ):
            column[place] = values
        key = (int(pattern[row]), step, *(column.tobytes() for column in columns))
        if key not in known:
            known[key] = len(patterns)
            patterns.append((Comb(step * strides[axis], *columns), *patterns[int(pattern[row])]))
        found.append((row, known[key], weight, low, high))
    alone = np.concatenate(kept)
    table = np.array(found, np.int64).reshape(-1, 5).T
    rows = np.concatenate([alone, table[0]])
    merged_at = Starts(
        at.places[rows],
        np.concatenate([at.weights[alone], table[2]]),
        np.concatenate([at.low[alone], table[3]]),
        np.concatenate([at.high[alone], table[4]]),
    )
    return merged_at, index[rows], np.concatenate([pattern[alone], table[1]])
