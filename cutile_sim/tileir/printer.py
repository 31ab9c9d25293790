"""Text of decoded modules, one operation a line, in the manner of NVIDIA's disassembler.

    %9, %10 = load_view_tko %8, index=[%4], token=%5 {memory_ordering_semantics=weak} : ... ->
    tile<256xi32>, token

Operands stand in the order of the operation's row, those that may be absent or many by name; then the
attributes that are not absent; then the types of the operands and, after an arrow, of the results. It is
for people: nothing reads it back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np

from cutile_sim.tileir.attributes import Bounded, DenseElements, DivBy, FloatAttr, IntegerAttr, SameElements
from cutile_sim.tileir.core import Function, Location, Module, Op, Region, Value

_INDENT = "  "
_MOST_SHOWN_ELEMENTS = 8


def print_module(module: Module, *, locations: bool = False) -> str:
    """The text of a whole module; with `locations`, each operation's place in the source follows it."""
    lines = [f"// Tile IR {module.version[0]}.{module.version[1]}" + (f", {module.producer}" * bool(module.producer))]
    for item in module.globals.values():
        kind = " constant" * item.constant + " private" * item.private
        lines.append(f"global{kind} @{item.name} alignment={item.alignment_bytes} : {item.type}")
    for function in module.functions:
        lines += _function_lines(function, locations)
    return "\n".join(lines) + "\n"


def format_op(op: Op, *, locations: bool = False) -> str:
    """The text of one operation with its regions, without a line break at its end."""
    return "\n".join(_op_lines(op, "", locations))


def format_value(value: Value | tuple[Value, ...]) -> str:
    """`%3`, or `[%3, %4]` for many."""
    return f"[{', '.join(map(repr, value))}]" if isinstance(value, tuple) else repr(value)


def format_attribute(value: Any) -> str:
    """An attribute's value, as it stands in the text."""
    match value:
        case Enum():
            return value.name.lower()
        case bool():
            return str(value).lower()
        case str():
            return '"' + value.encode("unicode_escape").decode().replace('"', '\\"') + '"'
        case bytes():
            return f"0x{value.hex()}"
        case np.ndarray():
            return _array(value)
        case IntegerAttr() | FloatAttr():
            return f"{value.value} : {value.type}"
        case DenseElements():
            return f"<{value.type}: {_array(value.values)}>"
        case DivBy():
            extra = "".join(f", {k} {v}" for k, v in (("every", value.every), ("along", value.along)) if v is not None)
            return f"div_by<{value.divisor}{extra}>"
        case Bounded():
            return f"bounded<{', '.join('?' if n is None else str(n) for n in (value.lower, value.upper))}>"
        case SameElements():
            return f"same_elements<{list(value.values)}>"
        case Mapping():
            return "{" + ", ".join(f"{key} = {format_attribute(item)}" for key, item in value.items()) + "}"
        case tuple():
            return "[" + ", ".join(map(format_attribute, value)) + "]"
    return str(value)


def _array(values: np.ndarray) -> str:
    if values.size <= _MOST_SHOWN_ELEMENTS:
        return str(values.tolist())
    shown = ", ".join(str(v) for v in values.ravel()[:_MOST_SHOWN_ELEMENTS].tolist())
    return f"[{shown}, ... {values.size} elements]"


def _function_lines(function: Function, locations: bool) -> Iterator[str]:
    kind = "entry" if function.is_entry else "func"
    hints = f" hints={format_attribute(function.hints)}" if any(function.hints.values()) else ""
    yield f"{kind} @{function.name}({_arguments(function.body)}){hints} {{" + _place(function.location, locations)
    for op in function.body.ops:
        yield from _op_lines(op, _INDENT, locations)
    yield "}"


def _arguments(region: Region) -> str:
    return ", ".join(f"{argument!r}: {argument.type}" for argument in region.arguments)


def _op_lines(op: Op, indent: str, locations: bool) -> Iterator[str]:
    results = ", ".join(map(repr, op.results)) + " = " * bool(op.results)
    parts = [_operand(op, name, value) for name, value in op.operands.items() if value not in (None, ())]
    attributes = [
        _attribute(name, value) for name, value in op.attributes.items() if value is not None and value is not False
    ]
    text = indent + results + op.name + (" " + ", ".join(parts)) * bool(parts)
    text += f" {{{', '.join(attributes)}}}" * bool(attributes) + _signature(op)
    place = _place(op.location, locations)
    if not op.regions:
        yield text + place
        return
    for number, region in enumerate(op.regions):
        yield f"{text if not number else indent + '}'} ({_arguments(region)}) {{" + ("" if number else place)
        for inner in region.ops:
            yield from _op_lines(inner, indent + _INDENT, locations)
    yield indent + "}"


def _operand(op: Op, name: str, value: Value | tuple[Value, ...]) -> str:
    row = next(operand for operand in op.spec.encoding.operands if operand.name == name)
    return format_value(value) if row.kind == "one" else f"{name}={format_value(value)}"


def _attribute(name: str, value: Any) -> str:
    return name if value is True else f"{name}={format_attribute(value)}"


def _signature(op: Op) -> str:
    inputs, outputs = (", ".join(str(v.type) for v in values) for values in (op.inputs, op.results))
    if inputs and outputs:
        return f" : {inputs} -> {outputs}"
    return f" : {inputs or outputs}" if inputs or outputs else ""


def _place(location: Location | None, wanted: bool) -> str:
    if not wanted or location is None:
        return ""
    return "  // " + " < ".join(map(str, location.chain()))
