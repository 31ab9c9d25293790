"""Whole tiles of a view at any distances from each other: where each block goes its own way through a tensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cutile_sim.dtypes import ElementType, to_carrier
from cutile_sim.engine.values import SharedTiles, TileView
from cutile_sim.memory.access import check_range, check_writeable, window
from cutile_sim.memory.space import AddressSpace, Allocation

MIN_LANES = 64
"""Smaller tiles are found faster lane by lane."""


@dataclass(frozen=True)
class WholeTiles:
    """One tile a block, all lanes inside the tensor.

    `first_items` (int64 [z, y, x]) is where each block's tile begins, counted in elements from the start of the
    allocation; `strides_elems` are those along the tile's dimensions.
    """

    allocation: Allocation
    first_items: np.ndarray
    tile: tuple[int, ...]
    strides_elems: tuple[int, ...]
    element: ElementType

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.first_items.shape, *self.tile)

    def _memory(self) -> np.ndarray:
        """All tiles of that shape and strides in the allocation, by their first item: windows that overlap."""
        span = sum((n - 1) * s for n, s in zip(self.tile, self.strides_elems, strict=True))
        count = self.allocation.size_bytes // self.element.size_bytes - span
        return window(self.allocation, 0, (count, *self.tile), (1, *self.strides_elems), self.element)

    def read(self) -> np.ndarray | SharedTiles:
        """A copy of the tiles, as they are carried: each once, if there are not half as many as blocks."""
        first_items, which = np.unique(self.first_items, return_inverse=True)
        if 2 * first_items.size > which.size:
            return to_carrier(self._memory()[self.first_items], self.element)
        tiles = to_carrier(self._memory()[first_items], self.element)
        return SharedTiles(tiles, which.reshape(self.first_items.shape))

    def write(self, stored: np.ndarray) -> int:
        """Store a tile a block; where blocks share elements, the last one's stay. Returns bytes written."""
        check_writeable(self.allocation, int(self.first_items.flat[0]) * self.element.size_bytes, (0,) * stored.ndim)
        self._memory()[self.first_items] = stored
        return int(np.prod(self.shape)) * self.element.size_bytes


def whole_tiles(
    space: AddressSpace, view: TileView, index: tuple[np.ndarray, ...], batch: tuple[int, ...]
) -> WholeTiles | None:
    """The tiles at `index` (int64 arrays [z, y, x]), for blocks of at least the batch axes `batch`.

    None where they are not all whole inside the tensor and its memory, or where another way is better.
    """
    axes, tile, base = view.axes(), view.type.tile_shape, view.tensor.base
    element = view.tensor.element
    size = element.size_bytes
    if axes is None or np.prod(tile) < MIN_LANES:
        return None
    assert isinstance(base, int)
    allocation = space.find(base)
    if allocation is None or (base - allocation.address) % size:
        return None
    first = np.full((1, 1, 1), (base - allocation.address) // size, np.int64)
    strides = []
    for number, (pitch, length, extent, stride) in zip(index, axes, strict=True):
        if stride < 0 or number.min() < 0 or int(number.max()) * pitch + length > extent:
            return None
        first = first + number * (pitch * stride)
        strides.append(stride)
    span = sum((n - 1) * s for n, s in zip(tile, strides, strict=True))
    if not check_range(allocation, int(first.min()) * size, (int(first.max()) + span + 1) * size):
        return None
    first = np.broadcast_to(first, np.broadcast_shapes(first.shape, batch))
    return WholeTiles(allocation, first, tile, tuple(strides), element)
