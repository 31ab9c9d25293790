"""Atomic updates. Within a group, lanes take their turns in launch order of the blocks, then in lane order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from cutile_sim.dtypes import F32, ElementType, to_carrier, to_storage
from cutile_sim.engine.context import Context
from cutile_sim.engine.values import TileView
from cutile_sim.memory.access import Places, check_written, parts, spread
from cutile_sim.memory.space import Allocation
from cutile_sim.ops.locate import Edge, Lanes, Window, locate
from cutile_sim.ops.memory import pointee
from cutile_sim.ops.registry import implements
from cutile_sim.ops.whole_tiles import WholeTiles
from cutile_sim.optable.encoding import AtomicRMWMode
from cutile_sim.rounding import flush, round_to

ORDER = ("token", "memory_ordering_semantics", "memory_scope")
Update = Callable[[np.ndarray, np.ndarray], np.ndarray]


def update_of(mode: AtomicRMWMode, element: ElementType) -> Update:
    """What a mode does to (old values, argument), both in storage form."""

    def as_unsigned(function: Update) -> Update:
        kind = np.dtype(f"u{element.size_bytes}")
        return lambda old, arg: function(old.view(kind), arg.view(kind)).view(old.dtype)

    def add_float(old: np.ndarray, arg: np.ndarray) -> np.ndarray:
        total = _flushed(to_carrier(old, element), element) + _flushed(to_carrier(arg, element), element)
        return to_storage(_flushed(round_to(total, element) if element.is_narrow else total, element), element)

    table: dict[AtomicRMWMode, Update] = {
        AtomicRMWMode.AND: np.bitwise_and,
        AtomicRMWMode.OR: np.bitwise_or,
        AtomicRMWMode.XOR: np.bitwise_xor,
        AtomicRMWMode.ADD: np.add,
        AtomicRMWMode.ADDF: add_float,
        AtomicRMWMode.MAX: np.maximum,
        AtomicRMWMode.MIN: np.minimum,
        AtomicRMWMode.UMAX: as_unsigned(np.maximum),
        AtomicRMWMode.UMIN: as_unsigned(np.minimum),
        AtomicRMWMode.XCHG: lambda old, arg: arg,
    }
    return table[mode]


def _flushed(values: np.ndarray, element: ElementType) -> np.ndarray:
    """Subnormals as zeros where the GPU's adder takes them so: float32 alone (GPU recording; the IR's own note)."""
    return flush(values, element) if element is F32 else values


_BULK: dict[AtomicRMWMode, np.ufunc] = {
    AtomicRMWMode.AND: np.bitwise_and,
    AtomicRMWMode.OR: np.bitwise_or,
    AtomicRMWMode.XOR: np.bitwise_xor,
    AtomicRMWMode.ADD: np.add,
    AtomicRMWMode.MAX: np.maximum,
    AtomicRMWMode.MIN: np.minimum,
}


def _in_turn(flat: np.ndarray, items: np.ndarray, turn: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Old values, lane by lane, of updates that hit items more than once.

    `turn(items, lanes)` updates distinct items by the arguments of `lanes` and returns their old values. The first
    lanes of all items go together, then the second ones, and so on.
    """
    order = np.argsort(items, kind="stable")
    ordered = items[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    lengths = np.diff(np.concatenate((starts, [ordered.size])))
    old = np.empty(items.shape, flat.dtype)
    for n in range(int(lengths.max())):
        lanes = order[starts[lengths > n] + n]
        old[lanes] = turn(items[lanes], lanes)
    return old


def _running_sums(flat: np.ndarray, items: np.ndarray, arg: np.ndarray) -> np.ndarray:
    """Old values of integer additions that hit items more than once: running sums within each item's lanes."""
    order = np.argsort(items, kind="stable")
    ordered, values = items[order], arg[order]
    sums = np.cumsum(values, dtype=values.dtype)
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(first)
    before = sums - values
    lengths = np.diff(np.concatenate((starts, [ordered.size])))
    base = flat[ordered[starts]] - before[starts]
    old = np.empty_like(values)
    old[order] = before + np.repeat(base, lengths)
    ends = np.concatenate((starts[1:], [ordered.size])) - 1
    flat[ordered[starts]] = base + sums[ends]
    return old


def apply(
    allocation: Allocation,
    items: np.ndarray,
    arg: np.ndarray,
    mode: AtomicRMWMode,
    element: ElementType,
    wants_old: bool,
) -> np.ndarray | None:
    """Update items of one allocation (both one-dimensional, storage form); the old values, where wanted."""
    flat = allocation.typed(element.storage)
    update = update_of(mode, element)
    bulk = _BULK.get(mode)
    if not wants_old:
        if bulk is not None:
            bulk.at(flat, items, arg)
            return None
        if mode is AtomicRMWMode.ADDF and not element.is_narrow:
            np.add.at(flat, items, _flushed(arg, element))
            if element is F32:
                flat[items] = flush(flat[items], element)
            return None
    distinct = np.unique(items).size == items.size
    if distinct:
        old = flat[items]
        flat[items] = update(old, arg)
        return old
    if mode is AtomicRMWMode.ADD:
        return _running_sums(flat, items, arg)

    def turn(at: np.ndarray, lanes: np.ndarray) -> np.ndarray:
        before = flat[at]
        flat[at] = update(before, arg[lanes])
        return before

    return _in_turn(flat, items, turn)


def _launch_order(cx: Context, array: np.ndarray) -> np.ndarray:
    """An array over the group's full batch shape, whose C order is launch order: ids ascend along every batch axis."""
    return np.broadcast_to(array, cx.group.shape + array.shape[3:])


def _taken(array: np.ndarray, lanes: np.ndarray | None) -> np.ndarray:
    """The chosen lanes, or all of them, in a row."""
    return array.flatten() if lanes is None else array[lanes]


def _put(array: np.ndarray, lanes: np.ndarray | None, values: np.ndarray) -> None:
    """Write a row of values to the chosen lanes, or to all of them."""
    if lanes is None:
        array[...] = values.reshape(array.shape)
    else:
        array[lanes] = values


@implements("atomic_rmw_tko", ignores=ORDER)
def atomic_rmw_tko(
    pointers: np.ndarray | Places,
    arg: np.ndarray,
    mask: np.ndarray | None,
    *,
    mode: AtomicRMWMode,
    operand_types: dict,
    used_results: tuple[bool, ...],
    cx: Context,
) -> tuple[np.ndarray, None]:
    """Read, update and write back the element at each pointer; yields the old values, zero on masked lanes
    (GPU recording; the IR leaves them to the implementation).

    Every block counts, also where pointers and argument are the same for all. Float sums round to nearest even each
    time.
    """
    element = pointee(operand_types["pointers"])
    addresses = spread(pointers, cx.group.shape + pointers.shape[3:])
    stored = _launch_order(cx, to_storage(arg, element))
    lanes = None if mask is None or mask.all() else _launch_order(cx, mask)
    if cx.observer is not None:
        cx.observer.updating(addresses, lanes, element, stored, cx)
    old = np.zeros(addresses.shape, element.carrier)
    for allocation, chosen, items in list(parts(cx.space, addresses, lanes, element, "atomic update")):
        check_written(allocation, items, element, addresses.shape, chosen)
        values = _taken(stored, chosen)
        with cx.space.lock:
            before = apply(allocation, items.ravel(), values, mode, element, used_results[0])
        cx.counts.bytes_loaded += items.size * element.size_bytes
        cx.counts.bytes_stored += items.size * element.size_bytes
        if before is not None:
            _put(old, chosen, to_carrier(before, element))
    return old, None


def _swap(bits: np.ndarray, want: np.ndarray, new: np.ndarray, at: np.ndarray, who: np.ndarray) -> np.ndarray:
    """Write the new bits of lanes `who` to distinct items `at` that hold what is wanted; their old bits."""
    before = bits[at]
    bits[at] = np.where(before == want[who], new[who], before)
    return before


@implements("atomic_cas_tko", ignores=ORDER)
def atomic_cas_tko(
    pointers: np.ndarray | Places,
    cmp: np.ndarray,
    val: np.ndarray,
    mask: np.ndarray | None,
    *,
    operand_types: dict,
    cx: Context,
) -> tuple[np.ndarray, None]:
    """Write `val` where memory holds exactly the bits of `cmp`; yields the old values, `cmp` on masked lanes."""
    element = pointee(operand_types["pointers"])
    addresses = spread(pointers, cx.group.shape + pointers.shape[3:])
    expected = _launch_order(cx, to_storage(cmp, element))
    desired = _launch_order(cx, to_storage(val, element))
    lanes = None if mask is None or mask.all() else _launch_order(cx, mask)
    if cx.observer is not None:
        cx.observer.updating(addresses, lanes, element, desired, cx)
    old = np.array(_launch_order(cx, cmp))
    kind = np.dtype(f"u{element.size_bytes}")
    for allocation, chosen, items in list(parts(cx.space, addresses, lanes, element, "atomic compare-and-swap")):
        check_written(allocation, items, element, addresses.shape, chosen)
        bits = allocation.typed(element.storage).view(kind)
        want = _taken(expected, chosen).view(kind)
        new = _taken(desired, chosen).view(kind)
        before = _in_turn(bits, items.ravel(), partial(_swap, bits, want, new)).view(element.storage)
        cx.counts.bytes_loaded += items.size * element.size_bytes
        _put(old, chosen, to_carrier(before, element))
    return old, None


@implements("atomic_red_view_tko", ignores=ORDER)
def atomic_red_view_tko(
    view: TileView,
    index: tuple[np.ndarray, ...],
    value: np.ndarray,
    *,
    mode: AtomicRMWMode,
    inbounds: tuple[bool, ...],
    cx: Context,
) -> None:
    """Update every element of one tile of a view atomically; lanes outside the tensor are left out."""
    element = view.tensor.element
    place = locate(cx.space, view, index, inbounds, "atomic update", batch=cx.group.shape)
    stored = np.broadcast_to(to_storage(value, element), cx.group.shape + value.shape[3:])
    assert not isinstance(place, WholeTiles)
    lanes = _as_lanes(cx, place)
    if cx.observer is not None:
        cx.observer.updating(place, None, element, stored, cx)
    for allocation, chosen, items in parts(cx.space, lanes.addresses, lanes.valid, element, "atomic update"):
        check_written(allocation, items, element, lanes.addresses.shape, chosen)
        values = _taken(stored, chosen)
        with cx.space.lock:
            apply(allocation, items.ravel(), values, mode, element, wants_old=False)
        cx.counts.bytes_loaded += items.size * element.size_bytes
        cx.counts.bytes_stored += items.size * element.size_bytes


def _addresses(window: Window) -> np.ndarray:
    size = window.element.size_bytes
    total: np.ndarray = np.full((1,) * len(window.shape), window.allocation.address + window.offset_bytes, np.int64)
    for axis, (n, stride) in enumerate(zip(window.shape, window.strides_elems, strict=True)):
        lanes = [1] * len(window.shape)
        lanes[axis] = n
        total = total + (np.arange(n, dtype=np.int64) * (stride * size)).reshape(lanes)
    return np.broadcast_to(total, window.shape)


def _as_lanes(cx: Context, place: Window | Edge | Lanes) -> Lanes:
    if isinstance(place, Lanes):
        return place
    if isinstance(place, Window):
        return Lanes(_addresses(place), None)
    addresses = np.zeros(place.shape, np.int64)
    valid = np.zeros(place.shape, bool)
    for target, part in place.parts:
        addresses[target] = _addresses(part)
        valid[target] = True
    return Lanes(addresses, valid)
