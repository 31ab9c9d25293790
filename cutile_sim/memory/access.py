"""Typed reads and writes of simulated memory, lane by lane or as strided windows, with every lane checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.errors import KernelError, MisalignedError, OutOfBoundsError, ReadOnlyError
from cutile_sim.memory.space import SLOT_BITS, AddressSpace, Allocation, Extent

_LONG_RUN = 64
"""Fewer items are not worth a look at whether they are neighbours."""
NEVER_SET = int.from_bytes(b"\x5a" * 8, "little")
"""An undetermined 64-bit integer, taken for an address."""


@dataclass(frozen=True, eq=False)
class Places:
    """Lanes of memory as items counted from one address: what a tile of pointers is before anyone asks for addresses.

    `base` is a byte address, `items` int64 counts of items of `item_bytes` from it.
    """

    base: int
    items: np.ndarray
    item_bytes: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.items.shape

    def spread(self, shape: tuple[int, ...]) -> Places:
        """The places broadcast to a shape."""
        return Places(self.base, np.broadcast_to(self.items, shape), self.item_bytes)

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> Places:
        """The places with `change` applied to the items."""
        return Places(self.base, change(self.items), self.item_bytes)

    def addresses(self) -> np.ndarray:
        """A byte address a lane."""
        return self.base + self.items * self.item_bytes


def spread(where: np.ndarray | Places, shape: tuple[int, ...]) -> np.ndarray | Places:
    """Byte addresses or places, broadcast to a shape."""
    return where.spread(shape) if isinstance(where, Places) else np.broadcast_to(where, shape)


class LaneFault(Exception):
    """A fault on one lane, before anybody knows the operation: the machine turns it into `error_class`.

    `position` is the position in the accessed array of values: three batch axes, then the tile's.
    """

    def __init__(self, error_class: type[KernelError], reason: str, position: tuple[int, ...]) -> None:
        super().__init__(reason)
        self.error_class = error_class
        self.reason = reason
        self.position = position


def describe_address(space: AddressSpace, address: int, size_bytes: int) -> str:
    """What lies at an address, in words: array, index, by how much it is outside."""
    allocation = space.find(address)
    if address == NEVER_SET:
        return "an address that was never set, such as that of an item outside a list of arrays"
    if allocation is None:
        return f"address {address:#x}, where nothing was ever allocated"
    offset = address - allocation.address
    extent = allocation.extent_of(offset)
    if extent is None:
        if offset < 0:
            return f"{allocation.name}, {-offset} bytes before its start"
        if offset + size_bytes > allocation.size_bytes:
            return f"{allocation.name}, {offset + size_bytes - allocation.size_bytes} bytes past its end"
        return f"{allocation.name} at byte {offset}"
    return describe_place(extent, offset)


def describe_place(extent: Extent, offset_bytes: int) -> str:
    """An offset within the allocation as one of its arrays sees it: which index it is, or by how much it is outside."""
    relative = offset_bytes - extent.first_byte
    shape = "x".join(map(str, extent.shape)) or "scalar"
    what = f"array '{extent.name}' of shape {shape}"
    if relative % extent.item_bytes:
        return f"{what}, byte {relative}"
    element = relative // extent.item_bytes
    index = _index_of(element, extent.shape, extent.strides_elems)
    at = f"{what}, index {index}" if index is not None else f"{what}, element {element} from its start"
    if offset_bytes < extent.first_byte:
        return f"{at}: {_counted((extent.first_byte - offset_bytes) // extent.item_bytes, 'element')} before its first"
    if offset_bytes >= extent.end_byte:
        return f"{at}: {_counted((offset_bytes - extent.end_byte) // extent.item_bytes + 1, 'element')} past its last"
    if not extent.holds(np.array(offset_bytes)):
        return f"{at}: between its elements, in the memory it is a view of"
    return at


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _index_of(element: int, shape: tuple[int, ...], strides_elems: tuple[int, ...]) -> tuple[int, ...] | None:
    """The index whose linear offset is `element`, the first coordinate free to leave the shape; None if none is."""
    if not shape:
        return None
    order = sorted(range(len(shape)), key=lambda d: -strides_elems[d])
    index = [0] * len(shape)
    rest = element
    for n, d in enumerate(order):
        if strides_elems[d] <= 0:
            continue
        q = rest // strides_elems[d]
        if n:
            q = max(0, min(q, shape[d] - 1))
        index[d] = q
        rest -= q * strides_elems[d]
    return tuple(index) if rest == 0 else None


def _fault(space: AddressSpace, addresses: np.ndarray, bad: np.ndarray, size_bytes: int, verb: str) -> LaneFault:
    position = tuple(int(i) for i in np.argwhere(bad)[0])
    place = describe_address(space, int(addresses[position]), size_bytes)
    more = int(np.count_nonzero(bad)) - 1
    tail = f" (and {_counted(more, 'more lane')})" if more else ""
    return LaneFault(OutOfBoundsError, f"{verb} outside memory: {place}{tail}", position)


def misaligned(
    space: AddressSpace, address: int, element: ElementType, verb: str, position: tuple[int, ...]
) -> LaneFault:
    """The fault of one lane whose address is no multiple of its element's size, or no address at all."""
    size = element.size_bytes
    place = describe_address(space, address, size)
    if space.find(address) is None:
        return LaneFault(OutOfBoundsError, f"{verb} outside memory: {place}", position)
    return LaneFault(MisalignedError, f"{verb} of {element.name} at {place} is not aligned to {size} bytes", position)


