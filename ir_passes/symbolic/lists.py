"""Reads from the buffer of a list of arrays."""

from __future__ import annotations

from ir_passes.symbolic.events import Event
from ir_passes.symbolic.places import place_of, target_of
from ir_passes.symbolic.values import Words


def read_words(event: Event) -> Words | None:
    """What a load from the buffer of a list yields; None for any other operation."""
    if event.op.spec.effect != "read" or event.op.operands.get("mask") is not None or target_of(event.op) is None:
        return None
    place = place_of(event)
    if isinstance(place, str) or place.root.members is None or place.items is None:
        return None
    return Words(place.root.members, place.items)
