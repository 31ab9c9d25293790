"""What a slot of a running group of blocks may hold.

A tile is a NumPy array of shape (z, y, x, *tile): three batch axes over the group's blocks, each of size 1 where the
value does not depend on it. A tile of pointers may be `Places` instead, one for a matrix product `SharedTiles`. A token
is None. Views of memory are two classes here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.memory.access import Places
from cutile_sim.tileir.types import GatherScatterViewType, ViewType

Batched = np.ndarray
Uniform = int
BatchShape = tuple[int, int, int]


@dataclass(slots=True, eq=False)
class TensorView:
    """An array in simulated memory. A number is an int where all blocks of the group share it, else int64 [z, y, x].
    Only to be read.
    """

    base: Uniform | Batched
    shape: tuple[Uniform | Batched, ...]
    strides_elems: tuple[Uniform | Batched, ...]
    element: ElementType

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> TensorView:
        """The view with `change` applied to what depends on the block."""

        def one(value: Uniform | Batched) -> Uniform | Batched:
            return change(value) if isinstance(value, np.ndarray) else value

        return TensorView(
            one(self.base), tuple(map(one, self.shape)), tuple(map(one, self.strides_elems)), self.element
        )


class Axis(NamedTuple):
    """A tile dimension: elements from one tile to the next and of a tile; extent and stride of the tensor there."""

    pitch_elems: int
    tile_elems: int
    extent: int
    stride_elems: int


class Span(NamedTuple):
    """Where a window of tiles lies: the address of its first element, the lowest one and the end of the highest, its
    shape (z, y, x, *tile) and strides.
    """

    address: int
    low_address: int
    end_address: int
    shape: tuple[int, ...]
    strides_elems: tuple[int, ...]


@dataclass(slots=True, eq=False)
class TileView:
    """A tensor view cut into tiles as its Tile IR type says. Only to be read.

    `last_span` is that of the last tiles that were located, with their index and batch axes, for which the next launch
    may ask again.
    """

    tensor: TensorView
    type: ViewType
    _axes: tuple[Axis, ...] | Literal[False] | None = field(default=False, init=False, repr=False)
    last_span: tuple[tuple[np.ndarray, ...], tuple[int, ...], Span] | None = field(default=None, init=False, repr=False)

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> TileView:
        return TileView(self.tensor.map(change), self.type)

    def axes(self) -> tuple[Axis, ...] | None:
        """Each tile dimension, if all blocks share its numbers and none has a place for each lane. Found once."""
        if self._axes is False:
            self._axes = self._find_axes()
        return self._axes

    def _find_axes(self) -> tuple[Axis, ...] | None:
        kind, tensor = self.type, self.tensor
        if isinstance(kind, GatherScatterViewType) or not isinstance(tensor.base, int):
            return None
        extents, strides = [tensor.shape[d] for d in kind.dim_map], [tensor.strides_elems[d] for d in kind.dim_map]
        if not all(isinstance(n, int) for n in (*extents, *strides)):
            return None
        return tuple(map(Axis, kind.pitches, kind.tile_shape, extents, strides))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class SharedTiles:
    """A tile a block, where several blocks have the same: what a load gives that only matrix products take.

    `tiles` has shape (n, *tile); each block has the one that `which` [z, y, x] says.
    """

    tiles: np.ndarray
    which: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.which.shape, *self.tiles.shape[1:])

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> SharedTiles:
        """The tiles of the blocks that `change` chooses."""
        return SharedTiles(self.tiles, change(self.which))

    def each(self) -> np.ndarray:
        """A tile a block, as other values are."""
        return self.tiles[self.which]


def each(value: np.ndarray | SharedTiles) -> np.ndarray:
    """The value with a tile a block."""
    return value.each() if isinstance(value, SharedTiles) else value


class Deferred:
    """An elementwise result that is still to be computed, so that it can be computed right where it is stored.

    `slots` are read when it is computed, not before: a store may first replace values in them that are windows of the
    memory it writes.
    """

    __slots__ = ("_function", "_operands", "_slots", "shape")

    def __init__(self, function: Callable[..., np.ndarray], slots: list[Any], operands: tuple[int, ...]) -> None:
        self._function = function
        self._slots = slots
        self._operands = operands
        self.shape = np.broadcast(*[slots[i] for i in operands]).shape

    def value(self, out: np.ndarray | None = None) -> np.ndarray:
        """Compute it: into `out`, an array of its shape and carrier type, where that is possible."""
        return self._function(*[self._slots[i] for i in self._operands], out=out)


def uniform(value: np.ndarray) -> Uniform | Batched:
    """An integer scalar of the whole group as a Python int, where it is one; else int64 [z, y, x]."""
    return value.item() if value.size == 1 else value.astype(np.int64)


def map_value(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """`change` applied to every array in a slot's value."""
    if isinstance(value, np.ndarray):
        return change(value)
    if value is None:
        return None
    return value.map(change)


def batch_of(value: Any) -> BatchShape:
    """The batch axes of a slot's value."""
    if isinstance(value, np.ndarray):
        return value.shape[:3]  # type: ignore[return-value]
    if isinstance(value, (Places, SharedTiles)):
        return value.shape[:3]  # type: ignore[return-value]
    if isinstance(value, TileView):
        value = value.tensor
    if isinstance(value, TensorView):
        parts = (value.base, *value.shape, *value.strides_elems)
        shapes = [p.shape for p in parts if isinstance(p, np.ndarray)]
        return np.broadcast_shapes((1, 1, 1), *shapes)  # type: ignore[return-value]
    return (1, 1, 1)