def _held(allocation: Allocation, offsets_bytes: np.ndarray) -> np.ndarray:
    """Whether the item at each offset belongs to some argument."""
    held = np.zeros(offsets_bytes.shape, bool)
    for extent in allocation.extents:
        held |= extent.holds(offsets_bytes)
    return held


def check_range(allocation: Allocation, first_byte: int, end_byte: int) -> bool:
    """Whether all bytes [first_byte, end_byte) of the allocation belong to arguments (or it has none)."""
    if first_byte < 0 or end_byte > allocation.data.size:
        return False
    if not allocation.extents:
        return True
    for extent in allocation.extents:
        if extent.first_byte <= first_byte and end_byte <= extent.end_byte:
            return True
    at = first_byte
    for extent in sorted(allocation.extents, key=lambda e: e.first_byte):
        if extent.first_byte <= at < extent.end_byte:
            at = extent.end_byte
        if at >= end_byte:
            return True
    return at >= end_byte


def mark_written(allocation: Allocation) -> None:
    """Note that memory is about to be written."""
    allocation.written = True
    if allocation.on_write is not None:
        allocation.on_write()


def check_writeable(allocation: Allocation, first_byte: int, position: tuple[int, ...]) -> None:
    """Raise a LaneFault where the byte belongs to an array that may not be written; else mark the memory written."""
    if not is_writeable(allocation):
        holders = [e for e in allocation.extents if e.first_byte <= first_byte < e.end_byte]
        if not allocation.data.flags.writeable or (holders and not any(e.writeable for e in holders)):
            name = f"array '{holders[0].name}'" if holders else allocation.name
            raise LaneFault(ReadOnlyError, f"store into {name}, which is read-only: pass a writeable array", position)
    mark_written(allocation)


def is_writeable(allocation: Allocation) -> bool:
    """Whether all arrays in the allocation may be written."""
    return allocation.data.flags.writeable and not [e for e in allocation.extents if not e.writeable]


def _in_one_array(space: AddressSpace, places: Places, mask: np.ndarray | None) -> tuple[Allocation, np.ndarray] | None:
    """The allocation and the item indices of lanes that are counted from one address and all lie in one dense array."""
    live = places.items if mask is None else places.items[mask]
    allocation = space.find(places.base)
    size = places.item_bytes
    if allocation is None or live.size == 0 or (places.base - allocation.address) % size:
        return None
    if not all(e.is_dense for e in allocation.extents):
        return None
    start = places.base - allocation.address
    first, end = start + int(live.min()) * size, start + int(live.max()) * size + size
    if not check_range(allocation, first, end):
        return None
    return allocation, live + start // size if start else live


def _left_out(
    space: AddressSpace, fault: LaneFault, addresses: np.ndarray, bad: np.ndarray, mask: np.ndarray | None
) -> np.ndarray:
    """The lanes without those at fault, where faults are tolerated; else raises the fault."""
    if space.tolerate is None:
        raise fault
    space.tolerate(fault, bad, int(addresses[fault.position]))
    return ~bad if mask is None else mask & ~bad


def parts(
    space: AddressSpace, where: np.ndarray | Places, mask: np.ndarray | None, element: ElementType, verb: str
) -> Iterator[tuple[Allocation, np.ndarray | None, np.ndarray]]:
    """Split lanes by allocation: yields (allocation, lanes or None for all, item indices of those lanes).

    `where` says where the lanes are: byte addresses (int64), or items counted from one.
    """
    size = element.size_bytes
    if isinstance(where, Places):
        counted = _in_one_array(space, where, mask) if where.item_bytes == size else None
        if counted is not None:
            yield counted[0], mask, counted[1]
            return
        where = where.addresses()
    addresses = where
    live = addresses if mask is None else addresses[mask]
    if live.size == 0:
        return
    low, high = int(live.min()), int(live.max())
    if size > 1 and int(np.bitwise_or.reduce(live, axis=None)) & (size - 1):
        bad = (addresses & (size - 1)) != 0
        if mask is not None:
            bad &= mask
        position = tuple(int(i) for i in np.argwhere(bad)[0])
        fault = misaligned(space, int(addresses[position]), element, verb, position)
        mask = _left_out(space, fault, addresses, bad, mask)
        yield from parts(space, addresses, mask, element, verb)
        return
    allocation = space.find(low)
    if (
        allocation is not None
        and space.find(high) is allocation
        and check_range(allocation, low - allocation.address, high - allocation.address + size)
    ):
        offsets = live - allocation.address
        if all(e.is_dense for e in allocation.extents) or _held(allocation, offsets).all():
            yield allocation, mask, offsets >> (size.bit_length() - 1)
            return
    slots = addresses >> SLOT_BITS
    everywhere = np.ones(addresses.shape, bool) if mask is None else mask
    for slot in np.unique(slots[everywhere]):
        lanes = (slots == slot) & everywhere
        allocation = space.allocations.get(int(slot))
        if allocation is None:
            _left_out(space, _fault(space, addresses, lanes, size, verb), addresses, lanes, None)
            continue
        offsets = addresses - allocation.address
        inside = (offsets >= 0) & (offsets + size <= allocation.size_bytes)
        if allocation.extents:
            inside &= _held(allocation, offsets)
        bad = lanes & ~inside
        if bad.any():
            lanes = _left_out(space, _fault(space, addresses, bad, size, verb), addresses, bad, lanes)
        yield allocation, lanes, offsets[lanes] // size


