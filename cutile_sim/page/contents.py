"""What arrays hold before and after a launch, and, as far as recorded tiles tell, at any time between."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from cutile_sim.analysis.access_table import access_table
from cutile_sim.errors import UsageError
from cutile_sim.numerals import whole_number
from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import Access, Record, of_block

KEPT = 4
MOST_ELEMENTS = 1 << 24


class State(NamedTuple):
    """What is known of an array, flat, when a record has run."""

    last: int
    values: np.ndarray
    known: np.ndarray


def has_values(launch: LaunchTrace, array: ArrayInfo) -> bool:
    """Whether anything is known of what an array holds."""
    return array.is_argument and (launch.has_contents(array.name) or bool(launch.facts["options"].get("values")))


@lru_cache(KEPT)
def contents(launch: LaunchTrace, array: str, when: str) -> tuple[np.ndarray, np.ndarray | None]:
    """(what the array holds, which elements of that are known; None for all).

    `when` is "before", "after", or the number of a record, for what is known when that has run. Raises UsageError where
    the trace does not say, or `when` makes no sense.
    """
    if (record := whole_number(when)) is not None:
        return _at(launch, launch.array(array), record)
    found = launch.contents(array, when)
    if found is None:
        raise UsageError("the trace holds no contents of arrays: make it with contents=True")
    return found, None


def _at(launch: LaunchTrace, array: ArrayInfo, last: int) -> tuple[np.ndarray, np.ndarray]:
    if not has_values(launch, array):
        raise UsageError("the trace holds no values: make it with values=True")
    if array.size > MOST_ELEMENTS:
        raise UsageError(f"array {array.name} is too large to be followed through time: look at it before and after")
    # The slider moves on, as a rule: go on from what is known of the last record before.
    states: list[State] = launch.kept.setdefault((_at, array.number), [])
    earlier = max((state for state in states if state.last <= last), key=lambda state: state.last, default=None)
    if earlier is None:
        before = launch.contents(array.name, "before")
        values = np.zeros(array.size, array.dtype) if before is None else before.reshape(-1).copy()
        known = np.full(array.size, before is not None)
    else:
        values, known = earlier.values.copy(), earlier.known.copy()
    first = 0 if earlier is None else earlier.last + 1
    for record in launch.records_at(_lasting(launch, array, (first, last + 1))):
        tile = _moved(record)
        for access in record.accesses:
            if access.array.number == array.number:
                _put(values, known, access, tile)
    states.append(State(last, values, known))
    del states[:-KEPT]
    return values.reshape(array.shape), known.reshape(array.shape)


def _lasting(launch: LaunchTrace, array: ArrayInfo, between: tuple[int, int]) -> np.ndarray:
    """Numbers of the records that touch an array, without those after which another touches the same elements."""
    table = access_table(launch)
    rows = table.rows(launch.chosen_ops(), array.number, between)
    is_window = np.array([form.is_window for form in table.forms], bool)[table.form[rows]]
    places = np.where(is_window, table.offset[rows], rows)
    keys = np.column_stack([table.form[rows], table.pattern[table.group[rows]], places])
    last = np.unique(keys[::-1], axis=0, return_index=True)[1]
    return np.unique(table.record[rows[::-1][last]])


def _moved(record: Record) -> np.ndarray | None:
    """The tile that a record loads or stores; None for what an update leaves, which is not recorded."""
    for tile in record.tiles:
        if (record.kind == "load" and tile.result == 0) or record.kind == "store":
            return tile.values
    return None


def _put(values: np.ndarray, known: np.ndarray, access: Access, tile: np.ndarray | None) -> None:
    """Note what a tile says of an array's elements, or that they are unknown now."""
    if access.unit_bytes != access.array.item_bytes or (tile is not None and tile.dtype.itemsize != values.itemsize):
        tile = None
    if access.group.is_whole:
        places, held = _of_group(access, tile)
        _note(values, known, access.array, places, held)
        return
    for which in range(access.group.size):
        if access.takes_part(which):
            block = None if tile is None else of_block(tile, which, access.group)
            cut = None
            if block is not None:
                cut = block[tuple(slice(n) for n in access.tile_shape)]
                if not access.is_window and access.mask is not None:
                    cut = cut[of_block(access.mask, which, access.group)]
            _note(values, known, access.array, access.elements(which), cut)


def _of_group(access: Access, tile: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Elements that all blocks of a whole group touch, and what the tile has there, of one shape."""
    places = access.offsets_of_all()
    if access.is_window and tile is not None:
        # A tile that is cut off at the array's end lies at its own beginning.
        batch = [
            slice(b, e) if n > 1 else slice(None) for b, e, n in zip(access.begin, access.end, tile.shape, strict=False)
        ]
        tile = tile[(*batch, *(slice(n) for n in access.tile_shape))]
    places = np.broadcast_to(places, np.broadcast_shapes(places.shape, () if tile is None else tile.shape))
    held = None if tile is None else np.broadcast_to(tile, places.shape)
    if not access.is_window and access.mask is not None:
        mask = np.broadcast_to(access.mask, places.shape)
        places, held = places[mask], None if held is None else held[mask]
    return places * access.unit_bytes // access.array.item_bytes, held


def _note(values: np.ndarray, known: np.ndarray, array: ArrayInfo, places: np.ndarray, held: np.ndarray | None) -> None:
    index, inside = array.index_of(places.reshape(-1))
    at = (
        np.ravel_multi_index(tuple(index[inside].T), array.shape)
        if array.shape
        else np.zeros(int(inside.sum()), np.int64)
    )
    known[at] = held is not None
    if held is not None:
        values[at] = held.reshape(-1)[inside].view(values.dtype)
