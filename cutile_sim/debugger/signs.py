"""Which integers of a kernel are unsigned: Tile IR does not say, the arrays that they come from do."""

from __future__ import annotations

from collections.abc import Iterable

from cutile_sim.dtypes import ElementType
from cutile_sim.tileir.core import Function, Op, Value
from cutile_sim.tileir.types import TileType

Unsigned = frozenset[Value]

_KEEPING = frozenset(
    (
        "assume", "addi", "subi", "muli", "divi", "remi", "mini", "maxi", "andi", "ori", "xori", "shli", "shri",
        "select", "reshape", "broadcast", "permute", "cat", "extract", "reduce", "scan", "make_tensor_view",
        "make_partition_view", "make_strided_view", "make_gather_scatter_view", "load_view_tko", "load_ptr_tko",
        "offset", "atomic_rmw_tko", "atomic_cas_tko", "for", "loop", "if",
    )
)  # fmt: skip
"""Operations whose results are unsigned where an operand of the same element type is, or the memory they read."""


def unsigned_values(function: Function, pointers: Iterable[Value]) -> Unsigned:
    """Values of unsigned integers, views of them and pointers to them, given the parameters that point to some."""
    found: set[Value] = set(pointers)
    size = -1
    while size != len(found):
        size = len(found)
        for op in function.walk():
            _follow(op, found)
    return frozenset(found)


def _follow(op: Op, found: set[Value]) -> None:
    if op.name in ("for", "loop"):
        initial = op.operands["init_values"]
        assert isinstance(initial, tuple)
        carried = op.regions[0].arguments[-len(initial) :] if initial else ()
        for value, argument, result in zip(initial, carried, op.results, strict=False):
            if value in found:
                found.update((argument, result))
    elif op.name == "if":
        for region in op.regions:
            if region.ops[-1].name == "yield":
                found.update(r for r, v in zip(op.results, region.ops[-1].inputs, strict=True) if v in found)
    elif op.name in _KEEPING:
        sources = [v for v in op.inputs if v in found]
        found.update(r for r in op.results if any(_is_like(r, s) for s in sources))


def _is_like(result: Value, source: Value) -> bool:
    """Whether a result has the same integers as an operand, or those it points to or is a view of."""
    theirs = _element(source)
    return theirs is not None and theirs is _element(result)


def _element(value: Value) -> ElementType | None:
    kind = value.type
    element = kind.element if isinstance(kind, TileType) else getattr(getattr(kind, "tensor", kind), "element", None)
    element = getattr(element, "pointee", element)
    return element if isinstance(element, ElementType) and element.is_integer else None
