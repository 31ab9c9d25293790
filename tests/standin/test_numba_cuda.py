"""Numba's device arrays: in the place of a module like `numba.cuda`, so that Numba need not be installed."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from cutile_sim.standin import numba_cuda, simulated_launches
from cutile_sim.standin.rebind import Rebinder


@pytest.fixture
def cuda() -> ModuleType:
    module = ModuleType("numba.cuda")
    numba_cuda.stand_in(Rebinder(), module)
    return module


def test_is_taken_back() -> None:
    module, rebinder = ModuleType("numba.cuda"), Rebinder()
    before = module.to_device = object()  # type: ignore[attr-defined]
    numba_cuda.stand_in(rebinder, module)
    rebinder.restore()
    assert module.to_device is before
    assert not hasattr(module, "stream")


def test_launch_writes_device_arrays(cuda: ModuleType) -> None:
    ct = pytest.importorskip("cuda.tile")

    @ct.kernel
    def double(x, y):
        ct.store(y, (0,), ct.load(x, (0,), (4,)) * 2)

    x = cuda.to_device(np.arange(4, dtype=np.float32))
    y = cuda.device_array_like(x)
    stream = cuda.stream()
    with simulated_launches(force=True):
        ct.launch(stream, (1,), double, (x, y))
        ct.launch(stream.handle.value, (1,), double, (y, x))
    stream.synchronize()
    assert y.copy_to_host().tolist() == [0, 2, 4, 6]
    assert x.copy_to_host().tolist() == [0, 4, 8, 12]


def test_moving_copies_and_views_share(cuda: ModuleType) -> None:
    host = np.arange(6)
    array = cuda.to_device(host)
    array.reshape(2, 3).T[1:] = 9
    assert host.tolist() == [0, 1, 2, 3, 4, 5]
    assert array.copy_to_host().tolist() == [0, 9, 9, 3, 9, 9]
    out = np.empty(6, int)
    assert array.copy_to_host(out) is out
    assert (array[3], array.shape, array.dtype) == (3, (6,), out.dtype)


def test_takes_arrays_of_other_libraries(cuda: ModuleType) -> None:
    from cutile_sim.standin import cupy

    theirs = cupy.zeros(2)
    cuda.as_cuda_array(theirs)[0] = 3
    assert theirs.tolist() == [3, 0]
    with pytest.raises(TypeError, match="cuda array interface"):
        cuda.as_cuda_array([1])


def test_missing_method_is_named(cuda: ModuleType) -> None:
    with pytest.raises(AttributeError, match=r"DeviceNDArray\.split is not in"):
        cuda.device_array(2).split(1)
