"""Reads Tile IR bytecode: `decode(data)` gives the module.

How each operation is written is taken from the table of operations alone. Numbering of values: parameters
first, then the results of operations in order; the values of a region are forgotten where it ends, so that
its operation's own results take their numbers. `Value.index` is another count that never goes back, unique
in its function.
"""

from __future__ import annotations

from typing import Any

from cutile_sim.optable import BY_OPCODE, OperandSpec, OpSpec
from cutile_sim.tileir.attributes import plain, read_attribute, read_tagged
from cutile_sim.tileir.core import Function, Module, Op, Region, Value
from cutile_sim.tileir.debuginfo import DebugInfo, LocationStream
from cutile_sim.tileir.reader import Reader
from cutile_sim.tileir.sections import (
    DEBUG,
    FUNCTION,
    GLOBAL,
    PRODUCER,
    Tables,
    read_globals,
    read_header,
    read_sections,
    read_tables,
)
from cutile_sim.tileir.types import FunctionType, TokenType, Type

# Regions inside regions. Far beyond any kernel, well within Python's stack.
_MAX_NESTING = 64

_PRIVATE, _KERNEL, _HINTS = 1, 2, 4


def decode(data: bytes) -> Module:
    """The module that a bytecode file holds.

    Raises DecodeError (and nothing else) where the bytes are damaged, cut, or of a version newer than 13.5.
    What it gives is well formed: every operand is in scope, every type, string and constant exists. Whether
    the operations fit together is for `verify` to say.
    """
    data = bytes(data)
    file = Reader(data, "header")
    version = read_header(file)
    sections = read_sections(file)
    tables = read_tables(version, sections)
    debug = DebugInfo(sections.get(DEBUG), tables)
    producer = sections.get(PRODUCER)
    functions = read_functions(sections[FUNCTION], tables, debug)
    return Module(
        version=version,
        functions=functions,
        globals=read_globals(sections.get(GLOBAL), tables),
        producer=tables.string(producer) if producer else "",
    )


def read_functions(reader: Reader, tables: Tables, debug: DebugInfo) -> tuple[Function, ...]:
    """All functions of the function section."""
    functions = tuple(_read_function(reader, tables, debug) for _ in range(reader.count(5)))
    reader.finish()
    return functions


def _read_function(reader: Reader, tables: Tables, debug: DebugInfo) -> Function:
    at = reader.position
    name = tables.string(reader)
    kind = tables.types.read(reader)
    if not name or not isinstance(kind, FunctionType):
        raise reader.fail(f"the function {name!r} has type {kind}" if name else "a function has no name", at=at)
    flags = reader.byte()
    if flags & ~(_PRIVATE | _KERNEL | _HINTS):
        raise reader.fail(f"the flags of function {name} are {flags:#x}, of which some are unknown")
    locations = debug.stream(reader.varint(), reader)
    is_entry = bool(flags & _KERNEL)
    hints = {}
    if is_entry and (flags & _HINTS or tables.version >= (13, 5)):
        hints = plain(read_tagged(reader, tables))
        if not isinstance(hints, dict) or not all(isinstance(inner, dict) for inner in hints.values()):
            raise reader.fail(f"the hints of function {name} are no dictionary by architecture", at=at)
    if tables.version >= (13, 5):
        read_tagged(reader, tables)  # attributes of the parameters: no use is defined for them
    size_bytes = reader.varint()
    start = reader.position
    reader.take(size_bytes)
    location = locations.next()
    body = BodyReader(reader.part(start, reader.position), tables, locations)
    parameters = body.define(kind.parameters)
    ops = body.read_rest()
    region = Region(parameters, ops)
    return Function(name, kind, region, is_entry, body.value_count, location, hints)


