"""What single blocks touched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from cutile_sim.analysis.access_table import AccessTable, Form, access_table
from cutile_sim.analysis.footprints import ACCESS_KINDS
from cutile_sim.analysis.runs import distinct
from cutile_sim.analysis.spaces import nested_axes
from cutile_sim.analysis.window_boxes import window_boxes
from cutile_sim.errors import UsageError
from cutile_sim.traces.boxes import Box, steps_of
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import Access

Block = tuple[int, int, int]
NOWHERE = np.iinfo(np.int64).min
LANES_AT_ONCE = 1 << 20


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
    table = access_table(launch)
    rows = _rows_of(launch, table, block, between)
    found: list[BlockTile] = []
    at_once = max(at_most if at_most is not None else len(rows), 1)
    for first in range(0, len(rows), at_once):
        some = rows[first : first + at_once]
        parts = _tiles(table, some, block)
        for row in some.tolist():
            if row not in parts:
                continue
            if len(found) == at_most:
                return tuple(found)
            box, elements, is_box = parts[row]
            op, array = launch.ops[int(table.op[row])], launch.arrays[int(table.array[row])]
            record = int(table.record[row])
            found.append(BlockTile(record, op.number, op.kind, *op.file_and_line, array.name, box, elements, is_box))
    return tuple(found)


def _rows_of(
    launch: LaunchTrace, table: AccessTable, block: Block, between: tuple[int, int] | None = None
) -> np.ndarray:
    rows = table.rows(launch.chosen_ops(ACCESS_KINDS), None, between)
    return rows[table.holds(block)[table.group[rows]]]


def _tiles(table: AccessTable, rows: np.ndarray, block: Block) -> dict[int, tuple[Box, int, bool]]:
    """By row: the box of what a block touches, how many lanes that are, and whether these are all of the box."""
    found: dict[int, tuple[Box, int, bool]] = {}
    done = np.zeros(len(rows), bool)
    for form, chosen, offsets in _windows(table, rows, block):
        taken = offsets != NOWHERE
        done[chosen[~taken]] = True
        assert form.strides is not None
        boxes, fits, lanes = window_boxes(
            form.array, form.unit_bytes, form.tile_shape, form.strides[3:], offsets[taken]
        )
        at = chosen[taken][fits]
        done[at] = True
        for row, box, size in zip(rows[at].tolist(), boxes[fits].tolist(), _sizes(boxes[fits]), strict=True):
            found[row] = tuple((first, end) for first, end in box), lanes, lanes == size
    for row, access in table.accesses(rows[~done]):
        which = access.group.find(block)
        assert which is not None
        around = access.box(which)
        if around is not None:
            elements = _in_array(access, which)
            size = prod(end - first for first, end in around)
            found[row] = around, elements.size, elements.size == size == len(distinct(elements))
    return found


def _sizes(boxes: np.ndarray) -> list[int]:
    return [int(n) for n in np.prod(boxes[..., 1] - boxes[..., 0], axis=-1)]


def _windows(table: AccessTable, rows: np.ndarray, block: Block) -> Iterator[tuple[Form, np.ndarray, np.ndarray]]:
    """(form, which of the rows have it, offset of the first lane of the block there, `NOWHERE` if it does not take
    part) of all windows of arrays whose elements have one index each.
    """
    order = np.lexsort((table.group[rows], table.form[rows]))
    forms, groups = table.form[rows[order]], table.group[rows[order]]
    new = np.flatnonzero((np.diff(forms, prepend=-1) != 0) | (np.diff(groups, prepend=-1) != 0))
    for first, end in zip(new.tolist(), np.append(new, len(order))[1:].tolist(), strict=True):
        form = table.forms[int(forms[first])]
        if not form.is_window or nested_axes(form.array) is None:
            continue
        group = table.group_of(int(groups[first]))
        which = group.find(block)
        assert which is not None and form.strides is not None
        at = [int(i) for i in np.unravel_index(int(group.positions[which]), group.shape)]
        chosen = order[first:end]
        offsets = np.full(len(chosen), NOWHERE)
        if all(b <= p < e for b, p, e in zip(form.begin, at, form.end, strict=True)):
            shift = sum((at[a] - form.begin[a]) * form.strides[a] for a in range(3) if form.shape[a] > 1)
            offsets = table.offset[rows[chosen]] + shift
        yield form, chosen, offsets


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
    """(elements by array and kind, executions by line)."""
    table = access_table(launch)
    lines: dict[tuple[str, int], int] = {}
    ran = launch.record_ops[table.holds(block)[table.record_group]]
    for number, count in zip(*(a.tolist() for a in np.unique(ran, return_counts=True)), strict=True):
        where = launch.ops[number].file_and_line
        lines[where] = lines.get(where, 0) + count
    rows = _rows_of(launch, table, block)
    elements: dict[tuple[str, str], list[np.ndarray]] = {}
    # In the order in which the block first touches them.
    for row, touched in sorted(_elements(table, rows, block), key=lambda found: found[0]):
        kind = launch.ops[int(table.op[row])].kind
        elements.setdefault((launch.arrays[int(table.array[row])].name, kind), []).append(touched)
    return elements, lines


def _elements(table: AccessTable, rows: np.ndarray, block: Block) -> Iterator[tuple[int, np.ndarray]]:
    """(a row, different elements that a block touches there and in rows that are alike)."""
    done = np.zeros(len(rows), bool)
    for form, chosen, offsets in _windows(table, rows, block):
        if form.unit_bytes != form.array.item_bytes:
            continue
        done[chosen] = True
        assert form.strides is not None
        lanes = steps_of(form.tile_shape, form.strides[3:])
        ops = table.op[rows[chosen]]
        for op in np.unique(ops).tolist():
            firsts = distinct(offsets[(ops == op) & (offsets != NOWHERE)])
            at_once = max(1, LANES_AT_ONCE // max(lanes.size, 1))
            for begin in range(0, len(firsts), at_once):
                elements = distinct(np.add.outer(firsts[begin : begin + at_once], lanes))
                yield int(rows[chosen[ops == op][0]]), elements[form.array.index_of(elements)[1]]
    for row, access in table.accesses(rows[~done]):
        which = access.group.find(block)
        assert which is not None
        if access.takes_part(which):
            yield row, distinct(_in_array(access, which))


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
