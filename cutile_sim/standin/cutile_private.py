"""Names of `cuda.tile` that are not public and that a launch without a GPU has to stand in for. Nobody else uses any.

A program asks the driver in three places that have no public door: the compute capability that the front-end compiles
for and tests skip by, the time that `ct.tune` measures, and the grid limits. Each is looked up by name; one that a
release of cuda-tile does not have is left alone, and a line on standard error says so.
"""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

from cutile_sim.errors import BudgetExceededError
from cutile_sim.frontend.cutile import annotated_function
from cutile_sim.launch import GRID_LIMITS
from cutile_sim.standin.gpus import Gpu
from cutile_sim.standin.launches import check_arguments, compile_only, run, warn_once
from cutile_sim.standin.rebind import Rebinder

_EXTENSION = "cuda.tile._cext"
_TUNING = "cuda.tile.tune._tune_utils"
_NOMINAL_US = 1.0
_LEAST_TIMEOUT_S = 60.0
_BENCHMARK = "_benchmark(stream, grid, kernel, pyargs_tuples, flush_l2=True, /)"

_ENOUGH_S = 5.0

_tuned: weakref.WeakSet[Any] = weakref.WeakSet()
_seconds_of: weakref.WeakKeyDictionary[Any, float] = weakref.WeakKeyDictionary()


def stand_in(rebinder: Rebinder, gpu: Callable[[], Gpu]) -> None:
    """Replace what asks the driver, in all modules that have imported it."""
    pairs = []
    for module_name, replacements in ((_EXTENSION, _of_extension(gpu)), (_TUNING, _of_tuning(gpu))):
        module = sys.modules.get(module_name)
        for name, replacement in replacements.items():
            original = getattr(module, name, None)
            if original is None:
                warn_once(f"this cuda-tile has no {module_name}.{name}: what needs it will ask for a real GPU")
            else:
                pairs.append((original, replacement))
    rebinder.replace_all(pairs)


def _of_extension(gpu: Callable[[], Gpu]) -> dict[str, Callable[..., Any]]:
    def get_compute_capability(device_id: int = 0, /) -> tuple[int, int]:
        _check_device(device_id)
        return gpu().major, gpu().minor

    def get_max_grid_size(device_id: int, /) -> tuple[int, int, int]:
        _check_device(device_id)
        return GRID_LIMITS

    return {
        "get_compute_capability": get_compute_capability,
        "_get_max_grid_size": get_max_grid_size,
        "_benchmark": lambda *args: _benchmark(gpu().arch, args),
        "_synchronize_context": lambda: None,
        "_create_stream": lambda: 1,
        "_destroy_stream": lambda stream, /: None,
    }


def _of_tuning(gpu: Callable[[], Gpu]) -> dict[str, Callable[..., Any]]:
    timeout_error = getattr(sys.modules.get(_TUNING), "TileLaunchTimeoutError", RuntimeError)
    return {"benchmark_with_timeout": lambda *args: _benchmark_with_timeout(gpu().arch, args, timeout_error)}


def _check_device(device_id: int) -> None:
    if device_id != 0:
        raise RuntimeError(f"invalid device ordinal {device_id} (1 device(s) present)")


def _benchmark(arch: str, args: tuple[Any, ...], time_limit_s: float | None = None) -> float:
    """A measurement of `ct.tune`, which makes a kernel object for each configuration and measures it many times.

    A configuration runs once, the first time. All take the same nominal time, so the first valid one is the best. Once
    the configurations of a kernel function have run for long enough, further ones are only compiled.
    """
    grid, kernel, kernel_args = check_arguments(_BENCHMARK, args[:4] if len(args) == 5 else args)
    warn_once("ct.tune measures nothing here: each configuration runs once, and the first valid one is taken")
    if kernel not in _tuned:
        function = annotated_function(kernel).pyfunc
        if _seconds_of.get(function, 0.0) > _ENOUGH_S:
            compile_only(kernel, kernel_args, arch)
        else:
            start_s = time.perf_counter()
            run(kernel, grid, kernel_args, arch, time_limit_s, is_trial=True)
            _seconds_of[function] = _seconds_of.get(function, 0.0) + time.perf_counter() - start_s
        _tuned.add(kernel)
    return _NOMINAL_US


def _benchmark_with_timeout(arch: str, args: tuple[Any, ...], timeout_error: type[Exception]) -> tuple[float, None]:
    """The same with a limit of time, which `ct.tune` sets against configurations that hang: here it has its floor."""
    *launch, timeout_s = args[:5]
    limit_s = max(float(timeout_s), _LEAST_TIMEOUT_S)
    try:
        return _benchmark(arch, tuple(launch), limit_s), None
    except BudgetExceededError as error:
        raise timeout_error(f"CUDA kernel launch exceeded timeout {timeout_s} sec ({error})") from None
