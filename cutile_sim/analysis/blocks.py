"""Which blocks touched an element, and what single blocks touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cutile_sim.analysis.footprints import ACCESS_KINDS
from cutile_sim.analysis.runs import distinct
from cutile_sim.analysis.spaces import nested_axes
from cutile_sim.errors import UsageError
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import Access

Block = tuple[int, int, int]


@dataclass(frozen=True)
class Touch:
    """One record that touched an element.

    Attributes:
        record, op: Numbers of the record and of its operation.
        kind: "load", "store" or "atomic".
        file, line: Where the operation is in the source; "" and 0 where that is unknown.
        blocks: The blocks that touched the element (x, y, z), at most as many as were asked for in all.
        block_count: How many there are.
    """

    record: int
    op: int
    kind: str
    file: str
    line: int
    blocks: tuple[Block, ...]
    block_count: int


@dataclass(frozen=True)
class Visitors:
    """What touched one element, in time order.

    Attributes:
        array, index: The element.
        touches: At most as many as were asked for.
        is_cut: Whether there is more than that.
    """

    array: str
    index: tuple[int, ...]
    touches: tuple[Touch, ...]
    is_cut: bool


def who(
    launch: LaunchTrace,
    array: str,
    index: Sequence[int],
    *,
    between: tuple[int, int] | None = None,
    at_most: int = 100,
) -> Visitors:
    """The records and blocks that touched one element, in time order.

    Args:
        array: The array's name.
        index: The element's, one number along each axis.
        between: Only records with numbers from the first up to but without the second.
        at_most: How many records, and how many blocks in all, to name.

    Raises:
        UsageError: There is no such array or element.
    """
    info = launch.array(array)
    index = tuple(int(i) for i in index)
    if len(index) != len(info.shape) or any(not 0 <= i < n for i, n in zip(index, info.shape, strict=True)):
        raise UsageError(f"array {array} of shape {'x'.join(map(str, info.shape))} has no element {index}")
    element = sum(i * s for i, s in zip(index, info.strides_elems, strict=True))
    found: list[Touch] = []
    left = at_most
    for record in launch.records(kinds=ACCESS_KINDS, names=(array,), between=between):
        which = np.zeros(record.group.size, bool)
        for access in record.accesses:
            if access.array.number == info.number:
                which |= _touching(access, element)
        if not which.any():
            continue
        if len(found) == at_most:
            return Visitors(array, index, tuple(found), True)
        hits = np.flatnonzero(which)
        at = record.op.location
        found.append(
            Touch(
                record.number,
                record.op.number,
                record.kind,
                "" if at is None else at.file,
                0 if at is None else at.line,
                tuple(_block(b) for b in record.group.blocks[hits[:left]]),
                len(hits),
            )
        )
        left -= len(found[-1].blocks)
    return Visitors(array, index, tuple(found), any(len(t.blocks) < t.block_count for t in found))


def _touching(access: Access, element: int) -> np.ndarray:
    """Which recorded blocks of an access's group touch an element of its array (bool [n])."""
    group, item = access.group, access.array.item_bytes
    if access.is_window and access.unit_bytes % item == 0:
        return _in_window(access, element, access.unit_bytes // item)
    if access.is_window:
        return np.array(
            [access.takes_part(n) and bool((access.elements(n) == element).any()) for n in range(group.size)], bool
        )
    places = access.lanes.astype(np.int64) + access.offset
    items = access.unit_bytes // item if access.unit_bytes % item == 0 else 1
    hit = places == element // items if items > 1 else places * access.unit_bytes // item == element
    if access.mask is not None:
        hit = hit & access.mask
    hit = hit.reshape(*hit.shape[:3], -1).any(axis=3)
    if group.is_whole:
        return np.broadcast_to(hit, group.shape).reshape(-1)
    return np.broadcast_to(hit.reshape(-1), (group.size,))


def _in_window(access: Access, element: int, items: int) -> np.ndarray:
    assert access.strides is not None
    lane = element // items
    steps = access.steps
    inside = np.ones(access.group.shape, bool)
    base = np.full(access.group.shape, access.offset, np.int64)
    for axis, n in enumerate(access.group.shape):
        at = np.arange(n, dtype=np.int64)
        shape = (-1,) + (1,) * (2 - axis)
        inside &= ((at >= access.begin[axis]) & (at < access.end[axis])).reshape(shape)
        if access.shape[axis] > 1:
            base += ((at - access.begin[axis]) * access.strides[axis]).reshape(shape)
    if not steps.size:
        return np.zeros(access.group.size, bool)
    distance = (lane - base).reshape(-1)[access.group.positions]
    possible = inside.reshape(-1)[access.group.positions]
    possible &= (distance >= steps.min()) & (distance <= steps.max())
    possible[possible] = np.isin(distance[possible], steps)
    return possible


@dataclass(frozen=True)
class BlockTile:
    """What one record of a block touches in one array.

    Attributes:
        record, op: Numbers of the record and of its operation.
        kind: "load", "store" or "atomic".
        file, line: Where the operation is in the source; "" and 0 where that is unknown.
        array: The array's name.
        box: (first, end) along each axis of the array: the smallest box that holds all of it.
        elements: How many lanes lie in the array.
        is_box: Whether these are all elements of the box, each once.
    """

    record: int
    op: int
    kind: str
    file: str
    line: int
    array: str
    box: tuple[tuple[int, int], ...]
    elements: int
    is_box: bool


def tiles_of(
    launch: LaunchTrace, block: Sequence[int], *, between: tuple[int, int] | None = None, at_most: int | None = None
) -> tuple[BlockTile, ...]:
    """What one block loads, stores and updates, in time order.

    Args:
        block: Its id along x, y, z; axes left out are 0.
        between: Only records with numbers from the first up to but without the second.
        at_most: How many to give.

    Raises:
        UsageError: The grid has no such block.
    """
    block = block_id(launch, block)
    found: list[BlockTile] = []
    for record in launch.records(kinds=ACCESS_KINDS, blocks=(block,), between=between):
        which = record.group.find(block)
        assert which is not None
        at = record.op.location
        for access in record.accesses:
            box = access.box(which)
            if box is None:
                continue
            if len(found) == at_most:
                return tuple(found)
            elements = _in_array(access, which)
            whole = int(np.prod([end - first for first, end in box]))
            found.append(
                BlockTile(
                    record.number,
                    record.op.number,
                    record.kind,
                    "" if at is None else at.file,
                    0 if at is None else at.line,
                    access.array.name,
                    box,
                    elements.size,
                    elements.size == whole == len(distinct(elements)),
                )
            )
    return tuple(found)


@dataclass(frozen=True)
class ArrayComparison:
    """How many different elements of an array two blocks touch.

    Attributes:
        array, kind: What is compared; kind is "load", "store" or "atomic".
        only_a, only_b, both: Elements that the one, the other, both touch.
    """

    array: str
    kind: str
    only_a: int
    only_b: int
    both: int


@dataclass(frozen=True)
class LineComparison:
    """How many recorded operations of a line two blocks ran."""

    file: str
    line: int
    operations_a: int
    operations_b: int


@dataclass(frozen=True)
class BlockComparison:
    """Two blocks beside each other.

    Attributes:
        a, b: Their ids.
        arrays: Every array and kind of access that one of them has.
        lines: The lines that they did not run equally often.
    """

    a: Block
    b: Block
    arrays: tuple[ArrayComparison, ...]
    lines: tuple[LineComparison, ...]


def compare_blocks(launch: LaunchTrace, a: Sequence[int], b: Sequence[int]) -> BlockComparison:
    """What two blocks share and where they differ. Raises UsageError where the grid has no such block."""
    a, b = block_id(launch, a), block_id(launch, b)
    (elements_a, lines_a), (elements_b, lines_b) = _all_of(launch, a), _all_of(launch, b)
    arrays = []
    for array, kind in dict.fromkeys((*elements_a, *elements_b)):
        one, other = (distinct(np.concatenate(e.get((array, kind), [_NONE]))) for e in (elements_a, elements_b))
        both = len(np.intersect1d(one, other, assume_unique=True))
        arrays.append(ArrayComparison(array, kind, len(one) - both, len(other) - both, both))
    lines = tuple(
        LineComparison(*at, lines_a.get(at, 0), lines_b.get(at, 0))
        for at in sorted({*lines_a, *lines_b})
        if lines_a.get(at, 0) != lines_b.get(at, 0)
    )
    return BlockComparison(a, b, tuple(arrays), lines)


def _in_array(access: Access, which: int) -> np.ndarray:
    """The elements that one recorded block touches, without places outside the array (int64, flat)."""
    elements = np.asarray(access.elements(which)).reshape(-1)
    wide, rest = divmod(access.unit_bytes, access.array.item_bytes)
    if wide > 1 and not rest:  # each lane holds several
        elements = (elements[:, None] + np.arange(wide)).reshape(-1)
    if nested_axes(access.array) is None:
        return elements[(elements >= 0) & (elements < access.array.span_elems)]
    return elements[access.array.index_of(elements)[1]]


_NONE = np.zeros(0, np.int64)


def _all_of(
    launch: LaunchTrace, block: Block
) -> tuple[dict[tuple[str, str], list[np.ndarray]], dict[tuple[str, int], int]]:
    elements: dict[tuple[str, str], list[np.ndarray]] = {}
    lines: dict[tuple[str, int], int] = {}
    for record in launch.records(blocks=(block,)):
        which = record.group.find(block)
        assert which is not None
        at = record.op.location
        where = ("", 0) if at is None else (at.file, at.line)
        lines[where] = lines.get(where, 0) + 1
        for access in record.accesses:
            if access.takes_part(which):
                touched = distinct(_in_array(access, which))
                elements.setdefault((access.array.name, record.kind), []).append(touched)
    return elements, lines


def block_id(launch: LaunchTrace, block: Sequence[int]) -> Block:
    """A block's id along x, y, z, from one to three numbers. Raises UsageError where the grid has no such block."""
    ids = tuple(int(i) for i in block)
    padded = (*ids, 0, 0, 0)[:3]
    if not 1 <= len(ids) <= 3 or any(not 0 <= i < n for i, n in zip(padded, launch.grid, strict=True)):
        raise UsageError(f"the grid of {'x'.join(map(str, launch.grid))} blocks has no block {ids}")
    return _block(padded)


def _block(ids: Sequence[int]) -> Block:
    x, y, z = (int(i) for i in ids)
    return x, y, z