def _one_run(items: np.ndarray) -> slice | None:
    """The items as a slice, where they are one run of neighbours in order: pointers to a row of an array."""
    if items.size < _LONG_RUN:
        return None
    first = int(items.flat[0])
    if int(items.flat[-1]) - first + 1 != items.size:
        return None
    flat = items.reshape(-1)
    return slice(first, first + items.size) if (flat[1:] - flat[:-1] == 1).all() else None


def gather(
    space: AddressSpace, where: np.ndarray | Places, element: ElementType, mask: np.ndarray | None
) -> np.ndarray:
    """Read one item a lane, in storage form. `where` as in `parts`; `mask` has its shape, or is None.

    Lanes that are masked off hold zeros. Raises LaneFault for a lane outside memory or misaligned.
    """
    out: np.ndarray | None = None
    for allocation, lanes, items in parts(space, where, mask, element, "load"):
        memory = allocation.typed(element.storage)
        row = _one_run(items)
        found = memory.take(items) if row is None else memory[row].reshape(items.shape).copy()
        if lanes is None:
            return found
        if out is None:
            out = np.zeros(where.shape, element.storage)
        out[lanes] = found
    return np.zeros(where.shape, element.storage) if out is None else out


def scatter(
    space: AddressSpace,
    where: np.ndarray | Places,
    stored: np.ndarray,
    element: ElementType,
    mask: np.ndarray | None,
) -> int:
    """Write one item a lane; `stored` in storage form broadcasts to the places. Returns the lanes written.

    Where lanes hit one address, the last in block and lane order stays. Raises LaneFault as `gather` does, and where an
    array may not be written.
    """
    stored = np.broadcast_to(stored, where.shape)
    count = 0
    pieces = list(parts(space, where, mask, element, "store"))
    for allocation, lanes, items in pieces:
        check_written(allocation, items, element, where.shape, lanes)
    # The values may be a window of the memory that they go to: all are taken before any is written.
    values = [stored if lanes is None else stored[lanes] for _, lanes, _ in pieces]
    for (allocation, _, items), value in zip(pieces, values, strict=True):
        row = _one_run(items)
        if row is None:
            allocation.typed(element.storage)[items] = value
        else:
            allocation.typed(element.storage)[row] = value.reshape(-1)
        count += items.size
    return count


def check_written(
    allocation: Allocation,
    items: np.ndarray,
    element: ElementType,
    shape: tuple[int, ...],
    lanes: np.ndarray | None,
) -> None:
    """`check_writeable` for the lanes of one allocation, out of an access of that shape."""
    if is_writeable(allocation):
        mark_written(allocation)
        return
    offsets = items.ravel() * element.size_bytes
    bad = np.full(offsets.shape, bool(allocation.extents) or not allocation.data.flags.writeable)
    for extent in allocation.extents:
        if extent.writeable:
            bad &= (offsets < extent.first_byte) | (offsets >= extent.end_byte)
    if bad.any():
        first = int(np.argmax(bad))
        where = np.argwhere(np.ones(shape, bool) if lanes is None else lanes)
        check_writeable(allocation, int(offsets[first]), tuple(int(i) for i in where[first]))
    mark_written(allocation)


def window(
    allocation: Allocation,
    offset_bytes: int,
    shape: tuple[int, ...],
    strides_elems: tuple[int, ...],
    element: ElementType,
) -> np.ndarray:
    """A strided window of the allocation's own memory (no copy); the caller has checked its bounds and alignment."""
    size = element.size_bytes
    return np.ndarray(
        shape,
        element.storage,
        buffer=allocation.data,  # type: ignore[arg-type]
        offset=offset_bytes,
        strides=[s * size for s in strides_elems],
    )
