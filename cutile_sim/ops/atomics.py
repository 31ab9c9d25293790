"""Atomic updates. Within a group, lanes take their turns in launch order of the blocks, then in lane order."""

from __future__ import annotations

from functools import partial

import numpy as np

from cutile_sim.dtypes import ElementType, to_carrier, to_storage
from cutile_sim.engine.context import Context
from cutile_sim.engine.values import TileView
from cutile_sim.memory.access import Places, check_written, parts, spread
from cutile_sim.memory.even import is_one_number
from cutile_sim.ops.atomic_updates import apply, combined, in_turn
from cutile_sim.ops.locate import locate
from cutile_sim.ops.memory import pointee
from cutile_sim.ops.registry import implements
from cutile_sim.ops.whole_tiles import WholeTiles
from cutile_sim.ops.windows import Edge, Lanes, Window
from cutile_sim.optable.encoding import AtomicRMWMode

ORDER = ("token", "memory_ordering_semantics", "memory_scope")


def _launch_order(cx: Context, array: np.ndarray) -> np.ndarray:
    """An array over the group's full batch shape, whose C order is launch order: ids ascend along every batch axis."""
    return np.broadcast_to(array, cx.group.shape + array.shape[3:])


def _taken(array: np.ndarray, lanes: np.ndarray | None, count: int) -> np.ndarray:
    """The chosen lanes, or all of them, in a row of `count`; of stride 0 where it is one number for all."""
    if is_one_number(array):
        return np.broadcast_to(array.flat[0], (count,))
    return array.flatten() if lanes is None else array[lanes]


def _put(array: np.ndarray, lanes: np.ndarray | None, values: np.ndarray) -> None:
    """Write a row of values to the chosen lanes, or to all of them."""
    if lanes is None:
        array[...] = values.reshape(array.shape)
    else:
        array[lanes] = values


def _updated(
    cx: Context,
    addresses: np.ndarray | Places,
    lanes: np.ndarray | None,
    stored: np.ndarray,
    mode: AtomicRMWMode,
    element: ElementType,
    wants_old: bool,
) -> list[tuple[np.ndarray | None, np.ndarray | None]]:
    """Update memory. For each allocation: the lanes that lie there, None for all, and their old values if wanted."""
    done = []
    for allocation, chosen, items in list(parts(cx.space, addresses, lanes, element, "atomic update")):
        check_written(allocation, items, element, addresses.shape, chosen)
        cx.counts.bytes_loaded += items.size * element.size_bytes
        cx.counts.bytes_stored += items.size * element.size_bytes
        at, values = items.ravel(), _taken(stored, chosen, items.size)
        if cx.space.several_threads and not wants_old:
            at, values = combined(at, values, mode, allocation.typed(element.storage).size)
        with cx.space.lock:
            before = apply(allocation, at, values, mode, element, wants_old)
        done.append((chosen, before))
    return done


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
    updated = _updated(cx, addresses, lanes, stored, mode, element, used_results[0])
    if not used_results[0]:
        return np.broadcast_to(element.carrier.type(0), addresses.shape), None
    old = np.zeros(addresses.shape, element.carrier)
    for chosen, before in updated:
        assert before is not None
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
        want = _taken(expected, chosen, items.size).view(kind)
        new = _taken(desired, chosen, items.size).view(kind)
        before = in_turn(bits, items.ravel(), partial(_swap, bits, want, new)).view(element.storage)
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
    _updated(cx, lanes.addresses, lanes.valid, stored, mode, element, wants_old=False)


def _as_lanes(cx: Context, place: Window | Edge | Lanes) -> Lanes:
    if isinstance(place, Lanes):
        return place
    if isinstance(place, Window):
        return Lanes(place.addresses(), None)
    return Lanes(place.addresses(), place.valid())
