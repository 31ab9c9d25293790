"""The steps of a plan: closures over slot numbers, each a Tile IR operation or bookkeeping between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from sys import getrefcount
from typing import Any

import numpy as np

from cutile_sim.engine.body import Body
from cutile_sim.engine.group import UNSET
from cutile_sim.engine.values import Deferred
from cutile_sim.ops import IMPLEMENTATIONS
from cutile_sim.tileir.core import Op, Value

Step = Callable[[list[Any], Any], None]
"""Reads and writes the slots of a group; the second argument is the launch's context."""


def move(sources: list[int], targets: list[int]) -> Step:
    """Copy slots to slots, all at once."""

    def move_all(slots: list[Any], cx: Any) -> None:
        values = [slots[i] for i in sources]
        for i, value in zip(targets, values, strict=True):
            slots[i] = value

    return move_all


def release(slots: tuple[int, ...]) -> Step:
    """Clear slots whose values are dead."""
    if len(slots) == 1:
        only = slots[0]

        def release_one(values: list[Any], cx: Any) -> None:
            values[only] = UNSET

        return release_one

    def release_all(values: list[Any], cx: Any) -> None:
        for slot in slots:
            values[slot] = UNSET

    return release_all


def observed(op: Op, step: Step) -> Step:
    """A step that tells the launch's observer before and after."""

    def watched(slots: list[Any], cx: Any) -> None:
        cx.op = op
        cx.observer.before(op, slots, cx)
        step(slots, cx)
        cx.observer.after(op, slots, cx)

    return watched


def observed_move(sources: list[int], targets: list[int]) -> Step:
    """A move that tells the launch's observer, who moves what it knows."""
    plain = move(sources, targets)

    def watched(slots: list[Any], cx: Any) -> None:
        plain(slots, cx)
        cx.observer.moved(sources, targets, slots, cx)

    return watched


def counter_test(counter: int, upper: int, result: int, unsigned: bool) -> Step:
    """A loop's test: its counter against its upper bound."""

    def signed_less(slots: list[Any], cx: Any) -> None:
        slots[result] = np.less(slots[counter], slots[upper])

    def unsigned_less(slots: list[Any], cx: Any) -> None:
        a, b = slots[counter], slots[upper]
        kind = f"u{a.dtype.itemsize}"
        slots[result] = np.less(a.view(kind), b.view(kind))

    return unsigned_less if unsigned else signed_less


def advance(counter: int, step: int) -> Step:
    """A loop's counter, one step on."""

    def advance_counter(slots: list[Any], cx: Any) -> None:
        slots[counter] = slots[counter] + slots[step]

    return advance_counter


def shift_bound(bound: int, distance: int, result: int) -> Step:
    """A loop's bound moved by a number of turns of step 1; a bound so low that it would wrap is left as it is."""

    def shift(slots: list[Any], cx: Any) -> None:
        value = slots[bound]
        low = np.iinfo(value.dtype).min - distance
        slots[result] = np.where(value < low, value, value + value.dtype.type(distance))

    return shift


def constant_step(number: int, like: int, result: int) -> Step:
    """A number as a scalar of the same type as another slot."""

    def constant(slots: list[Any], cx: Any) -> None:
        slots[result] = np.full((1, 1, 1), number, slots[like].dtype)

    return constant


def captured(op: Op) -> list[Value]:
    """Values that the regions of an operation use from outside."""
    inside: set[Value] = set()
    found: list[Value] = []
    for region in op.regions:
        inside.update(region.arguments)
        for nested in region.ops:
            for o in nested.walk():
                inside.update(o.results)
                for r in o.regions:
                    inside.update(r.arguments)
                found.extend(v for v in o.inputs if v not in inside and v not in found)
    return found


@dataclass(frozen=True)
class Uses:
    """How a function uses its values: `read` by anything; `escaping` in other ways than as places of accesses;
    `multiplied` by matrix products and in no other way.
    """

    read: frozenset[Value]
    escaping: frozenset[Value]
    multiplied: frozenset[Value]

    def and_of(self, others: Iterable[Op]) -> Uses:
        """Also how other operations use theirs."""
        more = uses_of(others)
        return Uses(self.read | more.read, self.escaping | more.escaping, self.multiplied | more.multiplied)


def uses_of(ops: Iterable[Op]) -> Uses:
    """How operations use values."""
    read: set[Value] = set()
    escaping: set[Value] = set()
    factors: set[Value] = set()
    others: set[Value] = set()
    for op in ops:
        read.update(op.inputs)
        for n, v in enumerate(op.inputs):
            (factors if op.name == "mmaf" and n < 2 else others).add(v)
        place = next((op.operands[n] for n in _PLACES if n in op.operands), None) if op.name in _ACCESSES else None
        escaping.update(v for n, v in enumerate(op.inputs) if v is not place or op.inputs.index(v) != n)
    return Uses(frozenset(read), frozenset(escaping), frozenset(factors - others))


_ACCESSES = ("load_ptr_tko", "store_ptr_tko", "atomic_rmw_tko", "atomic_cas_tko")
_PLACES = ("source", "destination", "pointers")


def bound_function(op: Op, uses: Uses) -> Callable[..., Any]:
    """The function of an operation, attributes and types filled in: takes operands, and `cx` or `out` if it asks."""
    implementation = IMPLEMENTATIONS[op.name]
    keywords: dict[str, Any] = {k: op.attributes[k] for k in implementation.keywords}
    if "result_type" in implementation.wants:
        keywords["result_type"] = op.results[0].type
    if "operand_types" in implementation.wants:
        keywords["operand_types"] = {
            n: tuple(x.type for x in v) if isinstance(v, tuple) else (None if v is None else v.type)
            for n, v in op.operands.items()
        }
    if "only_accessed" in implementation.wants:
        keywords["only_accessed"] = op.results[0] not in uses.escaping
    if "only_multiplied" in implementation.wants:
        keywords["only_multiplied"] = op.results[0] in uses.multiplied
    if "used_results" in implementation.wants:
        keywords["used_results"] = tuple(v in uses.read for v in op.results)
    return partial(implementation.function, **keywords) if keywords else implementation.function


