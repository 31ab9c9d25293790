"""Decoded Tile IR: module, function, region, operation, value. Built once by the decoder, then only read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cutile_sim.optable.spec import OpSpec
from cutile_sim.tileir.types import FunctionType, Type


@dataclass(frozen=True)
class Location:
    """A place in the user's source. `line` and `column` count from 1; column 0 is unknown.

    `caller` is where the function that holds this line was called from, for code that was inlined.
    """

    file: str
    line: int
    column: int = 0
    function: str = ""
    caller: Location | None = None

    def chain(self) -> Iterator[Location]:
        """This location, then its callers, outwards."""
        at: Location | None = self
        while at is not None:
            yield at
            at = at.caller

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


@dataclass(frozen=True, eq=False)
class Value:
    """An SSA value: `index` is unique in its function. Compared by identity."""

    index: int
    type: Type

    def __repr__(self) -> str:
        return f"%{self.index}"


@dataclass(frozen=True, eq=False)
class Region:
    """A nested block: its arguments and its operations, the last of which is its terminator."""

    arguments: tuple[Value, ...]
    ops: tuple[Op, ...]


@dataclass(frozen=True, eq=False)
class Op:
    """One operation.

    `operands` and `attributes` are keyed by the names of the operation's row in the table, in its order. An
    operand is a Value, None where an optional one is absent, or a tuple of Values where the row says there
    may be many. Stand-alone flags (`flush_to_zero`) are in `attributes` as bool. An attribute that the
    file's version does not know has its default.
    """

    spec: OpSpec
    operands: Mapping[str, Value | tuple[Value, ...] | None]
    attributes: Mapping[str, Any]
    results: tuple[Value, ...]
    regions: tuple[Region, ...] = ()
    location: Location | None = None
    offset_bytes: int = 0

    @property
    def name(self) -> str:
        """The mnemonic, such as `addf`."""
        return self.spec.mnemonic

    @cached_property
    def inputs(self) -> tuple[Value, ...]:
        """All operand values, flattened, in order, absent ones left out."""
        flat: list[Value] = []
        for value in self.operands.values():
            if isinstance(value, tuple):
                flat.extend(value)
            elif value is not None:
                flat.append(value)
        return tuple(flat)

    def walk(self) -> Iterator[Op]:
        """This operation, then all operations nested in it, in program order."""
        yield self
        for region in self.regions:
            for op in region.ops:
                yield from op.walk()


@dataclass(frozen=True, eq=False)
class Function:
    """One function of a module; `is_entry` marks a kernel."""

    name: str
    type: FunctionType
    body: Region
    is_entry: bool
    value_count: int
    location: Location | None = None
    hints: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def parameters(self) -> tuple[Value, ...]:
        return self.body.arguments

    def walk(self) -> Iterator[Op]:
        """All operations, in program order."""
        for op in self.body.ops:
            yield from op.walk()


@dataclass(frozen=True, eq=False)
class Global:
    """A named block of memory that every kernel of the module shares. `data` are its initial bytes."""

    name: str
    type: Type
    data: bytes
    alignment_bytes: int
    constant: bool = False
    private: bool = False


@dataclass(frozen=True, eq=False)
class Module:
    """A decoded file: `version` is the bytecode's, such as (13, 4)."""

    version: tuple[int, int]
    functions: tuple[Function, ...]
    globals: Mapping[str, Global]
    producer: str = ""

    def walk(self) -> Iterator[Op]:
        for function in self.functions:
            yield from function.walk()
