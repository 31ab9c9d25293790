"""Renders what cuTile's compiler front-end says about a kernel, as the rest of this package renders its own errors."""

from __future__ import annotations

import sys
from typing import Any

from cutile_sim.source import describe
from cutile_sim.tileir.core import Location


def explain(error: BaseException) -> str | None:
    """A compile error of cuTile with file, line, column, source line, caret and callers; None for any other error."""
    # Where cuda.tile was never imported, nothing can be an error of it.
    cuda_tile = sys.modules.get("cuda.tile")
    if cuda_tile is None or not isinstance(error, cuda_tile.TileError):
        return None
    where = describe(compile_error_location(error))
    text = f"{type(error).__name__}: {error.message}"
    return f"{text}\n{where}" if where else text


def compile_error_location(error: Any) -> Location | None:
    """The place a `cuda.tile.TileError` points at; None where it points nowhere."""
    callers = []
    at = error.loc
    while at is not None and at.filename:
        callers.append(at)
        at = at.call_site
    location: Location | None = None
    for at in reversed(callers):
        # cuTile counts columns from 0.
        function = at.function.name or "<lambda>" if at.function else ""
        location = Location(at.filename, at.line or 0, 0 if at.col is None else at.col + 1, function, location)
    return location
