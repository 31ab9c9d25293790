"""Which launch parameters each access to memory may go through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutile_sim.tileir.core import Function, Op, Value
from cutile_sim.tileir.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)
from ir_passes.edges import edges_of

_TARGETS = ("source", "destination", "pointers", "view")


@dataclass(frozen=True)
class Access:
    """One operation that touches memory, and the parameters (by index) whose pointers it may go through.

    There are none where it touches a global or memory of the block's own. `exact` is False where the pointer came out
    of memory or of an integer, so that any array may be meant.
    """

    op: Op
    reads: bool
    writes: bool
    parameters: frozenset[int]
    exact: bool


def _is_address(value: Value) -> bool:
    kind = value.type
    if isinstance(kind, TileType):
        return isinstance(kind.element, PointerType)
    return isinstance(kind, (TensorViewType, PartitionViewType, StridedViewType, GatherScatterViewType))


def memory_roots(function: Function) -> list[Access]:
    """Every load, store and atomic update of the function, in program order, with where its pointers come from."""
    return roots_of(list(function.walk()), function.parameters)


def roots_of(ops: Sequence[Op], parameters: Sequence[Value]) -> list[Access]:
    """`memory_roots` of all operations of a function, nested ones too, in program order."""
    made_from: dict[Value, list[Value]] = {}
    for op in ops:
        for source, result, _ in edges_of(op):
            if _is_address(source) and _is_address(result):
                made_from.setdefault(result, []).append(source)
    position = {value: i for i, value in enumerate(parameters)}
    made = {v for op in ops if op.name in ("int_to_ptr", "load_ptr_tko") for v in op.results}
    found = []
    for op in ops:
        if op.spec.effect not in ("read", "write", "read_write"):
            continue
        target = next((op.operands[n] for n in _TARGETS if isinstance(op.operands.get(n), Value)), None)
        if not isinstance(target, Value):
            continue
        origins = _origins(target, made_from)
        found.append(
            Access(
                op,
                reads=op.spec.effect != "write",
                writes=op.spec.effect != "read",
                parameters=frozenset(position[v] for v in origins if v in position),
                exact=not origins & made,
            )
        )
    return found


def _origins(value: Value, made_from: dict[Value, list[Value]]) -> set[Value]:
    """The value and all that it is made from."""
    found, open_ends = {value}, [value]
    while open_ends:
        for source in made_from.get(open_ends.pop(), ()):
            if source not in found:
                found.add(source)
                open_ends.append(source)
    return found


def writable_parameters(function: Function) -> frozenset[int] | None:
    """Indices of the pointer parameters that some store or atomic update may go through; None where it may be any."""
    writes = [a for a in memory_roots(function) if a.writes]
    if not all(a.exact for a in writes):
        return None
    return frozenset(i for a in writes for i in a.parameters)


def written_parameters(function: Function) -> frozenset[int]:
    """Indices of the pointer parameters that some store or atomic update certainly names as its target."""
    return frozenset(
        next(iter(a.parameters)) for a in memory_roots(function) if a.writes and a.exact and len(a.parameters) == 1
    )
