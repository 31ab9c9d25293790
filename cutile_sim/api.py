"""The functions people call: run a kernel, check a kernel."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from cutile_sim.engine.context import Fill
from cutile_sim.engine.machine import Limits
from cutile_sim.engine.observer import Observer, Observers
from cutile_sim.errors import CutileSimError, UsageError
from cutile_sim.frontend.export import prepare_launch
from cutile_sim.launch import LaunchResult, check_grid, launch, program_of
from cutile_sim.tileir.core import Function, Module
from cutile_sim.tileir.decode import decode
from cutile_sim.traces.active import current as current_tracer

if TYPE_CHECKING:
    from cutile_sim.debugger import Session, Stop, Subject
    from cutile_sim.frontend.params import LaunchParam
    from cutile_sim.sanitize import SanitizeOptions, Sanitizer

_FILLS = {pattern: Fill(pattern) for pattern in ("sentinel", "zero", "ones")}
FILLS = tuple(_FILLS)


def load(path: str | os.PathLike[str]) -> Module:
    """Decode a `.tileirbc` file.

    Raises UsageError where the file cannot be read, DecodeError where it is damaged or newer than this release.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from None
    return decode(data)


def entry_of(module: Module, name: str | None = None) -> Function:
    """The module's kernel, or the one of that name. Raises UsageError where there is none, or several and no name."""
    entries = [f for f in module.functions if f.is_entry]
    if name is not None:
        for function in entries:
            if function.name == name:
                return function
        raise UsageError(f"the module has no kernel {name!r}; it has {', '.join(f.name for f in entries) or 'none'}")
    if len(entries) != 1:
        raise UsageError(
            f"the module has {len(entries)} kernels"
            + (f": name one of {', '.join(f.name for f in entries)}" if entries else "")
        )
    return entries[0]


def _fill(undetermined: str) -> Fill:
    if undetermined not in FILLS:
        raise UsageError(f"undetermined must be one of {', '.join(FILLS)}, not {undetermined!r}")
    return _FILLS[undetermined]


def _check_positive(option: str, number: float | None) -> None:
    if number is not None and not (isinstance(number, (int, float)) and number > 0):
        raise UsageError(f"{option} must be more than 0, not {number!r}")


def _check_count(option: str, number: Any) -> None:
    if not isinstance(number, (int, np.integer)) or number < 1:
        raise UsageError(f"{option} must be a whole number from 1 on, not {number!r}")


def _plain_numbers(args: Sequence[Any]) -> tuple[tuple[Any, ...], list[str]]:
    """Arguments with NumPy scalars as Python numbers, and a warning for each: `ct.launch` takes none but float64."""
    if not [a for a in args if isinstance(a, np.generic)]:
        return tuple(args), []
    warnings = [
        f"argument {i} is a NumPy {a.dtype}, taken as a Python number: ct.launch would refuse it, pass {a.item()!r}"
        for i, a in enumerate(args)
        if isinstance(a, np.generic) and not isinstance(a, float)
    ]
    return tuple(a.item() if isinstance(a, np.generic) else a for a in args), warnings


def _sanitizer(sanitize: bool | SanitizeOptions, observer: Observer | None) -> Sanitizer | None:
    if not sanitize:
        return None
    if observer is not None:
        raise UsageError("a launch has one observer: pass sanitize= or observer=, not both")
    from cutile_sim.sanitize import Sanitizer

    return Sanitizer(None if sanitize is True else sanitize)


class _Prepared(NamedTuple):
    """A kernel ready to run. Bytecode does not say what its flat parameters are called."""

    module: Module
    function: Function
    params: list[LaunchParam]
    flat_names: tuple[str, ...]


def _prepare(kernel: Any, args: Sequence[Any], arch: str | None, bytecode_version: str | None) -> _Prepared:
    """Compile a kernel for its arguments, or bind them to its bytecode."""
    if isinstance(kernel, Module):
        from cutile_sim.frontend.bytecode import bind_entry

        function = entry_of(kernel)
        return _Prepared(kernel, function, bind_entry(function, args), ())
    compiled, params = prepare_launch(kernel, args, arch=arch, bytecode_version=bytecode_version)
    return _Prepared(compiled.module, compiled.entry, params, compiled.parameter_names)


