"""Views of memory: making them, asking their shape, loading and storing their tiles."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from cutile_sim.dtypes import to_carrier, to_storage
from cutile_sim.engine.context import Context
from cutile_sim.engine.values import Deferred, SharedTiles, TensorView, TileView, each, uniform
from cutile_sim.memory.access import gather, scatter
from cutile_sim.ops.locate import locate
from cutile_sim.ops.memory import ORDER_ONLY
from cutile_sim.ops.registry import implements
from cutile_sim.ops.whole_tiles import WholeTiles
from cutile_sim.ops.windows import Edge, Lanes, Window
from cutile_sim.tileir.types import PaddingValue, TensorViewType, TileType, ViewType, element_of


@implements("make_tensor_view")
def make_tensor_view(
    base: np.ndarray,
    dynamic_shape: tuple[np.ndarray, ...],
    dynamic_strides: tuple[np.ndarray, ...],
    *,
    result_type: TensorViewType,
) -> TensorView:
    """An array in memory: a pointer with shape and strides in elements, static ones from the type."""
    shapes, strides = iter(dynamic_shape), iter(dynamic_strides)
    return TensorView(
        uniform(base),
        tuple(uniform(next(shapes)) if n is None else n for n in result_type.shape),
        tuple(uniform(next(strides)) if n is None else n for n in result_type.strides),
        result_type.element,
    )


@implements("make_partition_view")
def make_partition_view(tensor_view: TensorView, *, result_type: ViewType) -> TileView:
    """The tensor cut into tiles that touch each other."""
    return TileView(tensor_view, result_type)


@implements("make_strided_view")
def make_strided_view(tensor_view: TensorView, *, result_type: ViewType) -> TileView:
    """Tiles of the tensor a fixed number of elements apart."""
    return TileView(tensor_view, result_type)


@implements("make_gather_scatter_view")
def make_gather_scatter_view(tensor_view: TensorView, *, result_type: ViewType) -> TileView:
    """Tiles of the tensor whose positions along one dimension are given lane by lane."""
    return TileView(tensor_view, result_type)


def _scalars(values: list[int | np.ndarray], result: TileType) -> tuple[np.ndarray, ...]:
    carrier = element_of(result).carrier
    return tuple(
        v.astype(carrier) if isinstance(v, np.ndarray) else np.full((1, 1, 1), v).astype(carrier) for v in values
    )


@implements("get_tensor_shape")
def get_tensor_shape(src: TensorView, *, result_type: TileType) -> tuple[np.ndarray, ...]:
    """The tensor's shape: one integer scalar a dimension."""
    return _scalars(list(src.shape), result_type)


@implements("get_index_space_shape")
def get_index_space_shape(src: TileView, *, result_type: TileType) -> tuple[np.ndarray, ...]:
    """How many tiles there are along each dimension of the index space, the last ones possibly partial."""
    view = src.type
    dims = getattr(view, "dim_map", tuple(range(len(view.tile_shape))))
    return _scalars([-(-src.tensor.shape[d] // s) for d, s in zip(dims, view.pitches, strict=True)], result_type)


_PADDING = {
    PaddingValue.ZERO: 0.0,
    PaddingValue.NEG_ZERO: -0.0,
    PaddingValue.NAN: np.nan,
    PaddingValue.POS_INF: np.inf,
    PaddingValue.NEG_INF: -np.inf,
}


def padding_of(view: ViewType, cx: Context) -> Any:
    """What lanes outside the tensor hold, in carrier form."""
    if view.padding is PaddingValue.MISSING:
        return cx.fill.value(view.tensor.element)
    return view.tensor.element.carrier.type(_PADDING[view.padding])


@implements("load_view_tko", ignores=("token", *ORDER_ONLY))
def load_view_tko(
    view: TileView, index: tuple[np.ndarray, ...], *, inbounds: tuple[bool, ...], only_multiplied: bool, cx: Context
) -> tuple[np.ndarray | SharedTiles, None]:
    """Read one tile of a view. Lanes outside the tensor get the view's padding, or are undetermined.

    Raises LaneFault for a lane outside memory, and for one outside the tensor along a dimension that `inbounds`
    promises.
    """
    element = view.type.tensor.element
    place = locate(cx.space, view, index, inbounds, "load", whole=cx.observer is None)
    if cx.observer is not None:
        cx.observer.loaded(place, None, element, cx)
    if isinstance(place, Window):
        stored = place.read()
        cx.counts.bytes_loaded += stored.nbytes * cx.repeats(stored.shape)
        value = to_carrier(stored, element)
        return (cx.lend(place.allocation, value) if value is stored else value), None
    if isinstance(place, Edge):
        out = np.full(place.shape, padding_of(view.type, cx), element.carrier)
        for target, part in place.parts:
            stored = part.read()
            cx.counts.bytes_loaded += stored.nbytes * cx.repeats(place.shape)
            out[target] = to_carrier(stored, element)
        return out, None
    if isinstance(place, WholeTiles):
        tiles = place.read()
        cx.counts.bytes_loaded += prod(place.shape) * element.size_bytes * cx.repeats(place.shape)
        return tiles if only_multiplied else each(tiles), None
    assert isinstance(place, Lanes)
    lanes = place.valid
    stored = gather(cx.space, place.addresses, element, lanes)
    if lanes is None:
        cx.counts.bytes_loaded += stored.nbytes * cx.repeats(stored.shape)
        return to_carrier(stored, element), None
    cx.counts.bytes_loaded += int(np.count_nonzero(lanes)) * element.size_bytes * cx.repeats(lanes.shape)
    return np.where(lanes, to_carrier(stored, element), padding_of(view.type, cx)), None


@implements("store_view_tko", ignores=("token", *ORDER_ONLY))
def store_view_tko(
    tile: np.ndarray | Deferred,
    view: TileView,
    index: tuple[np.ndarray, ...],
    *,
    inbounds: tuple[bool, ...],
    cx: Context,
) -> None:
    """Write one tile of a view; lanes outside the tensor are left out.

    Raises LaneFault as `load_view_tko` does, and where an array may not be written.
    """
    element = view.type.tensor.element
    place = locate(cx.space, view, index, inbounds, "store", batch=tile.shape[:3], whole=cx.observer is None)
    if isinstance(tile, Deferred):
        if isinstance(place, Window) and element.storage == element.carrier and place.takes(tile.shape):
            cx.counts.bytes_stored += place.compute(tile) * cx.repeats(place.shape)
            return
        tile = tile.value()
    stored = to_storage(tile, element)
    if cx.observer is not None:
        cx.observer.storing(place, None, element, stored, cx)
    if isinstance(place, (Window, WholeTiles)):
        cx.counts.bytes_stored += place.write(stored) * cx.repeats(place.shape)
    elif isinstance(place, Edge):
        # The tile may be a window of the memory that it goes to: it is taken whole before any of it is written.
        stored = np.broadcast_to(stored if len(place.parts) < 2 else stored.copy(), place.shape)
        for target, part in place.parts:
            cx.counts.bytes_stored += part.write(stored[target]) * cx.repeats(place.shape)
    else:
        assert isinstance(place, Lanes)
        count = scatter(cx.space, place.addresses, stored, element, place.valid)
        cx.counts.bytes_stored += count * element.size_bytes * cx.repeats(place.addresses.shape)
