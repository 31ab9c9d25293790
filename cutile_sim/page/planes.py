"""The plane of an array that the page shows: two of its axes, or its one axis in rows; cut into cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cutile_sim.analysis import NEVER
from cutile_sim.errors import UsageError
from cutile_sim.page.questions import Question
from cutile_sim.traces.model import ArrayInfo

Region = tuple[tuple[int, int], ...]
Bins = tuple[int, ...]
Counted = Callable[[Region, Bins], Sequence[np.ndarray]]
"""Sums over cells: of a region, cut into so many cells along each axis, one or more arrays of the cells' shape."""

SIDE_CELLS = 512
WHOLE_CELLS = SIDE_CELLS**2
"""How finely a whole plane is shown at first."""
MOST_CELLS = 1 << 20
ROWS_AT_ONCE = 1 << 22
"""Elements of an array in rows that are looked at together."""


@dataclass(frozen=True)
class Plane:
    """A part of a plane, cut into cells.

    Attributes:
        rows, cols: Axes of the array that run down and across; -1 for an axis it does not have.
        fixed: The index along every axis; what it says of the two axes does not count.
        wrap: Elements a row of an array with one axis.
        window: (first row, first column, end row, end column).
        cells: Cells down and across.
    """

    array: ArrayInfo
    rows: int
    cols: int
    fixed: tuple[int, ...]
    wrap: int
    window: tuple[int, int, int, int]
    cells: tuple[int, int]

    @classmethod
    def asked(cls, question: Question) -> Plane:
        """The plane a question is about. Raises UsageError where the array has no such plane."""
        array = question.array
        rank = len(array.shape)
        rows, cols, fixed, wrap = -1, -1, (0,) * rank, 1
        if rank == 1:
            wrap = question.number("wrap", 1, max(array.size, 1) + 1)
        elif rank > 1:
            rows, cols = question.number("rows", 0, rank), question.number("cols", 0, rank)
            if rows == cols:
                raise UsageError("rows and columns must be different axes")
            if rank > 2:
                fixed = question.numbers("fixed")
                if len(fixed) != rank or any(not 0 <= i < max(n, 1) for i, n in zip(fixed, array.shape, strict=True)):
                    raise UsageError(f"array {array.name} has no slice at {fixed}")
        whole = cls(array, rows, cols, fixed, wrap, (0, 0, 0, 0), (0, 0))
        down, across = whole.shape
        window = question.numbers("window") if question.has("window") else (0, 0, down, across)
        if len(window) != 4 or not (0 <= window[0] <= window[2] <= down and 0 <= window[1] <= window[3] <= across):
            raise UsageError(f"the plane of {down} by {across} elements has no window {window}")
        r0, c0, r1, c1 = window
        cells = question.numbers("cells") if question.has("cells") else _natural(r1 - r0, c1 - c0)
        if len(cells) != 2 or min(cells) < 0 or cells[0] * cells[1] > MOST_CELLS:
            raise UsageError(f"cells must be two numbers, together at most {MOST_CELLS}, not {cells}")
        return replace(whole, window=(r0, c0, r1, c1), cells=(min(cells[0], r1 - r0), min(cells[1], c1 - c0)))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the whole plane."""
        shape = self.array.shape
        if not shape:
            return 1, 1
        if len(shape) == 1:
            return -(-shape[0] // self.wrap), min(self.wrap, shape[0])
        return shape[self.rows], shape[self.cols]

    @property
    def sizes(self) -> np.ndarray:
        """Elements in each cell (int64 [cells])."""
        r0, c0, r1, c1 = self.window
        down, across = np.diff(edges(r1 - r0, self.cells[0])), np.diff(edges(c1 - c0, self.cells[1]))
        found = np.multiply.outer(down, across)
        rest = r1 * self.wrap - self.array.size if len(self.array.shape) == 1 else 0
        if rest > 0 and found.size:  # the last row ends early
            ends = np.arange(c0, c1) < self.wrap - rest
            found[-1] -= np.add.reduceat(~ends, edges(c1 - c0, self.cells[1])[:-1], dtype=np.int64)
        return found

    def sums(self, count: Counted, join: np.ufunc = np.add) -> list[np.ndarray]:
        """What `count` finds for the cells, each of shape `cells`; `join` says what a cell has of its parts."""
        r0, c0, r1, c1 = self.window
        h, w = self.cells
        rank = len(self.array.shape)
        if not h * w:
            return [np.zeros(self.cells, np.int64) for _ in count(((0, 0),) * rank, (1,) * rank)]
        if rank == 0:
            return [np.asarray(found).reshape(1, 1) for found in count((), ())]
        if rank == 1:
            return self._wrapped(count, join)
        region = [(at, at + 1) for at in self.fixed]
        bins = [1] * rank
        region[self.rows], region[self.cols] = (r0, r1), (c0, c1)
        bins[self.rows], bins[self.cols] = h, w
        order = [self.rows, self.cols, *(a for a in range(rank) if a not in (self.rows, self.cols))]
        return [found.transpose(order).reshape(h, w) for found in count(tuple(region), tuple(bins))]

    def _wrapped(self, count: Counted, join: np.ufunc) -> list[np.ndarray]:
        r0, c0, r1, c1 = self.window
        h, w = self.cells
        n, wrap = self.array.shape[0], self.wrap
        down, across = edges(r1 - r0, h), edges(c1 - c0, w)[:-1]
        rows: list[list[np.ndarray]] = []
        full = min(r1, n // wrap)
        if (c0, c1) == (0, wrap) and w < wrap and full > r0:
            # Cells of whole rows do not straddle the ends of rows: they may be counted as they lie in memory.
            found = count(((r0 * wrap, full * wrap),), ((full - r0) * w,))
            rows.append([f.reshape(full - r0, w) for f in found])
        else:
            full = r0
        at_once = max(1, ROWS_AT_ONCE // wrap)
        for first in range(full, r1, at_once):
            end = min(first + at_once, r1)
            begin, stop = first * wrap, min(end * wrap, n)
            parts = []
            for f in count(((begin, stop),), (stop - begin,)):
                # Behind the array's end nothing counts, least of all as the smallest.
                spread = np.full((end - first) * wrap, 0 if join is np.add else NEVER, f.dtype)
                spread[: f.size] = f
                parts.append(join.reduceat(spread.reshape(end - first, wrap)[:, c0:c1], across, axis=1))
            rows.append(parts)
        whole = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
        return [join.reduceat(f, down[:-1], axis=0) for f in whole]

    def slice_of(self, values: np.ndarray) -> np.ndarray:
        """The window's elements of a whole array, [rows, columns]; a row of one axis may end early: then False, 0."""
        r0, c0, r1, c1 = self.window
        rank = len(self.array.shape)
        if rank == 0:
            return values.reshape(1, 1)
        if rank == 1:
            flat = values[r0 * self.wrap : r1 * self.wrap]
            padded = np.zeros((r1 - r0) * self.wrap, values.dtype)
            padded[: flat.size] = flat
            return padded.reshape(r1 - r0, self.wrap)[:, c0:c1]
        index: list[int | slice] = list(self.fixed)
        index[self.rows], index[self.cols] = slice(r0, r1), slice(c0, c1)
        found = values[tuple(index)]
        return found if self.rows < self.cols else found.T

    def binned(self, values: np.ndarray) -> np.ndarray:
        """Sums over cells of values of the window's elements [rows, columns]."""
        r0, c0, r1, c1 = self.window
        if not values.size:
            return np.zeros(self.cells, np.int64)
        dtype = np.int64 if values.dtype.kind in "bi" else np.float64
        values = np.add.reduceat(values, edges(c1 - c0, self.cells[1])[:-1], axis=1, dtype=dtype)
        return np.add.reduceat(values, edges(r1 - r0, self.cells[0])[:-1], axis=0, dtype=dtype)

    def frame(self) -> dict[str, object]:
        """What every answer about a plane says."""
        return {"window": list(self.window), "shape": list(self.cells)}


def edges(size: int, cells: int) -> np.ndarray:
    """Where each of the cells along an axis begins, and the end of the last."""
    return np.arange(cells + 1, dtype=np.int64) * size // max(cells, 1)


def _natural(down: int, across: int) -> tuple[int, int]:
    """As many cells as a whole plane is shown with: all elements of a small one."""
    if down * across <= WHOLE_CELLS:
        return down, across
    if down < SIDE_CELLS:
        return down, min(across, WHOLE_CELLS // down)
    if across < SIDE_CELLS:
        return min(down, WHOLE_CELLS // across), across
    return SIDE_CELLS, SIDE_CELLS


def natural_wrap(size: int) -> int:
    """How an array of one axis is cut into rows at first: a power of two that makes a wide rectangle."""
    return max(size, 1) if size <= 64 else 1 << math.ceil(math.log2(math.sqrt(2 * size)))
