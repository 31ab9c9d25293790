"""Array arguments: where an array lies in host memory and how it is laid out, found without copying it."""

from __future__ import annotations

from ctypes import addressof, c_char
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from cutile_sim.dtypes import (
    BF16,
    F8E4M3FN,
    F8E5M2,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    ElementType,
    numpy_dtype,
)
from cutile_sim.errors import UsageError, UsageTypeError


class ArrayDType(NamedTuple):
    """An element type with the name that cuTile gives it, which tells signed integers from unsigned ones."""

    name: str
    element: ElementType


_DTYPES: dict[str, ArrayDType] = {
    name: ArrayDType(name, element)
    for name, element in {
        "bool_": I1, "int8": I8, "int16": I16, "int32": I32, "int64": I64,
        "uint8": I8, "uint16": I16, "uint32": I32, "uint64": I64,
        "float16": F16, "bfloat16": BF16, "float32": F32, "float64": F64,
        "float8_e4m3fn": F8E4M3FN, "float8_e5m2": F8E5M2, "float8_e8m0fnu": F8E8M0FNU,
    }.items()
}  # fmt: skip

POSSIBLE_DTYPES = "bool, int8 to int64, uint8 to uint64, float16, bfloat16, float32, float64, " + (
    "float8_e4m3fn, float8_e5m2 and float8_e8m0fnu"
)


def array_dtype(name: str) -> ArrayDType | None:
    """The element type an array may have, by its cuTile name or `bool`; None where a launch takes no such array."""
    return _DTYPES.get("bool_" if name == "bool" else name)


_by_numpy_dtype = {np.dtype(getattr(np, name)): dtype for name, dtype in _DTYPES.items() if hasattr(np, name)}


def _dtype_of(dtype: np.dtype) -> ArrayDType | None:
    found = _by_numpy_dtype.get(dtype)
    if found is None and dtype.name in _DTYPES and dtype == numpy_dtype(dtype.name):
        found = _by_numpy_dtype[dtype] = _DTYPES[dtype.name]
    return found


@dataclass(slots=True, eq=False)
class ArrayArg:
    """One array argument. Never a copy: `address` points into the caller's own memory. Only to be read.

    Attributes:
        name: The parameter, such as `x` or `pair[0]`.
        element: Element type in memory.
        dtype_name: The cuTile name of the element type, such as `uint8`.
        address: Host address of the element at index 0.
        shape: Elements along each axis.
        strides_elems: Elements to step along each axis; never negative.
        span_bytes: From the element at index 0 to the end of the last one; 0 if there is none.
        writeable: False for an array that a kernel may only read.
        base_address: Host address of the allocation that the array is a view of.
        base_bytes: Size of that allocation, as far as it can be known.
        keepalive: What owns the memory.
    """

    name: str
    element: ElementType
    dtype_name: str
    address: int
    shape: tuple[int, ...]
    strides_elems: tuple[int, ...]
    span_bytes: int
    writeable: bool
    base_address: int
    base_bytes: int
    keepalive: Any = field(repr=False)

    @property
    def offset_bytes(self) -> int:
        """Where the array starts in its allocation."""
        return self.address - self.base_address

    def moved_to(self, array: np.ndarray) -> ArrayArg:
        """The same of another array of that type, shape and strides; both own their memory."""
        address = _address_of(array)
        return ArrayArg(
            self.name,
            self.element,
            self.dtype_name,
            address,
            self.shape,
            self.strides_elems,
            self.span_bytes,
            self.writeable,
            address,
            self.base_bytes,
            array,
        )


def read_array(array: Any, name: str) -> ArrayArg:
    """Describe an argument that `is_array`.

    Raises UsageError or UsageTypeError, naming the parameter, for arrays that a kernel cannot take: element types
    without a cuTile type, negative or fractional strides, misaligned data, memory of another device.
    """
    if isinstance(array, np.ndarray):
        return _read_ndarray(array, name)
    from cutile_sim.frontend import foreign

    if foreign.is_torch_tensor(array):
        return foreign.read_torch(array, name)
    if hasattr(array, "__array_interface__"):
        return _read_array_interface(array, name)
    if hasattr(array, "__dlpack__"):
        return foreign.read_dlpack(array, name)
    raise UsageError(f"parameter '{name}': the {type(array).__name__} is on a CUDA device; pass an array on the CPU")


def is_array(value: Any) -> bool:
    """Whether a launch takes the value for an array: NumPy, torch, or an array protocol. NumPy scalars are none."""
    if isinstance(value, np.ndarray):
        return True
    if isinstance(value, (np.generic, type)):
        return False
    return any(hasattr(value, p) for p in ("__array_interface__", "__dlpack__", "__cuda_array_interface__"))


class Layout(NamedTuple):
    """Strides in elements, the bytes from element 0 to the end of the last one, and what is wrong with them."""

    strides_elems: tuple[int, ...]
    span_bytes: int
    problem: str