class BodyReader:
    """Reads the operations of one function."""

    def __init__(self, reader: Reader, tables: Tables, locations: LocationStream) -> None:
        self.value_count = 0
        self._reader = reader
        self._tables = tables
        self._locations = locations
        self._scope: list[Value] = []

    def define(self, types: tuple[Type, ...]) -> tuple[Value, ...]:
        """New values of those types, in scope from now on."""
        first = self.value_count
        values = tuple(Value(first + i, kind) for i, kind in enumerate(types))
        self.value_count += len(values)
        self._scope.extend(values)
        return values

    def read_rest(self) -> tuple[Op, ...]:
        """Operations until the bytes end."""
        ops = []
        while self._reader.remaining_bytes:
            ops.append(self.read_op(0))
        return tuple(ops)

    def read_op(self, depth: int) -> Op:
        """One operation with its regions."""
        reader = self._reader
        at = reader.position
        spec = self._row(reader.varint(), at)
        encoding = spec.encoding
        version = self._tables.version
        location = self._locations.next()
        types = self._result_types(spec)
        flags: dict[str, bool] = dict.fromkeys(encoding.flags, False)
        if encoding.flags and (encoding.flags_since is None or version >= encoding.flags_since):
            bits = reader.varint()
            if bits >> len(encoding.flags):
                raise reader.fail(f"the flags of {spec.mnemonic} are {bits:#x}, of which some are unknown", at=at)
            flags = {name: bool(bits >> place & 1) for place, name in enumerate(encoding.flags)}
        attributes: dict[str, Any] = {}
        for attribute in encoding.attributes:
            if attribute.since is not None and version < attribute.since:
                attributes[attribute.name] = attribute.default
            elif attribute.flag is not None and not flags[attribute.flag]:
                attributes[attribute.name] = None
            else:
                attributes[attribute.name] = read_attribute(reader, attribute, self._tables, types)
        for name in spec.attribute_names[len(encoding.attributes) :]:
            attributes[name] = flags[name]
        operands = self._operands(spec, flags)
        regions = self._regions(spec, depth)
        return Op(spec, operands, attributes, self.define(types), regions, location, at)

    def _row(self, opcode: int, at: int) -> OpSpec:
        version = self._tables.version
        shown = f"bytecode {version[0]}.{version[1]}"
        spec = BY_OPCODE.get(opcode)
        if spec is None:
            raise self._reader.fail(
                f"unknown opcode {opcode:#x} ({shown}): the file is damaged or newer than this release", at=at
            )
        since = spec.encoding.since
        if version < since:
            raise self._reader.fail(
                f"{spec.mnemonic} exists only since version {since[0]}.{since[1]}, and this is {shown}", at=at
            )
        return spec

    def _result_types(self, spec: OpSpec) -> tuple[Type, ...]:
        encoding, reader = spec.encoding, self._reader
        at = reader.position
        due = len(encoding.results)
        if encoding.results_since is not None and self._tables.version < encoding.results_since:
            due = 0
        size = reader.count() if encoding.results_counted else due
        if size != due and not encoding.results_variadic:
            raise reader.fail(f"{spec.mnemonic} has {size} results instead of {due}", at=at)
        types = tuple(self._tables.types.read_value_type(reader) for _ in range(size))
        if not encoding.results_variadic:
            for name, kind in zip(encoding.results, types, strict=False):
                if name == "result_token" and not isinstance(kind, TokenType):
                    raise reader.fail(f"the token of {spec.mnemonic} has type {kind}", at=at)
        return types

    def _operands(self, spec: OpSpec, flags: dict[str, bool]) -> dict[str, Value | tuple[Value, ...] | None]:
        reader = self._reader
        at = reader.position
        left = reader.count() if spec.encoding.total_count else None
        operands: dict[str, Value | tuple[Value, ...] | None] = {}
        for operand in spec.encoding.operands:
            size = self._operand_size(operand, flags, left)
            values = tuple(self._value() for _ in range(size))
            if left is not None:
                left -= size
                if left < 0:
                    raise reader.fail(f"{spec.mnemonic} announces too few operands", at=at)
            if operand.kind in ("counted", "rest"):
                operands[operand.name] = values
            else:
                operands[operand.name] = values[0] if values else None
        if left:
            raise reader.fail(f"{spec.mnemonic} has {left} operands too many", at=at)
        return operands

    def _operand_size(self, operand: OperandSpec, flags: dict[str, bool], left: int | None) -> int:
        if operand.kind == "one":
            return 1
        if operand.kind == "counted":
            return self._reader.count()
        if operand.kind == "rest":
            return left or 0
        return int(flags[operand.flag] if operand.flag is not None else bool(left))

    def _value(self) -> Value:
        number = self._reader.varint()
        if number >= len(self._scope):
            raise self._reader.fail(f"value {number} is used where only {len(self._scope)} are in scope")
        return self._scope[number]

    def _regions(self, spec: OpSpec, depth: int) -> tuple[Region, ...]:
        due = spec.encoding.regions
        if not due:
            return ()
        reader = self._reader
        if depth >= _MAX_NESTING:
            raise reader.fail(f"regions are nested deeper than {_MAX_NESTING}")
        found = reader.varint()
        if found != due:
            raise reader.fail(f"{spec.mnemonic} has {found} regions instead of {due}")
        return tuple(self._region(spec, depth + 1) for _ in range(due))

    def _region(self, spec: OpSpec, depth: int) -> Region:
        reader = self._reader
        blocks = reader.varint()
        if blocks > 1:
            raise reader.fail(f"a region of {spec.mnemonic} has {blocks} blocks instead of one")
        if not blocks:
            return Region((), ())
        outer = len(self._scope)
        types = tuple(self._tables.types.read_value_type(reader) for _ in range(reader.count()))
        arguments = self.define(types)
        ops = tuple(self.read_op(depth) for _ in range(reader.count()))
        del self._scope[outer:]
        return Region(arguments, ops)
