"""The observer that runs the checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.context import Context
from cutile_sim.engine.group import Group
from cutile_sim.engine.observer import Observer
from cutile_sim.engine.plan import Plan
from cutile_sim.errors import (
    AssertionFailedError,
    BudgetExceededError,
    KernelError,
    MisalignedError,
    OutOfBoundsError,
    ReadOnlyError,
)
from cutile_sim.findings import Finding, without_suppressed
from cutile_sim.sanitize.arithmetic import Arithmetic
from cutile_sim.sanitize.bounds import Bounds
from cutile_sim.sanitize.hangs import Hangs
from cutile_sim.sanitize.numbers import Numbers
from cutile_sim.sanitize.options import SanitizeOptions
from cutile_sim.sanitize.outputs import Outputs
from cutile_sim.sanitize.precision import Precision
from cutile_sim.sanitize.promises import Promises
from cutile_sim.sanitize.races import Races
from cutile_sim.sanitize.undetermined import Undetermined
from cutile_sim.sanitize.watch import Check, Handler, Watch
from cutile_sim.tileir.core import Op

CHECKS: dict[str, type[Check]] = {
    c.name: c for c in (Bounds, Undetermined, Arithmetic, Promises, Numbers, Races, Outputs, Hangs, Precision)
}
"""Every check by its name. `Arithmetic` adds to the shadows that `Undetermined` makes, and so comes after it."""

_ERROR_IDS: tuple[tuple[type[KernelError], str], ...] = (
    (OutOfBoundsError, "CTS101"),
    (MisalignedError, "CTS103"),
    (ReadOnlyError, "CTS104"),
    (BudgetExceededError, "CTS802"),
    (AssertionFailedError, "CTS901"),
)


def finding_of_error(error: KernelError) -> Finding:
    """What stopped a launch, as a finding."""
    id = getattr(error, "finding_id", None) or next(i for kind, i in _ERROR_IDS if isinstance(error, kind))
    return Finding(id, "error", error.reason, error.location, error.block, error.lane)


class Sanitizer(Observer):
    """Watches one launch, and collects what is wrong with it in `findings`."""

    def __init__(self, options: SanitizeOptions | None = None) -> None:
        self.options = options or SanitizeOptions()
        self.most_waiting = self.options.resident_blocks if Hangs.name in self.options.checks else None
        self.watch: Watch | None = None
        self._checks: list[Any] = []
        self._before: dict[Op, tuple[Handler, ...]] = {}
        self._after: dict[Op, tuple[Handler, ...]] = {}

    @property
    def found(self) -> int:
        """How many different findings there are so far, suppressed ones included."""
        return 0 if self.watch is None else self.watch.found

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong, most severe first, without what comments in the source suppress."""
        return () if self.watch is None else without_suppressed(self.watch.findings())

    def findings_with(self, error: BaseException | None) -> tuple[Finding, ...]:
        """The findings, and what stopped the launch if that was the kernel's fault."""
        stop = [finding_of_error(error)] if isinstance(error, KernelError) else []
        return (*self.findings, *without_suppressed(stop))

    def started(self, plan: Plan, cx: Context) -> None:
        self.watch = Watch(plan, cx, self.options)
        self._checks = [kind(self.watch) for name, kind in CHECKS.items() if name in self.options.checks]
        checks = self._checks
        self._before, self._after = {}, {}
        for op in self.watch.ops:
            self._before[op] = tuple(h for c in checks if (h := c.before_of(op)) is not None)
            self._after[op] = tuple(h for c in checks if (h := c.after_of(op)) is not None)
        self._moved = _having(checks, "moved")
        self._branched = _having(checks, "branched")
        self._loaded = _having(checks, "loaded")
        self._storing = _having(checks, "storing")
        self._updating = tuple(getattr(c, "updating", None) or c.storing for c in checks if hasattr(c, "storing"))
        self._finished = _having(checks, "finished")
        self._stalled = _having(checks, "stalled")
        self._starved = _having(checks, "starved")

    def before(self, op: Op, slots: list[Any], cx: Context) -> None:
        for handler in self._before[op]:
            handler(op, slots, cx)

    def after(self, op: Op, slots: list[Any], cx: Context) -> None:
        for handler in self._after[op]:
            handler(op, slots, cx)

    def moved(self, sources: list[int], targets: list[int], slots: list[Any], cx: Context) -> None:
        for handler in self._moved:
            handler(sources, targets, slots, cx)

    def branched(self, op: Op, condition: np.ndarray, cx: Context) -> None:
        for handler in self._branched:
            handler(op, condition, cx)

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        for handler in self._loaded:
            handler(place, mask, element, cx)

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        for handler in self._storing:
            handler(place, mask, element, stored, cx)

    def updating(self, place: Any, mask: np.ndarray | None, element: ElementType, arg: np.ndarray, cx: Context) -> None:
        for handler in self._updating:
            handler(place, mask, element, arg, cx)

    def stalled(self, waiting: list[Group], cx: Context) -> None:
        for handler in self._stalled:
            handler(waiting, cx)

    def starved(self, waiting: list[Group], cx: Context) -> bool:
        answers = [handler(waiting, cx) for handler in self._starved]
        return any(answers)

    def finished(self, cx: Context) -> None:
        for handler in self._finished:
            handler(cx)


def _having(checks: list[Any], method: str) -> tuple[Any, ...]:
    return tuple(getattr(c, method) for c in checks if hasattr(c, method))
