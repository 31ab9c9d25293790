"""What a proof says: a verdict on every access and every computation that could go wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from cutile_sim.tileir.core import Location, Op
from ir_passes.symbolic.terms import Symbol


class Check(Enum):
    """What is checked. The value is the stable id of its finding: the sanitizer's, where it looks for the same."""

    RANGE = "CTS101"
    PROMISED_BOUNDS = "CTS102"
    DISJOINT_STORES = "CTS201"
    DISJOINT_LOADS = "CTS202"
    ASSUMPTION = "CTS401"
    OVERFLOW = "CTS404"
    DIVISION = "CTS501"
    LEAST_BY_MINUS_ONE = "CTS502"
    SHIFT = "CTS503"
    COVERAGE = "CTS701"
    STORED_TILE = "CTS703"
    CLIPPED_STORE = "CTS704"
    LOADED_TILE = "CTS705"
    ASSERTION = "CTS901"

    @property
    def title(self) -> str:
        return self.name.lower().replace("_", " ")


Status = Literal["proved", "violated", "not checked"]


@dataclass(frozen=True)
class Witness:
    """Where it goes wrong: enough to run just that.

    Attributes:
        block: The block (x, y, z).
        other_block: The second block, where two clash.
        turns: Which turn of each loop that matters, from 0, by the loop's title.
        lane: The position in the tile, where one lane is to blame.
        parameters: Values of launch parameters that were left open.
        values: What was computed there, by a word on it.
        numbers: What all symbols are there.
    """

    block: tuple[int, int, int]
    other_block: tuple[int, int, int] | None = None
    turns: Mapping[str, int] | None = None
    lane: tuple[int, ...] | None = None
    parameters: Mapping[str, int] | None = None
    values: Mapping[str, int] | None = None
    numbers: Mapping[Symbol, int] | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        parts = [f"block {self.block}"]
        if self.other_block is not None:
            parts[0] = f"blocks {self.block} and {self.other_block}"
        if self.lane:
            parts.append(f"lane {self.lane}")
        for group in (self.turns, self.parameters, self.values):
            parts += [f"{name} = {value}" for name, value in (group or {}).items()]
        return ", ".join(parts)


@dataclass(frozen=True)
class Clash:
    """Whether different blocks touch one element: "proved" that they do not, "violated" with a witness, or not known.

    `index` is that of the element in its array, where it is known.
    """

    status: Status
    reason: str = ""
    witness: Witness | None = None
    index: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Verdict:
    """One thing that was checked.

    Attributes:
        op: The operation it is about; None for what is about a whole array.
        message: What was proved or what goes wrong.
        reason: Why it was not checked.
        condition: For open launch parameters: when it goes wrong, where that is known.
        array: The array argument it is about.
        index: Index in that array.
        other: The second operation, where two clash: the store, for a load.
    """

    check: Check
    status: Status
    message: str
    op: Op | None = None
    witness: Witness | None = None
    reason: str = ""
    condition: str = ""
    array: str | None = None
    index: tuple[int, ...] | None = None
    other: Op | None = None

    @property
    def location(self) -> Location | None:
        return self.op.location if self.op is not None else None

    @property
    def is_note(self) -> bool:
        """Whether a violation is nothing wrong by itself: clipping at an array's edge is what views are for."""
        return self.check is Check.CLIPPED_STORE

    def __str__(self) -> str:
        tail = f": {self.reason}" if self.reason else ""
        if self.witness is not None:
            tail += f" ({self.witness})"
        if self.condition:
            tail += f"; whenever {self.condition}"
        return f"{self.status}: {self.message}{tail}"


@dataclass(frozen=True)
class Proofs:
    """All verdicts, in program order."""

    verdicts: tuple[Verdict, ...]

    def of(self, status: Status) -> tuple[Verdict, ...]:
        return tuple(v for v in self.verdicts if v.status == status)

    @property
    def violated(self) -> tuple[Verdict, ...]:
        """What goes wrong, notes left out."""
        return tuple(v for v in self.of("violated") if not v.is_note)

    @property
    def is_complete(self) -> bool:
        """Whether everything was proved: nothing goes wrong, and nothing was left unchecked."""
        return not self.violated and not self.of("not checked")
