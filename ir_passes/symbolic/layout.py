"""What operations do to terms that make tiles, move their elements, or make pointers and views.

A value depends on its lane by symbols of dimension and size: to move lanes is to replace symbols.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutile_sim.tileir.core import Op
from cutile_sim.tileir.types import TensorViewType
from ir_passes.symbolic.conditions import ALWAYS, NEVER, Condition, less, unknowns
from ir_passes.symbolic.evaluate import replace, replace_in
from ir_passes.symbolic.members import pointer_of
from ir_passes.symbolic.numbers import as_number, chosen, element_of, pointee_bytes, shape_of, unread
from ir_passes.symbolic.terms import ZERO, Atom, Poly, Symbol, quotient, remainder
from ir_passes.symbolic.values import Followed, Lost, Pointers, Rule, Tensor, Tiles, Words, lane, lane_term, unknown
from ir_passes.symbolic.words import in_words, line_of


def relaid(value: Followed, by: dict[Atom, Poly], *, scalar: bool = False) -> Followed | None:
    """The value with its lanes renamed.

    An unknown differs from lane to lane, so that one that moves to other lanes is a new one, unless the tile has only
    one lane.
    """
    if not scalar and isinstance(value, (Poly, Condition)):
        fresh = {old: Symbol(old.name, old.kind, old.low, old.high, why=old.why) for old in unknowns(value)}
        by = by | {old: Poly.of(new) for old, new in fresh.items()}
        for old, new in fresh.items():
            new.facts = tuple(replace(fact, by) for fact in old.facts)
    if isinstance(value, Poly):
        return replace(value, by)
    if isinstance(value, Condition):
        return replace_in(value, by)
    if isinstance(value, Pointers):
        return Pointers(value.root, replace(value.offset_bytes, by))
    if isinstance(value, Words):
        return Words(value.members, replace(value.place, by))
    return value


def _reshape(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    old, new = shape_of(op.inputs[0]), shape_of(op.results[0])
    wide_old = [(d, n) for d, n in enumerate(old) if n > 1]
    wide_new = [(d, n) for d, n in enumerate(new) if n > 1]
    by: dict[Atom, Poly] = {}
    if [n for _, n in wide_old] == [n for _, n in wide_new]:
        by = {lane(d, n): lane_term(e, n) for (d, n), (e, _) in zip(wide_old, wide_new, strict=True)}
    else:
        flat = ZERO
        for d, n in enumerate(new):
            flat = flat * n + lane_term(d, n)
        for d, n in reversed(wide_old):
            by[lane(d, n)] = remainder(flat, Poly.of(n))
            flat = quotient(flat, Poly.of(n))
    return relaid(operands[0], by, scalar=not wide_old)


def _permute(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    old = shape_of(op.inputs[0])
    by: dict[Atom, Poly] = {
        lane(int(source), old[int(source)]): lane_term(d, old[int(source)])
        for d, source in enumerate(op.attributes["permutation"])
        if old[int(source)] > 1
    }
    return relaid(operands[0], by)


def _extract(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    old, new = shape_of(op.inputs[0]), shape_of(op.results[0])
    by: dict[Atom, Poly] = {}
    for d, (n, part, index) in enumerate(zip(old, new, operands[1:], strict=True)):
        if n > 1:
            by[lane(d, n)] = as_number(index) * part + lane_term(d, part)
    return relaid(operands[0], by)


def _cat(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    d = op.attributes["dim"]
    sizes = [shape_of(v)[d] for v in op.inputs]
    here = lane(d, sum(sizes))
    moved = []
    for value, n, start in zip(operands, sizes, (0, sizes[0]), strict=True):
        by: dict[Atom, Poly] = {lane(d, n): Poly.of(here) - start} if n > 1 else {}
        moved.append(relaid(value, by))
    if moved[0] is None or moved[1] is None:
        return None
    return chosen(less(Poly.of(here), sizes[0]), moved[0], moved[1])


def _iota(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed:
    size = shape_of(op.results[0])[0]
    return unread(lane_term(0, size), element_of(op.results[0]), facts)


def _constant(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    element = element_of(op.results[0])
    values = np.asarray(op.attributes["value"])
    if not element.is_integer or values.size == 0:
        return None
    first = values.flat[0]
    if (values == first).all():
        if element.width_bits == 1:
            return ALWAYS if bool(first) else NEVER
        return Poly.of(int(first))
    found = unknown(op.results[0].type, f"{in_words(op)} at {line_of(op)}", data=False)
    for atom in found.atoms if isinstance(found, Poly) else ():
        atom.low, atom.high = int(values.min()), int(values.max())
    return found


# Pointers and views


def _offset(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    pointers, items = operands
    if not isinstance(pointers, Pointers) or not isinstance(items, Poly):
        return pointers if isinstance(pointers, Lost) else None
    return Pointers(pointers.root, pointers.offset_bytes + items * pointee_bytes(op.results[0]))


def _from_number(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    return pointer_of(operands[0]) if isinstance(operands[0], Words) else None


def _tensor_view(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed:
    kind = op.results[0].type
    assert isinstance(kind, TensorViewType)
    numbers = iter(operands[1:])
    shape = tuple(as_number(next(numbers)) if n is None else Poly.of(n) for n in kind.shape)
    strides = tuple(as_number(next(numbers)) if n is None else Poly.of(n) for n in kind.strides)
    base = operands[0]
    return Tensor(base if isinstance(base, (Pointers, Lost)) else Lost("of its pointer"), shape, strides, kind.element)


def _tile_view(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    (tensor,) = operands
    return Tiles(tensor, op.results[0].type) if isinstance(tensor, Tensor) else None  # type: ignore[arg-type]


def index_space(view: Tiles) -> tuple[Poly, ...]:
    """How many tiles a view has along each dimension."""
    kind = view.type
    dims = getattr(kind, "dim_map", tuple(range(len(kind.tile_shape))))
    return tuple(quotient(view.tensor.shape[d] + (s - 1), Poly.of(s)) for d, s in zip(dims, kind.pitches, strict=True))


def _same(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed:
    return operands[0]


LAYOUT: dict[str, Rule] = {
    "assume": _same,
    "broadcast": _same,
    "cat": _cat,
    "constant": _constant,
    "extract": _extract,
    "int_to_ptr": _from_number,
    "iota": _iota,
    "make_gather_scatter_view": _tile_view,
    "make_partition_view": _tile_view,
    "make_strided_view": _tile_view,
    "make_tensor_view": _tensor_view,
    "offset": _offset,
    "permute": _permute,
    "ptr_to_ptr": _same,
    "reshape": _reshape,
}
