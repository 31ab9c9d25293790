"""Turning the stand-ins on and off: `install`, `uninstall` and `simulated_launches`."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

from cutile_sim.errors import UsageError
from cutile_sim.standin.frames import outside
from cutile_sim.standin.gpus import DEFAULT_ARCH, Gpu, gpu_of, real_gpu_present
from cutile_sim.standin.imports import after_import, disable_stand_ins, enable_stand_ins, forget
from cutile_sim.standin.rebind import Rebinder

VARIABLE, ARCH_VARIABLE = "CUTILE_SIM", "CUTILE_SIM_ARCH"
WORKERS_VARIABLE = "CUTILE_SIM_WORKERS"
ACTIVE_VARIABLE = "CUTILE_SIM_ACTIVE"
FORCE = "force"

_lock = threading.RLock()
_gpus: list[Gpu] = []
_undo: list[Callable[[], Any]] = []


def install(arch: str | None = None, *, force: bool = False) -> None:
    """Simulate `ct.launch` on the CPU from now on, in the whole process, and let torch and others do without a GPU.

    Installs nest: each `uninstall` takes the latest back, and the last one puts everything as it was. What has been
    imported by `from cuda.tile import launch` before is replaced in all loaded modules. Torch is not imported; its
    stand-in is put in place when the program imports it.

    Args:
        arch: The GPU to stand in for, such as "sm_90". None: the one that is stood in for already, else sm_90.
        force: Also where a real GPU is present.

    Raises:
        UsageError: There is no stand-in for that architecture, a real GPU is present and `force` is false, or
            CUTILE_SIM_WORKERS makes no sense.
    """
    workers()
    with _lock:
        gpu = gpu_of(arch) if arch is not None else _gpus[-1] if _gpus else gpu_of(DEFAULT_ARCH)
        if not _gpus:
            if not force and real_gpu_present():
                raise UsageError(
                    "this computer has a GPU, so kernels would run on it: to simulate them nevertheless, pass"
                    " force=True to install() or simulated_launches(), --force to cutile-sim exec,"
                    f" --cutile-sim-force to pytest, or set {VARIABLE}={FORCE}"
                )
            _gpus.append(gpu)
            try:
                _put_in_place()
            except BaseException:
                uninstall()
                raise
        else:
            _gpus.append(gpu)


def uninstall() -> None:
    """Take back the latest `install`. Raises UsageError where nothing is installed."""
    with _lock:
        if not _gpus:
            raise UsageError("uninstall() without install(): launches are not simulated")
        _gpus.pop()
        if not _gpus:
            while _undo:
                _undo.pop()()


@contextmanager
def simulated_launches(arch: str | None = None, *, force: bool = False) -> Iterator[None]:
    """`install` for the length of a `with` block. Arguments and errors as there."""
    install(arch, force=force)
    try:
        yield
    finally:
        uninstall()


def pass_on(*, force: bool = False) -> Callable[[], None]:
    """Let processes that this one starts simulate launches too; the result takes that back."""
    before = {name: os.environ.get(name) for name in (VARIABLE, ARCH_VARIABLE)}
    os.environ[VARIABLE] = FORCE if force else "1"
    os.environ[ARCH_VARIABLE] = current_gpu().arch

    def restore() -> None:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

    return restore


def current_gpu() -> Gpu:
    """The GPU that is stood in for."""
    return _gpus[-1]


def workers() -> int:
    """How many threads share the blocks of a launch: what CUTILE_SIM_WORKERS says, one without it.

    Raises UsageError where it says no number.
    """
    text = os.environ.get(WORKERS_VARIABLE) or "1"
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise UsageError(f"{WORKERS_VARIABLE} is {text!r}: write how many threads share a launch, such as 2")
    return int(text)


def is_installed() -> bool:
    """Whether launches are simulated."""
    return bool(_gpus)


def _put_in_place() -> None:
    os.environ[ACTIVE_VARIABLE] = "1"
    _undo.append(lambda: os.environ.pop(ACTIVE_VARIABLE, None))
    for module_name, action in (
        ("cuda.tile", _stand_in_for_cutile),
        ("torch", _stand_in_for_torch),
        ("numba.cuda", _stand_in_for_numba),
    ):
        _undo.append(partial(forget, module_name, action))
        after_import(module_name, action)
    _undo.append(disable_stand_ins)
    rebinder = Rebinder()
    _undo.append(rebinder.restore)
    enable_stand_ins(rebinder)


def _stand_in_for_cutile(cutile: ModuleType) -> None:
    from cutile_sim.standin import cutile_private, launches, signatures

    compilation = importlib.import_module("cuda.tile.compilation")
    importlib.import_module("cuda.tile.tune")
    rebinder = Rebinder()
    _undo.append(rebinder.restore)
    original = cutile.launch

    def launch(*args: Any, **kwargs: Any) -> None:
        """launch(stream, grid, kernel, kernel_args, /, *, programmatic_dependent_launch=False)

        Simulated on the CPU by cutile_sim.
        """
        __tracebackhide__ = True
        if not _gpus:  # kept by the program where uninstall does not reach
            return original(*args, **kwargs)
        launches.warn_once(f"launches are simulated on the CPU ({current_gpu().arch})")
        try:
            launches.launch(current_gpu().arch, args, kwargs, workers())
        except Exception as error:
            # What matters is the line of the launch, and that of the kernel, which the text names.
            raise error.with_traceback(outside(error.__traceback__))  # noqa: B904 - the same error

    launch.__module__ = original.__module__
    launch.__qualname__ = "launch"
    rebinder.replace(original, launch)
    rebinder.set_attribute(compilation.KernelSignature, "from_kernel_args", staticmethod(signatures.from_kernel_args))
    cutile_private.stand_in(rebinder, current_gpu)


def _stand_in_for_torch(torch: ModuleType) -> None:
    from cutile_sim.standin import torch_cuda, torch_files, torch_tensors
    from cutile_sim.standin.threads import at_thread_start, in_running_threads

    rebinder = torch_cuda.install(current_gpu)
    _undo.append(torch_files.stand_in(rebinder))
    at_thread_start(rebinder, torch_tensors.enter_thread, torch_tensors.leave_thread)
    in_running_threads(torch_tensors.enter_thread)
    _undo.append(rebinder.restore)
    _undo.append(torch_tensors.disable)


def _stand_in_for_numba(numba_cuda: ModuleType) -> None:
    from cutile_sim.standin import numba_cuda as device_arrays

    rebinder = Rebinder()
    _undo.append(rebinder.restore)
    device_arrays.stand_in(rebinder, numba_cuda)
