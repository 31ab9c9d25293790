"""The front-end: kernels and arguments in, Tile IR and flat launch parameters out. Imports `cuda.tile` when needed."""

from cutile_sim.frontend.arrays import ArrayArg
from cutile_sim.frontend.diagnostics import explain
from cutile_sim.frontend.export import CompiledKernel, compile_kernel, launch_params, prepare_launch
from cutile_sim.frontend.loadfile import KernelFile, load_file, load_kernels, select, select_kernel
from cutile_sim.frontend.params import LaunchParam, ListBuffer, PointerParam, ScalarParam
from cutile_sim.frontend.signature import infer_signature

__all__ = [
    "ArrayArg",
    "CompiledKernel",
    "KernelFile",
    "LaunchParam",
    "ListBuffer",
    "PointerParam",
    "ScalarParam",
    "compile_kernel",
    "explain",
    "infer_signature",
    "launch_params",
    "load_file",
    "load_kernels",
    "prepare_launch",
    "select",
    "select_kernel",
]
