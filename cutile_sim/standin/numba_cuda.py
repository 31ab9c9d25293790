"""Numba's device arrays and streams, in `numba.cuda` where Numba is installed. Its own kernels still need a GPU."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from cutile_sim.standin.array_interface import array_interface
from cutile_sim.standin.rebind import Rebinder

# Handles of a real GPU's default streams are 0, 1 and 2; ours lie beyond.
_handles = itertools.count(0x1000, 0x10)


def stand_in(rebinder: Rebinder, numba_cuda: ModuleType) -> None:
    """Replace what a program needs of `numba.cuda` around cuTile launches."""
    for function in (
        as_cuda_array,
        default_stream,
        device_array,
        device_array_like,
        external_stream,
        is_available,
        is_cuda_array,
        stream,
        synchronize,
        to_device,
    ):
        rebinder.set_attribute(numba_cuda, function.__name__, function)


class DeviceNDArray:
    """An array on the simulated GPU."""

    def __init__(self, host: np.ndarray) -> None:
        self._host = host

    @property
    def __cutile_sim_device_array__(self) -> np.ndarray:
        return self._host

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return array_interface(self._host, stream=None)

    def copy_to_host(self, ary: np.ndarray | None = None, stream: Any = 0) -> np.ndarray:
        """A copy as a NumPy array, or into `ary`."""
        if ary is None:
            return self._host.copy()
        np.copyto(ary, self._host)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Copy an array of the same shape from the host or the simulated GPU into this one."""
        np.copyto(self._host, ary._host if isinstance(ary, DeviceNDArray) else ary)

    def __getitem__(self, index: Any) -> Any:
        item = self._host[index]
        return DeviceNDArray(item) if isinstance(item, np.ndarray) else item

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[index] = value._host if isinstance(value, DeviceNDArray) else value

    def __len__(self) -> int:
        return len(self._host)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self._host.astype(dtype or self._host.dtype)

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "strides", "dtype", "ndim", "size", "nbytes", "flags"):
            return getattr(self._host, name)
        if name == "T":
            return DeviceNDArray(self._host.T)
        if name in ("reshape", "ravel", "transpose", "view"):
            return lambda *args, **kwargs: DeviceNDArray(getattr(self._host, name)(*args, **kwargs))
        raise AttributeError(
            f"DeviceNDArray.{name} is not in cutile_sim's stand-in for Numba; use copy_to_host() and NumPy"
        )


class Stream:
    """A stream of work. All work is done when the call that starts it returns. Attributes: handle (c_void_p)."""

    def __init__(self, handle: int) -> None:
        self.handle = ctypes.c_void_p(handle)

    def synchronize(self) -> None:
        """Return: everything is done."""

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """A block of code after which everything is done."""
        yield self


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: DeviceNDArray | None = None) -> DeviceNDArray:
    """A copy of an array on the simulated GPU, or `to` with its elements."""
    if to is None:
        return obj if isinstance(obj, DeviceNDArray) else DeviceNDArray(np.array(obj))
    if copy:
        to.copy_to_device(obj)
    return to


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: Any = "C", stream: Any = 0
) -> DeviceNDArray:
    """An array on the simulated GPU with undetermined elements."""
    return DeviceNDArray(np.ndarray(shape, dtype, strides=strides, order=order))


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """An array of the same shape, type and order with undetermined elements."""
    return DeviceNDArray(np.empty_like(ary._host if isinstance(ary, DeviceNDArray) else ary))


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """The memory of another library's array on the simulated GPU, shared. Raises TypeError for other objects."""
    if isinstance(obj, DeviceNDArray):
        return obj
    if not is_cuda_array(obj):
        raise TypeError("*obj* doesn't implement the cuda array interface.")
    return DeviceNDArray(np.from_dlpack(obj))


def is_cuda_array(obj: Any) -> bool:
    """Whether an object has `__cuda_array_interface__`."""
    return hasattr(obj, "__cuda_array_interface__")


def is_available() -> bool:
    """Whether there is a GPU: the simulated one."""
    return True


def synchronize() -> None:
    """Return: everything is done."""


def stream() -> Stream:
    """A new stream."""
    return Stream(next(_handles))


def default_stream() -> Stream:
    """The default stream."""
    return Stream(0)


def external_stream(ptr: int) -> Stream:
    """A stream that somebody else has made."""
    return Stream(ptr)
