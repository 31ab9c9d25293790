"""What a plan is made of: runs of steps, and the jumps between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutile_sim.engine.steps import Step
from cutile_sim.tileir.core import Op


@dataclass
class Run:
    """Steps with no control flow among them; `ops[i]` is what step i does, None for moves and releases.

    `count` is how many operations of the kernel they stand for. `fallback` is where to go on after a fault, in a loop
    that takes several turns at once: there single turns find the lane.
    """

    steps: list[Step] = field(default_factory=list)
    ops: list[Op | None] = field(default_factory=list)
    count: int = 0
    fallback: int | None = None


@dataclass
class Branch:
    """Go on where the condition holds, to `target` where it does not."""

    condition: int
    target: int
    op: Op


@dataclass
class Jump:
    """Go to `target`. `is_back`: a loop's next turn; `may_wait`: of a loop that may spin until another block acts.

    `carried` are the slots that such a loop takes into its next turn.
    """

    target: int
    op: Op
    is_back: bool = False
    may_wait: bool = False
    carried: tuple[int, ...] = ()


@dataclass
class Join:
    """Groups that parted may merge here."""


@dataclass
class Halt:
    """The end of a block."""


Instruction = Run | Branch | Jump | Join | Halt
