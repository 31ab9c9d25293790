"""What integer operations do to terms."""

from __future__ import annotations

from collections.abc import Sequence

from cutile_sim.optable.encoding import ComparisonPredicate, RoundingMode, Signedness
from cutile_sim.tileir.core import Op
from ir_passes.symbolic.conditions import (
    ALWAYS,
    NEVER,
    Condition,
    at_least,
    both,
    choice,
    either,
    larger,
    less,
    negate,
    smaller,
)
from ir_passes.symbolic.numbers import (
    as_condition,
    as_number,
    chosen,
    decided,
    element_of,
    read_as,
    unread,
    unsigned,
    wrapped,
)
from ir_passes.symbolic.solve import never_negative
from ir_passes.symbolic.terms import ZERO, Poly, quotient, remainder
from ir_passes.symbolic.values import Followed, Rule


def exact_result(op: Op, operands: Sequence[Followed]) -> Poly | None:
    """The result of + - * << or negation before anything wraps; None for other operations and what is not followed."""
    if op.name not in ("addi", "subi", "muli", "shli", "negi") or element_of(op.results[0]).width_bits == 1:
        return None
    if not all(isinstance(v, Poly) for v in operands):
        return None
    a, b = as_number(operands[0]), as_number(operands[-1])
    if op.name == "shli":
        return (
            a * (1 << b.value) if b.value is not None and 0 <= b.value < element_of(op.results[0]).width_bits else None
        )
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
    x, y = (read_as(v, s, signedness, facts) for v, s in zip(operands, op.inputs, strict=True))
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
    a, b = (read_as(v, s, signedness, facts) for v, s in zip(operands, op.inputs, strict=True))
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
    return unread(result, element, facts)


def _shift_right(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    count = as_number(operands[1]).value
    element = element_of(op.results[0])
    if count is None or not 0 <= count < element.width_bits:
        return None
    value = read_as(operands[0], op.inputs[0], op.attributes["signedness"], facts)
    return unread(quotient(value, Poly.of(1 << count)), element, facts)


def _extreme(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    signedness = op.attributes["signedness"]
    element = element_of(op.results[0])
    if element.width_bits == 1:
        return None
    a, b = (read_as(v, s, signedness, facts) for v, s in zip(operands, op.inputs, strict=True))
    first = decided(at_least(b, a) if op.name == "mini" else at_least(a, b), facts)
    if first in (ALWAYS, NEVER):
        return unread(a if first == ALWAYS else b, element, facts)
    return unread(smaller(a, b) if op.name == "mini" else larger(a, b), element, facts)


def _absolute(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    a = as_number(operands[0])
    return wrapped(choice(at_least(a, 0), a, -a), element_of(op.results[0]), facts)


def _extend(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Poly:
    return read_as(operands[0], op.inputs[0], op.attributes["signedness"], facts)


def _truncate(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed:
    element = element_of(op.results[0])
    value = as_number(operands[0])
    return as_condition(remainder(value, Poly.of(2))) if element.width_bits == 1 else wrapped(value, element, facts)


def _bitcast(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    return operands[0] if element_of(op.inputs[0]).is_integer and element_of(op.results[0]).is_integer else None


def _select(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    return chosen(decided(as_condition(operands[0]), facts), operands[1], operands[2])


ARITHMETIC: dict[str, Rule] = {
    "absi": _absolute,
    "addi": _arithmetic,
    "andi": _and,
    "bitcast": _bitcast,
    "cmpi": _compare,
    "divi": _divide,
    "exti": _extend,
    "maxi": _extreme,
    "mini": _extreme,
    "muli": _arithmetic,
    "negi": _arithmetic,
    "ori": _or,
    "remi": _divide,
    "select": _select,
    "shli": _arithmetic,
    "shri": _shift_right,
    "subi": _arithmetic,
    "trunci": _truncate,
    "xori": _xor,
}
