"""From a kernel and its arguments to Tile IR: cuTile's own compiler front-end, asked for bytecode, and remembered."""

from __future__ import annotations

import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from cutile_sim.errors import UsageError
from cutile_sim.frontend.annotations import KernelParameters, kernel_parameters
from cutile_sim.frontend.binding import Description, bind
from cutile_sim.frontend.cutile import cuda_tile
from cutile_sim.frontend.likeness import Remembered, likeness_of, with_arrays, without_arrays
from cutile_sim.frontend.params import LaunchParam
from cutile_sim.frontend.signature import build_signature, flat_names

if TYPE_CHECKING:
    from cutile_sim.tileir.core import Function, Module

# The versions our decoder knows, newest first.
BYTECODE_VERSIONS = ("13.4", "13.3", "13.2", "13.1")
# Bytecode for no particular GPU exists since this version.
_FIRST_WITHOUT_ARCH = "13.3"
_DEFAULT_ARCH = "sm_100"


@dataclass(frozen=True, eq=False)
class CompiledKernel:
    """A kernel compiled to Tile IR for one signature.

    Attributes:
        bytecode: The file's content.
        symbol: Name of the entry function: that of the kernel's Python function.
        signature: The `cuda.tile.compilation.KernelSignature` it was compiled for.
        arch: The GPU it was compiled for, such as `sm_90`; None for any.
        bytecode_version: Such as `13.4`.
        parameter_names: What each parameter of the entry function is, such as `x.shape[0]`.
    """

    bytecode: bytes
    symbol: str
    signature: Any
    arch: str | None
    bytecode_version: str
    parameter_names: tuple[str, ...]

    @cached_property
    def module(self) -> Module:
        """The decoded bytecode."""
        from cutile_sim.tileir.decode import decode

        return decode(self.bytecode)

    @cached_property
    def entry(self) -> Function:
        """The kernel's entry function in `module`."""
        return next(function for function in self.module.functions if function.name == self.symbol)


MOST_REMEMBERED = 64
"""Launches of a kernel whose arguments were not alike."""


class _Launched(NamedTuple):
    """What came of the arguments of a launch, for the next one whose arguments are alike."""

    compiled: CompiledKernel
    params: list[Remembered]


@dataclass(eq=False)
class _KernelState:
    """What is known of one kernel object. It does not refer to the kernel, so that it goes when the kernel goes."""

    parameters: KernelParameters
    compiled: dict[tuple[Any, ...], CompiledKernel] = field(default_factory=dict)
    launched: dict[tuple[Any, ...], _Launched] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_states: WeakKeyDictionary[Any, _KernelState] = WeakKeyDictionary()
_states_lock = threading.Lock()


def prepare_launch(
    kernel: Any, args: Sequence[Any], *, arch: str | None = None, bytecode_version: str | None = None
) -> tuple[CompiledKernel, list[LaunchParam]]:
    """Compile a kernel for its arguments, or find it compiled, and lay out the flat parameters of the launch.

    Args:
        kernel: A function decorated with `@cuda.tile.kernel`.
        args: The arguments, as for `ct.launch`, with arrays on the CPU.
        arch: The GPU whose limits the front-end applies, such as `sm_90`; None for none.
        bytecode_version: Such as `13.3`; None for the newest that cuTile writes and we read.

    Raises:
        UsageError: And its subclasses, for arguments that do not fit the kernel.
        cuda.tile.TileError: For a kernel that does not compile; `explain` renders it.
    """
    state = _state(kernel)
    likeness = likeness_of(args)
    before = state.launched.get((likeness, arch, bytecode_version)) if likeness is not None else None
    if before is not None:
        return before.compiled, with_arrays(before.params, args)
    descriptions, params = bind(args, state.parameters)
    key = (descriptions, arch, bytecode_version)
    compiled = state.compiled.get(key)
    if compiled is None:
        with state.lock:
            compiled = state.compiled.get(key)
            if compiled is None:
                compiled = _compile(kernel, state.parameters, descriptions, arch, bytecode_version)
                state.compiled[key] = compiled
    if likeness is not None:
        if len(state.launched) >= MOST_REMEMBERED:
            state.launched.clear()
        state.launched[likeness, arch, bytecode_version] = _Launched(compiled, without_arrays(params, args))
    return compiled, params


def compile_kernel(
    kernel: Any, args: Sequence[Any], *, arch: str | None = None, bytecode_version: str | None = None
) -> CompiledKernel:
    """Compile a kernel for the signature its arguments call for. Arguments and errors as in `prepare_launch`."""
    return prepare_launch(kernel, args, arch=arch, bytecode_version=bytecode_version)[0]


def launch_params(kernel: Any, args: Sequence[Any]) -> list[LaunchParam]:
    """The flat parameters of a launch, without compiling. Raises UsageError and its subclasses."""
    return bind(args, _state(kernel).parameters).params


def export_signature(
    kernel: Any, signature: Any, *, arch: str | None = None, bytecode_version: str | None = None
) -> tuple[bytes, str]:
    """Bytecode of a kernel for a `KernelSignature`, and its version. Raises cuTile's own errors, or UsageError."""
    if bytecode_version is not None and bytecode_version not in BYTECODE_VERSIONS:
        raise UsageError(
            f"bytecode version {bytecode_version} is unknown: possible are {', '.join(reversed(BYTECODE_VERSIONS))}"
        )
    if arch is not None and not (arch.startswith("sm_") and arch[3:].isdigit()):
        raise UsageError(f"{arch!r} is not the name of a GPU architecture: write it like sm_90")
    versions = BYTECODE_VERSIONS if bytecode_version is None else (bytecode_version,)
    for version in versions:
        gpu_code = _DEFAULT_ARCH if arch is None and version < _FIRST_WITHOUT_ARCH else arch
        file = io.BytesIO()
        try:
            cuda_tile().compilation.export_kernel(
                kernel,
                [signature],
                file,
                gpu_code=gpu_code,
                output_format="tileir_bytecode",
                bytecode_version=version,
            )
        except ValueError as error:
            if "Unsupported bytecode version" in str(error) and version != versions[-1]:
                continue
            raise
        return file.getvalue(), version
    raise AssertionError("the last version either exports or raises")


def _state(kernel: Any) -> _KernelState:
    try:
        state = _states.get(kernel)
    except TypeError:  # what cannot be weakly referenced or hashed is no kernel; kernel_parameters says so
        state = None
    if state is None:
        parameters = kernel_parameters(kernel)
        with _states_lock:
            state = _states.setdefault(kernel, _KernelState(parameters))
    return state


def _compile(
    kernel: Any,
    parameters: KernelParameters,
    descriptions: tuple[Description, ...],
    arch: str | None,
    bytecode_version: str | None,
) -> CompiledKernel:
    signature = build_signature(descriptions, parameters.function_name)
    bytecode, version = export_signature(kernel, signature, arch=arch, bytecode_version=bytecode_version)
    return CompiledKernel(
        bytecode, parameters.function_name, signature, arch, version, flat_names(parameters, descriptions)
    )
