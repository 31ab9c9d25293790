"""`ct.launch` on the CPU: the signature, the checks and the errors of the original, our engine behind them."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from cutile_sim.engine.context import Fill
from cutile_sim.engine.machine import Limits
from cutile_sim.engine.observer import Observer
from cutile_sim.errors import CutileSimError, InternalError, UsageError, UsageOverflowError, UsageTypeError
from cutile_sim.frontend.cutile import cuda_tile
from cutile_sim.frontend.export import prepare_launch
from cutile_sim.launch import GRID_LIMITS, LaunchResult, program_of
from cutile_sim.launch import launch as run_program
from cutile_sim.standin.arguments import device_arguments
from cutile_sim.traces.active import current as current_tracer

SIGNATURE = "launch(stream, grid, kernel, kernel_args, /, *, programmatic_dependent_launch=False)"
_MAX_DIMENSIONS = 3
_MAX_BLOCKS_PER_AXIS = 2**24 - 1
_UINT_MAX, _ULONG_MAX = 2**32 - 1, 2**64 - 1
# What tiles hold out of range of an array is undetermined, and zero is what programs written on a GPU have met most. A
# program is to run as it does there; `cutile_sim.simulate` is the one that shows what it must not rely on.
_FILL = Fill("zero")
_STREAM_HANDLES = ("cuda_stream", "ptr", "handle", "__cuda_stream__")

_warned: set[str] = set()
_watch: list[Callable[[], AbstractContextManager[Observer]]] = []


@contextmanager
def watched_by(observers: Callable[[], AbstractContextManager[Observer]]) -> Iterator[None]:
    """Let launches be watched: `observers()` is entered for each, and gives its observer."""
    _watch.append(observers)
    try:
        yield
    finally:
        _watch.remove(observers)


def launch(arch: str, args: tuple[Any, ...], kwargs: dict[str, Any], workers: int = 1) -> None:
    """Simulate `ct.launch(*args, **kwargs)` on a GPU of an architecture. Arrays are written in place.

    Wrong arguments raise what the original raises, in its order and words: TypeError, ValueError, OverflowError, and
    RuntimeError for an unknown keyword. Other errors are those of `cutile_sim.simulate`.
    """
    grid, kernel, kernel_args = check_arguments(SIGNATURE, args)
    for keyword, value in kwargs.items():
        if keyword != "programmatic_dependent_launch":
            raise RuntimeError(f"Unexpected keyword argument {keyword}")
        if not isinstance(value, bool):
            raise UsageTypeError(f"expected argument {keyword} to have type bool")
    run(kernel, grid, kernel_args, arch, workers=workers)


def run(
    kernel: Any,
    grid: tuple[int, int, int],
    kernel_args: tuple[Any, ...],
    arch: str,
    time_limit_s: float | None = None,
    workers: int = 1,
    *,
    is_trial: bool = False,
) -> None:
    """Compile a kernel for its arguments and run it over a grid. Printed text goes to standard output. A launch that
    is watched runs on one thread; a trial, whose arguments may hold anything, is not watched by `watched_by`.

    Raises what the front-end raises for the kernel and its arguments, RuntimeError and UsageError for a grid that the
    driver refuses, and CutileSimError for what happens while the kernel runs.
    """
    with device_arguments(kernel_args) as args:
        compiled, params = prepare_launch(kernel, args, arch=arch)
        _check_grid_limits(grid)
        try:
            tracer = current_tracer()
            watch = nullcontext if is_trial or not _watch else _watch[-1]
            program = program_of(
                compiled.module, compiled.entry, watched=watch is not nullcontext or tracer is not None
            )
            limits = Limits(seconds=time_limit_s)

            def run_it(observer: Observer | None) -> LaunchResult:
                return run_program(
                    program,
                    grid,
                    params,
                    fill=_FILL,
                    limits=limits,
                    observer=observer,
                    workers=1 if observer is not None else workers,
                )

            with watch() as observer:
                result = run_it(observer) if tracer is None else tracer.run(compiled.entry, run_it, observer)
        except CutileSimError as error:
            _print(error.printed)
            raise
        except MemoryError:
            raise
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(frame.filename).name}:{frame.lineno}, in {frame.name}"
            raise InternalError(
                f"{type(error).__name__}: {error} ({place}); this is a mistake of cutile_sim, please report it"
            ) from error
    _print(result.printed)
    for warning in result.warnings:
        warn_once(f"warning: {warning}")


def compile_only(kernel: Any, kernel_args: tuple[Any, ...], arch: str) -> None:
    """What `run` does before it runs, with the same errors for the kernel and its arguments."""
    with device_arguments(kernel_args) as args:
        compiled, _ = prepare_launch(kernel, args, arch=arch)
        program_of(compiled.module, compiled.entry)


def warn_once(text: str) -> None:
    """Say something on standard error, once in the life of the process."""
    if text not in _warned:
        _warned.add(text)
        print(f"cutile_sim: {text}", file=sys.stderr)


def check_arguments(signature: str, args: tuple[Any, ...]) -> tuple[tuple[int, int, int], Any, tuple[Any, ...]]:
    """Grid, kernel and kernel arguments of a launch. Raises what the original raises for wrong ones."""
    if len(args) != 4:
        raise UsageTypeError(f"Wrong number of arguments to {signature}")
    stream, grid, kernel, kernel_args = args
    _check_stream(stream)
    blocks = _parse_grid(grid)
    if not isinstance(kernel, cuda_tile().kernel):
        raise UsageTypeError(f"{signature} expects a tile kernel as the third argument, got {type(kernel).__name__}")
    if not isinstance(kernel_args, tuple):
        raise UsageTypeError(f"{signature} expects a tuple as the fourth argument, got {type(kernel_args).__name__}")
    return blocks, kernel, kernel_args


def _check_stream(stream: Any) -> None:
    """Any stream is as good as another here, but it must be one: what torch, CuPy and Numba have, or a raw pointer."""
    if stream is None:
        raise UsageTypeError("Stream is required, got None")
    if not isinstance(stream, int) and not any(hasattr(stream, handle) for handle in _STREAM_HANDLES):
        raise UsageTypeError(f"Unsupported stream type '{type(stream).__name__}'.")


def _parse_grid(grid: Any) -> tuple[int, int, int]:
    if not isinstance(grid, tuple):
        raise UsageTypeError("Grid must be a tuple")
    if len(grid) > _MAX_DIMENSIONS:
        raise UsageError(f"Grid dimensions must be at most {_MAX_DIMENSIONS}, got length {len(grid)}")
    blocks = [1] * _MAX_DIMENSIONS
    for axis, number in enumerate(grid):
        if not isinstance(number, int):
            raise UsageTypeError(f"an integer is required (Grid[{axis}] is {number!r})")
        if number < 0:
            raise UsageOverflowError(f"can't convert negative value to unsigned int (Grid[{axis}] is {number})")
        if number > _ULONG_MAX:
            raise UsageOverflowError(f"Python int too large to convert to C unsigned long (Grid[{axis}] is {number})")
        if number > _UINT_MAX:
            raise UsageError(f"Grid[{axis}] value too big: {number}")
        blocks[axis] = int(number)
    for axis, number in enumerate(blocks):
        if number > _MAX_BLOCKS_PER_AXIS:
            raise UsageError(
                f"Grid[{axis}] exceeds 24-bit limit: max={_MAX_BLOCKS_PER_AXIS}, got={number}. "
                "Use multiple kernel launches for larger workloads."
            )
    return blocks[0], blocks[1], blocks[2]


def _check_grid_limits(grid: tuple[int, int, int]) -> None:
    """What the driver refuses, after the kernel has been compiled."""
    for axis, (number, limit) in enumerate(zip(grid, GRID_LIMITS, strict=True)):
        if number > limit:
            raise UsageError(f"Grid[{axis}] is too big: max={limit}, got={number}")
    if 0 in grid:
        raise RuntimeError(
            f"Failed to launch cuTile kernel: CUDA_ERROR_INVALID_VALUE: invalid argument (the grid is {grid}:"
            " a launch needs at least one block along each axis)"
        )


def _print(text: str) -> None:
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()
