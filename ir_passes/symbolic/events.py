"""What following a kernel's code starts from and leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutile_sim.tileir.core import Op, Value
from ir_passes.symbolic.conditions import Condition
from ir_passes.symbolic.terms import Poly, Symbol
from ir_passes.symbolic.values import Followed


@dataclass(frozen=True)
class Launch:
    """What a kernel is launched with: `parameters` are the entry function's, in order.

    `without_promise` are positions of parameters whose promises nobody keeps: strides along axes of one element.
    """

    grid: tuple[Poly, Poly, Poly]
    parameters: tuple[Followed, ...]
    globals_bytes: dict[str, int] = field(default_factory=dict)
    without_promise: frozenset[int] = frozenset()


@dataclass(frozen=True, eq=False)
class Event:
    """One operation, met: `operands` flat, in the order of `op.inputs`. It runs where `path` holds."""

    op: Op
    operands: tuple[Followed, ...]
    path: Condition

    def of(self, value: Value) -> Followed:
        return self.operands[self.op.inputs.index(value)]


@dataclass
class Trace:
    """All events, in program order; block ids by axis; of each turn symbol the conditions that end its loop early.

    `given` holds for every launch: that the grid has blocks.
    """

    events: list[Event]
    blocks: tuple[Poly, Poly, Poly]
    exits: dict[Symbol, list[Condition]]
    given: Condition
