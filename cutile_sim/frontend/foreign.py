"""Array arguments that are not NumPy's: torch tensors, and anything that exports DLPack for host memory."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

from cutile_sim.errors import UsageError, UsageTypeError
from cutile_sim.frontend.arrays import (
    ArrayArg,
    ArrayDType,
    array_dtype,
    check_placement,
    layout,
    unsupported_dtype,
)

# DLPack's device and type codes (dlpack.h).
_HOST_DEVICES = {1: "CPU", 3: "pinned host memory"}
_DEVICE_NAMES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 13: "managed cuda memory", 14: "oneapi"}
_DTYPE_NAMES = {
    (6, 8): "bool_",
    **{(0, bits): f"int{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"float{bits}" for bits in (16, 32, 64)},
    (4, 16): "bfloat16",
    (10, 8): "float8_e4m3fn",
    (12, 8): "float8_e5m2",
    (14, 8): "float8_e8m0fnu",
}
_READ_ONLY_FLAG = 1
_COPIED_FLAG = 2


def is_torch_tensor(value: Any) -> bool:
    """Whether it is a torch tensor. Never imports torch: no tensor can exist before somebody else has."""
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    return isinstance(tensor, type) and isinstance(value, tensor)


def read_torch(tensor: Any, name: str) -> ArrayArg:
    """Describe a torch tensor on the CPU. Raises UsageError or UsageTypeError, as `read_array` does."""
    if tensor.device.type != "cpu":
        raise UsageError(f"parameter '{name}': the tensor is on {tensor.device}; pass a CPU tensor")
    dtype_name = str(tensor.dtype).removeprefix("torch.")
    dtype = array_dtype(dtype_name)
    if dtype is None:
        raise unsupported_dtype(dtype_name, name)
    try:
        address = tensor.data_ptr()
        shape, strides_elems = tuple(tensor.shape), tuple(tensor.stride())
        storage = tensor.untyped_storage()
        base_address, base_bytes = storage.data_ptr(), storage.nbytes()
    except Exception as error:
        raise UsageTypeError(f"parameter '{name}': the tensor has no plain memory: {error}") from error
    return _array_arg(name, "tensor", dtype, address, shape, strides_elems, (base_address, base_bytes), True, tensor)


def read_dlpack(array: Any, name: str) -> ArrayArg:
    """Describe an array by its DLPack export. Raises UsageError or UsageTypeError, as `read_array` does."""
    kind = type(array).__name__
    try:
        device, number = (int(part) for part in array.__dlpack_device__())
    except Exception as error:
        raise UsageTypeError(f"parameter '{name}': {kind} exports no DLPack device: {error}") from error
    if device not in _HOST_DEVICES:
        where = _DEVICE_NAMES.get(device, f"device type {device}")
        raise UsageError(f"parameter '{name}': the {kind} is on {where}:{number}; pass an array on the CPU")
    try:
        capsule = _export(array)
        managed, flags = _managed_tensor(capsule)
    except Exception as error:
        raise UsageTypeError(f"parameter '{name}': {kind} cannot be read through DLPack: {error}") from error
    if flags & _COPIED_FLAG:
        raise UsageError(f"parameter '{name}': {kind} exports only a copy of itself; pass a NumPy array")
    tensor = managed.tensor
    code, bits, lanes = tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes
    dtype = array_dtype(_DTYPE_NAMES.get((code, bits), "")) if lanes == 1 else None
    if dtype is None:
        raise unsupported_dtype(f"(DLPack code {code}, {bits} bits, {lanes} lanes)", name)
    ndim = tensor.ndim
    shape = tuple(tensor.shape[:ndim])
    strides_elems = tuple(tensor.strides[:ndim]) if tensor.strides else _row_major(shape)
    address = (tensor.data or 0) + tensor.byte_offset
    # Not renamed, the capsule calls the exporter's deleter when it is collected, so it keeps the memory alive.
    return _array_arg(
        name, kind, dtype, address, shape, strides_elems, None, not flags & _READ_ONLY_FLAG, (array, capsule)
    )


def _array_arg(
    name: str,
    kind: str,
    dtype: ArrayDType,
    address: int,
    shape: tuple[int, ...],
    strides_elems: tuple[int, ...],
    base: tuple[int, int] | None,
    writeable: bool,
    keepalive: Any,
) -> ArrayArg:
    size_bytes = dtype.element.size_bytes
    strides, span_bytes, problem = layout(shape, tuple(s * size_bytes for s in strides_elems), size_bytes)
    if problem:
        raise UsageError(f"parameter '{name}': the {kind} {problem}")
    base_address, base_bytes = base or (address, span_bytes)
    check_placement(name, kind, address, span_bytes, size_bytes, base_address, base_bytes)
    return ArrayArg(
        *(name, dtype.element, dtype.name, address, shape, strides, span_bytes),
        *(writeable, base_address, base_bytes, keepalive),
    )


def _row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides_elems: list[int] = []
    step = 1
    for length in reversed(shape):
        strides_elems.append(step)
        step *= length
    return tuple(reversed(strides_elems))


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("number", ctypes.c_int32)]


class _DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


def _export(array: Any) -> Any:
    # The versioned export alone says whether the memory is read-only, so it is asked for first.
    try:
        return array.__dlpack__(max_version=(1, 0))
    except TypeError:
        return array.__dlpack__()


def _managed_tensor(capsule: Any) -> tuple[Any, int]:
    api = ctypes.pythonapi
    is_valid = api.PyCapsule_IsValid
    is_valid.restype, is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]
    get_pointer = api.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    if is_valid(capsule, b"dltensor_versioned"):
        versioned = _ManagedVersioned.from_address(get_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise ValueError(f"DLPack version {versioned.major}.{versioned.minor} is unknown")
        return versioned, versioned.flags
    return _Managed.from_address(get_pointer(capsule, b"dltensor")), 0
