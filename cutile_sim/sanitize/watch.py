"""What all checks of one sanitized launch share: facts about the kernel, findings, and where a value came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cutile_sim.engine.context import Context
from cutile_sim.engine.instructions import Jump
from cutile_sim.engine.plan import Plan
from cutile_sim.findings import Finding, Severity
from cutile_sim.memory.access import describe_address
from cutile_sim.memory.space import Extent
from cutile_sim.sanitize.options import SanitizeOptions
from cutile_sim.source import users_line
from cutile_sim.tileir.core import Location, Op, Value
from ir_passes.edges import edges_of
from ir_passes.memory_roots import Access, roots_of

BATCH_AXES = 3
RANK: dict[Severity, int] = {"error": 0, "warning": 1, "note": 2}
Handler = Callable[[Op, list[Any], Context], None]


@dataclass(frozen=True)
class Event:
    """Where something doubtful began, to be reported if it reaches what counts."""

    id: str
    bit: int
    op: Op
    message: str
    block: tuple[int, int, int] | None
    lane: tuple[int, ...]
    number: int


class Watch:
    """One sanitized launch.

    Attributes:
        shadow: The first shadow slot.
        ops: All operations of the kernel, in program order.
        users: The operations that take a value.
        origins: For each value, the values that it may have been made from.
        makers: The operation that made a value.
        roots: For each access to memory, the parameters whose pointers it may go through.
        events: What began where, by operation and bit.
    """

    def __init__(self, plan: Plan, cx: Context, options: SanitizeOptions) -> None:
        self.cx = cx
        self.options = options
        self.shadow = plan.shadow
        self.plan = plan
        self.ops = list(_ops_of(plan))
        self.makers: dict[Value, Op] = {v: op for op in self.ops for v in op.results}
        self.users: dict[Value, list[Op]] = {}
        self.origins: dict[Value, list[Value]] = {}
        self.parents: dict[Op, Op] = {}
        for op in self.ops:
            for value in op.inputs:
                self.users.setdefault(value, []).append(op)
            for region in op.regions:
                self.parents.update((inner, op) for inner in region.ops)
            for source, made, by_control in edges_of(op):
                if not by_control:
                    self.origins.setdefault(made, []).append(source)
        self.roots: dict[Op, Access] = {a.op: a for a in roots_of(self.ops, plan.parameters)}
        self.events: dict[tuple[Op, int], Event] = {}
        self.log: Any = None
        self._findings: dict[tuple[Any, ...], Finding] = {}

    # Findings

    def report(
        self,
        id: str,
        severity: Severity,
        message: str,
        op: Op | None,
        *,
        block: tuple[int, int, int] | None = None,
        lane: Sequence[int] = (),
        array: str | None = None,
        index: tuple[int, ...] | None = None,
        related: Iterable[tuple[str, Location | None]] = (),
        count: int = 1,
        details: dict[str, Any] | None = None,
    ) -> None:
        """Note a finding: of each id, line and array the first of the most severe is kept, the others are counted."""
        location = users_line(op.location) if op is not None else None
        key = (id, location or op, array)
        known = self._findings.get(key)
        if known is not None and RANK[known.severity] <= RANK[severity]:
            self._findings[key] = replace(known, count=known.count + count)
            return
        count += 0 if known is None else known.count
        places = tuple((word, spot) for word, place in related if (spot := users_line(place)) is not None)
        at = tuple(int(i) for i in lane) or None
        self._findings[key] = Finding(
            id, severity, message, location, block, at, array, index, places, count, details or {}
        )

    def is_known(self, id: str, op: Op, array: str | None = None) -> bool:
        """Whether there is such a finding already."""
        return (id, users_line(op.location) or op, array) in self._findings

    @property
    def found(self) -> int:
        """How many findings there are so far."""
        return len(self._findings)

    def findings(self) -> tuple[Finding, ...]:
        """All findings: errors first, then by line."""

        def key(finding: Finding) -> tuple[Any, ...]:
            at = finding.location
            return RANK[finding.severity], (at.file, at.line, at.column) if at else ("", 0, 0), finding.id

        return tuple(sorted(self._findings.values(), key=key))

    # Places

    def loop_at(self, pc: int) -> Op | None:
        """The loop whose turn begins at an instruction of the plan."""
        for instruction in self.plan.code:
            if isinstance(instruction, Jump) and instruction.is_back and instruction.target == pc:
                return instruction.op
        return None

    def block_at(self, position: Sequence[int]) -> tuple[int, int, int] | None:
        """The block (x, y, z) at a position on the batch axes; None ahead of all blocks."""
        group = self.cx.group
        return None if group is None else group.block_at(tuple(int(p) for p in position[:BATCH_AXES]))

    def block_of_number(self, number: int) -> tuple[int, int, int]:
        """The block (x, y, z) of a launch-order number."""
        x, y, _ = self.cx.grid
        return number % x, number // x % y, number // (x * y)

    def array_at(self, address: int) -> str | None:
        """The array argument that an address belongs to."""
        allocation = self.cx.space.find(address)
        extent = None if allocation is None else allocation.extent_of(address - allocation.address)
        return extent.name if extent is not None else None

    def array_of(self, op: Op) -> Extent | None:
        """The one array argument that an access goes through; None where it may be another, or none."""
        root = self.roots.get(op)
        if root is None or not root.exact or len(root.parameters) != 1:
            return None
        return self.cx.arrays.get(next(iter(root.parameters)))

    def words_for(self, address: int, size_bytes: int) -> str:
        """Array and index of an address, in words."""
        return describe_address(self.cx.space, address, size_bytes)

    # Origins

    def behind(self, values: Iterable[Value]) -> Iterator[Value]:
        """Values, and all that they may have been made from, nearest first."""
        queue, seen = list(values), set()
        for value in queue:
            if value not in seen:
                seen.add(value)
                yield value
                queue.extend(self.origins.get(value, ()))

    def begin(self, id: str, bit: int, op: Op, message: str, position: Sequence[int]) -> None:
        """Note where something doubtful began; only the first of an operation counts."""
        if (op, bit) not in self.events:
            lane = tuple(int(i) for i in position[BATCH_AXES:])
            self.events[op, bit] = Event(id, bit, op, message, self.block_at(position), lane, len(self.events))

    def events_behind(self, values: Iterable[Value], bit: int) -> Iterator[Event]:
        """Where such events began, of the operations behind some values, nearest first."""
        seen: set[Op] = set()
        for value in self.behind(values):
            maker = self.makers.get(value)
            if maker is not None and maker not in seen and (event := self.events.get((maker, bit))) is not None:
                seen.add(maker)
                yield event

    def depends_on(self, values: Iterable[Value], names: frozenset[str]) -> bool:
        """Whether values may be made from results of operations of these names."""
        makers = (self.makers.get(value) for value in self.behind(values))
        return any(maker is not None and maker.name in names for maker in makers)


def _ops_of(plan: Plan) -> Iterator[Op]:
    seen: set[Op] = set()
    places: list[Op | None] = [*plan.prologue.ops]
    for instruction in plan.code:
        places += getattr(instruction, "ops", None) or [getattr(instruction, "op", None)]
    for place in places:
        for op in place.walk() if place is not None else ():
            if op not in seen:
                seen.add(op)
                yield op


def first_position(bad: np.ndarray) -> tuple[int, ...]:
    """Where the first true lane is."""
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(bad)), bad.shape))


class Check:
    """One kind of mistake. `before_of` and `after_of` are asked once an operation, and give what to call each time.

    A check may have the other methods of an `Observer` too; who has `storing` is told of updates there, unless it has
    `updating`.
    """

    name = ""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch

    def before_of(self, op: Op) -> Handler | None:
        """What to call ahead of an operation."""
        return None

    def after_of(self, op: Op) -> Handler | None:
        """What to call after an operation."""
        return None
