"""What exports of traces to other formats share."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from cutile_sim.errors import UsageError
from cutile_sim.tileir.core import Location
from cutile_sim.traces.reader import LaunchTrace, Trace


def chosen_launches(trace: Trace, numbers: Sequence[int]) -> tuple[LaunchTrace, ...]:
    """Launches by number; all if there is no number. Raises UsageError for a number that none has."""
    by_number = {launch.number: launch for launch in trace.launches}
    for number in numbers:
        if number not in by_number:
            raise UsageError(f"{trace.name} has no launch {number}; it has {', '.join(map(str, by_number)) or 'none'}")
    return tuple(by_number[n] for n in dict.fromkeys(numbers)) if numbers else trace.launches


class SourceText:
    """The lines of a launch's source files, as they were when it was traced."""

    def __init__(self, launch: LaunchTrace) -> None:
        self._lines = {path: text.splitlines() for path, text in launch.sources.items()}

    def line(self, at: Location) -> str:
        """A line without its end, "" where it is not known."""
        lines = self._lines.get(at.file, [])
        return lines[at.line - 1].rstrip() if 0 < at.line <= len(lines) else ""


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to write, that is removed again if that fails. Raises UsageError where it cannot be written."""
    try:
        with open(path, "wb") as stream:
            try:
                yield stream
            except BaseException:
                if os.path.isfile(path):
                    os.unlink(path)
                raise
    except OSError as error:
        raise UsageError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from None
