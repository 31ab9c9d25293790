"""Arrays in host memory are refused; those on the simulated GPU are found by three protocols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutile_sim.standin.arguments import device_arguments

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


class Wrapped:
    """What a program's own class around device memory has."""

    def __init__(self, host: np.ndarray) -> None:
        self.__cuda_array_interface__ = {**host.__array_interface__, "stream": None}


@pytest.mark.parametrize("nest", [lambda a: a, lambda a: [a], lambda a: (1, (a, 2)), lambda a: [[a]]])
def test_host_arrays_are_refused(nest: Any) -> None:
    with (
        pytest.raises(ValueError, match="Input array is not on a CUDA device: it is a ndarray in host memory; call"),
        device_arguments((nest(np.zeros(4)),)),
    ):
        raise AssertionError("not reached")


def test_scalars_and_other_things_are_left_to_the_launch() -> None:
    marker = object()
    with device_arguments((1, 2.5, True, None, "text", marker, (3, [4]))) as args:
        assert args == (1, 2.5, True, None, "text", marker, (3, [4]))


@pytest.mark.usefixtures("installed")
def test_cuda_array_interface_is_written_in_place(kernels: Any) -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(64, np.float32)
    ct.launch(0, (2,), kernels.increment, (Wrapped(x), Wrapped(y[::2]), 16))
    assert y[::2].tolist() == list(range(1, 33))
    assert not y[1::2].any()


@pytest.mark.usefixtures("installed")
def test_lists_and_tuples_of_device_arrays(device_array: Any) -> None:
    @ct.kernel
    def gather_all(arrays, pair, out):
        total = ct.load(pair[0], index=(0,), shape=(8,))
        for k in range(len(arrays)):
            total = total + ct.load(arrays[k], index=(0,), shape=(8,))
        ct.store(out, index=(0,), tile=total)

    arrays = [device_array(np.full(8, 10**k)) for k in range(3)]
    out = device_array(np.zeros(8))
    ct.launch(0, (1,), gather_all, (arrays, (device_array(range(8)), 5), out))
    assert out.__cutile_sim_device_array__.tolist() == [111 + k for k in range(8)]
