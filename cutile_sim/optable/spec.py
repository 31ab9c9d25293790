"""What a row of the table of operations says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

OperandKind = Literal["one", "optional", "counted", "rest"]


@dataclass(frozen=True)
class OperandSpec:
    """`counted`: many, with their count before them; `rest`: all that remain of the operation's total count.

    `flag`: the name of the flag bit that says whether an optional operand is present, or None where the
    count says it.
    """

    name: str
    kind: OperandKind = "one"
    flag: str | None = None


@dataclass(frozen=True)
class AttributeSpec:
    """`kind` is how it is encoded; `enum` the enumeration's name; `flag` the bit that says it is present;
    `since` the first bytecode version that has it; `default` its value in older files.
    """

    name: str
    kind: str
    enum: str | None = None
    flag: str | None = None
    since: tuple[int, int] | None = None
    default: object = None


@dataclass(frozen=True)
class Encoding:
    """How an operation is written: generated from the installed cuda-tile."""

    class_name: str
    opcode: int
    since: tuple[int, int]
    results: tuple[str, ...]
    results_counted: bool
    results_variadic: bool
    results_since: tuple[int, int] | None
    flags: tuple[str, ...]
    flags_since: tuple[int, int] | None
    attributes: tuple[AttributeSpec, ...]
    operands: tuple[OperandSpec, ...]
    total_count: bool
    regions: int
    preview: bool = False


Effect = Literal["pure", "read", "write", "read_write", "control", "print", "order", "none"]


@dataclass(frozen=True)
class Meaning:
    """What an operation is: written by hand. `exactness` is E, U or R (docs/semantics.md); `ulps` bounds a U.

    `unsupported` gives the reason where one simulated GPU cannot run it.
    """

    mnemonic: str
    family: str
    effect: Effect
    summary: str
    exactness: Literal["E", "U", "R"] = "E"
    ulps: int = 0
    structural: bool = False
    unsupported: str | None = None


@dataclass(frozen=True)
class OpSpec:
    """One row: encoding and meaning joined."""

    encoding: Encoding
    meaning: Meaning

    @property
    def mnemonic(self) -> str:
        return self.meaning.mnemonic

    @property
    def effect(self) -> Effect:
        return self.meaning.effect

    @property
    def operand_names(self) -> tuple[str, ...]:
        return tuple(o.name for o in self.encoding.operands)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Attributes, then stand-alone flags: all that an evaluator function takes by keyword."""
        enc = self.encoding
        present = {a.flag for a in enc.attributes} | {o.flag for o in enc.operands}
        return tuple(a.name for a in enc.attributes) + tuple(f for f in enc.flags if f not in present)
