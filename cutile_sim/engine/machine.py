"""Runs the groups of a launch: batch after batch, min-pc first, fair to blocks that wait for one another.

Of the groups that have parted, the one farthest behind goes first, so they meet again where the program's structure
joins.
A group that turns round in a loop that reads memory, and takes nothing new into the next turn, may be waiting for
another block: it steps aside for the others, and when only such groups are left, further batches of the grid are
started too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutile_sim.engine.context import Context
from cutile_sim.engine.group import UNSET, Group, merge
from cutile_sim.engine.instructions import Branch, Halt, Join, Jump, Run
from cutile_sim.engine.plan import Number, Plan
from cutile_sim.engine.structure import carrier_of
from cutile_sim.errors import BudgetExceededError, CutileSimError, InternalError, KernelError
from cutile_sim.memory.access import LaneFault
from cutile_sim.tileir.core import Op
from cutile_sim.tileir.types import TileType

PATIENCE_TURNS = 1000
"""How often a loop that reads memory turns before it is taken to wait for another block, though what it carries
changes; and how often such loops turn, with nothing else left to run, before another batch is started."""
IDLE_ROUNDS = 2
"""How often loops that carry nothing new from turn to turn go round before another batch is started."""


@dataclass(frozen=True)
class Limits:
    """When to give up: `steps` counts instructions of the engine (one serves a whole group of blocks)."""

    steps: int = 200_000_000
    seconds: float | None = None


class Machine:
    """One launch in progress. `in_order` says that its outcome depends on the order of blocks."""

    def __init__(self, plan: Plan, cx: Context, limits: Limits, *, in_order: bool) -> None:
        self.plan = plan
        self.cx = cx
        self.limits = limits
        self.in_order = in_order
        self.steps = 0
        self.deadline = None if limits.seconds is None else time.monotonic() + limits.seconds
        self.finished_blocks = 0
        self.slots: list[Any] = []

    def run(self, parameters: Sequence[Number], batches: Iterator[Group], progress: Any = None) -> None:
        """Run all batches to their end. `parameters` are the values of the function's parameters.

        Raises KernelError subclasses for what the kernel did wrong, with operation, block and lane.
        """
        with np.errstate(all="ignore"):
            if self.cx.observer is not None:
                self.cx.observer.started(self.plan, self.cx)
            self._begin(parameters)
            waiting: list[Group] = []
            while True:
                group = next(batches, None)
                if group is not None:
                    if self.finished_blocks:
                        self._check_time(None)
                    group.slots = self.slots.copy()
                    ready = [group]
                elif waiting:
                    ready = []
                else:
                    break
                waiting = self._drain(ready, waiting, more=group is not None)
                if progress is not None:
                    progress(self.finished_blocks)
            if self.cx.observer is not None:
                self.cx.observer.finished(self.cx)

    def _begin(self, parameters: Sequence[Number]) -> None:
        """Fill the slots of what all blocks share: the parameters, and what the prologue makes of them. Launches of the
        same numbers share it too: most launches of a kernel differ only in what their arrays hold.
        """
        plan, cx = self.plan, self.cx
        # -0.0 equals 0.0; its digits do not.
        key = (cx.grid, *[n.hex() if type(n) is float else n for n in parameters])
        remembers = cx.observer is None and not cx.globals
        if remembers and plan.begun is not None and plan.begun[0] == key:
            self.slots = plan.begun[1]
            return
        self.slots = [UNSET] * plan.slot_count
        for value, number in zip(plan.parameters, parameters, strict=True):
            assert isinstance(value.type, TileType)
            self.slots[value.index] = np.array([[[number]]], carrier_of(value.type))
        self._steps(plan.prologue, self.slots)
        if remembers:
            plan.begun = key, self.slots

    def _drain(self, ready: list[Group], waiting: list[Group], more: bool) -> list[Group]:
        """Run until all groups have ended, or those left have waited long enough for a batch not yet started."""
        rounds = 0
        while True:
            while ready:
                group = _take(ready)
                if not self._advance(group, ready, waiting):
                    ended = self.cx.group
                    self.finished_blocks += ended.size
                    rounds = 0
                    self._free(ended, ready, waiting)
            if not waiting:
                return []
            rounds += 1
            patience = IDLE_ROUNDS if all(g.is_idle for g in waiting) else PATIENCE_TURNS
            if rounds > patience and more and not self._may_be_starved(waiting):
                return waiting
            if self.cx.observer is not None and not more:
                self.cx.observer.stalled(waiting, self.cx)
            ready, waiting = waiting, []

    def _may_be_starved(self, waiting: list[Group]) -> bool:
        """Whether an observer wants to see another turn before blocks are started beside those that wait."""
        return self.cx.observer is not None and self.cx.observer.starved(waiting, self.cx)

    def _free(self, group: Group, ready: list[Group], waiting: list[Group]) -> None:
        """Unmap what an ended batch had allocated, once no group of it is left."""
        if group.scratch and not any(g.scratch is group.scratch for g in (*ready, *waiting)):
            for allocation in group.scratch:
                self.cx.space.free(allocation)
            group.scratch.clear()

    def _advance(self, group: Group, ready: list[Group], waiting: list[Group]) -> bool:
        """Run one group until it ends (False), or lets another go first (True, and it is in `ready` or `waiting`)."""
        cx, code = self.cx, self.plan.code
        cx.group = group
        cx.live = lambda: [g.slots for g in (cx.group, *ready, *waiting)]
        while True:
            instruction = code[group.pc]
            if type(instruction) is Run:
                if instruction.fallback is not None and not self._attempt(instruction, group.slots):
                    group.pc = instruction.fallback
                    continue
                if instruction.fallback is None:
                    self._steps(instruction, group.slots)
                cx.counts.operations += instruction.count * group.size
                group.pc += 1
            elif type(instruction) is Branch:
                condition = group.slots[instruction.condition]
                if cx.observer is not None:
                    cx.observer.branched(instruction.op, condition, cx)
                if condition.size == 1:
                    group.pc = group.pc + 1 if condition.item() else instruction.target
                elif condition.all():
                    group.pc += 1
                elif not condition.any():
                    group.pc = instruction.target
                else:
                    holds, fails = group.split(condition, in_order=self.in_order)
                    for part in holds:
                        part.pc += 1
                    for part in fails:
                        part.pc = instruction.target
                    group, *others = *holds, *fails
                    ready.extend(others)
                    cx.group = group
            elif type(instruction) is Jump:
                group.pc = instruction.target
                if instruction.is_back:
                    self.steps += 1
                    self._check_limits(instruction.op)
                    if instruction.may_wait and _steps_aside(group, instruction):
                        waiting.append(group)
                        return True
            elif type(instruction) is Join:
                if ready:
                    if _behind(ready, group):
                        ready.append(group)
                        return True
                    same = [g for g in ready if g.pc == group.pc]
                    if same:
                        ready[:] = [g for g in ready if g.pc != group.pc]
                        group = merge([group, *same])
                        cx.group = group
                group.pc += 1
            else:
                assert type(instruction) is Halt
                return False

    def _attempt(self, run: Run, slots: list[Any]) -> bool:
        """Run steps that may be done again in another way: False where they fail."""
        try:
            self._steps(run, slots)
        except KernelError:
            return False
        return True

    def _steps(self, run: Run, slots: list[Any]) -> None:
        at = 0
        cx = self.cx
        try:
            for step in run.steps:
                step(slots, cx)
                at += 1
        except LaneFault as fault:
            raise self._placed(fault, run.ops[at]) from None
        except CutileSimError as error:
            if error.location is None:
                op = run.ops[at]
                error.location = op.location if op is not None else None
            raise
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            op = run.ops[at]
            raise InternalError(
                f"cutile_sim failed on {op.name if op else 'a move'}: {type(error).__name__}: {error}. "
                "This is a mistake of cutile_sim: please report it with the kernel",
                location=op.location if op is not None else None,
            ) from error
        self.steps += at

    def _placed(self, fault: LaneFault, op: Op | None) -> KernelError:
        group = self.cx.group
        block = group.block_at(fault.position[:3]) if group is not None else None
        return fault.error_class(
            fault.reason,
            location=op.location if op is not None else None,
            block=block,
            lane=tuple(fault.position[3:]) or None,
        )

    def _check_limits(self, op: Op) -> None:
        block = self.cx.group.block_at((0, 0, 0))
        if self.steps > self.limits.steps:
            raise BudgetExceededError(
                f"the launch took more than {self.limits.steps:,} steps; this loop may never end "
                "(raise the limit with step_limit=, or --step-limit)",
                location=op.location,
                block=block,
            )
        self._check_time(op)

    def _check_time(self, op: Op | None) -> None:
        """Stop a launch past its time limit, in a loop or between batches."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            where = "it was in this loop, which may never end" if op is not None else "it was not through with the grid"
            raise BudgetExceededError(
                f"the launch took longer than {self.limits.seconds:g} seconds; {where} "
                "(raise the limit with time_limit=, or --time-limit)",
                location=op.location if op is not None else None,
                block=self.cx.group.block_at((0, 0, 0)) if op is not None else None,
            )


def _take(ready: list[Group]) -> Group:
    """The group that is farthest behind, out of `ready`."""
    if len(ready) == 1:
        return ready.pop()
    best = min(range(len(ready)), key=lambda i: ready[i].pc)
    return ready.pop(best)


def _steps_aside(group: Group, jump: Jump) -> bool:
    """Whether a group at the end of a loop's turn lets others go first: the turn changed nothing that the loop carries,
    or there were too many turns to trust that.
    """
    carried = [group.slots[i] for i in jump.carried]
    seen = group.carried
    group.is_idle = seen is not None and len(seen) == len(carried) and all(map(_is_same, seen, carried))
    group.carried = carried
    group.turns += 1
    return group.is_idle or group.turns > PATIENCE_TURNS


def _is_same(before: Any, after: Any) -> bool:
    if before is after:
        return True
    return isinstance(before, np.ndarray) and isinstance(after, np.ndarray) and np.array_equal(before, after)


def _behind(ready: list[Group], group: Group) -> bool:
    return any(g.pc < group.pc for g in ready)
