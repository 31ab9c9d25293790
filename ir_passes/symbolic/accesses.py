"""Checks of single operations: is every access in range, is every division, shift, sum and promise sound?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cutile_sim.tileir.core import Op
from cutile_sim.tileir.types import TileType
from ir_passes.symbolic.conditions import NEVER, Condition, at_least, both, either, less, negate, symbols
from ir_passes.symbolic.evaluate import value_of
from ir_passes.symbolic.events import Event
from ir_passes.symbolic.judge import Judge
from ir_passes.symbolic.lists import known_place
from ir_passes.symbolic.places import Place, beyond, is_dense, outside, target_of
from ir_passes.symbolic.report import Check, Verdict
from ir_passes.symbolic.solve import is_never
from ir_passes.symbolic.terms import ONE, Poly, UndeterminedError


def verb(op: Op) -> str:
    return {"read": "load", "write": "store"}.get(op.spec.effect, "atomic update")


def access_verdicts(event: Event, judge: Judge) -> Iterator[Verdict]:
    """Verdicts on one load, store or atomic update."""
    what = verb(event.op)
    place = known_place(event)
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
