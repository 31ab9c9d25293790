"""CuPy's stand-in: programs that use CuPy around cuTile launches, and what CuPy refuses."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest

from cutile_sim.standin import simulated_launches
from cutile_sim.standin.gpus import gpu_of


@pytest.fixture
def cupy() -> Iterator[ModuleType]:
    with simulated_launches("sm_90", force=True):
        import cupy

        yield cupy


@pytest.fixture
def ct() -> ModuleType:
    return pytest.importorskip("cuda.tile")


class TestLaunches:
    def test_arrays_are_written_in_place(self, cupy: ModuleType, ct: ModuleType) -> None:
        @ct.kernel
        def scale(x, y, factor: float):
            i = ct.bid(0)
            ct.store(y, (i,), ct.load(x, (i,), (4,)) * factor)

        x = cupy.arange(8, dtype=cupy.float32)
        y = cupy.zeros_like(x)
        with cupy.cuda.Stream() as stream:
            ct.launch(stream, (2, 1, 1), scale, (x, y, 2.5))
        stream.synchronize()
        assert cupy.asnumpy(y).tolist() == [0.0, 2.5, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5]

    def test_a_view_writes_into_its_array(self, cupy: ModuleType, ct: ModuleType) -> None:
        @ct.kernel
        def ones(y):
            ct.store(y, (0, 0), ct.full((2, 2), 1, ct.int32))

        y = cupy.zeros((4, 4), cupy.int32)
        ct.launch(cupy.cuda.get_current_stream(), (1,), ones, (y[1:3, ::2],))
        assert y.get().tolist() == [[0] * 4, [1, 0, 1, 0], [1, 0, 1, 0], [0] * 4]

    def test_types_are_names_in_a_kernel(self, cupy: ModuleType, ct: ModuleType) -> None:
        @ct.kernel
        def fill(y):
            ct.store(y, (0,), ct.full((4,), cupy.float16(1.5), cupy.float16))

        y = cupy.empty(4, "float16")
        ct.launch(cupy.cuda.Stream.null, (1,), fill, (y,))
        assert (y == 1.5).all()

    def test_stream_by_its_pointer(self, cupy: ModuleType, ct: ModuleType) -> None:
        @ct.kernel
        def one(y):
            ct.scatter(y, (0,), 1)

        y = cupy.zeros(1, cupy.int32)
        ct.launch(cupy.cuda.Stream().ptr, (1,), one, (y,))
        assert int(y[0]) == 1


class TestHostAndDevice:
    def test_moving_copies(self, cupy: ModuleType) -> None:
        host = np.arange(3)
        array = cupy.asarray(host)
        back = array.get()
        host[0] = 7
        array[1] = 8
        assert (host.tolist(), array.tolist(), back.tolist()) == ([7, 1, 2], [0, 8, 2], [0, 1, 2])
        assert cupy.asarray(array) is array
        assert cupy.array(array) is not array

    def test_set_and_get_into(self, cupy: ModuleType) -> None:
        array, out = cupy.empty(2, cupy.int32), np.zeros(2, np.int32)
        array.set(np.array([1, 2], np.int32))
        assert array.get(out=out) is out
        assert out.tolist() == [1, 2]
        with pytest.raises(ValueError, match="cannot set int32"):
            array.set(np.zeros(2))

    @pytest.mark.parametrize(
        "mix",
        [
            lambda cp, a, n: np.asarray(a),
            lambda cp, a, n: a + n,
            lambda cp, a, n: n * a,
            lambda cp, a, n: np.add(a, n),
            lambda cp, a, n: cp.maximum(a, n),
            lambda cp, a, n: cp.concatenate([a, n]),
            lambda cp, a, n: a.__setitem__(slice(None), n),
            lambda cp, a, n: a.__iadd__(n),
            lambda cp, a, n: np.testing.assert_allclose(a, n),
        ],
    )
    def test_numpy_arrays_do_not_mix(self, cupy: ModuleType, mix) -> None:
        with pytest.raises(TypeError, match=r"NumPy array is not allowed|Unsupported type"):
            mix(cupy, cupy.ones(3), np.ones(3))

    def test_protocols_share_memory(self, cupy: ModuleType) -> None:
        array = cupy.arange(6.0).reshape(2, 3).T
        interface = array.__cuda_array_interface__
        assert interface["data"] == (array.data.ptr, False)
        assert (interface["shape"], interface["strides"], interface["typestr"]) == ((3, 2), (8, 24), "<f8")
        np.from_dlpack(array)[0, 1] = 9
        assert array[0, 1] == 9
        assert cupy.from_dlpack(array).data.ptr == array.data.ptr

    def test_torch_shares_memory(self, cupy: ModuleType) -> None:
        torch = pytest.importorskip("torch")
        array = cupy.zeros(3, cupy.float32)
        torch.from_dlpack(array)[1] = 4
        assert array.tolist() == [0, 4, 0]

    def test_memory_by_pointer(self, cupy: ModuleType) -> None:
        array = cupy.arange(4, dtype=cupy.int16)
        tail = cupy.ndarray((2,), cupy.int16, array.data + 4)
        tail[:] = 5
        assert array.tolist() == [0, 1, 5, 5]

    def test_copies_and_pickles(self, cupy: ModuleType) -> None:
        array = cupy.arange(3)
        for other in (copy.deepcopy(array), copy.copy(array), pickle.loads(pickle.dumps(array))):
            other[0] = 5
            assert (type(other), array.tolist()) == (cupy.ndarray, [0, 1, 2])


class TestArrays:
    def test_single_elements_are_arrays(self, cupy: ModuleType) -> None:
        array = cupy.arange(4, dtype=cupy.float32)
        for single in (array[1], array.sum(), cupy.max(array), cupy.allclose(array, array)):
            assert isinstance(single, cupy.ndarray)
            assert single.shape == ()
        assert (float(array.sum()), array.max().item(), f"{array[2]:.1f}") == (6.0, 3.0, "2.0")

    def test_arithmetic(self, cupy: ModuleType) -> None:
        a = cupy.array([1, 2, 3])
        assert (2 - a).tolist() == [1, 0, -1]
        assert (np.float64(2) * a).tolist() == [2, 4, 6]
        assert (a**2 // 2 % 3).tolist() == [0, 2, 1]
        assert (a @ a, -a[0], abs(a - 4)[0]) == (14, -1, 3)
        alias = a
        a += 1
        a[a > 3] = 0
        assert alias.tolist() == [2, 3, 0]
        assert [int(x) for x in a] == [2, 3, 0]

    def test_functions(self, cupy: ModuleType) -> None:
        a = cupy.linspace(0, 1, 3)
        out = cupy.empty(3)
        assert cupy.add(a, 1, out=out) is out
        assert out.tolist() == [1, 1.5, 2]
        assert np.sum(a) == 1.5
        assert cupy.where(a > 0.5, a, 0).tolist() == [0, 0, 1]
        assert cupy.add.reduce(a).tolist() == 1.5
        assert cupy.stack([a, a]).shape == (2, 3)
        assert cupy.linalg.norm(cupy.array([3.0, 4.0])) == 5
        assert cupy.fft.fft(cupy.ones(4)).real.tolist() == [4, 0, 0, 0]
        assert cupy.full((2,), cupy.inf, cupy.float16).dtype == np.float16
        assert cupy.get_array_module(a) is cupy
        assert cupy.get_array_module(np.ones(1)) is np

    def test_comparisons_take_both(self, cupy: ModuleType) -> None:
        cupy.testing.assert_allclose(cupy.ones(2), np.ones(2))
        with pytest.raises(AssertionError):
            cupy.testing.assert_array_equal(cupy.ones(2), cupy.zeros(2))

    def test_random_numbers(self, cupy: ModuleType) -> None:
        first = cupy.random.default_rng(3).random(4, dtype=cupy.float32)
        assert (first == cupy.random.default_rng(3).random(4, dtype=cupy.float32)).all()
        assert first.dtype == np.float32
        cupy.random.seed(1)
        second = cupy.random.randn(2, 2, dtype=cupy.float32)
        assert (second == cupy.random.RandomState(1).randn(2, 2, dtype=cupy.float32)).all()
        assert cupy.random.randint(0, 5, (3,)).max() < 5
        assert cupy.random.uniform().shape == ()


class TestGpu:
    def test_is_that_of_the_architecture(self, cupy: ModuleType) -> None:
        gpu = gpu_of("sm_90")
        properties = cupy.cuda.runtime.getDeviceProperties(0)
        assert cupy.cuda.runtime.getDeviceCount() == 1
        assert cupy.cuda.Device().compute_capability == "90"
        assert properties["name"] == gpu.name.encode()
        assert properties["totalGlobalMem"] == cupy.cuda.Device(0).mem_info[1] == gpu.total_memory_bytes
        assert cupy.ones(1).device == cupy.cuda.Device(0)

    def test_there_is_only_one(self, cupy: ModuleType) -> None:
        with pytest.raises(cupy.cuda.runtime.CUDARuntimeError, match="InvalidDevice"), cupy.cuda.Device(1):
            pass

    def test_streams_and_events(self, cupy: ModuleType) -> None:
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        outer = cupy.cuda.get_current_stream()
        with cupy.cuda.Stream(non_blocking=True) as stream:
            assert cupy.cuda.get_current_stream() == stream != outer
            stream.record(start)
        assert cupy.cuda.get_current_stream() == outer
        end.record()
        end.synchronize()
        assert cupy.cuda.get_elapsed_time(start, end) >= 0


class TestMissing:
    @pytest.mark.parametrize(
        "name",
        ["RawKernel", "random.bytes", "cuda.nccl", "cuda.runtime.malloc", "linalg.eig", "fft.x", "testing.x"],
    )
    def test_is_named(self, cupy: ModuleType, name: str) -> None:
        owner: object = cupy
        *outer, last = name.split(".")
        for part in outer:
            owner = getattr(owner, part)
        with pytest.raises(AttributeError, match=rf"cupy\.{name} is not in cutile_sim's stand-in"):
            getattr(owner, last)

    def test_method_is_named(self, cupy: ModuleType) -> None:
        with pytest.raises(AttributeError, match=r"cupy\.ndarray\.toDlpack is not in"):
            cupy.ones(1).toDlpack()

    def test_submodules_can_be_imported(self, cupy: ModuleType) -> None:
        import cupy.cuda.runtime as runtime
        from cupy.random import default_rng

        assert runtime is cupy.cuda.runtime
        assert default_rng is cupy.random.default_rng
        with pytest.raises(ImportError):
            import cupy.sparse
