"""Operations that make tiles or move their elements: no element changes its value.

An array has shape (gz, gy, gx, *tile): three grid axes, each 1 where the tile does not depend on it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType, from_bits, to_bits
from cutile_sim.errors import OutOfBoundsError
from cutile_sim.ops.registry import implements
from cutile_sim.tileir.types import TileType, element_of

GRID_AXES = 3
_MANY = 2048
"""From this many lanes on, selecting by bits is faster (measured)."""


@implements("constant")
def constant(*, value: np.ndarray, result_type: TileType) -> np.ndarray:
    """The tile of the constants in `value` (carrier dtype, shape () or the tile's): the same for every block."""
    return np.broadcast_to(value, (1,) * GRID_AXES + result_type.shape)


@implements("iota")
def iota(*, result_type: TileType) -> np.ndarray:
    """0, 1, 2, ... as unsigned integers."""
    return _iota(result_type.shape[0], element_of(result_type))


@lru_cache(maxsize=256)
def _iota(length: int, element: ElementType) -> np.ndarray:
    values = np.arange(length).astype(element.carrier).reshape(1, 1, 1, length)
    values.flags.writeable = False
    return values


@implements("reshape")
def reshape(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """The same elements in row-major order under another tile shape."""
    return source.reshape(source.shape[:GRID_AXES] + result_type.shape)


@implements("broadcast")
def broadcast(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """Dimensions of size 1 repeated up to the result's size. A view."""
    return np.broadcast_to(source, source.shape[:GRID_AXES] + result_type.shape)


@implements("permute")
def permute(source: np.ndarray, *, permutation: tuple[int, ...]) -> np.ndarray:
    """Result dimension i is source dimension `permutation[i]`. A view."""
    return source.transpose((*range(GRID_AXES), *(GRID_AXES + int(d) for d in permutation)))


@implements("cat")
def cat(lhs: np.ndarray, rhs: np.ndarray, *, dim: int) -> np.ndarray:
    """`lhs`, then `rhs`, along tile dimension `dim`."""
    grid = np.broadcast_shapes(lhs.shape[:GRID_AXES], rhs.shape[:GRID_AXES])
    return np.concatenate([np.broadcast_to(t, grid + t.shape[GRID_AXES:]) for t in (lhs, rhs)], axis=GRID_AXES + dim)


@implements("select")
def select(cond: np.ndarray, val_if_true: np.ndarray, val_if_false: np.ndarray) -> np.ndarray:
    """`val_if_true` where `cond`, else `val_if_false`."""
    item = val_if_true.dtype.itemsize
    if cond.size < _MANY or item not in (4, 8):
        return np.where(cond, val_if_true, val_if_false)
    # By bits: NumPy's `where` branches on each element, which costs ten times as much where that is not predictable.
    yes, no = val_if_true.view(f"i{item}"), val_if_false.view(f"i{item}")
    mask = cond.astype(yes.dtype)
    np.negative(mask, out=mask)
    out = mask if cond.shape == np.broadcast_shapes(cond.shape, yes.shape, no.shape) else None
    chosen = np.bitwise_and(yes ^ no, mask, out=out)
    chosen = np.bitwise_xor(chosen, no, out=out)
    return chosen.view(val_if_true.dtype)


def _slice_numbers(
    indices: tuple[np.ndarray, ...], whole: tuple[int, ...], part: tuple[int, ...]
) -> tuple[np.ndarray, ...]:
    """The slice numbers, checked. Raises OutOfBoundsError for a slice that the tile does not have."""
    for axis, (index, total, length) in enumerate(zip(indices, whole, part, strict=True)):
        count = total // length
        if ((index < 0) | (index >= count)).any():
            bad = index[(index < 0) | (index >= count)].flat[0]
            raise OutOfBoundsError(
                f"slice {int(bad)} of dimension {axis} does not exist: a tile of shape {whole} has {count} slices"
                f" of length {length} there; index slices, not elements"
            )
    return indices


def _one_slice(numbers: tuple[np.ndarray, ...], part: tuple[int, ...]) -> tuple[Any, ...]:
    """Selects the slice that all blocks take."""
    starts = [int(n.flat[0]) * length for n, length in zip(numbers, part, strict=True)]
    return (..., *(slice(start, start + length) for start, length in zip(starts, part, strict=True)))


def _as_slices(values: np.ndarray, part: tuple[int, ...]) -> np.ndarray:
    """Each tile dimension of size n split in two: n / part slices, of `part` elements each."""
    split = [size for n, length in zip(values.shape[GRID_AXES:], part, strict=True) for size in (n // length, length)]
    return values.reshape(*values.shape[:GRID_AXES], *split)


def _slice_selector(grid_shape: tuple[int, ...], indices: tuple[np.ndarray, ...]) -> tuple[np.ndarray | slice, ...]:
    """Picks one slice a block out of `_as_slices`: NumPy puts the grid axes, which all index arrays share, in front."""
    own = tuple(
        np.arange(n).reshape(tuple(n if a == axis else 1 for a in range(GRID_AXES)))
        for axis, n in enumerate(grid_shape)
    )
    selector: tuple[Any, ...] = own
    for index in indices:
        selector += (index, slice(None))
    return selector


@implements("extract")
def extract(source: np.ndarray, indices: tuple[np.ndarray, ...], *, result_type: TileType) -> np.ndarray:
    """The slice of number `indices` among the slices of the result's shape that `source` divides into.

    Shapes: each index (gz, gy, gx), counted in slices, not elements.
    Raises: OutOfBoundsError where there is no such slice (undefined in Tile IR).
    """
    part = result_type.shape
    numbers = _slice_numbers(indices, source.shape[GRID_AXES:], part)
    if all(n.size == 1 for n in numbers):
        return source[_one_slice(numbers, part)]
    return _as_slices(source, part)[_slice_selector(source.shape[:GRID_AXES], numbers)]


@implements("insert")
def insert(source: np.ndarray, destination: np.ndarray, indices: tuple[np.ndarray, ...]) -> np.ndarray:
    """`destination` with the slice of number `indices` replaced by `source`.

    Shapes: each index (gz, gy, gx), counted in slices of the shape of `source`, not elements.
    Raises: OutOfBoundsError where there is no such slice (undefined in Tile IR).
    """
    part, whole = source.shape[GRID_AXES:], destination.shape[GRID_AXES:]
    numbers = _slice_numbers(indices, whole, part)
    grid = np.broadcast_shapes(source.shape[:GRID_AXES], destination.shape[:GRID_AXES], *(n.shape for n in numbers))
    result = np.empty(grid + whole, destination.dtype)
    result[...] = destination
    if all(n.size == 1 for n in numbers):
        result[_one_slice(numbers, part)] = source
    else:
        _as_slices(result, part)[_slice_selector(grid, numbers)] = source
    return result


@implements("pack")
def pack(source: np.ndarray, *, operand_types: dict[str, TileType]) -> np.ndarray:
    """The bytes of a rank-1 tile, little-endian; of two 4-bit elements in a byte, the first is in the low half.

    Shapes: source [N] of w-bit elements, result [N * w / 8] of i8.
    """
    element = element_of(operand_types["source"])
    bits = to_bits(source, element)
    if element.width_bits == 4:
        return (bits[..., 0::2] | bits[..., 1::2] << 4).view(np.int8)
    return np.ascontiguousarray(bits).view(np.int8)


@implements("unpack")
def unpack(source: np.ndarray, *, result_type: TileType) -> np.ndarray:
    """The reverse of `pack`: a rank-1 tile of the result's element type from its bytes."""
    element = element_of(result_type)
    raw = np.ascontiguousarray(source).view(np.uint8)
    if element.width_bits == 4:
        bits = np.stack([raw & 0xF, raw >> 4], axis=-1).reshape(*raw.shape[:-1], -1)
    else:
        bits = raw.view(f"u{element.width_bits // 8}")
    return from_bits(bits, element)
