"""Torch tensors "on cuda" that lie in host memory: torch's calls are intercepted, programs stay as they are.

A `TorchFunctionMode` sees every call of torch's Python interface. It sends `device="cuda"` to the CPU and notes on the
storage of the result that it is on the simulated GPU. The note is what `Tensor.device` and `Tensor.is_cuda` report,
what copying between the two memories goes by, and what a launch asks for. Views share their storage and so the note.

Results of calls with such a tensor among their arguments are on the GPU too. Gradients that the autograd engine makes
in C++ carry no note: during a backward pass that started from the GPU they count as on the GPU.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.utils._device
from torch.overrides import TorchFunctionMode

from cutile_sim.standin.torch_functions import substitute
from cutile_sim.standin.torch_mixing import check_devices

_NOTE = "_cutile_sim_on_gpu"
GPU = torch.device("cuda", 0)
_HOST = torch.device("cpu")


class _ThreadState(threading.local):
    def __init__(self) -> None:
        self.mode: DeviceMode | None = None
        self.backward_on_gpu = False


_state = _ThreadState()
_enabled = False


def is_on_gpu(tensor: torch.Tensor) -> bool:
    """Whether a tensor is on the simulated GPU. To be called inside `plain_torch` or the mode."""
    return _place(tensor) is True


def _place(tensor: torch.Tensor) -> bool | None:
    """Whether a tensor is on the simulated GPU; None where it has no storage to note that on."""
    storage = _storage(tensor)
    return None if storage is None else getattr(storage, _NOTE, _state.backward_on_gpu)


@contextmanager
def plain_torch() -> Iterator[None]:
    """Torch without interception, where our own code looks at tensors."""
    with torch._C.DisableTorchFunction():
        yield


def enable() -> None:
    """Intercept torch in this thread; `in_thread` does it for others."""
    global _enabled
    _enabled = True
    enter_thread()


def disable() -> None:
    """Stop intercepting torch, in all threads."""
    global _enabled
    _enabled = False
    leave_thread()


def enter_thread() -> None:
    """Put the mode on this thread's stack of modes, unless it is there or nothing is to be intercepted any more."""
    if _enabled and _state.mode is None and not _is_intercepting():
        _state.mode = DeviceMode()
        _state.mode.__enter__()


def is_entered() -> bool:
    """Whether the mode is on this thread's stack."""
    return _state.mode is not None


def leave_thread() -> None:
    """Take the mode off this thread's stack. Below other modes it stays, and does nothing."""
    stack = torch.overrides._get_current_function_mode_stack()
    if _state.mode is not None and stack and stack[-1] is _state.mode:
        _state.mode.__exit__(None, None, None)
        _state.mode = None


@contextmanager
def backward_pass(roots: Any) -> Iterator[None]:
    """Intercept in the code that the autograd engine calls: torch takes the mode off while it runs `backward`."""
    before = _state.backward_on_gpu
    with torch._C.DisableTorchFunction():
        _state.backward_on_gpu = before or any(is_on_gpu(t) for t in _tensors(roots))
    mode = DeviceMode() if _enabled and not _is_intercepting() else None
    if mode is not None:
        mode.__enter__()
    try:
        yield
    finally:
        if mode is not None:
            mode.__exit__(None, None, None)
        _state.backward_on_gpu = before


def _is_intercepting() -> bool:
    return any(isinstance(mode, DeviceMode) for mode in torch.overrides._get_current_function_mode_stack())


def _storage(tensor: torch.Tensor) -> Any:
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):  # sparse tensors and the like have none
        return None


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def is_gpu_device(device: Any) -> bool:
    """Whether a device argument names the GPU: "cuda", "cuda:0", `torch.device("cuda")`, or its number."""
    if isinstance(device, torch.device):
        return device.type == "cuda"
    if isinstance(device, str):
        return device == "cuda" or device.startswith("cuda:")
    return isinstance(device, int) and not isinstance(device, bool)


def check_device(device: Any) -> None:
    """Raise what torch raises for a GPU that does not exist: there is one, number 0."""
    if isinstance(device, str):
        device = torch.device(device)
    number = device.index if isinstance(device, torch.device) else device
    if number not in (None, 0, -1):
        raise RuntimeError(f"CUDA error: invalid device ordinal: there is one simulated GPU, cuda:0, not cuda:{number}")


