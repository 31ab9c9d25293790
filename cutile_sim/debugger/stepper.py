"""The observer that stops a launch: it runs in the launch's thread, and lets the user's thread have its turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cutile_sim.debugger.breakpoints import Breakpoint
from cutile_sim.debugger.evaluate import Lookup, truth
from cutile_sim.debugger.follower import Block, Follower, Program, Standing, position_in
from cutile_sim.debugger.positions import Frame
from cutile_sim.engine.context import Context
from cutile_sim.engine.group import Group
from cutile_sim.engine.plan import Plan
from cutile_sim.errors import KernelError, UsageError
from cutile_sim.findings import Finding
from cutile_sim.tileir.core import Op


class Aborted(BaseException):
    """Ends a launch that nobody wants any more. Not an Exception: the engine takes those for mistakes."""


@dataclass(frozen=True)
class Errand:
    """How far to run. `depth` and `frame` are the place that the user looks at, where that counts.

    `kind` is one of: step, next, until, finish, operation, continue, finding, end.
    """

    kind: str
    depth: int = 0
    frame: Frame | None = None
    line: int = 0

    def ends_at(self, standing: Standing, depth: int) -> bool:
        """Whether a newly reached statement is what was asked for."""
        if self.kind == "step":
            return True
        here = standing.entries[depth]
        if self.kind in ("next", "until"):
            is_same = depth == self.depth and here.frame is self.frame
            return depth < self.depth or (is_same and (self.kind == "next" or here.statement.line >= self.line))
        return False

    def has_left(self, standing: Standing) -> bool:
        """Whether the function to finish is done with."""
        entries, fresh = standing.entries, standing.fresh
        if self.depth == 0 or not entries:
            return False
        again = fresh is not None and fresh < self.depth
        return again or len(entries) <= self.depth or entries[self.depth].frame is not self.frame


class Finder(Protocol):
    """A sanitizer."""

    @property
    def found(self) -> int:
        """How many different things it has found so far."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What it has found so far."""


