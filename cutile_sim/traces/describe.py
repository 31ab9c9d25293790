"""The kernel as a trace keeps it: its operations with source places, types and data flow, and the source itself."""

from __future__ import annotations

import json
import linecache
import weakref
from typing import Any

from cutile_sim.dtypes import ElementType
from cutile_sim.source import is_library, users_line
from cutile_sim.tileir.core import Function, Op, Region, Value
from cutile_sim.tileir.types import PointerType, TileType
from cutile_sim.traces.options import kind_of
from cutile_sim.traces.work import flops_of

SOURCE_BYTES = 1 << 20
"""Larger source files are left out."""


_texts: weakref.WeakKeyDictionary[Function, str] = weakref.WeakKeyDictionary()


def describe_function(function: Function) -> str:
    """A JSON object: operations in program order, values by number, and the text of the user's source files.

    An operation's `at` is its call chain, innermost first: [file number, line, column, function].
    """
    known = _texts.get(function)
    if known is None:
        known = _texts[function] = json.dumps(_described(function))
    return known


def _described(function: Function) -> dict[str, Any]:
    files: dict[str, int] = {}
    ops = _with_parents(function.body, -1, 0, [])
    return {
        "ops": [_op(op, parent, region, files) for op, parent, region in ops],
        "parameters": [_value(v) for v in function.parameters],
        "files": [{"path": path, "text": _text(path)} for path in files],
    }


def _with_parents(
    region: Region, parent: int, index: int, found: list[tuple[Op, int, int]]
) -> list[tuple[Op, int, int]]:
    """Every operation with the number of the one that holds it and in which region of that, in program order."""
    for op in region.ops:
        number = len(found)
        found.append((op, parent, index))
        for i, inner in enumerate(op.regions):
            _with_parents(inner, number, i, found)
    return found


def _op(op: Op, parent: int, region: int, files: dict[str, int]) -> dict[str, Any]:
    chain = list(op.location.chain()) if op.location is not None else []
    own = users_line(op.location)
    return {
        "name": op.name,
        "kind": kind_of(op),
        "at": [[files.setdefault(at.file, len(files)), at.line, at.column, at.function] for at in chain],
        "line": next((n for n, at in enumerate(chain) if at is own), -1),
        "parent": parent,
        "region": region,
        "operands": {name: _numbers(value) for name, value in op.operands.items() if value is not None},
        "results": [_value(v) for v in op.results],
        "arguments": [[_value(v) for v in r.arguments] for r in op.regions],
        "flops": flops_of(op),
        "axis": op.attributes.get("dim") if op.spec.meaning.family == "reduce" else None,
        "tile": _accessed(op),
    }


def _numbers(value: Value | tuple[Value, ...]) -> int | list[int]:
    return [v.index for v in value] if isinstance(value, tuple) else value.index


def _value(value: Value) -> dict[str, Any]:
    return {"id": value.index, "type": str(value.type)}


def _accessed(op: Op) -> dict[str, Any] | None:
    """Shape and element type of the tile that an operation moves to or from memory."""
    if op.spec.effect not in ("read", "write", "read_write"):
        return None
    view = op.operands.get("view")
    if isinstance(view, Value):
        kind = view.type
        return {"shape": list(kind.tile_shape), "element": kind.tensor.element.name}  # type: ignore[union-attr]
    for name in ("source", "destination", "pointers"):
        value = op.operands.get(name)
        if isinstance(value, Value) and isinstance(value.type, TileType):
            element = value.type.element
            assert isinstance(element, PointerType)
            return {"shape": list(value.type.shape), "element": element.pointee.name}
    return None


def _text(path: str) -> str | None:
    """A user's source file, None for one that cannot be read, is too large, or is of cuTile's own library."""
    if is_library(path):
        return None
    text = "".join(linecache.getlines(path))
    return text if text and len(text) <= SOURCE_BYTES else None


def number_type(value: Value) -> ElementType | None:
    """The element type of a tile of numbers, None for anything else."""
    kind = value.type
    return kind.element if isinstance(kind, TileType) and isinstance(kind.element, ElementType) else None
