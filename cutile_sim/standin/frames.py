"""Tracebacks as a program without this package between its lines would have them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

_PACKAGE = str(Path(__file__).parents[1])


def outside(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of this package."""
    kept = [part for part in _parts(traceback) if not part.tb_frame.f_code.co_filename.startswith(_PACKAGE)]
    result: TracebackType | None = None
    for part in reversed(kept):
        result = TracebackType(result, part.tb_frame, part.tb_lasti, part.tb_lineno)
    return result


def chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception, and those that Python prints before it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ if error.__cause__ is not None or error.__suppress_context__ else error.__context__


def _parts(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
