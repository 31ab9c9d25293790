"""Which part of an array a panel shows: all of one or two axes, one index of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import prod

import numpy as np

from cutile_sim.errors import UsageError
from cutile_sim.traces.model import ArrayInfo

MOST_SLICES = 4
PIXELS = 400
"""Along an axis of a panel, at most."""


@dataclass(frozen=True)
class Panel:
    """One slice of an array.

    Attributes:
        region: (first, end) along each axis of the array.
        axes: The axes that are drawn: downwards and to the right, or to the right alone; none of a scalar.
        title: Which slice it is; "" for the whole array.
    """

    region: tuple[tuple[int, int], ...]
    axes: tuple[int, ...]
    title: str

    @property
    def lengths(self) -> tuple[int, ...]:
        """Elements along the axes that are drawn."""
        return tuple(self.region[a][1] - self.region[a][0] for a in self.axes)

    @property
    def bins(self) -> tuple[int, ...]:
        """Cells along each axis of the array, so that there is not more than one for each pixel."""
        return tuple(
            max(min(end - first, PIXELS if a in self.axes else 1), 1) for a, (first, end) in enumerate(self.region)
        )

    def drawn(self, values: np.ndarray) -> np.ndarray:
        """Values over the array's axes as they are drawn: of one axis or two."""
        kept = [n if a in self.axes else None for a, n in enumerate(values.shape)]
        return values.reshape([n for n in kept if n is not None] or [1])

    def edges(self, edges: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Of edges along all axes, those along the axes that are drawn."""
        return tuple(edges[a] for a in self.axes) or (np.arange(2),)


def panels_of(array: ArrayInfo, at: Sequence[int]) -> tuple[Panel, ...]:
    """The slices of an array to draw: all of up to two axes; of more, the one `at`, or a few along the first axes.

    Raises UsageError where there is no such index, or nothing to draw.
    """
    if not array.size:
        raise UsageError(f"array {array.name} has no elements: there is nothing to draw")
    rank = len(array.shape)
    leading = max(rank - 2, 0)
    if at and (len(at) != leading or any(not 0 <= i < n for i, n in zip(at, array.shape, strict=False))):
        shape = "x".join(map(str, array.shape))
        raise UsageError(
            f"array {array.name} of shape {shape} has no slice {tuple(at)}; give an index for each axis"
            " but the last two"
        )
    axes = tuple(range(leading, rank))
    found = []
    for index in [tuple(at)] if at else _some(array.shape[:leading]):
        region = tuple((i, i + 1) for i in index) + tuple((0, n) for n in array.shape[leading:])
        title = f"[{', '.join(map(str, index))}, :, :]" if index else ""
        found.append(Panel(region, axes, title))
    return tuple(found)


def _some(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """A few indices of that shape, from the first to the last."""
    count = prod(shape)
    if count <= MOST_SLICES:
        return list(islice(product(*map(range, shape)), count))
    numbers = [round(i * (count - 1) / (MOST_SLICES - 1)) for i in range(MOST_SLICES)]
    return [tuple(int(i) for i in np.unravel_index(n, shape)) for n in numbers]
