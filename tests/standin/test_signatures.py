"""Signatures from arguments, against the symbols that cuTile's own mangling makes of them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
compilation = pytest.importorskip("cuda.tile.compilation")
pytestmark = [pytest.mark.cutile, pytest.mark.usefixtures("installed")]

V1, V2 = compilation.CallingConvention.cutile_python_v1(), compilation.CallingConvention.cutile_python_v2()


def test_lengths_of_one_are_constants_since_the_second_convention(kernels: Any, device_array: Any) -> None:
    args = (device_array(np.zeros((1,))), device_array(np.zeros(16)), 16)
    make = compilation.KernelSignature.from_kernel_args
    first, second = make(kernels.increment, args, V1), make(kernels.increment, args, V2)
    assert [p.shape_constant for p in first.parameters[:2]] == [(None,), (None,)]
    assert [p.shape_constant for p in second.parameters[:2]] == [(1,), (None,)]
    assert (first.calling_convention.version, second.calling_convention.version) == (1, 2)


@pytest.mark.parametrize("convention", [V1, V2])
def test_the_symbol_is_mangled_unless_given(kernels: Any, device_array: Any, convention: Any) -> None:
    args = [device_array(np.zeros(16)), device_array(np.zeros(16)), 16]
    make = compilation.KernelSignature.from_kernel_args
    mangled = make(kernels.increment, args, convention)
    assert mangled == make(kernels.increment, args, convention, symbol="s").with_mangled_symbol("increment")
    assert mangled.symbol.startswith("increment")
    file = io.BytesIO()
    compilation.export_kernel(
        kernels.increment, [mangled], file, gpu_code="sm_90", output_format="tileir_bytecode", bytecode_version="13.3"
    )
    assert mangled.symbol.encode() in file.getvalue()


def test_host_arrays_and_other_conventions_are_refused(kernels: Any) -> None:
    args = (np.zeros(16), np.zeros(16), 16)
    with pytest.raises(ValueError, match="not on a CUDA device"):
        compilation.KernelSignature.from_kernel_args(kernels.increment, args, V2)
    with pytest.raises(TypeError, match="CallingConvention, not int"):
        compilation.KernelSignature.from_kernel_args(kernels.increment, args, 2)
