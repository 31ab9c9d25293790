"""Which arguments of a simulated launch lie in the memory of the simulated GPU.

A launch on a GPU refuses arrays in host memory, so the simulated one does too: a program that forgets to move an array
to the GPU must fail here as it would there. On the simulated GPU are

- torch tensors that torch's stand-in made "on cuda" (`torch_tensors`);
- arrays of our other stand-ins: `__cutile_sim_device_array__` is the NumPy array that has their memory;
- where no real GPU can have made them, other objects with `__cuda_array_interface__`: their pointer is a host address.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cutile_sim.errors import UsageError
from cutile_sim.frontend.arrays import is_array
from cutile_sim.frontend.foreign import is_torch_tensor

DEVICE_ARRAY = "__cutile_sim_device_array__"


@contextmanager
def device_arguments(kernel_args: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Kernel arguments as the front-end takes them, with torch's stand-in out of the way meanwhile.

    Raises UsageError, which is a ValueError, for an array in host memory.
    """
    if "torch" not in sys.modules:
        yield tuple(_lowered(arg) for arg in kernel_args)
        return
    from cutile_sim.standin.torch_tensors import plain_torch

    with plain_torch():
        yield tuple(_lowered(arg) for arg in kernel_args)


def _lowered(arg: Any) -> Any:
    if isinstance(arg, bool | int | float | str) or arg is None:
        return arg
    # Only plain tuples are taken apart by a launch; the front-end refuses the others.
    if type(arg) is tuple:
        return tuple(map(_lowered, arg))
    if isinstance(arg, list):
        return [_lowered(item) for item in arg]
    return _lowered_array(arg)


def _lowered_array(arg: Any) -> Any:
    if is_torch_tensor(arg):
        from cutile_sim.standin.torch_tensors import is_on_gpu

        if not is_on_gpu(arg):
            raise _on_host("a CPU tensor", 'create it with device="cuda"')
        return arg
    if hasattr(type(arg), DEVICE_ARRAY):
        return getattr(arg, DEVICE_ARRAY)
    interface = None if isinstance(arg, type) else getattr(arg, "__cuda_array_interface__", None)
    if isinstance(interface, dict):
        return _HostView(arg, interface)
    if is_array(arg):
        raise _on_host(f"a {type(arg).__name__} in host memory", "call cutile_sim.simulate for arrays on the CPU")
    return arg


def _on_host(what: str, advice: str) -> UsageError:
    return UsageError(f"Input array is not on a CUDA device: it is {what}; {advice}")


class _HostView:
    """An array that gives the address of its memory, which is the host's, by `__cuda_array_interface__`."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self._owner = owner
        shown: dict[str, Any] = {
            key: interface[key] for key in ("shape", "typestr", "data", "strides") if key in interface
        }
        self.__array_interface__ = {**shown, "version": 3}
