"""Checks of single computations: is every division, shift, sum, promise, assertion and part of a tile sound?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cutile_sim.dtypes import ElementType
from cutile_sim.optable.encoding import Signedness
from cutile_sim.tileir.attributes import Bounded, DivBy, SameElements
from cutile_sim.tileir.core import Function, Value
from cutile_sim.tileir.types import TileType
from ir_passes.edges import edges_of
from ir_passes.symbolic.arithmetic import exact_result
from ir_passes.symbolic.conditions import NEVER, Condition, at_least, both, either, less, negate, symbols
from ir_passes.symbolic.events import Event
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.numbers import as_condition, element_of, shape_of
from ir_passes.symbolic.places import target_of
from ir_passes.symbolic.report import Check, Verdict
from ir_passes.symbolic.terms import ZERO, Poly, remainder
from ir_passes.symbolic.values import Pointers, integer_range


def computation_verdicts(event: Event, judge: Judge, addresses: frozenset[Value]) -> Iterator[Verdict]:
    """Verdicts on one integer operation, promise, assertion or part of a tile."""
    check = _CHECKS.get(event.op.name)
    if check is not None:
        yield from check(event, judge, addresses)


def _lanes(event: Event) -> tuple[int, ...]:
    kind = event.op.results[0].type
    return kind.shape if isinstance(kind, TileType) else ()


def _not_followed(check: Check, event: Event, fine: str) -> Verdict:
    return Verdict(check, "not checked", fine, event.op, reason="its operands are not followed")


def _division(event: Event, judge: Judge, addresses: frozenset[Value]) -> Iterator[Verdict]:
    fine = "no integer division by zero"
    top, bottom = event.operands
    if not isinstance(top, Poly) or not isinstance(bottom, Poly):
        yield _not_followed(Check.DIVISION, event, fine)
        return
    values = {"dividend": top, "divisor": bottom}
    zero = both(at_least(bottom, 0), at_least(0, bottom))
    yield judge.judge(
        Check.DIVISION,
        zero,
        event.path,
        fine=fine,
        wrong="integer division by zero",
        op=event.op,
        values=values,
        lanes=_lanes(event),
    )
    low, _ = integer_range(element_of(event.op.results[0]))
    if event.op.attributes["signedness"] is Signedness.SIGNED:
        yield judge.judge(
            Check.LEAST_BY_MINUS_ONE,
            both(at_least(low, top), at_least(bottom, -1), at_least(-1, bottom)),
            event.path,
            fine="the least integer is never divided by -1",
            wrong="the least integer is divided by -1",
            op=event.op,
            values=values,
            lanes=_lanes(event),
        )


def _shift(event: Event, judge: Judge, addresses: frozenset[Value]) -> Iterator[Verdict]:
    count = event.operands[1]
    width = element_of(event.op.results[0]).width_bits
    fine = f"no shift by {width} bits or more"
    if not isinstance(count, Poly):
        yield _not_followed(Check.SHIFT, event, fine)
        return
    yield judge.judge(
        Check.SHIFT,
        either(less(count, 0), at_least(count, width)),
        event.path,
        fine=fine,
        wrong=f"shift by {width} bits or more",
        op=event.op,
        values={"count": count},
        lanes=_lanes(event),
    )
    if event.op.name == "shli":
        yield from _overflow(event, judge, addresses)


def _part(event: Event, judge: Judge, addresses: frozenset[Value]) -> Iterator[Verdict]:
    """Whether the part of a tile that is taken out, or put in, is one that the tile has."""
    op = event.op
    is_taken = op.name == "extract"
    whole, part = shape_of(op.inputs[0]), shape_of(op.results[0])
    if not is_taken:
        whole, part = shape_of(op.inputs[1]), shape_of(op.inputs[0])
    fine = "every part that is " + ("taken out of" if is_taken else "put into") + " a tile is one that it has"
    bad: Condition = NEVER
    values: dict[str, Poly] = {}
    for d, index in enumerate(event.operands[len(event.operands) - len(whole) :]):
        if not isinstance(index, Poly):
            yield _not_followed(Check.RANGE, event, fine)
            return
        bad = either(bad, less(index, 0), at_least(index, whole[d] // part[d]))
        values |= {f"part along {d}": index, f"parts along {d}": Poly.of(whole[d] // part[d])}
    wrong = "a part of a tile is " + ("taken out" if is_taken else "put in") + " that it does not have"
    yield judge.judge(Check.RANGE, bad, event.path, fine=fine, wrong=wrong, op=op, values=values)


def _assertion(event: Event, judge: Judge, addresses: frozenset[Value]) -> Iterator[Verdict]:
    yield judge.judge(
        Check.ASSERTION,
        negate(as_condition(event.operands[0])),
        event.path,
        fine="no assertion fails",
        wrong="an assertion fails",
        op=event.op,
        lanes=shape_of(event.op.inputs[0]),
    )


def _overflow(event: Event, judge: Judge, addresses: frozenset[Value]) -> Iterator[Verdict]:
    op = event.op
    if op.results[0] not in addresses:
        return
    element = element_of(op.results[0])
    if element.width_bits < 32:
        return
    exact = exact_result(op, event.operands)
    fine = f"no {element.width_bits}-bit overflow in address arithmetic"
    if exact is None:
        yield _not_followed(Check.OVERFLOW, event, fine)
        return
    low, high = integer_range(element)
    # Read as unsigned later on, a result may use the top bit: then only what leaves both ranges has overflowed.
    if op.results[0] in judge.unsigned_reads:
        high = 2 * high + 1
    yield judge.judge(
        Check.OVERFLOW,
        either(less(exact, low), less(Poly.of(high), exact)),
        event.path,
        fine=fine,
        wrong=f"{element.width_bits}-bit overflow in address arithmetic",
        op=op,
        values={"exact result": exact},
        lanes=_lanes(event),
    )


def _assumption(event: Event, judge: Judge, addresses: frozenset[Value]) -> Iterator[Verdict]:
    promise = event.op.attributes["predicate"]
    value = event.operands[0]
    fine = f"the promise {_words(promise)} holds"
    if isinstance(promise, SameElements):
        if isinstance(value, Poly) and not any(s.kind == "lane" or s.is_unknown for s in symbols(value)):
            yield Verdict(Check.ASSUMPTION, "proved", fine, event.op)
        else:
            yield Verdict(Check.ASSUMPTION, "not checked", fine, event.op, reason="it compares lanes with each other")
        return
    if isinstance(value, Pointers) and isinstance(promise, DivBy) and promise.every is None:
        known = value.root.alignment_bytes
        if known % promise.divisor and value.offset_bytes != ZERO:
            reason = f"of the address of {value.root.name} no more is known than that it is a multiple of {known}"
            yield Verdict(Check.ASSUMPTION, "not checked", fine, event.op, reason=reason)
            return
        number = value.offset_bytes + (known if known % promise.divisor else 0)
    elif isinstance(value, Poly) and not (isinstance(promise, DivBy) and promise.every is not None):
        number = value
    else:
        yield _not_followed(Check.ASSUMPTION, event, fine)
        return
    if isinstance(promise, DivBy):
        bad = at_least(remainder(number, Poly.of(promise.divisor)), 1)
    else:
        assert isinstance(promise, Bounded)
        bad = either(
            less(number, promise.lower) if promise.lower is not None else NEVER,
            less(Poly.of(promise.upper), number) if promise.upper is not None else NEVER,
        )
    yield judge.judge(
        Check.ASSUMPTION,
        bad,
        event.path,
        fine=fine,
        wrong=f"the promise {_words(promise)} is broken",
        op=event.op,
        values={"value": number},
        lanes=_lanes(event),
    )


def _words(promise: object) -> str:
    if isinstance(promise, DivBy):
        return f"of a multiple of {promise.divisor}"
    if isinstance(promise, Bounded):
        low = "" if promise.lower is None else f"{promise.lower} <= "
        return f"{low}value" + ("" if promise.upper is None else f" <= {promise.upper}")
    return "of equal elements"


_CHECKS: dict[str, Callable[[Event, Judge, frozenset[Value]], Iterator[Verdict]]] = {
    "addi": _overflow,
    "assert": _assertion,
    "assume": _assumption,
    "divi": _division,
    "extract": _part,
    "insert": _part,
    "muli": _overflow,
    "negi": _overflow,
    "remi": _division,
    "shli": _shift,
    "shri": _shift,
    "subi": _overflow,
}
CHECKED_OPS = frozenset(_CHECKS)


def address_values(function: Function) -> frozenset[Value]:
    """Values that addresses, tile indices and masks of accesses are made from."""
    made_from: dict[Value, list[Value]] = {}
    open_ends: list[Value] = []
    for op in function.walk():
        for source, result, control in edges_of(op):
            if not control and op.spec.effect not in ("read", "read_write"):
                made_from.setdefault(result, []).append(source)
        if target_of(op) is not None:
            for name in ("source", "destination", "pointers", "view", "index", "mask"):
                given = op.operands.get(name)
                open_ends += given if isinstance(given, tuple) else [given] if isinstance(given, Value) else []
    found = set(open_ends)
    while open_ends:
        for source in made_from.get(open_ends.pop(), ()):
            if source not in found and _is_integer(source):
                found.add(source)
                open_ends.append(source)
    return frozenset(v for v in found if _is_integer(v))


def _is_integer(value: Value) -> bool:
    kind = value.type
    return not isinstance(kind, TileType) or not isinstance(kind.element, ElementType) or kind.element.is_integer
