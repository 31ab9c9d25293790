"""How anything watches a launch: sanitizer, traces, debugger. The engine knows only this interface.

A launch with an observer runs a plan of its own: one step an operation, none of the plan's short cuts, and a second
slot for every value (`slots[plan.shadow + i]`), empty at first, in which an observer may keep what it knows of value i.
Shadows are split and merged with their groups like values. A launch without an observer pays one comparison an access
to memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.tileir.core import Op

if TYPE_CHECKING:
    from cutile_sim.engine.context import Context
    from cutile_sim.engine.group import Group
    from cutile_sim.engine.plan import Plan


class Observer:
    """Does nothing, but that updates count as stores. Override what you want to see.

    `place` is where lanes lie in memory: a `Window`, `Edge` or `Lanes` of `ops.windows`, `Places`, or int64 addresses.
    `mask` leaves lanes out, or is None. `cx.op` is the operation, `cx.group` the blocks.

    Operations that give every block the same run once, ahead of all blocks and with no group.

    Attributes:
        most_waiting: How many blocks a batch may hold where blocks may wait for one another; None for no limit.
        in_order: Whether operations that give every block the same run where the program has them instead, with each
            group that comes there.
    """

    most_waiting: int | None = None
    in_order = False

    def started(self, plan: Plan, cx: Context) -> None:
        """A launch begins: memory is in place, nothing has run yet."""

    def before(self, op: Op, slots: list[Any], cx: Context) -> None:
        """An operation is about to run for `cx.group`."""

    def after(self, op: Op, slots: list[Any], cx: Context) -> None:
        """An operation has run: its results are in their slots."""

    def moved(self, sources: list[int], targets: list[int], slots: list[Any], cx: Context) -> None:
        """Values have moved from slots to slots: into a region, around a loop, out of a branch."""

    def branched(self, op: Op, condition: np.ndarray, cx: Context) -> None:
        """A branch or a loop's exit depends on a condition (i1, [z, y, x])."""

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        """Lanes have been read."""

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        """Lanes are about to be written; `stored` (storage form) broadcasts to them."""

    def updating(self, place: Any, mask: np.ndarray | None, element: ElementType, arg: np.ndarray, cx: Context) -> None:
        """Lanes are about to be updated atomically; `arg` (storage form) is the argument, or the value to swap in.
        They count as stores for whoever does not override this.
        """
        self.storing(place, mask, element, arg, cx)

    def stalled(self, waiting: list[Group], cx: Context) -> None:
        """Only groups that may wait for other blocks are left, and no batch is still to be started."""

    def starved(self, waiting: list[Group], cx: Context) -> bool:
        """Only groups that may wait for other blocks are left, and the next batch is about to be started beside them:
        on a GPU that has no room for more blocks none would be. True asks for another turn of theirs first.
        """
        return False

    def finished(self, cx: Context) -> None:
        """All blocks have ended."""


class Observers(Observer):
    """Several observers of one launch, told in order. At most one of them may use the shadow slots."""

    def __init__(self, *observers: Observer) -> None:
        self.observers = observers
        limits = [o.most_waiting for o in observers if o.most_waiting is not None]
        self.most_waiting = min(limits, default=None)
        self.in_order = any(o.in_order for o in observers)

    def started(self, plan: Plan, cx: Context) -> None:
        for observer in self.observers:
            observer.started(plan, cx)

    def before(self, op: Op, slots: list[Any], cx: Context) -> None:
        for observer in self.observers:
            observer.before(op, slots, cx)

    def after(self, op: Op, slots: list[Any], cx: Context) -> None:
        for observer in self.observers:
            observer.after(op, slots, cx)

    def moved(self, sources: list[int], targets: list[int], slots: list[Any], cx: Context) -> None:
        for observer in self.observers:
            observer.moved(sources, targets, slots, cx)

    def branched(self, op: Op, condition: np.ndarray, cx: Context) -> None:
        for observer in self.observers:
            observer.branched(op, condition, cx)

    def loaded(self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context) -> None:
        for observer in self.observers:
            observer.loaded(place, mask, element, cx)

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        for observer in self.observers:
            observer.storing(place, mask, element, stored, cx)

    def updating(self, place: Any, mask: np.ndarray | None, element: ElementType, arg: np.ndarray, cx: Context) -> None:
        for observer in self.observers:
            observer.updating(place, mask, element, arg, cx)

    def stalled(self, waiting: list[Group], cx: Context) -> None:
        for observer in self.observers:
            observer.stalled(waiting, cx)

    def starved(self, waiting: list[Group], cx: Context) -> bool:
        answers = [observer.starved(waiting, cx) for observer in self.observers]
        return any(answers)

    def finished(self, cx: Context) -> None:
        for observer in self.observers:
            observer.finished(cx)