class DeviceMode(TorchFunctionMode):
    """Intercepts the calls of one thread."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not _enabled:
            return func(*args, **kwargs)
        handler = _HANDLERS.get(func)
        if handler is not None:
            return handler(func, args, kwargs)
        device = kwargs.get("device")
        if device is None and func in _factories():
            device = torch.utils._device.CURRENT_DEVICE
            if device is not None:
                kwargs = {**kwargs, "device": device}
        return _call(func, args, kwargs, device)


def _factories() -> set[Any]:
    return torch.utils._device._device_constructors()


def _call(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], device: Any) -> Any:
    """Call torch with the GPU replaced by the CPU, and note on the results where they are.

    `device` is where the caller wants the result, None for where the arguments are.
    """
    to_gpu = is_gpu_device(device)
    if to_gpu:
        check_device(device)
        kwargs = {**kwargs, "device": _HOST} if "device" in kwargs else kwargs
    pinned = kwargs.get("pin_memory") is True
    if pinned:
        kwargs = {**kwargs, "pin_memory": False}
    inputs = list(_tensors((args, kwargs)))
    places = [_place(tensor) for tensor in inputs]
    has_gpu_input = True in places
    if has_gpu_input and False in places:
        check_devices(func, inputs, places)
    substituted = substitute(func) if has_gpu_input else None
    result = (substituted or func)(*args, **kwargs)
    if isinstance(result, torch.Tensor | tuple | list):
        return _noted(result, has_gpu_input if device is None else to_gpu, device is not None, inputs)
    return result


def _noted(result: Any, to_gpu: bool, is_explicit: bool, inputs: list[torch.Tensor]) -> Any:
    if not isinstance(result, torch.Tensor):
        if not isinstance(result, tuple | list):
            return result
        items = [_noted(item, to_gpu, is_explicit, inputs) for item in result]
        if all(new is old for new, old in zip(items, result, strict=True)):
            return result
        # A named tuple is built from its items, torch.return_types from one sequence of them.
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    storage = _storage(result)
    if storage is None:
        return result
    known = getattr(storage, _NOTE, None)
    if any(_storage(tensor) is storage for tensor in inputs):
        # The result is an input or a view of one: it stays where it is, unless it was to be elsewhere.
        if not is_explicit or to_gpu == (_state.backward_on_gpu if known is None else known):
            return result
        result = result.clone()
        storage = _storage(result)
    elif known is not None:
        return result
    _note(storage, to_gpu)
    return result


def _note(storage: Any, on_gpu: bool) -> None:
    if on_gpu or _state.backward_on_gpu:
        setattr(storage, _NOTE, on_gpu)


def is_noted(storage: Any) -> bool:
    """Whether an untyped storage is on the simulated GPU."""
    return getattr(storage, _NOTE, False)


def put_on_gpu(storage: Any) -> None:
    """Note that an untyped storage, which nothing else uses yet, is on the simulated GPU."""
    setattr(storage, _NOTE, True)


Handler = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


def _untouched(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return func(*args, **kwargs)


def _get_device(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return GPU if is_on_gpu(args[0]) else func(*args, **kwargs)


def _get_is_cuda(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return is_on_gpu(args[0])


def _get_is_cpu(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return func(*args, **kwargs) and not is_on_gpu(args[0])


def _get_device_number(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return 0 if is_on_gpu(args[0]) else func(*args, **kwargs)


def _numpy(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if is_on_gpu(args[0]) and not kwargs.get("force"):
        raise TypeError(
            "can't convert cuda:0 device type tensor to numpy."
            " Use Tensor.cpu() to copy the tensor to host memory first."
        )
    result = func(*args, **kwargs)
    return result.copy() if is_on_gpu(args[0]) else result


def _cuda(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_device(kwargs.get("device", args[1] if len(args) > 1 else None))
    tensor = args[0]
    memory_format = {k: v for k, v in kwargs.items() if k == "memory_format"}
    return _moved(tensor.to(_HOST, **memory_format), tensor, True)


def _cpu(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _moved(func(*args, **kwargs), args[0], False)


def _moved(result: torch.Tensor, source: torch.Tensor, to_gpu: bool) -> torch.Tensor:
    return _noted(result, to_gpu, True, [source])


def _to(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`Tensor.to(device, ...)`, `.to(dtype, ...)` or `.to(other, ...)`."""
    device = kwargs.get("device")
    first = args[1] if len(args) > 1 else kwargs.get("other")
    if isinstance(first, torch.Tensor):
        return _moved(func(*args, **kwargs), args[0], is_on_gpu(first))
    if isinstance(first, str | torch.device | int):
        device = first
        if is_gpu_device(first):
            check_device(first)
            args = (args[0], _HOST, *args[2:])
    return _call(func, args, kwargs, device)


