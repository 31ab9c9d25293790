"""Where the tiles of a view lie in memory, for all blocks of a group at once.

Three answers, cheapest first. A `Window`: all tiles lie whole inside the tensor and at even distances, so they are one
strided window of memory with no index arrays. An `Edge`: the same, but some tiles are cut off by the tensor's end: a
few windows. `Lanes`: an address a lane, for everything else.
"""

from __future__ import annotations

from itertools import product
from operator import is_
from typing import NamedTuple

import numpy as np

from cutile_sim.engine.values import Span, TileView
from cutile_sim.errors import OutOfBoundsError
from cutile_sim.memory.access import LaneFault, check_range, describe_address, misaligned
from cutile_sim.memory.even import even_steps
from cutile_sim.memory.space import AddressSpace
from cutile_sim.ops.whole_tiles import WholeTiles, whole_tiles
from cutile_sim.ops.windows import Edge, Lanes, Window
from cutile_sim.tileir.types import GatherScatterViewType

MAX_EDGE_PARTS = 16
STILL = (0, 0, 0)
"""Steps along the batch axes of what is the same for all blocks."""
UNSIGNED_FAR = 1 << 40
"""Stands for a negative 64-bit index, which is unsigned and so beyond every tensor, where the true one would overflow.
"""


class _Dim(NamedTuple):
    """One tile dimension: first element of the first block's tile, how far along each batch axis it moves; the first
    element of all tiles, and the end of the last one.
    """

    start: int
    steps: tuple[int, int, int]
    counts: tuple[int, int, int]
    tile: int
    extent: int
    stride_elems: int
    first: int
    end: int


def locate(
    space: AddressSpace,
    view: TileView,
    index: tuple[np.ndarray, ...],
    inbounds: tuple[bool, ...],
    verb: str,
    batch: tuple[int, ...] = (1, 1, 1),
    *,
    whole: bool = False,
) -> Window | Edge | Lanes | WholeTiles:
    """The place of the tiles at `index` (integer arrays [z, y, x]; one with a lane axis along a sparse dimension).

    `batch` are batch axes that the place must have even where no index depends on them: those of a stored value. The
    rank of the index is the view's. `whole` allows `WholeTiles` as an answer. Raises LaneFault where `inbounds`
    promises that a dimension stays inside and it does not.
    """
    try:
        place = _evenly_spaced(space, view, index, inbounds, verb, batch)
        if place is not None:
            return place
    except LaneFault:
        if space.tolerate is None:
            raise
    index = tuple(_unsigned(i) for i in index)
    tiles = whole_tiles(space, view, index, batch) if whole else None
    return _lanes(space, view, index, inbounds, batch, verb) if tiles is None else tiles


def _evenly_spaced(
    space: AddressSpace,
    view: TileView,
    index: tuple[np.ndarray, ...],
    inbounds: tuple[bool, ...],
    verb: str,
    batch: tuple[int, ...],
) -> Window | Edge | None:
    """The place of tiles at even distances; None where there is no such place."""
    last = view.last_span
    if last is not None and last[1] == batch and all(map(is_, last[0], index)):
        return _window(space, view, last[2], verb)
    dims = _affine_dims(view, index)
    if dims is None:
        return None
    if not [d for d in dims if d.first < 0 or d.end > d.extent]:
        span = _span(view, dims, _batch(index, batch))
        if all(map(_owns_memory, index)):  # or the view would keep the arrays of its launch alive
            view.last_span = index, batch, span
        return _window(space, view, span, verb)
    return None if any(inbounds) else _edge(space, view, dims, _batch(index, batch), verb)


def _owns_memory(values: np.ndarray) -> bool:
    return values.base is None or getattr(values.base, "base", values) is None


def _unsigned(index: np.ndarray) -> np.ndarray:
    """An index read as unsigned (the IR's rule), as int64."""
    wide = index.astype(np.int64, copy=False)
    if not (wide < 0).any():
        return wide
    if index.dtype.itemsize == 8:
        return np.where(wide < 0, UNSIGNED_FAR, wide)
    return wide & ((1 << (8 * index.dtype.itemsize)) - 1)