def _subject(kernel: Any, ready: _Prepared, args: Sequence[Any], grid: tuple[int, int, int]) -> Subject:
    from cutile_sim.debugger import make_subject
    from cutile_sim.frontend.annotations import kernel_parameters

    names = None if isinstance(kernel, Module) else kernel_parameters(kernel).names
    return make_subject(ready.function, ready.params, grid, names, args, ready.flat_names)


def simulate(
    kernel: Any,
    grid: Any,
    *args: Any,
    arch: str | None = None,
    bytecode_version: str | None = None,
    undetermined: str = "sentinel",
    step_limit: int = Limits.steps,
    time_limit: float | None = None,
    batch_blocks: int | None = None,
    workers: int = 1,
    executor: Any = None,
    echo: bool | TextIO = True,
    progress: Callable[[int], None] | None = None,
    observer: Observer | None = None,
    sanitize: bool | SanitizeOptions = False,
    break_at: int | str | Sequence[int | str] | None = None,
    break_blocks: Any = (0, 0, 0),
) -> LaunchResult:
    """Run a kernel over a grid on the CPU, as `ct.launch` would on a GPU: arrays are written in place.

    Args:
        kernel: A `@ct.kernel`, or bytecode decoded by `load`.
        grid: Blocks along x, y, z: an integer or a tuple of up to three.
        args: What the kernel takes: NumPy arrays, CPU tensors, or anything with `__array_interface__` or DLPack;
            numbers (NumPy scalars with a warning: `ct.launch` takes none);
            constants; tuples; lists of arrays. For bytecode an array stands for its pointer, shape and strides.
        arch: The GPU to compile for, such as "sm_90", so that the front-end's rules for it apply. None: any GPU.
        bytecode_version: Such as "13.3". None: the newest that both sides know.
        undetermined: What lanes hold that the program leaves undetermined: "sentinel" (NaN, and 0x5a bytes in
            integers), "zero" or "ones".
        step_limit: Instructions after which a launch is taken to be endless.
        time_limit: Seconds after which the launch is stopped. None: never.
        batch_blocks: About how many blocks to run in step; the result does not depend on it. None: as many as fit the
            cache.
        workers: How many threads share the batches; the result does not depend on it. It takes effect where blocks may
            run in any order; else a warning in the result says why they may not.
        executor: Runs the launch in `workers` parts on other processes or machines, where its blocks may run in any
            order: a `concurrent.futures` executor or a Dask client. Each part gets a copy of the arrays.
        echo: Where the kernel's printed text goes: True is standard output, False nowhere.
        progress: Called with the number of finished blocks after each batch.
        observer: Sees every operation and access (`cutile_sim.engine.observer.Observer`); such a launch is slower.
        sanitize: Look for mistakes that a GPU hides, and note them in `findings` of the result, or of the error that
            stops the launch. True for all checks, or the options to choose by. Leaves no room for another observer.
        break_at: A line of the kernel's file, `"FILE:LINE"`, or a list of them: what the kernel's variables hold each
            time a block comes to one is noted in `stops` of the result, or of the error that stops the launch.
        break_blocks: The block whose stops are noted, such as (1, 2), or a list of blocks.

    Returns:
        What the launch printed, did and counted.

    Raises:
        UsageError: The arguments or the grid make no sense.
        VerifyError: The real compiler would refuse the kernel.
        KernelError: The kernel did something wrong: out of bounds, misaligned, a failed assertion, an endless loop.
        UnsupportedError: The kernel needs something that one simulated GPU cannot give.
        cuda.tile.TileError: cuTile's own front-end refused the kernel.
    """
    blocks = check_grid(grid)
    fill = _fill(undetermined)
    _check_positive("step_limit", step_limit)
    _check_positive("time_limit", time_limit)
    _check_positive("batch_blocks", batch_blocks)
    _check_count("workers", workers)
    tracer = current_tracer()
    watched = observer is not None or sanitize or break_at is not None
    if executor is not None and (watched or progress is not None or tracer is not None):
        raise UsageError(
            "a launch on an executor cannot be watched: leave out observer, sanitize, progress, break_at and traces"
        )
    if executor is None and workers > 1 and watched:
        raise UsageError(
            "a launch that is watched runs on one thread: leave out workers, or observer, sanitize and break_at"
        )
    args, warnings = _plain_numbers(args)
    sanitizer = _sanitizer(sanitize, observer)
    observer = sanitizer or observer
    ready = _prepare(kernel, args, arch, bytecode_version)
    module, function, params = ready.module, ready.function, ready.params
    stops: list[Stop] = []
    if break_at is not None:
        from cutile_sim.debugger import recorders

        recording = recorders(_subject(kernel, ready, args, blocks), break_at, break_blocks, stops)
        observer = Observers(*([] if observer is None else [observer]), *recording)
    stream = sys.stdout if echo is True else echo
    limits = Limits(step_limit, time_limit)
    try:
        if executor is not None:
            from cutile_sim.shards import launch_on

            result = launch_on(
                executor,
                int(workers),
                module,
                function,
                blocks,
                params,
                fill=fill,
                limits=limits,
                batch_blocks=batch_blocks,
            )
        else:
            in_order = observer is not None and observer.in_order
            program = program_of(
                module, function, watched=observer is not None or tracer is not None, in_order=in_order
            )

            def run(watcher: Observer | None) -> LaunchResult:
                return launch(
                    program,
                    blocks,
                    params,
                    fill=fill,
                    limits=limits,
                    batch_blocks=batch_blocks,
                    workers=1 if watcher is not None else int(workers),
                    progress=progress,
                    observer=watcher,
                )

            result = run(observer) if tracer is None else tracer.run(function, run, observer)
    except CutileSimError as error:
        if stream and error.printed:
            stream.write(error.printed)
        if sanitizer is not None:
            error.findings = sanitizer.findings_with(error)
        error.stops = tuple(stops)
        raise
    if stream and result.printed:
        stream.write(result.printed)
    if sanitizer is not None:
        result.findings = sanitizer.findings
    result.warnings = (*warnings, *result.warnings)
    result.stops = tuple(stops)
    return result


