"""Waits that no other block can end, or only one that may never start."""

from __future__ import annotations

import zlib
from typing import Any

from cutile_sim.engine.context import Context
from cutile_sim.engine.group import Group
from cutile_sim.errors import BudgetExceededError
from cutile_sim.sanitize.watch import Check, Watch

BLOCKS_PER_SM = 32
"""More blocks than that fit on no SM."""


class Hangs(Check):
    """CTS801: all blocks that are left turn in loops that change nothing, neither in memory nor for the next turn.
    CTS803: so many blocks do that more would have to start for them to end.
    """

    name = "hangs"

    def __init__(self, watch: Watch) -> None:
        super().__init__(watch)
        self.rounds = 0
        self.look_at = 2
        self.before: tuple[int, int] | None = None
        sms = watch.options.resident_blocks
        self.room = [sms, sms * BLOCKS_PER_SM]
        self.starving: tuple[int, int] | None = None
        self.doubts = 0
        self.looks = 0

    def stalled(self, waiting: list[Group], cx: Context) -> None:
        """Raises BudgetExceededError where the round before this one has changed nothing at all.

        What a loop does next depends on what it carries and on memory alone, so such a round repeats for ever.
        """
        self.rounds += 1
        if not all(g.is_idle for g in waiting):
            self.before = None
            return
        state = self.rounds, _digest(cx)
        if self.before is not None and state[0] == self.before[0] + 1 and state[1] == self.before[1]:
            self._give_up(waiting, cx)
        if self.rounds >= self.look_at:
            self.before = state
            self.look_at = max(self.look_at, self.rounds) * 2 if self.rounds > 8 else self.look_at

    def starved(self, waiting: list[Group], cx: Context) -> bool:
        """Report blocks that fill the GPU and wait: one more of their turns has changed nothing at all."""
        count = sum(g.size for g in waiting)
        if not self.room or count < self.room[0] or not all(g.is_idle for g in waiting):
            return False
        if self.starving is None:
            self.looks += 1
            if self.looks < 1 << self.doubts:
                return False
            self.starving = count, _digest(cx)
            return True
        if self.starving == (count, _digest(cx)):
            self._report_starving(waiting, count)
        else:  # they were at work: look the less often
            self.doubts += 1
        self.starving = None
        return False

    def _report_starving(self, waiting: list[Group], count: int) -> None:
        first = min(waiting, key=lambda g: int(g.linear_ids(self.watch.cx.grid).min()))
        at_most, *self.room = self.room
        self.watch.report(
            "CTS803",
            "warning" if self.room else "error",
            f"{count:,} blocks wait here for blocks that come later in launch order: a GPU that runs no more than "
            f"{at_most:,} blocks at once starts those only when earlier ones have ended, and waits for ever",
            self.watch.loop_at(first.pc),
            block=self.watch.block_of_number(int(first.linear_ids(self.watch.cx.grid).min())),
        )

    def _give_up(self, waiting: list[Group], cx: Context) -> None:
        first = min(waiting, key=lambda g: int(g.linear_ids(cx.grid).min()))
        block = self.watch.block_of_number(int(first.linear_ids(cx.grid).min()))
        count = sum(g.size for g in waiting)
        op = self.watch.loop_at(first.pc)
        error: Any = BudgetExceededError(
            f"{count} block{'s wait' if count > 1 else ' waits'} for ever: every other block has ended or waits too, "
            "and nothing in memory changes any more",
            location=op.location if op is not None else None,
            block=block,
        )
        error.finding_id = "CTS801"
        raise error


def _digest(cx: Context) -> int:
    """A number that changes when memory does."""
    value = 1
    seen: set[int] = set()
    for allocation in cx.space.allocations.values():
        if id(allocation) not in seen and allocation.written:
            seen.add(id(allocation))
            value = zlib.crc32(allocation.data.data if allocation.data.flags.c_contiguous else allocation.data, value)
    return value