def _affine(index: np.ndarray) -> tuple[int, tuple[int, int, int]] | None:
    """(first, step along each batch axis) of an evenly spaced index [z, y, x], read as unsigned; else None."""
    size = index.size
    if size == 1:
        number = index.item()
        return number if number >= 0 else _unsigned(index).item(), STILL
    first, last = index.item(0), index.item(-1)
    if first < 0 or last < 0:
        return None
    z, y, x = index.shape
    if size in (x, y, z):
        row = index.ravel()
        step = row.item(1) - first
        # Differences of neighbours may wrap; but then the last one is not where it should be.
        if last != first + step * (size - 1) or not (row[1:] - row[:-1] == step).all():
            return None
        return first, (step if size == z else 0, step if size == y else 0, step if size == x else 0)
    found = even_steps(index)
    return None if found is None or int(index.min()) < 0 else (first, found[1])  # type: ignore[return-value]


def _affine_dims(view: TileView, index: tuple[np.ndarray, ...]) -> list[_Dim] | None:
    axes = view.axes()
    if axes is None:
        return None
    dims = []
    for (pitch, tile, extent, stride), numbers in zip(axes, index, strict=True):
        affine = _affine(numbers)
        if affine is None:
            return None
        number, steps = affine
        start = low = high = number * pitch
        if steps != STILL:
            steps = steps[0] * pitch, steps[1] * pitch, steps[2] * pitch
            for step, n in zip(steps, numbers.shape, strict=True):
                if step > 0:
                    high += step * (n - 1)
                else:
                    low += step * (n - 1)
        dims.append(_Dim(start, steps, numbers.shape, tile, extent, stride, low, high + tile))  # type: ignore[arg-type]
    return dims


def _batch(index: tuple[np.ndarray, ...], batch: tuple[int, ...]) -> tuple[int, ...]:
    for i in index:
        if i.size > 1:
            batch = tuple([max(n, m) for n, m in zip(batch, i.shape[:3], strict=True)])
    return batch


def _span(view: TileView, dims: list[_Dim], batch: tuple[int, ...]) -> Span:
    """Where a window lies."""
    base, size = view.tensor.base, view.tensor.element.size_bytes
    assert isinstance(base, int)
    place = low = high = along_z = along_y = along_x = 0
    tiles, strides = [], []
    for d in dims:
        stride = d.stride_elems
        tiles.append(d.tile)
        strides.append(stride)
        place += d.start * stride
        if stride >= 0:
            low, high = low + d.first * stride, high + (d.end - 1) * stride
        else:
            low, high = low + (d.end - 1) * stride, high + d.first * stride
        if d.steps != STILL:
            z, y, x = d.steps
            along_z, along_y, along_x = along_z + z * stride, along_y + y * stride, along_x + x * stride
    return Span(
        base + size * place,
        base + size * low,
        base + size * (high + 1),
        (*batch, *tiles),
        (along_z, along_y, along_x, *strides),
    )


def _window(space: AddressSpace, view: TileView, span: Span, verb: str) -> Window:
    """A window whose bytes are checked against the allocation. Empty ones never reach here."""
    element = view.tensor.element
    address, low, end, shape, strides_elems = span
    allocation = space.find(low)
    if address % element.size_bytes:
        raise misaligned(space, address, element, verb, (0,) * len(shape))
    if allocation is None or not check_range(allocation, low - allocation.address, end - allocation.address):
        _raise_outside(space, address, shape, strides_elems, element.size_bytes, verb)
    assert allocation is not None
    return Window(allocation, address - allocation.address, shape, strides_elems, element)


def _raise_outside(
    space: AddressSpace, address: int, shape: tuple[int, ...], strides: tuple[int, ...], size: int, verb: str
) -> None:
    """Fault on the first lane of a window that lies outside memory; none where strided lanes all hit arguments."""
    for flat in range(int(np.prod(shape))):
        position = np.unravel_index(flat, shape)
        at = address + size * sum(int(p) * s for p, s in zip(position, strides, strict=True))
        allocation = space.find(at)
        if allocation is None or not check_range(allocation, at - allocation.address, at - allocation.address + size):
            raise LaneFault(
                OutOfBoundsError,
                f"{verb} outside memory: {describe_address(space, at, size)}",
                tuple(int(p) for p in position),
            )


