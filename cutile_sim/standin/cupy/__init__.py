"""Stands in for CuPy, installed or not: enough of it, over NumPy, for programs that launch cuTile kernels.

It takes the name `cupy` while launches are simulated: a real CuPy has no GPU then. A function that it does not have
says so by name.
"""

from __future__ import annotations

from typing import Any

from cutile_sim.standin.cupy import cuda, fft, linalg, random, testing
from cutile_sim.standin.cupy.arrays import ndarray
from cutile_sim.standin.cupy.functions import (
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    asnumpy,
    copy,
    from_dlpack,
    get_array_module,
    numpy_functions,
)
from cutile_sim.standin.cupy.missing import missing_attribute

__version__ = "14.0.1"
bool = numpy_functions()["bool_"]
globals().update(numpy_functions())

_pool = cuda.MemoryPool()
_pinned_pool = cuda.PinnedMemoryPool()


def get_default_memory_pool() -> cuda.MemoryPool:
    """The pool that `cupy` allocates from; it never holds memory back."""
    return _pool


def get_default_pinned_memory_pool() -> cuda.PinnedMemoryPool:
    """The same for memory of the host."""
    return _pinned_pool


def is_available() -> Any:
    """Whether there is a GPU: the simulated one."""
    return cuda.is_available()


def __getattr__(name: str) -> Any:
    raise missing_attribute("cupy", name)


__all__ = [
    "array",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "asnumpy",
    "copy",
    "cuda",
    "fft",
    "from_dlpack",
    "get_array_module",
    "get_default_memory_pool",
    "get_default_pinned_memory_pool",
    "is_available",
    "linalg",
    "ndarray",
    "random",
    "testing",
]
