"""`torch.save` and `torch.load` of tensors on the simulated GPU, and the storages that they deal in.

A file says "cuda:0" for such a tensor, as one that was written on a GPU does: files of both kinds are read alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.serialization

from cutile_sim.standin import torch_tensors
from cutile_sim.standin.rebind import Rebinder
from cutile_sim.standin.torch_tensors import GPU, check_device, is_gpu_device

# Torch asks those of the lowest number first; its own for the CPU has 10.
_PRIORITY = 5


def stand_in(rebinder: Rebinder) -> Callable[[], None]:
    """Let torch save and load what is on the simulated GPU. Undone by the result and the rebinder."""
    registry = torch.serialization._package_registry
    entry = (_PRIORITY, _location_of, _restored)
    registry.insert(0, entry)
    rebinder.set_attribute(torch.UntypedStorage, "cuda", _cuda)
    rebinder.set_attribute(torch.UntypedStorage, "cpu", _cpu(torch.UntypedStorage.cpu))
    return lambda: registry.remove(entry)


def _location_of(storage: Any) -> str | None:
    """What a file calls the place of a storage; None to let torch say."""
    return str(GPU) if torch_tensors.is_noted(_untyped(storage)) else None


def _restored(storage: Any, location: Any) -> Any:
    """A storage that was read, for a place; None to let torch do it. `map_location` comes here as a place, too."""
    if not is_gpu_device(location):
        return None
    check_device(location)
    torch_tensors.put_on_gpu(_untyped(storage))
    return storage


def _cuda(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
    """`UntypedStorage.cuda`, which a function as `map_location` may call."""
    check_device(device)
    if torch_tensors.is_noted(self):
        return self
    copy = self.clone()
    torch_tensors.put_on_gpu(copy)
    return copy


def _cpu(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def cpu(self: Any) -> Any:
        return self.clone() if torch_tensors.is_noted(self) else original(self)

    return cpu


def _untyped(storage: Any) -> Any:
    return getattr(storage, "_untyped_storage", storage)