def _edge(space: AddressSpace, view: TileView, dims: list[_Dim], batch: tuple[int, ...], verb: str) -> Edge | None:
    """Windows over what lies inside, where each dimension moves along one batch axis at most, and no axis moves two."""
    used: set[int] = set()
    choices: list[list[tuple[int | None, slice, int]]] = []
    for d in dims:
        axes = [a for a in range(3) if d.steps[a] != 0 and d.counts[a] > 1]
        if len(axes) > 1 or used & set(axes) or d.start < 0 or any(d.steps[a] < 0 for a in axes):
            return None
        used |= set(axes)
        choices.append(_segments(d, axes[0] if axes else None))
    if np.prod([len(c) for c in choices]) > MAX_EDGE_PARTS:
        return None
    parts = []
    for chosen in product(*choices):
        target = [slice(None)] * 3
        part_batch = list(batch)
        inside = []
        for d, (axis, blocks, count) in zip(dims, chosen, strict=True):
            start = last = d.start
            if axis is not None:
                target[axis] = blocks
                part_batch[axis] = blocks.stop - blocks.start
                start += d.steps[axis] * blocks.start
                last += d.steps[axis] * (blocks.stop - 1)
            inside.append(d._replace(start=start, tile=count, first=start, end=last + count))
            target.append(slice(0, count))
        parts.append((tuple(target), _window(space, view, _span(view, inside, tuple(part_batch)), verb)))
    return Edge((*batch, *(d.tile for d in dims)), tuple(parts))


def _segments(d: _Dim, axis: int | None) -> list[tuple[int | None, slice, int]]:
    """(batch axis, blocks, elements inside) for runs of blocks whose tiles are cut alike; blocks wholly outside left
    out.
    """
    if axis is None:
        count = min(d.tile, d.extent - d.start)
        return [(None, slice(0, 1), count)] if count > 0 else []
    step, n = d.steps[axis], d.counts[axis]
    whole = max(0, min(n, (d.extent - d.tile - d.start) // step + 1))
    found: list[tuple[int | None, slice, int]] = [(axis, slice(0, whole), d.tile)] if whole else []
    for block in range(whole, n):
        count = d.extent - d.start - step * block
        if count <= 0:
            break
        found.append((axis, slice(block, block + 1), count))
    return found


def _spread(value: int | np.ndarray, rank: int) -> int | np.ndarray:
    """A per-block number ready to meet tiles of `rank` dimensions."""
    return value.reshape(value.shape + (1,) * rank) if isinstance(value, np.ndarray) else value


def _elements(view: TileView, index: tuple[np.ndarray, ...]) -> list[tuple[int, np.ndarray]]:
    """(tensor dimension, element index of each lane) of each tile dimension."""
    kind = view.type
    rank = len(kind.tile_shape)
    found = []
    for i in range(rank):
        lanes = [1] * rank
        lanes[i] = kind.tile_shape[i]
        ramp = np.arange(kind.tile_shape[i], dtype=np.int64).reshape(lanes)
        if isinstance(kind, GatherScatterViewType):
            if i == kind.sparse_dim:
                found.append((i, index[i].reshape((*index[i].shape[:3], *lanes))))
            else:
                found.append((i, index[i].reshape((*index[i].shape, *(1,) * rank)) + ramp))
        else:
            first = index[i].reshape((*index[i].shape, *(1,) * rank)) * kind.pitches[i]
            found.append((kind.dim_map[i], first + ramp))
    return found


def _lanes(
    space: AddressSpace,
    view: TileView,
    index: tuple[np.ndarray, ...],
    inbounds: tuple[bool, ...],
    batch: tuple[int, ...],
    verb: str,
) -> Lanes:
    tensor, rank = view.tensor, len(view.type.tile_shape)
    size = tensor.element.size_bytes
    addresses: int | np.ndarray = _spread(tensor.base, rank)
    valid: np.ndarray | None = None
    for i, (d, elements) in enumerate(_elements(view, index)):
        extent = _spread(tensor.shape[d], rank)
        inside = (elements >= 0) & (elements < extent)
        if not inside.all():
            if i < len(inbounds) and inbounds[i]:
                position = tuple(int(p) for p in np.argwhere(~inside)[0])
                fault = LaneFault(
                    OutOfBoundsError,
                    f"{verb} at element {int(elements[position])} of dimension {d}, which has "
                    f"{int(np.broadcast_to(extent, inside.shape)[position])} (its bounds check was turned off)",
                    position,
                )
                if space.tolerate is None:
                    raise fault
                space.tolerate(fault, ~inside, None)
            valid = inside if valid is None else valid & inside
            elements = np.where(inside, elements, 0)
        addresses = addresses + elements * _spread(tensor.strides_elems[d], rank) * size
    assert isinstance(addresses, np.ndarray)
    bases = [a.shape[:3] for a in (tensor.base, *tensor.shape, *tensor.strides_elems) if isinstance(a, np.ndarray)]
    shape = (*np.broadcast_shapes(_batch(index, batch), *bases), *view.type.tile_shape)
    return Lanes(np.broadcast_to(addresses, shape), None if valid is None else np.broadcast_to(valid, shape))