def debug(
    kernel: Any,
    grid: Any,
    *args: Any,
    block: Any = (0, 0, 0),
    sanitize: bool | SanitizeOptions = False,
    **options: Any,
) -> Session:
    """Run a kernel step by step: the launch stops at each line of one block that it is asked to stop at.

    with debug(kernel, grid, *args, block=(1, 2)) as session:
        session.break_at("matmul.py:23", "k == 3")
        session.cont()
        session.print("acc[0:4, :2]")

    Args:
        kernel, grid, args: As for `simulate`.
        block: The block to look at. All blocks run, in the order and in the batches of a plain launch.
        sanitize: As for `simulate`: `Session.run_to_finding` then stops at what is found.
        options: What else `simulate` takes, but `observer`, `executor`, `workers`, `break_at` and `time_limit`: the
            launch waits at each stop.

    Returns:
        The session; entering it starts the launch. Leaving it lets the launch run to its end.

    Raises:
        UsageError: The arguments, the grid, the block or an option make no sense.
        VerifyError, UnsupportedError, cuda.tile.TileError: As for `simulate`. What the kernel does wrong is raised by
            the command of the session that runs into it.
    """
    from cutile_sim.debugger import Session

    for name in ("observer", "executor", "workers", "break_at", "break_blocks", "time_limit"):
        if options.get(name) is not None:
            raise UsageError(f"a launch that is debugged takes no {name}")
    blocks = check_grid(grid)
    args, _ = _plain_numbers(args)
    ready = _prepare(kernel, args, options.get("arch"), options.get("bytecode_version"))
    sanitizer = _sanitizer(sanitize, None)

    def run(watcher: Observer) -> LaunchResult:
        try:
            result = simulate(kernel, blocks, *args, observer=watcher, **options)
        except CutileSimError as error:
            if sanitizer is not None:
                error.findings = sanitizer.findings_with(error)
            raise
        if sanitizer is not None:
            result.findings = sanitizer.findings
        return result

    return Session(_subject(kernel, ready, args, blocks), run, block, sanitizer)