class Stepper(Follower):
    """Follows a block and stops where it is asked to.

    `depth` is the level of the call chain that the stop belongs to, `reason` why it stopped; `is_ended` says that the
    launch has ended, with `outcome` or `error`.
    """

    def __init__(self, program: Program, block: Block, lookup: Callable[[int], Lookup], finder: Finder | None) -> None:
        super().__init__(program, block)
        self.errand = Errand("step" if program.positions.kernel is not None else "operation")
        self.breakpoints: list[Breakpoint] = []
        self.depth = 0
        self.reason = ""
        self.finding: Finding | None = None
        self.is_ended = False
        self.is_running = False
        self.is_started = False
        self.outcome: Any = None
        self.error: BaseException | None = None
        self.begun: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._lookup = lookup
        self._finder = finder
        self._found = 0
        self._known: set[tuple[object, ...]] = set()
        self._cx: Context | None = None
        self._is_interrupted = False
        self._is_aborted = False
        self._go = threading.Semaphore(0)
        self._stopped = threading.Semaphore(0)
        self._seen: Group | None = None

    # The user's side

    def run(self, launch: Callable[[], Any]) -> None:
        """Run a launch to its end. The launch's thread calls this."""
        try:
            self.outcome = launch()
        except Aborted:
            pass
        except BaseException as error:
            self.error = error
            if isinstance(error, KernelError) and self._cx is not None:
                self._turn_to(error.block, self._cx)
        self.is_ended = True
        self._stopped.release()

    def wait(self) -> None:
        """Wait until the launch stops or ends. An interrupt stops it at its next operation."""
        self.is_started = self.is_running = True
        while self.is_running:
            try:
                self._stopped.acquire()
                self.is_running = False
            except KeyboardInterrupt:
                self._is_interrupted = True

    def resume(self, errand: Errand) -> None:
        """Run on until an errand is done."""
        self.errand = errand
        self.finding = None
        self._go.release()
        self.wait()

    def abort(self) -> None:
        """End the launch where it is."""
        self._is_aborted = True
        self._go.release()
        self.wait()

    @property
    def group_size(self) -> int:
        """How many blocks run in step with the one that is followed."""
        return 0 if self._group is None or self._at is None else self._group.size

    def is_in_step(self, block: Block) -> bool:
        """Whether a block runs in step with the one that is followed."""
        return self._group is not None and position_in(self._group, block) is not None

    def has_begun(self, block: Block) -> bool:
        """Whether a block has been started."""
        return any(all(n in ids for ids, n in zip(box, block[::-1], strict=True)) for box in self.begun)

    def look_at(self, block: Block) -> None:
        """Follow another block of those in step, from where they stand."""
        group, last = self._group, self._last
        self.follow(block)
        if group is not None:
            self._group, self._last, self._at = group, last, position_in(group, block)

    # The launch's side

    def reached(self, cx: Context) -> None:
        standing, errand = self.standing, self.errand
        assert standing is not None
        deepest = len(standing.entries) - 1
        if self._is_interrupted:
            self._is_interrupted = False
            self._pause(deepest, "interrupted")
        elif errand.kind == "operation":
            self._pause(deepest, "")
        elif errand.kind == "finish" and not self._is_hidden(standing.op) and errand.has_left(standing):
            self._pause(min(errand.depth - 1, deepest), "")
        elif standing.fresh is not None and errand.kind != "end":
            for depth in range(standing.fresh, len(standing.entries)):
                reason = self._reason(standing, depth)
                if reason is not None:
                    self._pause(depth, reason)

    def started(self, plan: Plan, cx: Context) -> None:
        self._cx = cx

    def before(self, op: Op, slots: list[Any], cx: Context) -> None:
        super().before(op, slots, cx)
        self._look_for_findings(cx)

    def after(self, op: Op, slots: list[Any], cx: Context) -> None:
        super().after(op, slots, cx)
        self._look_for_findings(cx)

    def branched(self, op: Op, condition: np.ndarray, cx: Context) -> None:
        super().branched(op, condition, cx)
        self._look_for_findings(cx)

    def _is_hidden(self, op: Op) -> bool:
        return self.program.positions.places[op].is_hidden

    def _follows(self, cx: Context) -> bool:
        group = cx.group
        if group is not self._seen:
            self._seen = group
            if group is not None and group.pc == 0:
                self.begun.append(group.ids)
        return super()._follows(cx)

    def _reason(self, standing: Standing, depth: int) -> str | None:
        """Why to stop at a statement, "" for because it was asked for; None for going on."""
        for item in self.breakpoints:
            if item.is_at(standing.entries[depth]):
                words = self._met(item, depth)
                if words is not None:
                    item.hits += 1
                    if item.is_temporary:
                        self.breakpoints = [b for b in self.breakpoints if b is not item]
                    return words
        return "" if self.errand.ends_at(standing, depth) else None

    def _met(self, item: Breakpoint, depth: int) -> str | None:
        name = f"breakpoint {item.number}"
        if not item.condition:
            return name
        try:
            return f"{name}, {item.condition}" if truth(item.condition, self._lookup(depth)) else None
        except UsageError as error:
            return f"{name}, whose condition cannot be evaluated: {error.reason}"

    def _look_for_findings(self, cx: Context) -> None:
        finder = self._finder
        if finder is None or self.errand.kind != "finding" or finder.found == self._found:
            return
        self._found = finder.found
        fresh = [f for f in finder.findings if (f.id, f.location, f.array) not in self._known]
        self._known.update((f.id, f.location, f.array) for f in fresh)
        if fresh:
            self.finding = fresh[0]
            self._turn_to(fresh[0].block, cx)
            depth = len(self.standing.entries) - 1 if self.standing is not None else 0
            self._pause(depth, f"finding {fresh[0].id}")

    def _turn_to(self, block: Block | None, cx: Context) -> None:
        """Follow the block that something happened to, if that is another; None for any of those that run."""
        group, op = cx.group, cx.op
        if group is None or op is None:
            return
        if group is self._group and self._at is not None and block in (None, self.block):
            return
        block = group.block_at((0, 0, 0)) if block is None else block
        at = position_in(group, block)
        if at is not None:
            self.follow(block)
            self._group, self._at, self._last = group, at, op
            self.standing = Standing(op, self.program.positions.places[op].entries, None, False)

    def _pause(self, depth: int, reason: str) -> None:
        """Let the user's thread have its turn."""
        self.depth, self.reason = max(0, depth), reason
        self._stopped.release()
        self._go.acquire()
        if self._is_aborted:
            raise Aborted
