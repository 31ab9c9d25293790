"""A virtual address space. Every allocation lies in a slot of its own, far from all others.

A slot is 64 GiB of addresses with its allocation in the middle, so that an overrun of up to 32 GiB in either direction
still names the array it started from, and finding an address's allocation is a shift.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

SLOT_BITS = 36
SLOT_BYTES = 1 << SLOT_BITS
HALF_SLOT_BYTES = SLOT_BYTES >> 1


class Extent(NamedTuple):
    """One array argument inside an allocation: where it lies, for checks and for words.

    `first_byte` is where element 0 starts within the allocation, `end_byte` where the last one ends. `dtype_name` is
    cuTile's name of the element type, such as `uint8`.
    """

    name: str
    first_byte: int
    end_byte: int
    shape: tuple[int, ...]
    strides_elems: tuple[int, ...]
    item_bytes: int
    writeable: bool
    dtype_name: str = ""

    @property
    def is_dense(self) -> bool:
        """Whether every item between its bounds belongs to it."""
        count = 1
        for n in self.shape:
            count *= n
        return self.end_byte - self.first_byte == count * self.item_bytes

    def holds(self, offsets_bytes: np.ndarray) -> np.ndarray:
        """Whether an item at each offset within the allocation is one of the array's own elements.

        Where its strides do not nest, whatever lies between its first and last element counts as its own.
        """
        inside = (offsets_bytes >= self.first_byte) & (offsets_bytes + self.item_bytes <= self.end_byte)
        if self.is_dense:
            return inside
        axes = sorted((s, n) for s, n in zip(self.strides_elems, self.shape, strict=True) if n > 1)
        if any(s < inner_s * inner_n for (inner_s, inner_n), (s, _) in pairwise(axes)):
            return inside
        rest = (offsets_bytes - self.first_byte) // self.item_bytes
        for stride_elems, length in reversed(axes):
            if stride_elems > 0:
                index = np.minimum(rest // stride_elems, length - 1)
                rest = rest - index * stride_elems
        return inside & (rest == 0)


class Overlap(NamedTuple):
    """Two array parameters, by name, that share memory though they are not the same array."""

    written: str
    other: str

    def __str__(self) -> str:
        return (
            f"'{self.other}' shares memory with '{self.written}', which the kernel writes: what it reads there "
            "depends on the order of the blocks"
        )


@dataclass(eq=False)
class Allocation:
    """A run of bytes at a virtual address; `data` aliases the host's memory (uint8, one-dimensional).

    `on_write` is called before the next write: values that are still windows of this memory are copied then. `shared`
    marks memory that another allocation holds too, so that a write there may go unnoticed here.
    """

    address: int
    data: np.ndarray
    name: str
    extents: list[Extent] = field(default_factory=list)
    keepalive: object = None
    written: bool = False
    shared: bool = False
    on_write: Callable[[], None] | None = None
    _typed: dict[np.dtype, np.ndarray] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        return int(self.data.size)

    def typed(self, dtype: np.dtype) -> np.ndarray:
        """The whole allocation as a flat array of `dtype` (a last partial item left out), sharing its memory."""
        view = self._typed.get(dtype)
        if view is None:
            n = self.data.size // dtype.itemsize * dtype.itemsize
            view = self._typed[dtype] = self.data[:n].view(dtype)
        return view

    def extent_of(self, offset_bytes: int) -> Extent | None:
        """The argument that holds this byte, or the nearest one; None where there are none."""
        best, distance = None, None
        for extent in self.extents:
            if extent.first_byte <= offset_bytes < extent.end_byte:
                return extent
            d = min(abs(offset_bytes - extent.first_byte), abs(offset_bytes - extent.end_byte))
            if distance is None or d < distance:
                best, distance = extent, d
        return best


class HostMemory:
    """Lets NumPy see raw host memory, and keeps its owner alive."""

    def __init__(self, address: int, size_bytes: int, writeable: bool, owner: object) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (size_bytes,),
            "data": (address, not writeable),
        }


def _bytes_at(address: int, size_bytes: int, writeable: bool, owner: object) -> np.ndarray:
    """The memory of an array argument as bytes."""
    if size_bytes == 0:
        return np.empty(0, np.uint8)
    if type(owner) is np.ndarray and owner.base is None and owner.dtype.isbuiltin == 1:
        flags = owner.flags
        if flags.c_contiguous and flags.writeable == writeable:
            return np.frombuffer(memoryview(owner), np.uint8)  # as below, but quicker
    return np.asarray(HostMemory(address, size_bytes, writeable, owner))


class AddressSpace:
    """The allocations of one launch, by slot. `lock` is held during atomic updates; `several_threads` says whether that
    keeps anybody waiting.

    `tolerate`, where it is set, is told of faults (`memory.access.LaneFault`), the lanes at fault and an address of the
    first: these lanes are left out then, and the launch goes on.
    """

    def __init__(self) -> None:
        self.allocations: dict[int, Allocation] = {}
        self._by_host: dict[tuple[int, int], Allocation] = {}
        self._next_slot = 1
        self.lock = threading.Lock()
        self.several_threads = False
        self.tolerate: Callable[[Any, np.ndarray, int | None], None] | None = None

    def extents(self) -> Iterator[tuple[Allocation, Extent]]:
        """Every array argument with its allocation."""
        for allocation in dict.fromkeys(self.allocations.values()):  # a large one has several slots
            for extent in allocation.extents:
                yield allocation, extent

    def _place(self, data: np.ndarray, name: str, keepalive: object) -> Allocation:
        slots = 1 + (int(data.size) + HALF_SLOT_BYTES) // SLOT_BYTES
        address = (self._next_slot << SLOT_BITS) + HALF_SLOT_BYTES
        allocation = Allocation(address, data, name, keepalive=keepalive)
        for slot in range(self._next_slot, self._next_slot + slots):
            self.allocations[slot] = allocation
        self._next_slot += slots
        return allocation

    def map_host(self, host_address: int, size_bytes: int, name: str, *, writeable: bool, owner: object) -> Allocation:
        """Map host memory in place. Mapping the same memory twice gives the same allocation."""
        key = (host_address, size_bytes)
        allocation = self._by_host.get(key)
        if allocation is None:
            data = _bytes_at(host_address, size_bytes, writeable, owner)
            allocation = self._place(data, name, owner)
            for (address, size), other in self._by_host.items():
                if address < host_address + size_bytes and host_address < address + size:
                    allocation.shared = other.shared = True
            self._by_host[key] = allocation
        elif writeable and not allocation.data.flags.writeable:
            allocation.data = np.asarray(HostMemory(host_address, size_bytes, True, owner))
            allocation._typed.clear()
        return allocation

    def allocate(self, size_bytes: int, name: str) -> Allocation:
        """Fresh zeroed memory, 256-byte aligned as all allocations are."""
        return self._place(np.zeros(size_bytes, np.uint8), name, None)

    def place(self, data: np.ndarray, name: str) -> Allocation:
        """Map existing bytes (uint8, one-dimensional) that outlive the launch."""
        return self._place(data, name, data)

    def free(self, allocation: Allocation) -> None:
        """Unmap: every later access there is a fault."""
        slot = allocation.address >> SLOT_BITS
        while self.allocations.get(slot) is allocation:
            del self.allocations[slot]
            slot += 1

    def find(self, address: int) -> Allocation | None:
        """The allocation whose slot holds the address; the address itself may lie outside it."""
        return self.allocations.get(address >> SLOT_BITS)
