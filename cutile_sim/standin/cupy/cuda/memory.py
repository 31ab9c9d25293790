"""`cupy.cuda` pointers and memory pools over the host's memory."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np


class UnownedMemory:
    """Memory that something else owns. Attributes: ptr (host address), size (bytes), device_id."""

    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr, self.size, self.device_id = ptr, size, max(device_id, 0)
        self._owner = owner


class Memory(UnownedMemory):
    """Freshly allocated memory of `size` bytes."""

    def __init__(self, size: int) -> None:
        buffer = np.empty(size, np.uint8)
        super().__init__(buffer.ctypes.data, size, buffer)


class MemoryPointer:
    """A place in a piece of memory. Attributes: mem, ptr (host address)."""

    def __init__(self, mem: UnownedMemory, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset

    @property
    def device_id(self) -> int:
        return self.mem.device_id

    def __int__(self) -> int:
        return self.ptr

    def __add__(self, offset_bytes: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr + offset_bytes - self.mem.ptr)

    def bytes_from_here(self) -> Any:
        """The rest of the memory as a buffer of bytes that keeps its owner alive."""
        size_bytes = max(self.mem.ptr + self.mem.size - self.ptr, 0)
        buffer = (ctypes.c_uint8 * size_bytes).from_address(self.ptr)
        buffer.owner = self.mem  # type: ignore[attr-defined]
        return buffer


class MemoryPool:
    """A pool that never holds memory back: NumPy allocates and frees."""

    def malloc(self, size: int) -> MemoryPointer:
        return MemoryPointer(Memory(size), 0)

    def free_all_blocks(self, stream: Any = None) -> None:
        pass

    def free_all_free(self) -> None:
        pass

    def n_free_blocks(self) -> int:
        return 0

    def used_bytes(self) -> int:
        return 0

    def free_bytes(self) -> int:
        return 0

    def total_bytes(self) -> int:
        return 0


class PinnedMemoryPool(MemoryPool):
    """The same for memory of the host."""


def alloc(size: int) -> MemoryPointer:
    """Allocate `size` bytes."""
    return MemoryPointer(Memory(size), 0)
