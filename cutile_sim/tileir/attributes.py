"""Attributes of operations: how each kind is written, and what it becomes.

Enumerations become members of the enums in optable/encoding.py, truth values bool, texts str, arrays
tuples, dictionaries dicts, types the classes of types.py. The rest are the small classes below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutile_sim.dtypes import TF32, ElementType
from cutile_sim.optable.encoding import ENUMS
from cutile_sim.optable.spec import AttributeSpec
from cutile_sim.tileir.constants import float_from_bits
from cutile_sim.tileir.reader import Reader
from cutile_sim.tileir.sections import Tables
from cutile_sim.tileir.types import Type

# Arrays and dictionaries hold one another; no writer nests them deeper than three.
_MAX_NESTING = 16


@dataclass(frozen=True)
class IntegerAttr:
    """An integer of that type. `value` is signed; an i1 is 0 or 1."""

    type: ElementType
    value: int


@dataclass(frozen=True)
class FloatAttr:
    """A float of that type: its value, exact, and its bits, which tell apart the NaNs."""

    type: ElementType
    value: float
    bits: int


@dataclass(frozen=True, eq=False)
class DenseElements:
    """A tile of constants: `values` as ConstantPool.array gives them."""

    type: Type
    values: np.ndarray


@dataclass(frozen=True)
class DivBy:
    """A promise: values are multiples of `divisor` bytes or units.

    With `every` and `along`: each `every`-th element along that dimension is, and those between follow in
    steps of one.
    """

    divisor: int
    every: int | None = None
    along: int | None = None


@dataclass(frozen=True)
class SameElements:
    """A promise: along dimension i, values come in runs of `values[i]` equal elements."""

    values: tuple[int, ...]


@dataclass(frozen=True)
class Bounded:
    """A promise: values lie between the bounds, both included; None is no bound."""

    lower: int | None
    upper: int | None


AssumePredicate = DivBy | SameElements | Bounded


def read_attribute(reader: Reader, spec: AttributeSpec, tables: Tables, result_types: tuple[Type, ...]) -> Any:
    """The attribute of that row of the table. Raises DecodeError."""
    if spec.kind == "enum":
        return _read_enum(reader, spec)
    if spec.kind == "dense_typed_elements":
        number = reader.varint()
        # Only `constant` has a result; a `global` inside a body says nothing of its type.
        return (
            tables.constants.array(number, result_types[0], reader)
            if result_types
            else tables.constants.raw(number, reader)
        )
    return _READERS[spec.kind](reader, tables)


def _read_enum(reader: Reader, spec: AttributeSpec) -> object:
    at = reader.position
    value = reader.varint()
    try:
        return ENUMS[spec.enum or ""](value)
    except ValueError:
        raise reader.fail(f"{spec.name} is {value}, which no {spec.enum} is", at=at) from None


def read_tagged(reader: Reader, tables: Tables, depth: int = 0) -> Any:
    """An attribute that says itself what it is."""
    at = reader.position
    if depth > _MAX_NESTING:
        raise reader.fail("attributes are nested without end", at=at)
    tag = reader.varint()
    read = _TAGGED.get(tag)
    if read is None:
        raise reader.fail(f"attribute tag {tag:#x} is unknown: the file is damaged or newer", at=at)
    return read(reader, tables, depth + 1)


def plain(value: Any) -> Any:
    """The value with integers and floats taken out of their wrappers, as hints are used."""
    if isinstance(value, IntegerAttr | FloatAttr):
        return value.value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


def read_hints(reader: Reader, tables: Tables, depth: int = 0) -> dict[str, dict[str, Any]]:
    """Optimization hints: by architecture (such as "sm_90" or "default"), then by name."""
    at = reader.position
    hints = plain(_dictionary(reader, tables, depth))
    for architecture, inner in hints.items():
        if not isinstance(inner, dict):
            raise reader.fail(f"the hints for {architecture} are no dictionary", at=at)
    return hints


def _element_type(reader: Reader, tables: Tables, what: str) -> ElementType:
    at = reader.position
    kind = tables.types.read(reader)
    if not isinstance(kind, ElementType) or kind.is_float is not (what == "float"):
        raise reader.fail(f"an attribute of type {kind} is written as {what}", at=at)
    return kind


def _integer(reader: Reader, tables: Tables, depth: int) -> IntegerAttr:
    kind = _element_type(reader, tables, "integer")
    value = reader.varint()
    if value >> kind.width_bits:
        raise reader.fail(f"{value} does not fit in {kind}")
    if kind.width_bits > 1 and value >> (kind.width_bits - 1):
        value -= 1 << kind.width_bits
    return IntegerAttr(kind, value)


def _float(reader: Reader, tables: Tables, depth: int) -> FloatAttr:
    kind = _element_type(reader, tables, "float")
    width_bits = 19 if kind is TF32 else kind.width_bits
    bits = reader.byte() if width_bits <= 8 else reader.signed_varint() & ((1 << 64) - 1)
    if bits >> width_bits:
        raise reader.fail(f"{bits:#x} does not fit in {kind}")
    return FloatAttr(kind, float_from_bits(bits, kind), bits)


def _array(reader: Reader, tables: Tables, depth: int = 0) -> tuple[Any, ...]:
    return tuple(read_tagged(reader, tables, depth) for _ in range(reader.count()))


def _dictionary(reader: Reader, tables: Tables, depth: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(reader.count(2)):
        at = reader.position
        key = tables.string(reader)
        if key in found or not key:
            raise reader.fail(f"the key {key!r} of a dictionary is doubled or empty", at=at)
        found[key] = read_tagged(reader, tables, depth)
    return found


def _dense(reader: Reader, tables: Tables, depth: int) -> DenseElements:
    kind = tables.types.read(reader)
    return DenseElements(kind, tables.constants.array(reader.varint(), kind, reader))


def _optional_pair(reader: Reader) -> tuple[int | None, int | None]:
    flags = reader.byte()
    if flags > 3:
        raise reader.fail(f"the flags of an attribute are {flags:#x}, of which only two bits are known")
    first = reader.signed_varint() if flags & 1 else None
    return first, reader.signed_varint() if flags & 2 else None


def _div_by(reader: Reader, tables: Tables, depth: int) -> DivBy:
    divisor = reader.varint()
    return DivBy(divisor, *_optional_pair(reader))


_TAGGED: dict[int, Callable[[Reader, Tables, int], Any]] = {
    0x01: _integer,
    0x02: _float,
    0x03: lambda reader, tables, depth: reader.flag(),
    0x04: lambda reader, tables, depth: tables.types.read(reader),
    0x05: lambda reader, tables, depth: tables.string(reader),
    0x06: _array,
    0x07: _dense,
    0x08: _div_by,
    0x09: lambda reader, tables, depth: SameElements(reader.integers(8)),
    0x0A: _dictionary,
    0x0B: read_hints,
    0x0C: lambda reader, tables, depth: Bounded(*_optional_pair(reader)),
}

_READERS: dict[str, Callable[[Reader, Tables], Any]] = {
    "bool": lambda reader, tables: reader.flag(),
    "int": lambda reader, tables: reader.varint(),
    "str": lambda reader, tables: tables.string(reader),
    "typeid": lambda reader, tables: tables.types.read(reader),
    "array": _array,
    "tagged": read_tagged,
    "dense_int32_array": lambda reader, tables: reader.integers(4),
    "dense_bool_array": lambda reader, tables: tuple(reader.flag() for _ in range(reader.count())),
    "optimization_hints": read_hints,
}