@lru_cache(maxsize=4096)
def layout(shape: tuple[int, ...], strides_bytes: tuple[int, ...], size_bytes: int) -> Layout:
    """Judge the strides of an array. `problem` is empty if a kernel can take them."""
    strides_elems = []
    span_bytes = size_bytes
    for length, stride in zip(shape, strides_bytes, strict=True):
        if length <= 1:
            # NumPy calls such an array contiguous whatever the stride, so the caller could not repair it.
            stride = abs(stride)
        elif stride < 0:
            return Layout((), 0, "has negative strides; pass np.ascontiguousarray of it")
        if stride % size_bytes:
            return Layout((), 0, f"has a stride of {stride} bytes, not a multiple of its {size_bytes}-byte elements")
        strides_elems.append(stride // size_bytes)
        span_bytes += max(length - 1, 0) * stride
    return Layout(tuple(strides_elems), 0 if 0 in shape else span_bytes, "")


def check_placement(
    name: str, kind: str, address: int, span_bytes: int, size_bytes: int, base_address: int, base_bytes: int
) -> None:
    """Raise UsageError for elements that are not aligned to their size, or that lie outside their allocation."""
    if not span_bytes:
        return
    if address % size_bytes or (address - base_address) % size_bytes:
        raise UsageError(
            f"parameter '{name}': the {kind} is not aligned to its {size_bytes}-byte elements; pass a copy of it"
        )
    if address < base_address or address + span_bytes > base_address + base_bytes:
        raise UsageError(f"parameter '{name}': the {kind} reaches outside the memory it is a view of")


def _address_of(array: np.ndarray) -> int:
    try:
        return addressof(c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):
        # Read-only, not in one piece, or of a type that has no buffer: four times slower.
        return array.__array_interface__["data"][0]


def _read_ndarray(array: np.ndarray, name: str) -> ArrayArg:
    dtype = _dtype_of(array.dtype)
    if dtype is None or isinstance(array, np.ma.MaskedArray):
        raise _refusal(array, name)
    size_bytes = dtype.element.size_bytes
    shape = array.shape
    strides_elems, span_bytes, problem = layout(shape, array.strides, size_bytes)
    if problem:
        raise UsageError(f"parameter '{name}': the array {problem}")
    address = _address_of(array)
    if array.base is None:
        base_address, base_bytes = address, span_bytes
    else:
        base_address, base_bytes = _byte_bounds(_root(array))
    check_placement(name, "array", address, span_bytes, size_bytes, base_address, base_bytes)
    return ArrayArg(
        *(name, dtype.element, dtype.name, address, shape, strides_elems, span_bytes),
        *(array.flags.writeable, base_address, base_bytes, array),
    )


def _root(array: np.ndarray) -> np.ndarray:
    """The array that owns the memory, or the outermost one of a chain that ends in something else."""
    while True:
        base = array.base
        if not isinstance(base, np.ndarray):
            # as_strided puts one object that is no array between a view and its array.
            base = getattr(base, "base", None)
            if not isinstance(base, np.ndarray):
                return array
        array = base


def _byte_bounds(array: np.ndarray) -> tuple[int, int]:
    """Lowest address of an array and the bytes from there to the end of its highest element."""
    address = _address_of(array)
    if array.size == 0:
        return address, 0
    steps = [(length - 1) * stride for length, stride in zip(array.shape, array.strides, strict=True)]
    low = sum(step for step in steps if step < 0)
    high = sum(step for step in steps if step > 0) + array.itemsize
    return address + low, high - low


def _refusal(array: np.ndarray, name: str) -> UsageError:
    if isinstance(array, np.ma.MaskedArray):
        return UsageTypeError(f"parameter '{name}': a masked array would lose its mask; pass its .data")
    if not array.dtype.isnative and array.dtype.newbyteorder("=") in _by_numpy_dtype:
        return UsageTypeError(
            f"parameter '{name}': the array has the wrong byte order for this machine ({array.dtype.str});"
            f" pass array.astype('{array.dtype.newbyteorder('=').name}')"
        )
    return unsupported_dtype(str(array.dtype), name)


def unsupported_dtype(dtype: str, name: str) -> UsageTypeError:
    """The error for an array whose element type cuTile does not take."""
    return UsageTypeError(f"parameter '{name}': Unsupported array dtype {dtype}; possible are {POSSIBLE_DTYPES}")


def _read_array_interface(array: Any, name: str) -> ArrayArg:
    try:
        viewed = np.asarray(array)
    except Exception as error:
        raise UsageTypeError(
            f"parameter '{name}': the __array_interface__ of {type(array).__name__} is not valid: {error}"
        ) from error
    if viewed.dtype == np.dtype("V2"):
        # cuTile reads two untyped bytes as a bfloat16: the protocol has no code for it.
        viewed = viewed.view(numpy_dtype("bfloat16"))
    arg = _read_ndarray(viewed, name)
    arg.keepalive = array if viewed.base is not None else viewed
    return arg
