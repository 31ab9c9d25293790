"""Pointers, loads and stores lane by lane, tokens, globals and fresh memory."""

from __future__ import annotations

import numpy as np

from cutile_sim.dtypes import ElementType, to_carrier, to_storage
from cutile_sim.engine.context import Context
from cutile_sim.memory.access import Places, gather, scatter, spread
from cutile_sim.memory.even import is_one_number
from cutile_sim.ops.registry import implements
from cutile_sim.tileir.types import PointerType, TileType

ORDER_ONLY = ("memory_ordering_semantics", "memory_scope", "optimization_hints")
"""Attributes that order or hint: blocks here see every access at once, in some fair order."""


def pointee(pointers: TileType) -> ElementType:
    """Element type that a tile of pointers points to."""
    assert isinstance(pointers.element, PointerType)
    return pointers.element.pointee


@implements("offset")
def offset(ptr: np.ndarray, offset: np.ndarray, *, result_type: TileType, only_accessed: bool) -> np.ndarray | Places:
    """Pointers moved by `offset` elements: int64 byte addresses in, int64 byte addresses out.

    Where all start from one pointer and are only loaded from or stored to, they stay counts of elements from it.
    """
    size = pointee(result_type).size_bytes
    items = offset.astype(np.int64, copy=False)
    if only_accessed and is_one_number(ptr):
        shape = np.broadcast_shapes(ptr.shape, items.shape)
        return Places(int(ptr.flat[0]), np.broadcast_to(items, shape), size)
    return ptr + items * np.int64(size)


@implements("load_ptr_tko", ignores=("token", *ORDER_ONLY))
def load_ptr_tko(
    source: np.ndarray | Places,
    mask: np.ndarray | None,
    padding_value: np.ndarray | None,
    *,
    operand_types: dict,
    cx: Context,
) -> tuple[np.ndarray, None]:
    """Read the element at each pointer. Lanes that are masked off get the padding value, or are undetermined.

    Raises LaneFault for a lane outside memory or misaligned.
    """
    element = pointee(operand_types["source"])
    shape = source.shape if mask is None else np.broadcast_shapes(source.shape, mask.shape)
    lanes = None if mask is None or mask.all() else np.broadcast_to(mask, shape)
    place = spread(source, shape)
    stored = gather(cx.space, place, element, lanes)
    if cx.observer is not None:
        cx.observer.loaded(place, lanes, element, cx)
    value = to_carrier(stored, element)
    if lanes is None:
        cx.counts.bytes_loaded += stored.nbytes * cx.repeats(shape)
        return value, None
    cx.counts.bytes_loaded += int(np.count_nonzero(lanes)) * element.size_bytes * cx.repeats(shape)
    padding = cx.fill.value(element) if padding_value is None else padding_value
    return np.where(lanes, value, padding), None


@implements("store_ptr_tko", ignores=("token", *ORDER_ONLY))
def store_ptr_tko(
    destination: np.ndarray | Places,
    value: np.ndarray,
    mask: np.ndarray | None,
    *,
    operand_types: dict,
    cx: Context,
) -> None:
    """Write each element to its pointer, except where masked off.

    Raises LaneFault for a lane outside memory, misaligned, or in an array that may not be written.
    """
    element = pointee(operand_types["destination"])
    shape = np.broadcast_shapes(destination.shape, value.shape, () if mask is None else mask.shape)
    lanes = None if mask is None or mask.all() else np.broadcast_to(mask, shape)
    place, stored = spread(destination, shape), to_storage(value, element)
    if cx.observer is not None:
        cx.observer.storing(place, lanes, element, stored, cx)
    count = scatter(cx.space, place, stored, element, lanes)
    cx.counts.bytes_stored += count * element.size_bytes * cx.repeats(shape)


@implements("make_token")
def make_token() -> None:
    """A token that waits for nothing. Memory operations run in program order, so tokens carry nothing."""


@implements("join_tokens", ignores=("tokens",))
def join_tokens() -> None:
    """A token after all its operands: program order already is."""


@implements("memory_fence_alias_tko", ignores=("token",))
def memory_fence_alias_tko() -> None:
    """Orders accesses to one memory under several addresses: program order already does."""


@implements("get_global")
def get_global(*, name: str, cx: Context) -> np.ndarray:
    """Pointer to a global of the module."""
    return np.full((1, 1, 1), cx.globals[name].address, np.int64)


@implements("alloca", ignores=("alignment", "is_global"))
def alloca(*, num_elem: int, result_type: TileType, cx: Context) -> np.ndarray:
    """Fresh memory for `num_elem` elements in each block, until the block ends. Its contents are undetermined."""
    element = pointee(result_type)
    room = max(256, -(-num_elem * element.size_bytes // 256) * 256)
    allocation = cx.space.allocate(room * cx.group.size, "memory of alloca")
    filler = to_storage(np.full(1, cx.fill.value(element), element.carrier), element)
    flat = allocation.typed(element.storage)
    flat[...] = filler[0]
    cx.group.scratch.append(allocation)
    return (allocation.address + room * np.arange(cx.group.size, dtype=np.int64)).reshape(cx.group.shape)
