"""Lists of arrays: reads from their buffer, and accesses to an array that a list may not have."""

from __future__ import annotations

from ir_passes.symbolic.conditions import at_least, either, less
from ir_passes.symbolic.events import Event
from ir_passes.symbolic.places import Place, place_of, target_of
from ir_passes.symbolic.solve import can_hold
from ir_passes.symbolic.values import Words


def read_words(event: Event) -> Words | None:
    """What a load from the buffer of a list yields; None for any other operation."""
    if event.op.spec.effect != "read" or event.op.operands.get("mask") is not None or target_of(event.op) is None:
        return None
    place = place_of(event)
    if isinstance(place, str) or place.root.members is None or place.items is None:
        return None
    return Words(place.root.members, place.items)


def known_place(event: Event) -> Place | str:
    """Where an access goes, or why that is not known. That a list has no such array is found where it is read."""
    place = place_of(event)
    if not isinstance(place, str) and place.root.memory.is_list and (found := place.coordinates()) is not None:
        past = either(less(found[0], 0), at_least(found[0], place.root.shape[0]))
        if can_hold(past, place.given).kind != "never":
            return f"it may be of an array that {place.root.memory.name} does not have"
    return place
