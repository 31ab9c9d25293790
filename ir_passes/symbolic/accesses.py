"""Checks of single operations: is every access in range, is every division, shift, sum and promise sound?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from cutile_sim.dtypes import ElementType
from cutile_sim.optable.encoding import Signedness
from cutile_sim.tileir.attributes import Bounded, DivBy, SameElements
from cutile_sim.tileir.core import Function, Op, Value
from cutile_sim.tileir.types import TileType
from ir_passes.edges import edges_of
from ir_passes.symbolic.arithmetic import exact_result
from ir_passes.symbolic.conditions import NEVER, Condition, at_least, both, either, less, negate, symbols
from ir_passes.symbolic.evaluate import value_of
from ir_passes.symbolic.events import Event
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.numbers import element_of
from ir_passes.symbolic.places import Place, beyond, is_dense, outside, place_of, target_of
from ir_passes.symbolic.report import Check, Verdict
from ir_passes.symbolic.solve import is_never
from ir_passes.symbolic.terms import ONE, Poly, UndeterminedError, remainder
from ir_passes.symbolic.values import Pointers, integer_range


def verb(op: Op) -> str:
    return {"read": "load", "write": "store"}.get(op.spec.effect, "atomic update")


def access_verdicts(event: Event, judge: Judge) -> Iterator[Verdict]:
    """Verdicts on one load, store or atomic update."""
    what = verb(event.op)
    place = place_of(event)
    if isinstance(place, str):
        yield Verdict(Check.RANGE, "not checked", f"every {what} stays inside its array", event.op, reason=place)
        return
    yield from _promised(event, place, judge)
    yield _in_memory(event, place, judge)
    yield from _tile_indices(event, place, judge)


def tile_shape(event: Event) -> tuple[int, ...]:
    value = target_of(event.op)
    assert value is not None
    kind = value.type
    return kind.shape if isinstance(kind, TileType) else kind.tile_shape  # type: ignore[union-attr]


def _in_memory(event: Event, place: Place, judge: Judge) -> Verdict:
    what, root = verb(event.op), place.root
    fine = f"every {what} stays inside {root.name}"
    if place.is_whole_root:
        return Verdict(Check.RANGE, "proved", fine, event.op, array=root.name)
    if place.items is None:
        return Verdict(Check.RANGE, "not checked", fine, event.op, reason=place.misfit, array=root.name)
    coordinates = place.coordinates()
    bad = beyond(coordinates, root) if coordinates is not None else None
    if bad is not None and is_never(bad, place.given):
        return Verdict(Check.RANGE, "proved", fine, event.op, array=root.name)
    dense = is_dense(root)
    if dense:
        bad = outside(place.items, root)
    if bad is None:
        reason = f"no index of {root.name}, whose elements are not dense, was found for its place"
        return Verdict(Check.RANGE, "not checked", fine, event.op, reason=reason, array=root.name)
    verdict = judge.judge(
        Check.RANGE,
        bad,
        place.given,
        fine=fine,
        wrong=f"{what} outside {root.name}",
        op=event.op,
        values=_shown(place, coordinates),
        array=root.name,
        lanes=tile_shape(event),
    )
    if verdict.status == "violated" and not dense and not _is_outside(verdict, place):
        reason = f"whether it falls between the elements of {root.name} is not known"
        return Verdict(Check.RANGE, "not checked", fine, event.op, reason=reason, array=root.name)
    return verdict


def _shown(place: Place, coordinates: Sequence[Poly] | None) -> dict[str, Poly]:
    """What a finding tells of where the access goes."""
    root = place.root
    if root.memory.is_list and coordinates is not None:
        named = {f"index {d}": i for d, i in enumerate(coordinates[1:])}
        return {f"array of {root.name}": coordinates[0], **named}
    assert place.items is not None
    total = ONE
    for n, s in zip(root.shape, root.strides_elems, strict=True):
        total = total + (n - 1) * s
    return {f"element of {root.name}": place.items, "elements it has": total}


def _is_outside(verdict: Verdict, place: Place) -> bool:
    """Whether the witness's element is none of an array that has gaps."""
    assert verdict.witness is not None and place.items is not None
    root = place.root
    numbers = {s: 0 for s in symbols(place.items, *root.shape, *root.strides_elems) if not s.is_unknown}
    numbers |= verdict.witness.numbers or {}
    try:
        item = value_of(place.items, numbers)
        dims = [
            (value_of(s, numbers), value_of(n, numbers)) for s, n in zip(root.strides_elems, root.shape, strict=True)
        ]
    except UndeterminedError:
        return False
    for stride, n in sorted(dims, reverse=True):
        if stride and n > 1:
            if stride < 0:
                return False
            index = min(item // stride, n - 1)
            if index < 0:
                return True
            item -= index * stride
    return item != 0


def _promised(event: Event, place: Place, judge: Judge) -> Iterator[Verdict]:
    """The dimensions along which the kernel has turned the bounds check off."""
    flags = event.op.attributes.get("inbounds") or ()
    bad: Condition = NEVER
    values: dict[str, Poly] = {}
    for flag, d in zip(flags, place.dimensions, strict=False):
        if flag:
            bad = either(bad, less(d.element, 0), at_least(d.element, d.extent))
            values |= {f"element of dimension {d.along}": d.element, f"length of dimension {d.along}": d.extent}
    if any(flags):
        yield judge.judge(
            Check.PROMISED_BOUNDS,
            bad,
            event.path,
            fine=f"no {verb(event.op)} leaves the tensor where its bounds check is turned off",
            wrong=f"{verb(event.op)} leaves the tensor, but its bounds check is turned off",
            op=event.op,
            values=values,
            array=place.root.name,
            lanes=tile_shape(event),
        )


def _tile_indices(event: Event, place: Place, judge: Judge) -> Iterator[Verdict]:
    """Whether a tile lies in the index space; of a store, whether it is cut off at the tensor's end."""
    dense = [d for d in place.dimensions if not d.is_sparse]
    if not dense:
        return
    what = verb(event.op)
    bad = either(*(at_least(d.first, d.extent) for d in dense))
    values: dict[str, Poly] = {}
    for d in dense:
        values |= {f"first element along {d.along}": d.first, f"length along {d.along}": d.extent}
    outside_space = judge.judge(
        Check.LOADED_TILE if what == "load" else Check.STORED_TILE,
        bad,
        event.path,
        fine=f"every tile index of the {what} is one that the view of {place.root.name} has",
        wrong=f"the {what} names a tile that lies wholly outside {place.root.name}",
        op=event.op,
        values=values,
        array=place.root.name,
    )
    yield outside_space
    if what == "load":
        return
    clipped = either(*(at_least(d.element, d.extent) for d in dense))
    yield judge.judge(
        Check.CLIPPED_STORE,
        clipped,
        both(event.path, negate(bad)),
        fine=f"no tile that is stored is cut off at the end of {place.root.name}",
        wrong=f"the tile that is stored is cut off at the end of {place.root.name}",
        op=event.op,
        array=place.root.name,
        lanes=tile_shape(event),
    )


def arithmetic_verdicts(event: Event, judge: Judge, addresses: frozenset[Value]) -> Iterator[Verdict]:
    """Verdicts on one integer operation or promise."""
    check = _ARITHMETIC.get(event.op.name)
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
        number = value.offset_bytes + (0 if known % promise.divisor == 0 else known)
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


_ARITHMETIC: dict[str, Callable[[Event, Judge, frozenset[Value]], Iterator[Verdict]]] = {
    "addi": _overflow,
    "assume": _assumption,
    "divi": _division,
    "muli": _overflow,
    "negi": _overflow,
    "remi": _division,
    "shli": _shift,
    "shri": _shift,
    "subi": _overflow,
}
CHECKED_OPS = frozenset(_ARITHMETIC)


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
