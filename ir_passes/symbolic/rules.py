"""What each pure operation does to terms: the symbolic half of `cutile_sim.ops`, for integers, i1 and pointers.

An operation without a rule here yields an unknown, and all that depends on it is "not checked".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.optable.encoding import ComparisonPredicate, RoundingMode, Signedness
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import PointerType, StridedViewType, TensorViewType, TileType
from ir_passes.symbolic.evaluate import replace, replace_in
from ir_passes.symbolic.solve import never_negative
from ir_passes.symbolic.terms import (
    ALWAYS,
    NEVER,
    ONE,
    ZERO,
    Atom,
    Condition,
    Poly,
    Symbol,
    at_least,
    both,
    choice,
    either,
    equal,
    larger,
    less,
    negate,
    quotient,
    remainder,
    smaller,
    unknowns,
)
from ir_passes.symbolic.values import (
    Followed,
    Lost,
    Pointers,
    Tensor,
    Tiles,
    integer_range,
    lane,
    lane_term,
    unknown,
)

Rule = Callable[[Op, Sequence[Followed], Sequence[Poly]], Followed | None]
"""Of an operation, its operands and the facts of the path. None: not followed."""


def apply_rule(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    """The only result of a pure operation, or None where there is no rule or it does not cover the case."""
    rule = _RULES.get(op.name)
    if rule is None or len(op.results) != 1:
        return None
    try:
        return rule(op, operands, facts)
    except _NotFollowed:
        return None


class _NotFollowed(Exception):
    pass


def element_of(value: Value) -> ElementType:
    assert isinstance(value.type, TileType) and isinstance(value.type.element, ElementType)
    return value.type.element


def shape_of(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TileType)
    return value.type.shape


def as_number(value: Followed, *, signed: bool = False) -> Poly:
    """An integer or i1 as a number: a set i1 is 1, or -1 where it is read as signed."""
    if isinstance(value, Poly):
        return value
    if isinstance(value, Condition):
        return choice(value, Poly.of(-1 if signed else 1), ZERO)
    raise _NotFollowed


def as_condition(value: Followed) -> Condition:
    if isinstance(value, Condition):
        return value
    if isinstance(value, Poly):
        return negate(equal(value, 0))
    raise _NotFollowed


def decided(condition: Condition, facts: Sequence[Poly]) -> Condition:
    """The condition, or a constant where facts decide it."""
    poly = getattr(condition, "poly", None)
    if isinstance(poly, Poly):
        if never_negative(poly, facts, steps=40, cases=1):
            return ALWAYS
        if never_negative(-poly - 1, facts, steps=40, cases=1):
            return NEVER
    return condition


def wrapped(exact: Poly, element: ElementType, facts: Sequence[Poly]) -> Poly:
    """What an integer of the type holds of an exact result: the signed reading of its low bits."""
    if fits(exact, element, facts):
        return exact
    half = 1 << (element.width_bits - 1)
    return remainder(exact + half, Poly.of(2 * half)) - half


def fits(exact: Poly, element: ElementType, facts: Sequence[Poly], *, unsigned: bool = False) -> bool:
    low, high = integer_range(element)
    if unsigned:
        low, high = 0, 2 * high + 1
    below, above = exact.bounds
    return (low <= below or never_negative(exact - low, facts, steps=120, cases=4)) and (
        above <= high or never_negative(Poly.of(high) - exact, facts, steps=120, cases=4)
    )


def unsigned(value: Poly, width_bits: int, facts: Sequence[Poly] = ()) -> Poly:
    """The unsigned reading of a signed one."""
    if never_negative(value, facts, steps=60, cases=2):
        return value
    return choice(at_least(value, 0), value, value + (1 << width_bits))


def _read(value: Followed, source: Value, signedness: object, facts: Sequence[Poly]) -> Poly:
    if isinstance(value, Condition):
        return as_number(value, signed=signedness is Signedness.SIGNED)
    number = as_number(value)
    return unsigned(number, element_of(source).width_bits, facts) if signedness is Signedness.UNSIGNED else number


def _unread(value: Poly, element: ElementType, facts: Sequence[Poly]) -> Followed:
    """Back from an unsigned reading."""
    return as_condition(remainder(value, Poly.of(2))) if element.width_bits == 1 else wrapped(value, element, facts)


def exact_result(op: Op, operands: Sequence[Followed]) -> Poly | None:
    """The result of + - * << or negation before anything wraps; None for other operations and what is not followed."""
    if op.name not in ("addi", "subi", "muli", "shli", "negi") or element_of(op.results[0]).width_bits == 1:
        return None
    if not all(isinstance(v, Poly) for v in operands):
        return None
    a, b = as_number(operands[0]), as_number(operands[-1])
    if op.name == "shli":
        return a * (1 << b.value) if b.value is not None and 0 <= b.value < element_of(op.results[0]).width_bits else None
    return {"addi": a + b, "subi": a - b, "muli": a * b, "negi": -a}[op.name]


def _arithmetic(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    element = element_of(op.results[0])
    if element.width_bits == 1:
        if op.name in ("addi", "subi"):
            return _xor(op, operands, facts)
        return both(*map(as_condition, operands)) if op.name == "muli" else operands[0]
    exact = exact_result(op, operands)
    if exact is None and op.name == "shli" and isinstance(operands[1], Poly):
        width = element.width_bits
        return ZERO if at_least(operands[1], width) == ALWAYS else None
    return None if exact is None else wrapped(exact, element, facts)


def _compare(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Condition:
    signedness = op.attributes["signedness"]
    predicate = op.attributes["comparison_predicate"]
    a, b = operands
    if predicate in (ComparisonPredicate.EQUAL, ComparisonPredicate.NOT_EQUAL):
        if isinstance(a, Condition) or isinstance(b, Condition):
            same = negate(_exclusive(as_condition(a), as_condition(b)))
        else:
            x, y = as_number(a), as_number(b)
            same = both(decided(at_least(x, y), facts), decided(at_least(y, x), facts))
        return same if predicate is ComparisonPredicate.EQUAL else negate(same)
    if signedness is Signedness.UNSIGNED and isinstance(a, Poly) and isinstance(b, Poly):
        return _compare_unsigned(predicate, a, b, element_of(op.inputs[0]).width_bits, facts)
    x, y = (_read(v, s, signedness, facts) for v, s in zip(operands, op.inputs, strict=True))
    return decided(_ordered(predicate, x, y), facts)


def _ordered(predicate: ComparisonPredicate, a: Poly, b: Poly) -> Condition:
    return {
        ComparisonPredicate.LESS_THAN: lambda: less(a, b),
        ComparisonPredicate.LESS_THAN_OR_EQUAL: lambda: at_least(b, a),
        ComparisonPredicate.GREATER_THAN: lambda: less(b, a),
        ComparisonPredicate.GREATER_THAN_OR_EQUAL: lambda: at_least(a, b),
    }[predicate]()


def _compare_unsigned(
    predicate: ComparisonPredicate, a: Poly, b: Poly, width_bits: int, facts: Sequence[Poly]
) -> Condition:
    """a < b unsigned, where b is not negative, says 0 <= a < b: how the front-end writes a bounds check."""
    if predicate in (ComparisonPredicate.LESS_THAN, ComparisonPredicate.LESS_THAN_OR_EQUAL):
        if never_negative(b, facts, steps=60, cases=2):
            return both(decided(at_least(a, 0), facts), decided(_ordered(predicate, a, b), facts))
    elif never_negative(b, facts, steps=60, cases=2):
        return either(negate(decided(at_least(a, 0), facts)), decided(_ordered(predicate, a, b), facts))
    x, y = unsigned(a, width_bits, facts), unsigned(b, width_bits, facts)
    return decided(_ordered(predicate, x, y), facts)


def _exclusive(a: Condition, b: Condition) -> Condition:
    return either(both(a, negate(b)), both(negate(a), b))


def _xor(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    if element_of(op.results[0]).width_bits != 1:
        return None
    return _exclusive(as_condition(operands[0]), as_condition(operands[1]))


def _and(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    if element_of(op.results[0]).width_bits == 1:
        return both(*map(as_condition, operands))
    a, b = map(as_number, operands)
    for value, mask in ((a, b.value), (b, a.value)):
        if mask is not None and mask >= 0 and mask & (mask + 1) == 0:
            return remainder(value, Poly.of(mask + 1))
    return None


def _or(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    if element_of(op.results[0]).width_bits == 1:
        return either(*map(as_condition, operands))
    return None


def _divide(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    signedness = op.attributes["signedness"]
    a, b = (_read(v, s, signedness, facts) for v, s in zip(operands, op.inputs, strict=True))
    element = element_of(op.results[0])
    if never_negative(-b - 1, facts, steps=60, cases=2):
        a, b = -a, -b
    if not never_negative(b - 1, facts, steps=200):
        return None
    rounding = op.attributes["rounding"] if op.name == "divi" else RoundingMode.ZERO
    if rounding is RoundingMode.POSITIVE_INF:
        result = quotient(a + b - 1, b)
    elif rounding is RoundingMode.NEGATIVE_INF or never_negative(a, facts, steps=60, cases=2):
        result = quotient(a, b)
    else:
        result = choice(at_least(a, 0), quotient(a, b), -quotient(-a, b))
    if op.name == "remi":
        # The remainder has the sign of the dividend whatever the divisor's: a and b were negated together.
        flipped = never_negative(-as_number(operands[1]) - 1, facts, steps=60, cases=2)
        rest = a - b * result
        result = -rest if flipped and signedness is Signedness.SIGNED else rest
    return _unread(result, element, facts)


def _shift_right(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    count = as_number(operands[1]).value
    element = element_of(op.results[0])
    if count is None or not 0 <= count < element.width_bits:
        return None
    value = _read(operands[0], op.inputs[0], op.attributes["signedness"], facts)
    return _unread(quotient(value, Poly.of(1 << count)), element, facts)


def _extreme(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    signedness = op.attributes["signedness"]
    element = element_of(op.results[0])
    if element.width_bits == 1:
        return None
    a, b = (_read(v, s, signedness, facts) for v, s in zip(operands, op.inputs, strict=True))
    first = decided(at_least(b, a) if op.name == "mini" else at_least(a, b), facts)
    if first in (ALWAYS, NEVER):
        return _unread(a if first == ALWAYS else b, element, facts)
    return _unread(smaller(a, b) if op.name == "mini" else larger(a, b), element, facts)


def _absolute(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    a = as_number(operands[0])
    return wrapped(choice(at_least(a, 0), a, -a), element_of(op.results[0]), facts)


def _extend(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Poly:
    return _read(operands[0], op.inputs[0], op.attributes["signedness"], facts)


def _truncate(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed:
    element = element_of(op.results[0])
    value = as_number(operands[0])
    return as_condition(remainder(value, Poly.of(2))) if element.width_bits == 1 else wrapped(value, element, facts)


def _bitcast(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    return operands[0] if element_of(op.inputs[0]).is_integer and element_of(op.results[0]).is_integer else None


def _select(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    return chosen(decided(as_condition(operands[0]), facts), operands[1], operands[2])


def chosen(condition: Condition, then: Followed, otherwise: Followed) -> Followed | None:
    """One of two values; None where that cannot be said."""
    if condition in (ALWAYS, NEVER):
        return then if condition == ALWAYS else otherwise
    if isinstance(then, Poly) and isinstance(otherwise, Poly):
        return choice(condition, then, otherwise)
    if isinstance(then, Condition) and isinstance(otherwise, Condition):
        return either(both(condition, then), both(negate(condition), otherwise))
    if isinstance(then, Pointers) and isinstance(otherwise, Pointers) and then.root is otherwise.root:
        return Pointers(then.root, choice(condition, then.offset_bytes, otherwise.offset_bytes))
    return then if then == otherwise else None


# Shapes: a value depends on its lane by symbols of dimension and size, so moving lanes is replacing symbols.


def relaid(value: Followed, by: dict[Atom, Poly], *, scalar: bool = False) -> Followed | None:
    """The value with its lanes renamed.

    An unknown differs from lane to lane, so that one that moves to other lanes is a new one, unless the tile has only
    one lane.
    """
    if not scalar and isinstance(value, (Poly, Condition)):
        by = dict(by)
        for old in unknowns(value):
            by[old] = Poly.of(Symbol(old.name, old.kind, old.low, old.high, why=old.why))
    if isinstance(value, Poly):
        return replace(value, by)
    if isinstance(value, Condition):
        return replace_in(value, by)
    if isinstance(value, Pointers):
        return Pointers(value.root, replace(value.offset_bytes, by))
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
    return _unread(lane_term(0, size), element_of(op.results[0]), facts)


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
    found = unknown(op.results[0].type, f"a table of constants ({op.name})", data=False)
    for atom in found.atoms if isinstance(found, Poly) else ():
        atom.low, atom.high = int(values.min()), int(values.max())
    return found


# Pointers and views


def _offset(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    pointers, items = operands
    if not isinstance(pointers, Pointers) or not isinstance(items, Poly):
        return pointers if isinstance(pointers, Lost) else None
    return Pointers(pointers.root, pointers.offset_bytes + items * pointee_bytes(op.results[0]))


def pointee_bytes(value: Value) -> int:
    assert isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)
    return value.type.element.pointee.size_bytes


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
    steps = kind.traversal_strides if isinstance(kind, StridedViewType) else kind.tile_shape
    dims = getattr(kind, "dim_map", tuple(range(len(kind.tile_shape))))
    return tuple(quotient(view.tensor.shape[d] + (s - 1), Poly.of(s)) for d, s in zip(dims, steps, strict=True))


def _same(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed:
    return operands[0]


_RULES: dict[str, Rule] = {
    "absi": _absolute,
    "addi": _arithmetic,
    "andi": _and,
    "assume": _same,
    "bitcast": _bitcast,
    "broadcast": _same,
    "cat": _cat,
    "cmpi": _compare,
    "constant": _constant,
    "divi": _divide,
    "exti": _extend,
    "extract": _extract,
    "iota": _iota,
    "make_gather_scatter_view": _tile_view,
    "make_partition_view": _tile_view,
    "make_strided_view": _tile_view,
    "make_tensor_view": _tensor_view,
    "maxi": _extreme,
    "mini": _extreme,
    "muli": _arithmetic,
    "negi": _arithmetic,
    "offset": _offset,
    "ori": _or,
    "permute": _permute,
    "ptr_to_ptr": _same,
    "remi": _divide,
    "reshape": _reshape,
    "select": _select,
    "shli": _arithmetic,
    "shri": _shift_right,
    "subi": _arithmetic,
    "trunci": _truncate,
    "xori": _xor,
}

__all__ = ["ONE", "apply_rule", "as_condition", "as_number", "chosen", "exact_result", "index_space", "wrapped"]
