"""What can be seen of a launch that has stopped: where it is, and what its variables hold."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cutile_sim.debugger.bindings import NOT_ASSIGNED, Missing, Names
from cutile_sim.debugger.evaluate import Lookup, evaluate
from cutile_sim.debugger.follower import Block
from cutile_sim.debugger.positions import Entry
from cutile_sim.debugger.pysource import names_assigned
from cutile_sim.debugger.show import shown
from cutile_sim.debugger.stepper import Finder, Stepper
from cutile_sim.debugger.subject import Subject
from cutile_sim.errors import UsageError
from cutile_sim.tileir.core import Op, Value


@dataclass(frozen=True, repr=False)
class Here:
    """Where a launch has stopped: the block (x, y, z) is about to run this line.

    `reason` is empty for a step, else a breakpoint or a finding. Without debug information `file` and `function` are
    empty and `line` is 0.
    """

    block: Block
    file: str
    line: int
    function: str
    reason: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line} in {self.function}" if self.line else "an operation without a source line"
        head = f"> {where}, block {self.block}" + (f" ({self.reason})" if self.reason else "")
        text = linecache.getline(self.file, self.line).strip() if self.line else ""
        return f"{head}\n-> {text}" if text else head

    __repr__ = __str__


class View:
    """A stopped launch: a frame of its call chain is selected, at first the innermost.

    Attributes:
        subject: What is debugged.
    """

    def __init__(self, subject: Subject, block: Block, finder: Finder | None) -> None:
        self.subject = subject
        self.stepper = Stepper(subject.program, block, self._lookup_at, finder)
        self._depth: int | None = None

    # Where

    @property
    def block(self) -> Block:
        """The block that is looked at, as (x, y, z)."""
        return self.stepper.block

    @property
    def in_step(self) -> int:
        """How many blocks, this one among them, run in step here."""
        return self.stepper.group_size

    @property
    def op(self) -> Op | None:
        """The operation that is about to run."""
        return self.stepper.standing.op if self.stepper.standing is not None else None

    @property
    def line(self) -> int:
        """The line of the selected frame; 0 where it is not known."""
        return self.here.line if self.here is not None else 0

    @property
    def here(self) -> Here | None:
        """The selected frame's place."""
        entries = self._entries()
        if self.stepper.standing is None:
            return None
        reason = self.stepper.reason
        if not entries:
            return Here(self.block, "", 0, "", reason)
        return self._place(entries[self._selected()], reason)

    def where(self) -> tuple[Here, ...]:
        """The call chain, the kernel first, the innermost function last."""
        return tuple(self._place(entry, "") for entry in self._entries())

    def up(self) -> Here:
        """Select the caller's frame. Raises UsageError in the kernel."""
        return self._select(-1, "this is the kernel itself: nothing called it")

    def down(self) -> Here:
        """Select the frame of the function that this one has called. Raises UsageError in the innermost."""
        return self._select(1, "this is the innermost function")

    # What

    def locals(self) -> dict[str, Any]:
        """The variables of the selected frame that are available: see `value`."""
        self._expect_idle()
        found = {}
        for name in self.names():
            try:
                found[name] = self.value(name)
            except UsageError:
                continue
        return found

    def names(self) -> tuple[str, ...]:
        """The variables of the selected frame, those that are not available too."""
        return tuple(self._names(self._selected()))

    def value(self, expression: str) -> Any:
        """What an expression of the kernel's variables is now: see `evaluate.evaluate` for what it may hold.

        A tile is a NumPy array of the tile's shape in the kernel's dtype, a number of the kernel a NumPy scalar, a
        constant a Python number, an array argument the array's memory (read-only, live).

        Raises UsageError, with the reason, for what is not available here.
        """
        self._expect_idle()
        return evaluate(expression, self._lookup_at(self._selected()))

    def tile(self, name: str) -> np.ndarray:
        """A copy of a tile, of the tile's shape and the kernel's dtype, by variable, or by value such as `%7`.

        Raises UsageError, with the reason, for what is not available here, and for what is no array.
        """
        value = self.value(name)
        if not isinstance(value, (np.ndarray, np.generic)):
            raise UsageError(f"{name} is no tile but {value!r}")
        return np.array(value)

    def print(self, expression: str) -> None:
        """Print what an expression is, as in `acc[0:4, :2]`."""
        print(shown(self.value(expression)))

    # Inside

    def _expect_idle(self) -> None:
        if not self.stepper.is_started:
            raise UsageError("the session has not been started: use it in a with statement")
        if self.stepper.is_running:
            raise UsageError("the launch is running")

    def _entries(self) -> tuple[Entry, ...]:
        standing = self.stepper.standing
        if standing is None:
            return ()
        return standing.entries if self.stepper.is_ended else standing.entries[: self.stepper.depth + 1]

    def _selected(self) -> int:
        deepest = max(0, len(self._entries()) - 1)
        return deepest if self._depth is None else min(self._depth, deepest)

    def _select(self, by: int, refusal: str) -> Here:
        wanted = self._selected() + by
        if not 0 <= wanted < len(self._entries()):
            raise UsageError(refusal)
        self._depth = wanted
        here = self.here
        assert here is not None
        return here

    def _place(self, entry: Entry, reason: str) -> Here:
        return Here(self.block, entry.frame.file, entry.statement.line, entry.frame.function, reason)

    def _names(self, depth: int) -> Names:
        standing = self.stepper.standing
        if standing is None or not standing.entries:
            return {}
        return self.subject.program.names_at(standing, depth)

    def _unknown(self, name: str, depth: int) -> Missing:
        """Why a frame has no variable of a name."""
        standing = self.stepper.standing
        if standing is None or not standing.entries:
            return Missing("the kernel has no debug information")
        source = standing.entries[depth].frame.source
        if source is None:
            return Missing(f"the source of {standing.entries[depth].frame.function} could not be read")
        body = source.node.body
        is_later = isinstance(body, list) and name in names_assigned(body)
        return NOT_ASSIGNED if is_later else Missing(f"{source.name} has no such variable")

    def _lookup_at(self, depth: int) -> Lookup:
        """How expressions find the variables of a frame."""
        stepper, contents = self.stepper, self.subject.contents

        def lookup(name: str) -> Any:
            if name.startswith("%"):
                return contents.tile(name, self._value(int(name[1:])), stepper)
            names = self._names(depth)
            if name not in names and name in contents.arrays:
                return contents.arrays[name]
            return contents.of(name, names.get(name) or self._unknown(name, depth), stepper)

        return lookup

    def _value(self, index: int) -> Value:
        if index not in self._values:
            raise UsageError(f"the kernel has no value %{index}")
        return self._values[index]

    @cached_property
    def _values(self) -> dict[int, Value]:
        function = self.subject.function
        found = {v.index: v for v in function.parameters}
        for op in function.walk():
            found.update((v.index, v) for v in op.results)
            for region in op.regions:
                found.update((v.index, v) for v in region.arguments)
        return found
