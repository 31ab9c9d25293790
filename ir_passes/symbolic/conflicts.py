"""What the accesses of all blocks do to each array together: do two store to one element, does one load what another
stores, is all of an output written?
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from cutile_sim.tileir.core import Function, Op
from ir_passes.symbolic.coverage import coverage_verdict
from ir_passes.symbolic.events import Event, Launch
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.lists import known_place
from ir_passes.symbolic.ordering import Ordering, is_weak
from ir_passes.symbolic.overlap import clash
from ir_passes.symbolic.places import Place, target_of
from ir_passes.symbolic.report import Check, Clash, Verdict
from ir_passes.symbolic.values import Pointers, Root
from ir_passes.symbolic.words import line_of

Lost = tuple[Op, str]
"""An access to a place that is not known, and why."""


@dataclass
class _Array:
    """All accesses to one memory that blocks share."""

    loads: list[Place] = field(default_factory=list)
    stores: list[Place] = field(default_factory=list)
    updates: list[Place] = field(default_factory=list)

    @property
    def is_written(self) -> bool:
        return bool(self.stores or self.updates)


def shared_memory_verdicts(
    function: Function, events: Sequence[Event], launch: Launch, judge: Judge
) -> Iterator[Verdict]:
    """Verdicts on the stores to each array, on the loads of what is stored, and on outputs."""
    arrays, lost_loads, lost_stores = _sorted_out(events)
    pairs = _Pairs(judge, Ordering(function))
    written = {place.root.memory.name for a in arrays.values() for place in (*a.stores, *a.updates)}
    for op, reason in lost_stores:
        yield Verdict(Check.DISJOINT_STORES, "not checked", _fine(Check.DISJOINT_STORES, ""), op, reason=reason)
    if written or lost_stores:
        for op, reason in lost_loads:
            yield Verdict(Check.DISJOINT_LOADS, "not checked", _fine(Check.DISJOINT_LOADS, ""), op, reason=reason)
    for array in arrays.values():
        for i, store in enumerate(array.stores):
            yield _unless_shared(pairs.verdict(store, array.stores[i:], array.updates), store.root, written)
    for array in arrays.values():
        for load in array.loads:
            shared = load.root.shared_with & written
            if not (array.is_written or shared or lost_stores):
                continue
            verdict = _unless_shared(pairs.verdict(load, array.stores, array.updates), load.root, written)
            if lost_stores and verdict.status == "proved":
                op, _ = lost_stores[0]
                reason = f"where the store at {line_of(op)} goes is not known"
                verdict = replace(verdict, status="not checked", reason=reason)
            yield verdict
    yield from _outputs(arrays, lost_stores, launch, judge, written)


def _sorted_out(events: Sequence[Event]) -> tuple[dict[Root, _Array], list[Lost], list[Lost]]:
    """Accesses by memory; loads, and stores and updates, to places that are not known."""
    arrays: dict[Root, _Array] = {}
    lost_loads: list[Lost] = []
    lost_stores: list[Lost] = []
    for event in events:
        effect = event.op.spec.effect
        if target_of(event.op) is None:
            continue
        place = known_place(event)
        if isinstance(place, str):
            (lost_loads if effect == "read" else lost_stores).append((event.op, place))
        elif not place.root.is_own:
            array = arrays.setdefault(place.root.memory, _Array())
            {"read": array.loads, "write": array.stores}.get(effect, array.updates).append(place)
    return arrays, lost_loads, lost_stores


def _fine(check: Check, name: str) -> str:
    of = f" of {name}" if name else ""
    if check is Check.DISJOINT_STORES:
        return f"no two blocks store to one element{of}"
    return f"no block loads an element{of} that another stores"


class _Pairs:
    """Compares accesses two by two."""

    def __init__(self, judge: Judge, ordering: Ordering) -> None:
        self.judge = judge
        self.ordering = ordering

    def verdict(self, access: Place, stores: Sequence[Place], updates: Sequence[Place]) -> Verdict:
        """Whether one access touches what other blocks store or update: the worst of all pairs."""
        check = Check.DISJOINT_LOADS if access.event.op.spec.effect == "read" else Check.DISJOINT_STORES
        name = access.root.name
        wrong = "two blocks store to one element of" if check is Check.DISJOINT_STORES else "another block stores what"
        wrong = f"{wrong} {name}" if check is Check.DISJOINT_STORES else f"{wrong} a block loads of {name}"
        doubt = Verdict(check, "proved", _fine(check, name), access.event.op, array=name)
        for other in (*stores, *updates):
            found = clash(access, other, self.judge)
            if found.status == "violated" and (why := self._excuse(access.event.op, other.event.op)):
                found = Clash("not checked", why)
            if found.status == "violated":
                second = None if other is access else other.event.op
                return Verdict(
                    check,
                    "violated",
                    wrong,
                    access.event.op,
                    found.witness,
                    array=name,
                    index=found.index,
                    other=second,
                )
            if found.status == "not checked" and doubt.status == "proved":
                doubt = replace(doubt, status="not checked", reason=found.reason)
        return doubt

    def _excuse(self, op: Op, other: Op) -> str:
        """Why two accesses of different blocks to one element may be meant; "" where they are a mistake."""
        if other.spec.effect == "read_write":
            return f"blocks update it atomically at {line_of(other)}, and what orders that with this is not followed"
        if self.ordering.may_order(op, other):
            return "two blocks do, but atomics may put them in order"
        if not is_weak(op) and not is_weak(other):
            return "two blocks do, but each by an atomic access"
        return ""


def _outputs(
    arrays: dict[Root, _Array], lost_stores: list[Lost], launch: Launch, judge: Judge, written: set[str]
) -> Iterator[Verdict]:
    """Whether each array that is stored to is written everywhere."""
    given = [p.root for p in launch.parameters if isinstance(p, Pointers)]
    for root, members in {r.members.root if r.members else r.memory: r.members for r in given}.items():
        array = arrays.get(root)
        if array is None or not array.stores:
            continue
        reasons = ["it is updated atomically too"] if array.updates else []
        reasons += [place.misfit for place in array.stores if place.misfit]
        reasons += [reason for _, reason in lost_stores]
        stores = [place for place in array.stores if not place.misfit]
        if members is not None and not members.are_alike:
            fine = f"every element of {root.name} is written"
            reason = f"the arrays of {root.name} have different shapes or strides"
            yield Verdict(Check.COVERAGE, "not checked", fine, array.stores[0].event.op, reason=reason, array=root.name)
            continue
        verdict = coverage_verdict(root, stores, reasons, judge)
        shared = root.shared_with & written
        if shared and verdict.status == "violated":
            verdict = _not_checked(verdict, root, shared)
        yield verdict


def _unless_shared(verdict: Verdict, root: Root, written: set[str]) -> Verdict:
    """The verdict, but where stores to another argument count too, for a proof says nothing of those."""
    shared = root.shared_with & written
    return _not_checked(verdict, root, shared) if shared and verdict.status == "proved" else verdict


def _not_checked(verdict: Verdict, root: Root, shared: frozenset[str]) -> Verdict:
    reason = f"{root.name} shares memory with {min(shared)}"
    return replace(verdict, status="not checked", witness=None, index=None, condition="", reason=reason)