def computes_in_place(op: Op) -> bool:
    """Whether the operation's function can write its result into an array that it is given."""
    return "out" in IMPLEMENTATIONS[op.name].wants


def op_step(op: Op, uses: Uses, deferred: Op | None = None) -> Step:
    """The step that evaluates one operation: reads operand slots, calls its function, writes result slots.

    `deferred` makes one of its operands, which is passed on uncomputed.
    """
    implementation = IMPLEMENTATIONS[op.name]
    names = [n for n in op.spec.operand_names if n in implementation.operands]
    function = bound_function(op, uses)
    body = Body(op, captured(op), partial(op_step, uses=uses)) if op.regions else None
    wants_cx = "cx" in implementation.wants
    operands = [op.operands[n] for n in names]
    results = [v.index for v in op.results]
    single = len(results) == 1 and not op.spec.encoding.results_variadic
    simple = all(isinstance(v, Value) for v in operands) and single and not wants_cx
    if simple and op.spec.effect == "pure" and not names and not body:
        return _folded(function(), results[0])
    if simple:
        return _simple_step(function, [v.index for v in operands if isinstance(v, Value)], results[0])
    late = None if deferred is None else deferred.results[0]
    make = None if deferred is None else bound_function(deferred, uses)
    late_operands = () if deferred is None else tuple(v.index for v in deferred.inputs)

    getters = [_getter(v) for v in operands]
    late_at = operands.index(late) if late is not None else -1

    def step(slots: list[Any], cx: Any) -> None:
        given = [get(slots) for get in getters]
        if late_at >= 0:
            assert make is not None
            given[late_at] = Deferred(make, slots, late_operands)
        if wants_cx:
            cx.op = op
            value = function(*given, cx=cx if body is None else body.bind(slots, cx))
        else:
            value = function(*given)
        if single:
            slots[results[0]] = value
        else:
            for slot, part in zip(results, value or (), strict=True):
                slots[slot] = part

    return step


def _getter(operand: Value | tuple[Value, ...] | None) -> Callable[[list[Any]], Any]:
    """Reads an operand's slots: one value, None where an optional operand is absent, or several values."""
    if operand is None:
        return lambda slots: None
    if isinstance(operand, Value):
        return itemgetter(operand.index)
    if len(operand) > 1:
        return itemgetter(*(v.index for v in operand))
    if not operand:
        return lambda slots: ()
    only = operand[0].index
    return lambda slots: (slots[only],)


def can_reuse(op: Op, dead: Iterable[int]) -> bool:
    """Whether an operation's result might go where one of its operands was, of which some are dead afterwards."""
    return len(op.inputs) == 2 and computes_in_place(op) and any(v.index in dead for v in op.inputs)


def reusing_step(op: Op, uses: Uses, dead: set[int]) -> Step:
    """Like `op_step` for an elementwise operation of two operands, of which those in `dead` have their last use here.

    The result goes into the memory of a dead operand that nothing else refers to, where it fits.
    """
    function = bound_function(op, uses)
    left, right = (v.index for v in op.inputs)
    result = op.results[0].index

    def step(slots: list[Any], cx: Any) -> None:
        a, b = slots[left], slots[right]
        if left in dead:
            slots[left] = UNSET
        if right in dead:
            slots[right] = UNSET
        out = None
        if a.nbytes >= WORTH_REUSING_BYTES or b.nbytes >= WORTH_REUSING_BYTES:
            if left in dead and getrefcount(a) == _ALONE and _fits(a, b):
                out = a
            elif right in dead and getrefcount(b) == _ALONE and _fits(b, a):
                out = b
        slots[result] = function(a, b, out=out)

    return step


WORTH_REUSING_BYTES = 1 << 16
"""From here on fresh memory costs more than looking for old."""


def _count_alone() -> int:
    """What `getrefcount` says of an array that only one local variable refers to, in this Python."""
    slots = [np.empty(1)]
    array = slots[0]
    slots[0] = UNSET  # type: ignore[call-overload]
    return getrefcount(array)


_ALONE = _count_alone()


def _fits(candidate: np.ndarray, other: np.ndarray) -> bool:
    """Whether a result of the two operands can lie in the memory of the first: its own, and of the result's shape."""
    return (
        candidate.base is None
        and candidate.flags.writeable
        and candidate.dtype == other.dtype
        and (candidate.shape == other.shape or other.size == 1 or _covers(candidate.shape, other.shape))
    )


def _covers(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(m in (n, 1) for n, m in zip(shape, other, strict=True))


def _folded(value: Any, result: int) -> Step:
    """A constant, made once a plan."""

    def constant(slots: list[Any], cx: Any) -> None:
        slots[result] = value

    return constant


def _simple_step(function: Callable[..., Any], sources: list[int], result: int) -> Step:
    if len(sources) == 1:
        (only,) = sources

        def unary(slots: list[Any], cx: Any) -> None:
            slots[result] = function(slots[only])

        return unary
    if len(sources) == 2:
        left, right = sources

        def binary(slots: list[Any], cx: Any) -> None:
            slots[result] = function(slots[left], slots[right])

        return binary

    def nary(slots: list[Any], cx: Any) -> None:
        slots[result] = function(*[slots[i] for i in sources])

    return nary