def _as_tensor(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`torch.as_tensor` and `torch.asarray`: on the GPU never an alias of an array in host memory."""
    device = kwargs.get("device")
    if device is None and len(args) > 2:
        device, args = args[2], args[:2]
    if device is None and not isinstance(args[0] if args else None, torch.Tensor):
        device = torch.utils._device.CURRENT_DEVICE
    if device is None:
        return _call(func, args, kwargs, None)
    result = _call(func, args, {**kwargs, "device": device}, device)
    data = args[0] if args else None
    if is_gpu_device(device) and not isinstance(data, torch.Tensor | list | tuple | int | float):
        requires_grad = result.requires_grad
        result = result.detach().clone().requires_grad_(requires_grad)
        _note(_storage(result), True)
    return result


def _deepcopy(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The other argument holds all that has been copied so far, and need not be looked through."""
    return _noted(func(*args, **kwargs), is_on_gpu(args[0]), False, [args[0]])


def _pin_memory(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """All of host memory is as good as pinned."""
    if is_on_gpu(args[0]):
        raise RuntimeError("cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned")
    return args[0].clone()


def _type(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The name of the type; with an argument a conversion, which stays on its device unless it names another."""
    wanted = args[1] if len(args) > 1 else kwargs.get("dtype")
    if wanted is None:
        name = func(*args, **kwargs)
        return name.replace("torch.", "torch.cuda.") if is_on_gpu(args[0]) else name
    if isinstance(wanted, str) and wanted.startswith("torch.cuda."):
        return _moved(func(args[0], wanted.replace("torch.cuda.", "torch.")), args[0], True)
    return _call(func, args, kwargs, None)


def _sequence(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Sequences packed or unpacked: their data are where they were, their lengths always on the CPU."""
    data, lengths = func(*args, **kwargs)
    return _noted(data, is_on_gpu(args[0]), False, [args[0]]), lengths


def _nothing(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    return None


_LITERAL_END = re.compile(r"(?s)^(.*\]|[^,)]*)(.*)$")


def _repr(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Torch's text with the device where torch has it: after the numbers."""
    text = func(*args, **kwargs)
    match = _LITERAL_END.match(text) if is_on_gpu(args[0]) else None
    return f"{match[1]}, device='{GPU}'{match[2]}" if match else text


def _array_interface(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """`Tensor.__cuda_array_interface__`: the address is the host's."""
    tensor = args[0]
    if not is_on_gpu(tensor):
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {tensor.type()}"
            " If CUDA data is required use tensor.cuda() to copy tensor to device memory."
        )
    if tensor.requires_grad:
        raise RuntimeError(
            "Can't get __cuda_array_interface__ on Variable that requires grad."
            " If gradients aren't required, use var.detach() to get Variable that doesn't require grad."
        )
    # Torch's bfloat16 is no NumPy type, but two untyped bytes, as torch has it.
    typestr = "<V2" if tensor.dtype == torch.bfloat16 else torch.empty(0, dtype=tensor.dtype).numpy().dtype.str
    return {
        "typestr": typestr,
        "shape": tuple(tensor.shape),
        "strides": None if tensor.is_contiguous() else tuple(s * tensor.element_size() for s in tensor.stride()),
        "data": (tensor.data_ptr(), False),
        "version": 2,
    }


def _handlers() -> dict[Any, Handler]:
    tensor = torch.Tensor
    # What has nothing to do with devices, and is called often.
    untouched = [getattr(tensor, n).__get__ for n in ("dtype", "shape", "ndim", "requires_grad", "grad_fn", "is_leaf")]
    untouched += [torch.device, tensor.size, tensor.stride, tensor.dim, tensor.data_ptr, tensor.item, tensor.tolist]
    return {
        **dict.fromkeys(untouched, _untouched),
        tensor.device.__get__: _get_device,
        tensor.is_cuda.__get__: _get_is_cuda,
        tensor.is_cpu.__get__: _get_is_cpu,
        tensor.get_device: _get_device_number,
        tensor.numpy: _numpy,
        tensor.__array__: _numpy,
        tensor.cuda: _cuda,
        tensor.cpu: _cpu,
        tensor.to: _to,
        tensor.type: _type,
        tensor.pin_memory: _pin_memory,
        tensor.record_stream: _nothing,
        tensor.__deepcopy__: _deepcopy,
        tensor.__repr__: _repr,
        tensor.__cuda_array_interface__.__get__: _array_interface,
        torch._VF._pack_padded_sequence: _sequence,
        torch._VF._pad_packed_sequence: _sequence,
        torch.as_tensor: _as_tensor,
        torch.asarray: _as_tensor,
    }


_HANDLERS: dict[Any, Handler] = _handlers()
