"""A debugging session: a launch on a thread of its own, which stops where it is told to."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from cutile_sim.debugger.breakpoints import Breakpoint, Line, make_breakpoint
from cutile_sim.debugger.stepper import Errand, Finder
from cutile_sim.debugger.subject import Subject
from cutile_sim.debugger.view import Here, View
from cutile_sim.engine.observer import Observer, Observers
from cutile_sim.errors import UsageError
from cutile_sim.findings import Finding
from cutile_sim.launch import LaunchResult

Run = Callable[[Observer], LaunchResult]
"""Runs the launch with an observer, and waits for its end."""


class Session(View):
    """A launch that is looked at while it runs. Made by `cutile_sim.debug`.

    Entering it starts the launch, which stops at the first line of the block. Leaving it lets the launch run to its
    end; leaving it by an error, or `abort`, ends the launch where it is: the arrays keep what was stored so far. Errors
    of the kernel are raised by the command that runs into them; variables can still be looked at then.
    """

    def __init__(self, subject: Subject, run: Run, block: Any, finder: Finder | None = None) -> None:
        super().__init__(subject, subject.expect_block(block), finder)
        self._finder = finder
        self._run = run
        self._thread: threading.Thread | None = None
        self._numbers = 0
        self._is_raised = False

    # The launch

    def start(self) -> Here | None:
        """Start the launch; it stops at the first line of the block. `with` does this."""
        if self._thread is not None:
            raise UsageError("the session has been started already")
        observer: Observer = self.stepper
        if isinstance(self._finder, Observer):
            observer = Observers(self._finder, self.stepper)
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run,
            args=(self.stepper.run, lambda: self._run(observer)),
            name="cutile_sim debugger",
            daemon=True,
        )
        self._thread.start()
        self.stepper.wait()
        return self._arrived()

    def __enter__(self) -> Session:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is not None:
            self.abort()
            return
        self.close()

    def close(self) -> LaunchResult | None:
        """Let the launch run to its end, past all breakpoints; its result. Raises what it raises."""
        if self._thread is None:
            return None
        if not self.stepper.is_ended:
            self.stepper.resume(Errand("end"))
        self._thread.join()
        self._arrived()
        return self.result

    def abort(self) -> None:
        """End the launch where it is. The arrays keep what was stored so far."""
        if self._thread is None:
            return
        if not self.stepper.is_ended:
            self.stepper.abort()
        self._thread.join()

    @property
    def ended(self) -> bool:
        """Whether the launch has come to its end, or was stopped by an error."""
        return self.stepper.is_ended

    @property
    def result(self) -> LaunchResult | None:
        """What the launch did, once it has come to its end."""
        outcome = self.stepper.outcome
        return outcome if isinstance(outcome, LaunchResult) else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the sanitizer has found so far."""
        return () if self._finder is None else self._finder.findings

    # Running on

    def step(self) -> Here | None:
        """Run to the next line, into functions that it calls. None where the launch has ended instead."""
        self._expect_lines()
        return self._go(Errand("step"))

    def next(self) -> Here | None:
        """Run to the next line of this function, or of a caller, over calls."""
        return self._go(self._errand("next"))

    def until(self, line: int) -> Here | None:
        """Run until a line of this function that is not above `line`, or out of the function."""
        return self._go(self._errand("until", line))

    def finish(self) -> Here | None:
        """Run out of this function, into the middle of the line that called it; out of a kernel to the end."""
        return self._go(self._errand("finish"))

    def step_op(self) -> Here | None:
        """Run one operation of the Tile IR."""
        return self._go(Errand("operation"))

    def cont(self) -> Here | None:
        """Run to the next breakpoint, or to the end."""
        return self._go(Errand("continue"))

    def run_to_finding(self) -> Finding | None:
        """Run until the sanitizer finds something, in any block, which then is the one looked at; else to the end.

        Breakpoints are heeded: a stop there gives None too. Raises UsageError without a sanitizer.
        """
        if self._finder is None:
            raise UsageError("nothing looks for findings: pass sanitize=True, or --sanitize")
        self._go(Errand("finding"))
        return self.stepper.finding

    def break_at(self, at: Line, condition: str | None = None, *, temporary: bool = False) -> Breakpoint:
        """Stop at a line from now on, where a condition holds such as `k == 3` or `any(isnan(acc))`.

        Raises UsageError for a line without code, and for a condition that cannot be evaluated.
        """
        item = make_breakpoint(
            self.subject.program, at, number=self._numbers + 1, condition=condition, is_temporary=temporary
        )
        self._numbers += 1
        self.stepper.breakpoints = [*self.stepper.breakpoints, item]
        return item

    @property
    def breakpoints(self) -> tuple[Breakpoint, ...]:
        return tuple(self.stepper.breakpoints)

    def delete(self, number: int | None = None) -> None:
        """Delete a breakpoint, or all. Raises UsageError where there is none of that number."""
        left = [b for b in self.stepper.breakpoints if number is not None and b.number != number]
        if number is not None and len(left) == len(self.stepper.breakpoints):
            raise UsageError(f"there is no breakpoint {number}")
        self.stepper.breakpoints = left

    def focus(self, block: Any) -> Here | None:
        """Look at another block: at once where it runs in step with this one, else as soon as it starts.

        Raises UsageError for a block that has gone its own way already.
        """
        self._expect_running()
        wanted = self.subject.expect_block(block)
        if self.stepper.is_in_step(wanted):
            self.stepper.look_at(wanted)
            return self.here
        if self.stepper.has_begun(wanted):
            raise UsageError(
                f"block {wanted} was started before and is not in step with block {self.block}: start again with it"
            )
        self.stepper.follow(wanted)
        return self._go(Errand("step" if self._has_lines else "operation"))

    # Inside

    @property
    def _has_lines(self) -> bool:
        return self.subject.program.positions.kernel is not None

    def _expect_lines(self) -> None:
        if not self._has_lines:
            raise UsageError("the kernel has no debug information: step by operation")

    def _expect_running(self) -> None:
        self._expect_idle()
        if self.stepper.is_ended:
            raise UsageError("the launch has ended")

    def _errand(self, kind: str, line: int = 0) -> Errand:
        self._expect_running()
        self._expect_lines()
        entries, depth = self._entries(), self._selected()
        return Errand(kind, depth, entries[depth].frame if entries else None, line)

    def _go(self, errand: Errand) -> Here | None:
        self._expect_running()
        self.stepper.resume(errand)
        return self._arrived()

    def _arrived(self) -> Here | None:
        """What a command gives once the launch has stopped. Raises what the launch has raised, once."""
        self._depth = None
        if not self.stepper.is_ended:
            return self.here
        self._depth = len(self.stepper.standing.entries) - 1 if self.stepper.standing is not None else 0
        if self._thread is not None:
            self._thread.join()
        if self.stepper.error is not None and not self._is_raised:
            self._is_raised = True
            raise self.stepper.error
        return None
