"""Names of `cuda.tile` that are not public and that a launch without a GPU has to stand in for. Nobody else uses any.

A program asks the driver in three places that have no public door: the compute capability that the front-end compiles
for and tests skip by, the time that `ct.tune` measures, and the grid limits. Each is looked up by name; one that a
release of cuda-tile does not have is left alone, and a line on standard error says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from cutile_sim.launch import GRID_LIMITS
from cutile_sim.standin.gpus import Gpu
from cutile_sim.standin.launches import check_arguments, run, warn_once
from cutile_sim.standin.rebind import Rebinder

_EXTENSION = "cuda.tile._cext"
_NOMINAL_US = 1.0
_BENCHMARK = "_benchmark(stream, grid, kernel, pyargs_tuples, /)"


def stand_in(rebinder: Rebinder, gpu: Callable[[], Gpu]) -> None:
    """Replace what asks the driver, in all modules that have imported it."""
    try:
        extension = importlib.import_module(_EXTENSION)
    except ImportError:
        extension = None
    pairs = []
    for name, replacement in _replacements(gpu).items():
        original = getattr(extension, name, None)
        if original is None:
            warn_once(f"this release of cuda-tile has no {_EXTENSION}.{name}: what needs it will look for a real GPU")
        else:
            pairs.append((original, replacement))
    rebinder.replace_all(pairs)


def _replacements(gpu: Callable[[], Gpu]) -> dict[str, Callable[..., Any]]:
    def get_compute_capability(device_id: int = 0, /) -> tuple[int, int]:
        _check_device(device_id)
        return gpu().major, gpu().minor

    def get_max_grid_size(device_id: int, /) -> tuple[int, int, int]:
        _check_device(device_id)
        return GRID_LIMITS

    def benchmark(*args: Any) -> float:
        return _benchmark(gpu().arch, args)

    return {
        "get_compute_capability": get_compute_capability,
        "_get_max_grid_size": get_max_grid_size,
        "_benchmark": benchmark,
        # Without a payload for another process, a timed benchmark falls back to the plain one.
        "_export_ipc_benchmark_payload": lambda *args: None,
        "_synchronize_context": lambda: None,
        "_create_stream": lambda: 1,
        "_destroy_stream": lambda stream, /: None,
    }


def _check_device(device_id: int) -> None:
    if device_id != 0:
        raise RuntimeError(f"invalid device ordinal {device_id} (1 device(s) present)")


def _benchmark(arch: str, args: tuple[Any, ...]) -> float:
    """One run of a configuration that is tuned. All take the same nominal time, so the first valid one is the best."""
    grid, kernel, kernel_args = check_arguments(_BENCHMARK, args)
    warn_once("ct.tune measures nothing here: each configuration runs, and the first valid one is taken")
    run(kernel, grid, kernel_args, arch)
    return _NOMINAL_US
