"""Renders places in the user's source: file, line, column, the line itself, and a caret under the column."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

if TYPE_CHECKING:
    from cutile_sim.tileir.core import Location

_INDENT = "    "


def describe(location: Location | None) -> str:
    """A location and its callers, for the end of an error message; "" for None.

    The innermost place comes first, as `  file:line:column, in function`, its source line and a caret; each caller
    follows under "called from". Lines that cannot be read are left out. No newline at the end.
    """
    if location is None:
        return ""
    lines: list[str] = []
    for depth, at in enumerate(location.chain()):
        prefix = "  called from " if depth else "  "
        within = f", in {at.function}" if at.function else ""
        lines.append(f"{prefix}{at}{within}")
        excerpt = caret(at.file, at.line, at.column)
        if excerpt:
            lines.append(excerpt)
    return "\n".join(lines)


def users_line(location: Location | None) -> Location | None:
    """The innermost place that is not within cuTile's own library, where there is one."""
    for at in location.chain() if location is not None else ():
        if not is_library(at.file):
            return at
    return location


def is_library(file: str) -> bool:
    """Whether a source file belongs to cuTile's own library."""
    return "/cuda/tile/" in file.replace("\\", "/")


def caret(file: str, line: int, column: int = 0) -> str:
    """The source line, without its own indentation, and a caret under the column; "" if it cannot be read.

    Args:
        line: Counts from 1.
        column: Counts UTF-8 bytes from 1, as Python's syntax trees and Tile IR's debug info do; 0 for no caret.
    """
    text = linecache.getline(file, line).rstrip()
    if not text.strip():
        return ""
    shown = text.lstrip()
    if column < 1:
        return _INDENT + shown
    before = text.encode()[: column - 1].decode(errors="ignore")
    skipped = len(text) - len(shown)
    # A tab is kept where the source has one, so that the caret stays in its place whatever a tab's width.
    padding = "".join("\t" if char == "\t" else " " * _display_width(char) for char in before[skipped:])
    return f"{_INDENT}{shown}\n{_INDENT}{padding}^"


def _display_width(char: str) -> int:
    if combining(char):
        return 0
    return 2 if east_asian_width(char) in "WF" else 1
