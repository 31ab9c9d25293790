"""Where a group's lanes lie, as a trace says it: windows and lanes relative to an array's element 0."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.context import Context
from cutile_sim.engine.group import Group
from cutile_sim.memory.access import Places
from cutile_sim.memory.even import even_steps
from cutile_sim.memory.space import SLOT_BITS, Allocation, Extent
from cutile_sim.ops.windows import Edge, Lanes, Window

_INT32 = np.iinfo(np.int32)


@dataclass(frozen=True)
class Region:
    """What one access touches in one array, in units of `unit_bytes` from its element 0.

    Attributes:
        begin, end: The blocks it is of: positions on the group's axes z, y, x.
        shape: Lanes, three batch axes first; one of size 1 is the same for all blocks.
        strides: Of a window: units along each axis.
        lanes, mask: Else one offset a lane, and which of them count.
    """

    array: int
    unit_bytes: int
    offset: int
    begin: tuple[int, int, int]
    end: tuple[int, int, int]
    shape: tuple[int, ...]
    strides: tuple[int, ...] = ()
    lanes: np.ndarray | None = None
    mask: np.ndarray | None = None


class Arrays:
    """The arrays of a launch by number. Memory that is no argument gets a number when it is first touched."""

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        self.extents = list(cx.space.extents())
        self.entries = [_described(extent) for _, extent in self.extents]
        self._numbers: dict[tuple[Allocation, Extent | None], int] = {pair: n for n, pair in enumerate(self.extents)}

    def find(self, allocation: Allocation, offset_bytes: int) -> tuple[int, int]:
        """(number of the array at a byte of an allocation, the byte of that array's element 0)."""
        extent = allocation.extent_of(offset_bytes)
        number = self._numbers.get((allocation, extent))
        if number is None:
            number = self._numbers[allocation, None] = len(self.entries)
            self.entries.append(
                {
                    "name": allocation.name,
                    "dtype": "uint8",
                    "item_bytes": 1,
                    "shape": [allocation.size_bytes],
                    "strides": [1],
                    "is_argument": False,
                }
            )
        return number, 0 if extent is None else extent.first_byte


def _described(extent: Extent) -> dict[str, Any]:
    return {
        "name": extent.name,
        "dtype": extent.dtype_name,
        "item_bytes": extent.item_bytes,
        "shape": list(extent.shape),
        "strides": list(extent.strides_elems),
        "is_argument": True,
    }


def regions(
    place: Any, mask: np.ndarray | None, element: ElementType, arrays: Arrays, group: Group
) -> Iterator[Region]:
    """The regions of an access: `place` and `mask` as an `Observer` gets them."""
    if isinstance(place, Window):
        yield _window(place, arrays, (0, 0, 0), group.shape)
    elif isinstance(place, Edge):
        for target, part in place.parts:
            spans = [
                (0, n) if t == slice(None) else (t.start, t.stop) for t, n in zip(target[:3], group.shape, strict=True)
            ]
            (z0, z1), (y0, y1), (x0, x1) = spans
            yield _window(part, arrays, (z0, y0, x0), (z1, y1, x1))
    elif isinstance(place, Lanes):
        yield from _lanes(place.addresses, place.valid, element, arrays, group)
    elif isinstance(place, Places):
        yield from _places(place, mask, element, arrays, group)
    else:
        yield from _lanes(place, mask, element, arrays, group)


def _window(window: Window, arrays: Arrays, begin: tuple[int, int, int], end: tuple[int, int, int]) -> Region:
    unit = window.element.size_bytes
    number, zero = arrays.find(window.allocation, window.offset_bytes)
    distance, rest = divmod(window.offset_bytes - zero, unit)
    strides = window.strides_elems
    if rest:
        unit, distance, strides = 1, window.offset_bytes - zero, tuple(s * unit for s in strides)
    return Region(number, unit, distance, begin, end, window.shape, strides)


def _places(
    place: Places, mask: np.ndarray | None, element: ElementType, arrays: Arrays, group: Group
) -> Iterator[Region]:
    allocation = arrays.cx.space.find(place.base)
    if allocation is None or place.item_bytes != element.size_bytes:
        yield from _lanes(place.addresses(), mask, element, arrays, group)
        return
    items, mask = _once(place.items, mask)
    base_bytes = place.base - allocation.address
    first = items.flat[0] if mask is None else items.flat[int(np.argmax(mask))]
    number, zero = arrays.find(allocation, base_bytes + int(first) * place.item_bytes)
    distance, rest = divmod(base_bytes - zero, place.item_bytes)
    if rest:
        items, distance = items * place.item_bytes + rest, base_bytes - zero - rest
    yield _numbered(items, mask, distance, number, 1 if rest else place.item_bytes, group)


def _lanes(
    addresses: np.ndarray, mask: np.ndarray | None, element: ElementType, arrays: Arrays, group: Group
) -> Iterator[Region]:
    addresses, mask = _once(addresses, mask)
    slots = addresses >> SLOT_BITS
    counted = slots if mask is None else np.broadcast_to(slots, mask.shape)[mask]
    for slot in np.unique(counted):
        chosen = mask
        if counted.size and (counted != slot).any():
            chosen = slots == slot if mask is None else mask & (slots == slot)
        allocation = arrays.cx.space.allocations.get(int(slot))
        if allocation is None:
            continue
        shape = addresses.shape if chosen is None else chosen.shape
        spread = np.broadcast_to(addresses, shape)
        first = int(spread.flat[0] if chosen is None else spread.flat[int(np.argmax(chosen))])
        number, zero = arrays.find(allocation, first - allocation.address)
        offsets, unit = spread - (allocation.address + zero), element.size_bytes
        if ((offsets if chosen is None else offsets[chosen]) % unit).any():
            unit = 1
        yield _numbered(offsets // unit, chosen, 0, number, unit, group)


def _once(places: np.ndarray, mask: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Lanes and mask with batch axes cut to size 1 along which neither changes."""
    for axis in range(3):
        repeats = places.shape[axis] > 1 and places.strides[axis] == 0
        if repeats and (mask is None or mask.shape[axis] == 1 or mask.strides[axis] == 0):
            first = (slice(None),) * axis + (slice(0, 1),)
            places = places[first]
            mask = mask if mask is None else mask[first]
    if mask is not None and mask.shape != places.shape:
        shape = np.broadcast_shapes(mask.shape, places.shape)
        places, mask = np.broadcast_to(places, shape), np.broadcast_to(mask, shape)
    return places, mask


def _numbered(
    items: np.ndarray, mask: np.ndarray | None, distance: int, number: int, unit_bytes: int, group: Group
) -> Region:
    even = even_steps(items) if mask is None else None
    if even is not None:
        first, strides = even
        return Region(number, unit_bytes, first + distance, (0, 0, 0), group.shape, items.shape, strides)
    if mask is not None:
        items = np.where(mask, items, 0)  # a lane that is masked off may point anywhere
    low, high = (int(items.min()), int(items.max())) if items.size else (0, 0)
    dtype = np.int32 if _INT32.min <= low and high <= _INT32.max else np.int64
    kept = None if mask is None else np.array(mask)
    lanes = items.astype(dtype)
    return Region(number, unit_bytes, distance, (0, 0, 0), group.shape, items.shape, (), lanes, kept)
