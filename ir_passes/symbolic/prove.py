"""All checks over one function and one launch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cutile_sim.optable.encoding import MemoryOrderingSemantics, Signedness
from cutile_sim.tileir.core import Function, Op, Value
from ir_passes.symbolic.accesses import CHECKED_OPS, access_verdicts, address_values, arithmetic_verdicts, verb
from ir_passes.symbolic.coverage import coverage_verdict
from ir_passes.symbolic.execute import Event, Launch, follow
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.overlap import overlap_verdict
from ir_passes.symbolic.places import Place, place_of, target_of
from ir_passes.symbolic.report import Check, Proofs, Verdict
from ir_passes.symbolic.values import Pointers, Root


def prove(function: Function, launch: Launch) -> Proofs:
    """Check every access, division, shift, promise and address of a kernel for all blocks of a launch.

    The cost depends on the code alone, not on the grid or the arrays.
    """
    trace = follow(function, launch)
    addresses = address_values(function)
    judge = Judge(trace, launch, _unsigned_reads(function))
    verdicts: list[Verdict] = []
    idle = _without_promise(function, launch)
    met = set()
    for event in trace.events:
        met.add(event.op)
        if target_of(event.op) is not None:
            verdicts.extend(access_verdicts(event, judge))
        elif event.op.name in CHECKED_OPS and event.op not in idle:
            verdicts.extend(arithmetic_verdicts(event, judge, addresses))
    for op in function.walk():
        if op not in met and target_of(op) is not None:
            verdicts.append(Verdict(Check.RANGE, "proved", f"the {verb(op)} is never reached", op))
    verdicts.extend(_stores(trace.events, launch, judge))
    return Proofs(tuple(verdicts))


def _without_promise(function: Function, launch: Launch) -> set[Op]:
    """Promises that nobody keeps: on such parameters, and on constants, where the front-end repeats what it was told of
    a stride of one.
    """
    values = {function.parameters[i] for i in launch.without_promise}
    found = set()
    for op in function.walk():
        if op.name == "constant":
            values.update(op.results)
        if op.name == "assume" and op.inputs[0] in values:
            found.add(op)
            values.update(op.results)
    return found


def _unsigned_reads(function: Function) -> frozenset[Value]:
    return frozenset(
        value
        for op in function.walk()
        if op.name in ("exti", "divi", "remi", "shri") and op.attributes["signedness"] is Signedness.UNSIGNED
        for value in op.inputs
    )


def _acquired(events: list[Event]) -> set[Op]:
    """Operations behind one that acquires: other blocks may have been waited for."""
    found: set[Op] = set()
    acquires = False
    for event in events:
        order = event.op.attributes.get("memory_ordering_semantics")
        acquires = acquires or order in (MemoryOrderingSemantics.ACQUIRE, MemoryOrderingSemantics.ACQ_REL)
        if acquires:
            found.add(event.op)
    return found


def _stores(events: list[Event], launch: Launch, judge: Judge) -> Iterator[Verdict]:
    """Verdicts on the stores to each array taken together."""
    places: dict[Root, list[Place]] = {}
    others: dict[Root, list[str]] = {}
    lost: list[tuple[Op, str]] = []
    for event in events:
        if event.op.spec.effect not in ("write", "read_write"):
            continue
        place = place_of(event)
        if isinstance(place, str):
            lost.append((event.op, place))
        elif place.root.is_own:
            continue
        elif event.op.spec.effect == "read_write":
            others.setdefault(place.root, []).append("it is updated atomically too")
        elif place.misfit:
            others.setdefault(place.root, []).append(place.misfit)
        else:
            places.setdefault(place.root, []).append(place)
    for op, reason in lost:
        fine = "no two blocks store to one element"
        yield Verdict(Check.DISJOINT_STORES, "not checked", fine, op, reason=reason)
    acquired = _acquired(events)
    for stores in places.values():
        for i, first in enumerate(stores):
            for second in stores[i:]:
                verdict = overlap_verdict(first, second, judge)
                if verdict.status == "violated" and {first.event.op, second.event.op} <= acquired:
                    reason = "two blocks do, but an atomic before it may put them in order"
                    verdict = replace(verdict, status="not checked", witness=None, index=None, reason=reason)
                yield _unless_shared(verdict, first.root)
    outputs = [p.root for p in launch.parameters if isinstance(p, Pointers) and p.root in {*places, *others}]
    for root in outputs:
        if root in places:
            reasons = [*others.get(root, ()), *(reason for _, reason in lost)]
            yield _unless_shared(coverage_verdict(root, places[root], reasons, judge), root)


def _unless_shared(verdict: Verdict, root: Root) -> Verdict:
    """The verdict, but where stores to another argument count too, for it says nothing of those."""
    proved_apart = verdict.check is Check.DISJOINT_STORES and verdict.status == "proved"
    missed = verdict.check is Check.COVERAGE and verdict.status == "violated"
    if not root.shared_with or not (proved_apart or missed):
        return verdict
    reason = f"{root.name} shares memory with {root.shared_with}"
    return replace(verdict, status="not checked", witness=None, index=None, condition="", reason=reason)
