"""What the debugger's prompt shows of a session, as lines of text."""

from __future__ import annotations

import linecache
from pathlib import Path

import numpy as np

from cutile_sim.cli.written import summarize
from cutile_sim.debugger import Breakpoint, Here, Session
from cutile_sim.debugger.show import described, summary
from cutile_sim.errors import UsageError
from cutile_sim.tileir.printer import format_op

LISTED_LINES = 11


def short_path(file: str) -> str:
    """The path from the current folder, for a file that lies below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def place(here: Here) -> str:
    """Where a block is, with the line it is about to run."""
    reason = f", {here.reason}" if here.reason else ""
    if not here.line:
        return f"> block {here.block}, no source line{reason}"
    text = linecache.getline(here.file, here.line).strip()
    head = f"> {short_path(here.file)}:{here.line} in {here.function}, block {here.block}{reason}"
    return f"{head}\n-> {text}" if text else head


def breakpoint_words(item: Breakpoint) -> str:
    """Where a breakpoint is, when it counts, and how often it did."""
    words = f"{short_path(item.file)}:{item.line}" + (f" if {item.condition}" if item.condition else "")
    return words + ", once" * item.is_temporary + (f", hit {item.hits} times" if item.hits else "")


def chain(session: Session) -> list[str]:
    """The call chain, a line a frame and its source."""
    lines = []
    selected = session.here
    for frame in session.where():
        is_here = selected is not None and (frame.file, frame.line, frame.function) == (
            selected.file,
            selected.line,
            selected.function,
        )
        lines.append(f"{'>' if is_here else ' '} {short_path(frame.file)}:{frame.line} in {frame.function}")
        lines.append(f"      {linecache.getline(frame.file, frame.line).strip()}".rstrip())
    return lines or ["no source line"]


def listing(session: Session, here: Here, first: int) -> list[str]:
    """Source lines from `first` on; `->` marks the line about to run, `B` those with a breakpoint."""
    source = linecache.getlines(here.file)
    stops = {b.line for b in session.breakpoints if b.file == here.file}
    lines = []
    for number, text in enumerate(source[first - 1 : first - 1 + LISTED_LINES], first):
        mark = "->" if number == here.line else ("B " if number in stops else "  ")
        lines.append(f"{number:4} {mark} {text.rstrip()}".rstrip())
    return lines


def variables(session: Session) -> list[str]:
    """The variables of the selected frame: in short, or why they are not available."""
    lines = []
    for name in session.names():
        try:
            lines.append(f"{name} = {summary(session.value(name))}")
        except UsageError as error:
            lines.append(error.reason)
    return lines or ["no variables are known here"]


def arguments(session: Session) -> list[str]:
    """The arrays and numbers that the kernel was launched with."""
    lines = []
    for name, array in session.subject.contents.arrays.items():
        strides = ", ".join(str(s // array.itemsize) for s in array.strides)
        lines.append(f"{name}  {described(array)}, strides {strides} elements, {array.nbytes:,} bytes")
    for name, value in session.subject.numbers.items():
        lines.append(f"{name}  {value!r}")
    return lines or ["the kernel takes no arguments"]


def blocks(session: Session) -> list[str]:
    """The grid, the block looked at, and how many run in step with it."""
    x, y, z = session.subject.grid
    return [
        f"grid ({x}, {y}, {z}): {x * y * z:,} blocks",
        f"block {session.block} is looked at; {session.in_step:,} blocks run in step here",
    ]


def findings(session: Session) -> list[str]:
    """What the sanitizer has found."""
    return [line for f in session.findings for line in str(f).splitlines()] or ["no findings"]


def operation(session: Session) -> str:
    """The operation that is about to run, and what is known of its operands."""
    op = session.op
    if op is None:
        raise UsageError("no operation is about to run")
    lines = [format_op(op).split("\n", 1)[0].removesuffix(" {")]
    for value in dict.fromkeys(op.inputs):
        try:
            held = session.value(f"{value!r}")
        except UsageError:
            continue
        lines.append(f"    {value!r} = {summary(held)}")
    return "\n".join(lines)


def ending(session: Session) -> list[str]:
    """That the launch has ended, and what it wrote."""
    result = session.result
    if result is None:
        return ["the launch has ended"]
    arrays = session.subject.contents.arrays
    lines = [str(summarize(name, np.asarray(arrays[name]))) for name in result.written]
    lines += [line for f in result.findings for line in str(f).splitlines()]
    return [f"the launch has ended: {result.blocks:,} blocks, {result.operations:,} operations", *lines]
