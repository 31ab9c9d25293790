"""Where in the user's Python each operation stands: frames of inlined functions, and statements in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from cutile_sim.debugger.pysource import FunctionSource, Point, Statement, find_function, start_of
from cutile_sim.source import is_library
from cutile_sim.tileir.core import Function, Location, Op

Call = tuple[str, int, int, str]
"""A place without its callers: file, line, column, function."""


@dataclass(eq=False)
class Frame:
    """A function, called from one place of its caller: the kernel, or one that was inlined.

    Attributes:
        file, function: Where it is defined.
        call: The place in `parent` that it was called from; None for the kernel.
        source: Its statements; None where the source cannot be read.
        head: The line of its `def`, where that is known without the source; else 0.
        depth: How many calls it is away from the kernel.
    """

    file: str
    function: str
    parent: Frame | None
    call: Call | None
    source: FunctionSource | None
    head: int = 0
    depth: int = 0
    lines: dict[int, Statement] = field(default_factory=dict)

    def statement(self, line: int, column: int) -> Statement | None:
        """The statement at a place; without the source every line is one."""
        if self.source is not None:
            return self.source.statement_at(line, column)
        if line == self.head:
            return None
        return self.lines.setdefault(line, Statement(None, line, line, (line + 1, 1)))


class Entry(NamedTuple):
    """One level of a call chain: which statement of which frame."""

    frame: Frame
    statement: Statement


class Place(NamedTuple):
    """Where an operation stands.

    Attributes:
        entries: Outermost first; the innermost is left out where it is in no statement (the line of `def`).
        frame: The innermost frame, and `point` in it.
        via: The function of cuTile's own library through which it was written, such as `reshape`.
        is_moved: Whether the compiler moved it ahead of where its statement stands.
    """

    entries: tuple[Entry, ...]
    frame: Frame | None
    point: Point
    via: str | None
    is_moved: bool = False

    @property
    def is_hidden(self) -> bool:
        """Whether steps by line pass over it."""
        return self.is_moved or not self.entries or self.entries[-1].frame is not self.frame


class Positions:
    """The places of all operations of a kernel.

    Attributes:
        kernel: The outermost frame; None where the kernel has no debug information.
        order: The number of each operation, in program order.
        places: Where each stands.
        regions: The operations around each that have regions, outermost first.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.frames: dict[tuple[object, ...], Frame] = {}
        self._repeated: dict[Frame, bool] = {}
        self._callees: dict[tuple[Frame, Point], list[Frame]] = {}
        self.order: dict[Op, int] = {}
        self.places: dict[Op, Place] = {}
        self.regions: dict[Op, tuple[Op, ...]] = {}
        for op, around in _walk(function.body.ops, ()):
            self.order[op] = len(self.order)
            self.regions[op] = around
        for op in self.order:
            self.places[op] = self._place(op.location)
        self.kernel: Frame | None = next((f for f in self.frames.values() if f.parent is None), None)
        self.at: dict[tuple[Frame, Point], list[Op]] = {}
        for op, place in self.places.items():
            if place.frame is not None:
                self.at.setdefault((place.frame, place.point), []).append(op)
        self._mark_moved(function.body.ops)

    def control(self, frame: Frame, node: ast.stmt | ast.expr, names: tuple[str, ...]) -> list[Op]:
        """The operations of these names that a statement or expression itself became."""
        found = self.at.get((frame, start_of(node)), ())
        return [op for op in found if op.name in names and self.places[op].via is None]

    def coded(self) -> dict[tuple[Frame, Statement], Op]:
        """Every statement that a step by line can stop at, with its first operation, in program order."""
        found: dict[tuple[Frame, Statement], Op] = {}
        for op, place in self.places.items():
            if not place.is_hidden and has_event(op) and not self.in_reduction(op):
                for entry in place.entries:
                    found.setdefault((entry.frame, entry.statement), op)
        return found

    def callees(self, frame: Frame, point: Point) -> list[Frame]:
        """The functions that were inlined at a place."""
        return self._callees.get((frame, point), [])

    def in_reduction(self, op: Op) -> bool:
        """Whether an operation is part of what a reduction or scan does to a pair."""
        return any(outer.name in ("reduce", "scan") for outer in self.regions[op])

    def loop_of(self, *ops: Op) -> Op | None:
        """The innermost loop that holds all of some operations, or is one of them."""
        held = [[o for o in (*self.regions[op], op) if o.name in LOOPS] for op in ops]
        common = [o for o in held[0] if all(o in h for h in held)]
        return common[-1] if common else None

    def _place(self, location: Location | None) -> Place:
        chain = [] if location is None else list(location.chain())[::-1]
        own = [at for at in chain if not is_library(at.file)]
        via = None
        if own:
            inner = chain[chain.index(own[-1]) + 1 :]
            via = inner[0].function if inner else None
        entries: list[Entry] = []
        frame: Frame | None = None
        call: Call | None = None
        for at in own:
            frame = self._frame(frame, call, at)
            statement = frame.statement(at.line, at.column)
            if statement is None:
                break
            entries.append(Entry(frame, statement))
            call = (at.file, at.line, at.column, at.function)
        point = (own[-1].line, own[-1].column) if own else (0, 0)
        return Place(tuple(entries), frame, point, via)

    def _frame(self, parent: Frame | None, call: Call | None, at: Location) -> Frame:
        key = (parent, call, at.file, at.function)
        known = self.frames.get(key)
        if known is None:
            source = find_function(at.file, at.function, at.line)
            own = self.function.location
            head = own.line if own is not None and parent is None and own.file == at.file else 0
            known = self.frames[key] = Frame(at.file, at.function, parent, call, source, head)
            if parent is not None and call is not None:
                known.depth = parent.depth + 1
                self._callees.setdefault((parent, call[1:3]), []).append(known)
        return known

    # Moved code

    def _mark_moved(self, ops: tuple[Op, ...]) -> dict[Frame, int]:
        """Find the operations of a region that others follow which stand before them in the source.

        Returns the first statement of each frame that the region holds.
        """
        later: dict[Frame, int] = {}
        for op in reversed(ops):
            if op.name in TERMINATORS:
                continue  # stands at the loop or branch itself
            place = self.places[op]
            for region in op.regions:
                _lower(later, self._mark_moved(region.ops))
            here = {entry.frame: self._rank(entry) for entry in place.entries}
            if any(rank > later.get(frame, rank) for frame, rank in here.items()) or self._left_its_loop(op, place):
                for inner in op.walk():
                    self.places[inner] = self.places[inner]._replace(is_moved=True)
            _lower(later, here)
        return later

    def _rank(self, entry: Entry) -> int:
        """The number of a statement in its function; in a loop that was unrolled, that of the loop."""
        frame, statement = entry
        if frame.source is None or self._is_repeated(frame):
            return 0
        for loop in statement.loops:
            if not self.control(frame, loop, LOOPS):
                return frame.source.numbers[frame.source.by_node[loop]]
        return frame.source.numbers[statement]

    def _is_repeated(self, frame: Frame) -> bool:
        """Whether a function is called in a loop that was unrolled."""
        above = [frame]
        while above[-1] not in self._repeated and above[-1].parent is not None:
            above.append(above[-1].parent)
        for each in reversed(above):
            if each not in self._repeated:
                self._repeated[each] = self._is_called_repeatedly(each)
        return self._repeated[frame]

    def _is_called_repeatedly(self, frame: Frame) -> bool:
        if frame.parent is None or frame.call is None:
            return False
        statement = frame.parent.statement(frame.call[1], frame.call[2])
        unrolled = statement is None or any(not self.control(frame.parent, n, LOOPS) for n in statement.loops)
        return unrolled or self._repeated[frame.parent]

    def _left_its_loop(self, op: Op, place: Place) -> bool:
        """Whether an operation of a `while`'s condition stands outside of the loop."""
        for frame, statement in place.entries:
            if isinstance(statement.node, ast.While) and op.name != "loop":
                made = self.control(frame, statement.node, LOOPS)
                if made and not any(o in made for o in self.regions[op]):
                    return True
        return False


def _lower(known: dict[Frame, int], more: dict[Frame, int]) -> None:
    for frame, rank in more.items():
        known[frame] = min(rank, known.get(frame, rank))


LOOPS = ("for", "loop")
TERMINATORS = ("continue", "break", "yield", "return")


def has_event(op: Op) -> bool:
    """Whether an observer is told when an operation runs: of control flow, only branches."""
    return op.name != "loop" and op.name not in TERMINATORS


def _walk(ops: tuple[Op, ...], around: tuple[Op, ...]) -> Iterator[tuple[Op, tuple[Op, ...]]]:
    for op in ops:
        yield op, around
        for region in op.regions:
            yield from _walk(region.ops, (*around, op))
