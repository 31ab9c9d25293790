"""torch tensors and DLPack exports, in place. torch itself is not needed: a stand-in has the methods that are used."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from cutile_sim.dtypes import BF16, F32
from cutile_sim.errors import UsageError, UsageTypeError
from cutile_sim.frontend.arrays import read_array


class FakeDevice(str):
    """What is used of torch.device."""

    @property
    def type(self):
        return self.partition(":")[0]


class FakeTensor:
    """What is used of torch.Tensor, over a NumPy array."""

    def __init__(self, array, dtype="torch.float32", device="cpu"):
        self.array, self.dtype = array, dtype
        self.shape = array.shape
        self.device = FakeDevice(device)

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)

    def untyped_storage(self):
        base = self.array if self.array.base is None else self.array.base
        return SimpleNamespace(data_ptr=lambda: base.ctypes.data, nbytes=lambda: base.nbytes)


@pytest.fixture
def fake_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=FakeTensor))


def test_tensor_is_read_in_place(fake_torch):
    base = np.zeros((4, 8), np.float32)
    tensor = FakeTensor(base[1:, 4:])
    arg = read_array(tensor, "x")
    assert (arg.element, arg.dtype_name, arg.shape, arg.strides_elems) == (F32, "float32", (3, 4), (8, 1))
    assert (arg.base_address, arg.offset_bytes, arg.base_bytes) == (base.ctypes.data, 48, 128)
    assert arg.writeable and arg.keepalive is tensor


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("bfloat16", ml_dtypes.bfloat16),
        ("float8_e4m3fn", ml_dtypes.float8_e4m3fn),
        ("float8_e5m2", ml_dtypes.float8_e5m2),
        ("bool", np.bool_),
        ("uint64", np.uint64),
    ],
)
def test_tensor_element_types(fake_torch, name, dtype):
    arg = read_array(FakeTensor(np.zeros(3, dtype), f"torch.{name}"), "x")
    assert arg.dtype_name == ("bool_" if name == "bool" else name)


def test_tensor_on_another_device(fake_torch):
    with pytest.raises(UsageError, match="parameter 'x': the tensor is on cuda:0; pass a CPU tensor"):
        read_array(FakeTensor(np.zeros(3, np.float32), device="cuda:0"), "x")


def test_tensor_of_another_type(fake_torch):
    with pytest.raises(UsageTypeError, match="Unsupported array dtype complex64; possible are"):
        read_array(FakeTensor(np.zeros(3, np.complex64), "torch.complex64"), "x")


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(24, dtype=torch.bfloat16).reshape(4, 6)[1:, 2:]
    arg = read_array(tensor, "x")
    assert (arg.element, arg.shape, arg.strides_elems) == (BF16, (3, 4), (6, 1))
    assert (arg.address, arg.offset_bytes, arg.base_bytes) == (tensor.data_ptr(), 16, 48)


class Exporter:
    """Exports NumPy's own DLPack capsule and nothing else; `versioned` says whether it knows version 1."""

    def __init__(self, array, versioned=True, device=(1, 0)):
        self.array, self.versioned, self.device = array, versioned, device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        if not self.versioned and options:
            raise TypeError("unexpected keyword argument")
        return self.array.__dlpack__(**options)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("dtype", ["bool_", "int8", "uint16", "int64", "float16", "float32", "float64"])
def test_dlpack_is_read_in_place(dtype, versioned):
    array = np.zeros((4, 6), dtype)[1:, ::2].T
    arg = read_array(Exporter(array, versioned), "x")
    assert (arg.dtype_name, arg.shape) == (dtype, (3, 3))
    assert arg.strides_elems == tuple(s // array.itemsize for s in array.strides)
    assert arg.address == arg.base_address == array.ctypes.data
    assert arg.writeable


def test_dlpack_keeps_the_memory_alive():
    array = np.zeros(4, np.float32)
    arg = read_array(Exporter(array), "x")
    before = sys.getrefcount(array)
    del arg
    assert sys.getrefcount(array) < before


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy exports no flags")
def test_dlpack_read_only():
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    assert not read_array(Exporter(array), "x").writeable


@pytest.mark.parametrize(
    ("exporter", "error", "text"),
    [
        (Exporter(np.zeros(3), device=(2, 1)), UsageError, "the Exporter is on cuda:1; pass an array on the CPU"),
        (Exporter(np.zeros(3), device=(99, 0)), UsageError, "is on device type 99:0"),
        (Exporter(np.zeros(3), device=None), UsageTypeError, "exports no DLPack device"),
        (Exporter(np.zeros(3, complex)), UsageTypeError, "Unsupported array dtype .DLPack code 5, 128 bits"),
        (Exporter(np.zeros(3, "U3")), UsageTypeError, "cannot be read through DLPack"),
        (Exporter(np.zeros(3)[::-1]), UsageError, "has negative strides"),
    ],
)
def test_dlpack_refused(exporter, error, text):
    with pytest.raises(error, match=text):
        read_array(exporter, "x")
