"""Compiling to bytecode: what comes out, which flat parameter is which, and what is remembered."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from cutile_sim.errors import UsageError
from cutile_sim.frontend import compile_kernel, explain, launch_params, prepare_launch
from cutile_sim.frontend.export import BYTECODE_VERSIONS
from cutile_sim.frontend.params import ListBuffer, PointerParam
from cutile_sim.tileir.types import PointerType, TileType

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")


def arguments(size=16):
    x = np.zeros(64, np.float32)
    return (x, [x, x[16:]], (np.zeros((4, 64), np.float32), True), 1.5, 3, size)


def test_importing_the_front_end_imports_no_cuda_tile():
    code = "import sys, cutile_sim.frontend; sys.exit('cuda.tile' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_flat_parameters_are_those_of_the_entry_function(kernels):
    compiled, params = prepare_launch(kernels.add, arguments())
    assert compiled.parameter_names == (
        "x", "x.shape[0]", "x.strides[0]", "items", "len(items)",
        "pair[0]", "pair[0].shape[0]", "pair[0].shape[1]", "pair[0].strides[0]", "pair[0].strides[1]", "pair[1]",
        "scale", "n",
    )  # fmt: skip
    types = [value.type for value in compiled.entry.parameters]
    assert len(types) == len(params) == len(compiled.parameter_names)
    for type_, param in zip(types, params, strict=True):
        assert isinstance(type_, TileType) and type_.shape == ()
        if isinstance(param, PointerParam):
            assert type_.element == PointerType(param.array.element)
        elif isinstance(param, ListBuffer):
            assert str(type_.element) == "ptr<i64>"
        else:
            assert type_.element is param.element


def test_compiled_kernel(kernels):
    compiled = compile_kernel(kernels.add, arguments())
    assert (compiled.symbol, compiled.entry.name, compiled.arch) == ("add", "add", None)
    assert compiled.bytecode_version == BYTECODE_VERSIONS[0] and compiled.module.version == (13, 4)
    assert isinstance(compiled.bytecode, bytes)


@pytest.mark.parametrize("version", BYTECODE_VERSIONS)
@pytest.mark.parametrize("arch", [None, "sm_80", "sm_90", "sm_120"])
def test_versions_and_architectures(kernels, version, arch):
    compiled = compile_kernel(kernels.add, arguments(), arch=arch, bytecode_version=version)
    assert compiled.module.version == tuple(int(part) for part in version.split("."))
    assert compiled.arch == arch


def test_limits_of_a_gpu_are_those_of_cutile(kernels):
    args = (np.zeros(16, np.float32),)
    compile_kernel(kernels.needs_newer_gpu, args, arch="sm_90")
    with pytest.raises(ct.TileUnsupportedFeatureError, match="float8_e4m3fn"):
        compile_kernel(kernels.needs_newer_gpu, args, arch="sm_80")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"arch": "hopper"}, "'hopper' is not the name of a GPU architecture: write it like sm_90"),
        ({"bytecode_version": "13.9"}, "bytecode version 13.9 is unknown: possible are 13.1, 13.2, 13.3, 13.4"),
    ],
)
def test_unknown_targets(kernels, options, text):
    with pytest.raises(UsageError, match=text):
        compile_kernel(kernels.add, arguments(), **options)


def test_compile_errors_are_cutile_s_own(kernels):
    with pytest.raises(ct.TileTypeError, match="no_such_attribute") as raised:
        compile_kernel(kernels.broken, (np.zeros(4, np.float32),))
    assert explain(raised.value)


def test_annotations_that_exclude_each_other():
    @ct.kernel
    def confused(x: ct.Constant[ct.ScalarInt64]):
        pass

    with pytest.raises(TypeError, match="Constant annotation cannot be combined with ScalarAnnotation"):
        compile_kernel(confused, (1,))


def test_same_kinds_of_arguments_compile_once(kernels):
    compiled = compile_kernel(kernels.add, arguments())
    other = np.ones(128, np.float32)
    again = (other, [other] * 3, (np.ones((8, 64), np.float32), False), 2.5, -7, 16)
    assert compile_kernel(kernels.add, again) is compiled


@pytest.mark.parametrize(
    "change",
    [
        lambda a: (np.zeros(64, np.float64), *a[1:]),
        lambda a: (np.zeros(63, np.float32), *a[1:]),
        lambda a: (np.zeros(65, np.float32)[1:], *a[1:]),
        lambda a: (np.zeros(128, np.float32)[::2], *a[1:]),
        lambda a: (*a[:3], 2, *a[4:]),
        lambda a: (*a[:5], 8),
    ],
    ids=["element type", "length", "address", "stride", "scalar type", "constant"],
)
def test_other_kinds_of_arguments_compile_again(kernels, change):
    args = arguments()
    assert compile_kernel(kernels.add, change(args)) is not compile_kernel(kernels.add, args)


def test_constants_of_other_types_compile_again(kernels):
    values = (1, True, 1.0, 0.0, -0.0, float("nan"))
    compiled = [compile_kernel(kernels.constant, (value,)) for value in values]
    assert len(set(compiled)) == len(values)
    assert compile_kernel(kernels.constant, (float("nan"),)) is compiled[-1]


def test_a_kernel_is_not_kept_alive():
    def function(x):
        pass

    kernel = ct.kernel(function)
    compile_kernel(kernel, (1,))
    reference = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert reference() is None


def test_threads_share_one_compilation(kernels):
    args = arguments(4)
    results: list[object] = []
    threads = [threading.Thread(target=lambda: results.append(compile_kernel(kernels.add, args))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 and len(set(results)) == 1


def test_a_second_launch_is_cheap(kernels):
    args = (*[np.zeros((64, 64), np.float32) for _ in range(2)],)
    prepare_launch(kernels.two, args)
    best_seconds = min(_seconds(lambda: prepare_launch(kernels.two, args)) for _ in range(200))
    # Usually 8 microseconds; the bound only tells a lookup from building a signature.
    assert best_seconds < 100e-6


def _seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def test_launch_params_do_not_compile(kernels):
    assert len(launch_params(kernels.broken, (np.zeros(4, np.float32),))) == 3
