"""Which launches are traced: one of one's own, those of a `with` block, or all of a process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING, Any

from cutile_sim.errors import CutileSimError, UsageError

if TYPE_CHECKING:
    from cutile_sim.engine.observer import Observer
    from cutile_sim.launch import LaunchResult
    from cutile_sim.tileir.core import Function
    from cutile_sim.traces.options import TraceOptions

_here: ContextVar[Tracer | None] = ContextVar("cutile_sim_tracer", default=None)
_everywhere: list[Tracer] = []


class Tracer:
    """Records launches into one file. Launches on several threads do not mix.

    `needs_names`: raise UsageError in a launch that lacks an array which the options name.
    """

    def __init__(
        self, to: str | os.PathLike[str] | IO[bytes], options: TraceOptions, *, needs_names: bool = False
    ) -> None:
        from cutile_sim.traces.writer import ArchiveWriter

        self.to = to
        self.options = options
        self.needs_names = needs_names
        self.archive = ArchiveWriter(to)

    def run(
        self, function: Function, launch: Callable[[Observer], LaunchResult], other: Observer | None = None
    ) -> LaunchResult:
        """Run a launch with an observer that records it, and beside it another."""
        from cutile_sim.engine.observer import Observers
        from cutile_sim.sanitize import Sanitizer
        from cutile_sim.traces.recorder import Recorder

        recorder = Recorder(self.archive, function, self.options, needs_names=self.needs_names)
        sanitizer = other if isinstance(other, Sanitizer) else None
        observers: list[Observer] = [recorder] if other is None else [recorder, other]
        if sanitizer is None and self.options.sanitize:
            sanitizer = Sanitizer()
            observers.append(sanitizer)
        started = time.perf_counter()
        printed = ""
        failure: BaseException | None = None
        try:
            result = launch(Observers(*observers) if len(observers) > 1 else recorder)
            printed = result.printed
            return result
        except BaseException as error:
            failure = error
            printed = error.printed if isinstance(error, CutileSimError) else ""
            raise
        finally:
            seconds = time.perf_counter() - started
            findings = () if sanitizer is None else sanitizer.findings_with(failure)
            recorder.close(printed=printed, error=failure, findings=findings, seconds=seconds)

    def close(self) -> None:
        """Complete the file, or remove it where no launch was recorded."""
        self.archive.close()
        if self.archive.is_empty and isinstance(self.to, (str, os.PathLike)):
            os.unlink(self.to)


def current() -> Tracer | None:
    """Who records launches here: the innermost `tracing` block of this thread, else the process's."""
    return _here.get() or (_everywhere[-1] if _everywhere else None)


@contextmanager
def tracing_everywhere(to: str | os.PathLike[str] | IO[bytes], options: TraceOptions) -> Iterator[Tracer]:
    """Record every launch of the process, on all threads, for the length of a `with` block."""
    tracer = Tracer(to, options)
    _everywhere.append(tracer)
    try:
        yield tracer
    finally:
        _everywhere.remove(tracer)
        tracer.close()


@contextmanager
def tracing_here(tracer: Tracer) -> Iterator[None]:
    """Record the launches of this thread, and of tasks that it starts, for the length of a `with` block."""
    token = _here.set(tracer)
    try:
        yield
    finally:
        _here.reset(token)
        tracer.close()


@contextmanager
def tracing(to: str | os.PathLike[str] | IO[bytes], **options: Any) -> Iterator[Tracer]:
    """Record the launches of a `with` block, or of a function that it decorates, into one file.

    with tracing("run.ctrace", values=True):
        simulate(kernel, grid, *args)       # or ct.launch, where launches are simulated

    Launches of this thread only (and of tasks it starts). Options are those of `TraceOptions`. A decorated function
    writes the file anew each time. Without a launch there is no file.

    Raises UsageError where the file cannot be written or an option makes no sense.
    """
    tracer = Tracer(to, options_of(options))
    with tracing_here(tracer):
        yield tracer


def options_of(given: dict[str, Any]) -> TraceOptions:
    """Options by name. Raises UsageError for an unknown one, and for what makes no sense."""
    from cutile_sim.traces.options import OPTION_NAMES, TraceOptions

    for name in given:
        if name not in OPTION_NAMES:
            raise UsageError(f"there is no option {name!r} of a trace; there are {', '.join(OPTION_NAMES)}")
    return TraceOptions(**given)
