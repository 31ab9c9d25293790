"""Which lanes of an access count: those inside the view and not masked off."""

from __future__ import annotations

from typing import Any

import numpy as np

from cutile_sim.memory.access import Places
from cutile_sim.ops.windows import Edge, Lanes, Window


def counting(place: Any, mask: np.ndarray | None) -> np.ndarray | None:
    """The lanes that are accessed, over the shape of the access; None where all are."""
    if isinstance(place, Window):
        return None
    if isinstance(place, Edge):
        return place.valid()
    if isinstance(place, Lanes):
        return place.valid
    return mask


def addresses_of(place: Any) -> np.ndarray:
    """A byte address a lane of a `Lanes`, of `Places` or of addresses."""
    if isinstance(place, Lanes):
        return place.addresses
    return place.addresses() if isinstance(place, Places) else place


def windows_of(place: Window | Edge) -> list[Window]:
    """The windows that a place is made of."""
    return [place] if isinstance(place, Window) else [window for _, window in place.parts]


def lane_addresses(place: Any) -> np.ndarray:
    """A byte address a lane of any place; 0 for lanes of an `Edge` that are cut off."""
    return place.addresses() if isinstance(place, (Window, Edge)) else addresses_of(place)
