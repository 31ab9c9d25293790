"""Arrays are described where they lie, and those a kernel cannot take are refused in one sentence."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import BF16, F8E4M3FN, F8E5M2, F8E8M0FNU, F16, F32, F64, I1, I8, I16, I32, I64
from cutile_sim.errors import UsageError, UsageTypeError
from cutile_sim.frontend.arrays import is_array, read_array


def address_of(array: np.ndarray) -> int:
    return array.ctypes.data


@pytest.mark.parametrize(
    ("dtype", "name", "element"),
    [
        (np.bool_, "bool_", I1),
        (np.int8, "int8", I8),
        (np.int16, "int16", I16),
        (np.int32, "int32", I32),
        (np.int64, "int64", I64),
        (np.uint8, "uint8", I8),
        (np.uint16, "uint16", I16),
        (np.uint32, "uint32", I32),
        (np.uint64, "uint64", I64),
        (np.float16, "float16", F16),
        (np.float32, "float32", F32),
        (np.float64, "float64", F64),
        (ml_dtypes.bfloat16, "bfloat16", BF16),
        (ml_dtypes.float8_e4m3fn, "float8_e4m3fn", F8E4M3FN),
        (ml_dtypes.float8_e5m2, "float8_e5m2", F8E5M2),
        (ml_dtypes.float8_e8m0fnu, "float8_e8m0fnu", F8E8M0FNU),
    ],
)
def test_every_element_type(dtype, name, element):
    array = np.zeros((3, 4), dtype)
    arg = read_array(array, "x")
    assert (arg.name, arg.dtype_name, arg.element) == ("x", name, element)
    assert (arg.shape, arg.strides_elems, arg.writeable) == ((3, 4), (4, 1), True)
    assert (arg.address, arg.base_address, arg.base_bytes) == (address_of(array),) * 2 + (array.nbytes,)
    assert arg.keepalive is array and arg.offset_bytes == 0


def test_view_keeps_its_place_in_the_outermost_allocation():
    base = np.zeros((8, 16), np.float32)
    arg = read_array(base[2:, 4:][::2].T, "x")
    assert arg.offset_bytes == (2 * 16 + 4) * 4
    assert (arg.shape, arg.strides_elems) == ((12, 3), (1, 32))
    assert (arg.base_address, arg.base_bytes) == (address_of(base), base.nbytes)


def test_base_of_strided_windows_is_found():
    base = np.zeros(16, np.float32)
    arg = read_array(np.lib.stride_tricks.sliding_window_view(base[4:], 3), "x")
    assert (arg.shape, arg.strides_elems, arg.offset_bytes) == ((10, 3), (1, 1), 16)
    assert (arg.base_address, arg.base_bytes) == (address_of(base), 64)


def test_base_that_runs_backwards_is_bounded_from_its_lowest_byte():
    backwards = np.frombuffer(bytearray(64), np.float32)[::-1]
    arg = read_array(backwards[::-1], "x")
    assert (arg.offset_bytes, arg.base_bytes) == (0, 64)


def test_buffer_without_an_array_below_is_its_own_base():
    array = np.frombuffer(bytes(64), np.float32)
    arg = read_array(array[4:], "x")
    assert (arg.writeable, arg.offset_bytes, arg.base_bytes) == (False, 16, 64)


@pytest.mark.parametrize("shape", [(0,), (4, 0), (), (1, 1)])
def test_empty_and_single_arrays(shape):
    arg = read_array(np.zeros(shape, np.int16), "x")
    assert arg.shape == shape and arg.base_bytes == 2 * int(np.prod(shape))


def test_negative_stride_of_a_single_element_is_harmless():
    assert read_array(np.zeros(3, np.int32)[2:][::-1], "x").strides_elems == (1,)


def test_broadcast_array_has_zero_strides():
    arg = read_array(np.broadcast_to(np.zeros(3, np.float32), (5, 3)), "x")
    assert (arg.strides_elems, arg.writeable) == ((0, 1), False)


class Interface:
    """Anything with `__array_interface__`."""

    def __init__(self, array: np.ndarray, **changes: object) -> None:
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, **changes}


def test_array_interface_is_read_in_place():
    array = np.arange(6, dtype=np.uint16).reshape(2, 3)
    owner = Interface(array)
    arg = read_array(owner, "x")
    assert (arg.address, arg.shape, arg.dtype_name, arg.keepalive) == (address_of(array), (2, 3), "uint16", owner)


def test_two_untyped_bytes_are_a_bfloat16():
    array = np.zeros(4, ml_dtypes.bfloat16)
    arg = read_array(Interface(array, typestr="<V2", descr=[("", "<V2")]), "x")
    assert (arg.element, arg.address) == (BF16, address_of(array))


def test_invalid_array_interface():
    with pytest.raises(UsageTypeError, match="parameter 'x': the __array_interface__ of Interface is not valid"):
        read_array(Interface(np.zeros(3), shape="three"), "x")


class OnGpu:
    __cuda_array_interface__ = None


def strided(shape, strides_bytes, dtype=np.float32, buffer_bytes=64):
    return np.ndarray(shape, dtype, np.zeros(buffer_bytes, np.uint8), strides=strides_bytes)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: np.zeros(3, object), UsageTypeError, "Unsupported array dtype object; possible are bool, int8"),
        (lambda: np.zeros(3, "i4,f4"), UsageTypeError, "Unsupported array dtype"),
        (lambda: np.zeros(3, "U5"), UsageTypeError, "Unsupported array dtype <U5"),
        (lambda: np.zeros(3, complex), UsageTypeError, "Unsupported array dtype complex128"),
        (lambda: np.zeros(3, np.longdouble), UsageTypeError, "Unsupported array dtype"),
        (lambda: np.zeros(3, "M8[s]"), UsageTypeError, "Unsupported array dtype datetime64"),
        (lambda: np.zeros(3, ml_dtypes.int4), UsageTypeError, "Unsupported array dtype int4"),
        (lambda: np.zeros(3, ml_dtypes.float4_e2m1fn), UsageTypeError, "Unsupported array dtype float4_e2m1fn"),
        (lambda: np.zeros(3, ">f4"), UsageTypeError, r"wrong byte order .* pass array.astype\('float32'\)"),
        (lambda: np.ma.masked_array([1.0], [True]), UsageTypeError, "would lose its mask"),
        (lambda: np.zeros(3)[::-1], UsageError, "negative strides; pass np.ascontiguousarray"),
        (lambda: np.zeros(3, "u1,f4")["f1"], UsageError, "stride of 5 bytes, not a multiple of its 4-byte"),
        (lambda: np.frombuffer(bytes(9), np.float32, 2, offset=1), UsageError, "not aligned to its 4-byte"),
        (lambda: np.zeros(9, np.uint8)[1:].view(np.float32), UsageError, "not aligned to its 4-byte"),
        (
            lambda: np.lib.stride_tricks.as_strided(np.zeros(4, np.float32)[2:], (4,), (4,)),
            UsageError,
            "reaches outside the memory it is a view of",
        ),
        (OnGpu, UsageError, "is on a CUDA device; pass an array on the CPU"),
    ],
)
def test_refused(make, error, text):
    with pytest.raises(error, match=text) as raised:
        read_array(make(), "x")
    assert str(raised.value).startswith("parameter 'x': ")


def test_what_counts_as_an_array():
    assert is_array(np.zeros(())) and is_array(OnGpu()) and is_array(Interface(np.zeros(1)))
    assert not any(is_array(v) for v in (np.float32(1), np.int64(1), np.ndarray, 1, None, [np.zeros(1)], b"x"))


@st.composite
def views(draw):
    ndim = draw(st.integers(1, 3))
    array = np.zeros([draw(st.integers(1, 5)) for _ in range(ndim)], np.int32)
    axes = draw(st.permutations(range(ndim)))
    slices = tuple(slice(draw(st.integers(0, array.shape[d] - 1)), None, draw(st.integers(1, 3))) for d in range(ndim))
    return array, array[slices].transpose(axes)


@settings(max_examples=60)
@given(views(), st.data())
def test_element_addresses_are_numpy_s(pair, data):
    base, view = pair
    arg = read_array(view, "x")
    index = tuple(data.draw(st.integers(0, n - 1)) for n in view.shape)
    offset_elems = sum(i * s for i, s in zip(index, arg.strides_elems, strict=True))
    element = view[tuple(slice(i, i + 1) for i in index)]
    assert arg.address + 4 * offset_elems == address_of(element)
    assert arg.base_address == address_of(base) and arg.base_bytes == base.nbytes
