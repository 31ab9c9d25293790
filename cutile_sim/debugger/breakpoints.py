"""Lines to stop at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from cutile_sim.debugger.evaluate import check
from cutile_sim.debugger.follower import Program
from cutile_sim.debugger.positions import Entry, Frame
from cutile_sim.debugger.pysource import Statement
from cutile_sim.errors import UsageError
from cutile_sim.numerals import MAX_SHOWN, whole_number

Line = int | str
"""A line of the kernel's file, or `FILE:LINE` where FILE is a path or its end."""


@dataclass(eq=False)
class Breakpoint:
    """A line to stop at.

    Attributes:
        number: From 1, in the order they were set.
        file, line: The place, moved to the first line of its statement.
        condition: An expression that must hold; "" for none.
        is_temporary: Whether it is deleted at the first stop.
        hits: How often it has stopped the launch.
    """

    number: int
    file: str
    line: int
    statements: frozenset[tuple[Frame, Statement]]
    condition: str = ""
    is_temporary: bool = False
    hits: int = 0

    def is_at(self, entry: Entry) -> bool:
        """Whether a statement of a frame is the one to stop at."""
        return (entry.frame, entry.statement) in self.statements


def make_breakpoint(
    program: Program, at: Line, *, number: int = 1, condition: str | None = None, is_temporary: bool = False
) -> Breakpoint:
    """A breakpoint of a kernel.

    Raises UsageError for a place that is no line of the kernel with code, naming the nearest that is one, and for a
    condition that cannot be evaluated.
    """
    file, line = _parsed(program, at)
    statements = _statements(program, file, line)
    if condition:
        check(condition)
    first = min(s.line for _, s in statements)
    return Breakpoint(number, file, first, frozenset(statements), condition or "", is_temporary)


def files_of(program: Program) -> list[str]:
    """The files that the kernel's code comes from, its own first."""
    return list(dict.fromkeys(frame.file for frame, _ in program.coded))


def _parsed(program: Program, at: Line) -> tuple[str, int]:
    """The file and the line that a place names."""
    text = str(at).strip()
    name, _, digits = text.rpartition(":")
    number = whole_number(digits)
    if isinstance(at, bool) or not number:
        raise UsageError(f"{text[:MAX_SHOWN]!r} is no line: write FILE:LINE, or the number of a line")
    files = files_of(program)
    if not files:
        raise UsageError("the kernel has no debug information, so no line of it can be named: step by operation")
    if not name:
        assert program.positions.kernel is not None
        return program.positions.kernel.file, number
    wanted = PurePath(name).parts
    found = [f for f in files if PurePath(f).parts[-len(wanted) :] == wanted or f == name]
    if len(found) != 1:
        what = "no code of the kernel comes from" if not found else "several files end in"
        raise UsageError(f"{what} {name}; its code comes from {', '.join(files)}")
    return found[0], number


def _statements(program: Program, file: str, line: int) -> list[tuple[Frame, Statement]]:
    here = [(frame, s) for frame, s in program.coded if frame.file == file]
    found = [(frame, s) for frame, s in here if s.line <= line <= s.end_line]
    if not found:
        lines = sorted({s.line for _, s in here})
        near = min(lines, key=lambda n: abs(n - line))
        raise UsageError(
            f"line {line} of {file} has no code that runs in this kernel; the nearest that has is line {near}"
        )
    # A statement within a line wins over one that began before; of several in a line the first.
    first = max(s.line for _, s in found)
    columns = {s: s.node.col_offset if s.node is not None else 0 for _, s in found if s.line == first}
    lowest = min(columns.values())
    return [(frame, s) for frame, s in found if columns.get(s) == lowest]
