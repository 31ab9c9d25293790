"""Integers and i1 as terms: how an operation reads them, and what their width makes of a result."""

from __future__ import annotations

from collections.abc import Sequence

from cutile_sim.dtypes import ElementType
from cutile_sim.optable.encoding import Signedness
from cutile_sim.tileir.core import Value
from cutile_sim.tileir.types import PointerType, TileType
from ir_passes.symbolic.conditions import ALWAYS, NEVER, Condition, at_least, both, choice, either, equal, negate
from ir_passes.symbolic.members import number_of
from ir_passes.symbolic.solve import never_negative
from ir_passes.symbolic.terms import ZERO, Poly, remainder
from ir_passes.symbolic.values import Followed, Pointers, Words, integer_range


class NotFollowedError(Exception):
    """An operand is none that a rule can use."""


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
    if isinstance(value, Words) and (number := number_of(value)) is not None:
        return number
    raise NotFollowedError


def as_condition(value: Followed) -> Condition:
    if isinstance(value, Condition):
        return value
    if isinstance(value, Poly):
        return negate(equal(value, 0))
    raise NotFollowedError


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


def read_as(value: Followed, source: Value, signedness: object, facts: Sequence[Poly]) -> Poly:
    if isinstance(value, Condition):
        return as_number(value, signed=signedness is Signedness.SIGNED)
    number = as_number(value)
    return unsigned(number, element_of(source).width_bits, facts) if signedness is Signedness.UNSIGNED else number


def unread(value: Poly, element: ElementType, facts: Sequence[Poly]) -> Followed:
    """Back from an unsigned reading."""
    return as_condition(remainder(value, Poly.of(2))) if element.width_bits == 1 else wrapped(value, element, facts)


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


def pointee_bytes(value: Value) -> int:
    assert isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)
    return value.type.element.pointee.size_bytes
