"""Records of a trace: an operation, the blocks that ran it in step, the lanes they touched, the tiles they held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cutile_sim.dtypes import element_type
from cutile_sim.errors import UsageError
from cutile_sim.memory.even import even_items
from cutile_sim.traces.boxes import Box, box_of_elements, box_of_steps
from cutile_sim.traces.format import RESULT
from cutile_sim.traces.model import ArrayInfo, OpInfo
from cutile_sim.traces.options import BlockBox

if TYPE_CHECKING:
    from cutile_sim.traces.reader import LaunchTrace

LANE_TYPES: dict[int, np.dtype] = {4: np.dtype("<i4"), 8: np.dtype("<i8")}


class Chunk:
    """Tables of some records of one launch. Raises ValueError where rows refer to what is not there."""

    def __init__(self, launch: LaunchTrace, tables: dict[str, np.ndarray], pool: bytes) -> None:
        self.launch = launch
        self.records, self.accesses = tables["records"], tables["accesses"]
        self.tiles, self.groups, self.dims = tables["tiles"], tables["groups"], tables["dims"]
        self.pool = pool
        self._group_cache: dict[int, GroupInfo] = {}
        # About what it takes in memory, with the blocks of its groups, of which each has four numbers.
        self.size_bytes = len(pool) + sum(t.nbytes for t in tables.values()) + 32 * int(self.groups["count"].sum())
        records = self.records
        _within(records["op"], len(launch.ops), "operations")
        _within(records["group"], len(self.groups), "groups")
        _spans(records["access"], records["accesses"], len(self.accesses), "accesses")
        _spans(records["tile"], records["tiles"], len(self.tiles), "tiles")
        _within(self.accesses["array"], len(launch.arrays), "arrays")
        _within(self.tiles["element"], len(launch.element_names), "element types")

    def touches(self, arrays: set[int]) -> np.ndarray:
        """Of each record, whether it touches one of the arrays (bool [records])."""
        of_access = np.concatenate([[0], np.cumsum(np.isin(self.accesses["array"], list(arrays)))])
        first = self.records["access"]
        return of_access[first + self.records["accesses"]] > of_access[first]

    def meets(self, boxes: Sequence[BlockBox], records: np.ndarray) -> np.ndarray:
        """Of some records (bool [records]), which are of a block in one of the boxes."""
        found = np.zeros(len(self.groups), bool)
        for number in np.unique(self.records["group"][records]).tolist():
            found[number] = any(self.group(number).meets(box) for box in boxes)
        return found[self.records["group"]]

    def group(self, number: int) -> GroupInfo:
        """A row of the table of groups."""
        found = self._group_cache.get(number)
        if found is None:
            found = self._group_cache[number] = GroupInfo(self, number)
        return found

    def numbers(self, at: int, count: int) -> tuple[int, ...]:
        """Some of the dims. Raises UsageError for a damaged file."""
        with self.launch.trace.damage():
            if not 0 <= at <= at + count <= len(self.dims):
                raise ValueError("a shape lies outside its table")
            return tuple(int(n) for n in self.dims[at : at + count])

    def array(self, at: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array of the pool, read-only. Raises UsageError for a damaged file."""
        with self.launch.trace.damage():
            if at < 0 or min(shape, default=0) < 0:
                raise ValueError("an array has no place")
            return np.frombuffer(self.pool, dtype, prod(shape), at).reshape(shape)


def _within(column: np.ndarray, count: int, what: str) -> None:
    if column.size and (column.min() < 0 or column.max() >= count):
        raise ValueError(f"records refer to {what} that are not there")


def _spans(first: np.ndarray, count: np.ndarray, size: int, what: str) -> None:
    if first.size and (first.min() < 0 or count.min() < 0 or (first.astype(np.int64) + count).max() > size):
        raise ValueError(f"records refer to {what} that are not there")


class GroupInfo:
    """Blocks that ran in step.

    Attributes:
        shape: Batch shape z, y, x.
        positions: Of each recorded block, its position in C order over that shape (int64 [n]).
        blocks: Of each recorded block, its id along x, y, z (int64 [n, 3]).
    """

    def __init__(self, chunk: Chunk, number: int) -> None:
        row = chunk.groups[number]
        self.number = number
        self.shape: tuple[int, int, int] = tuple(int(n) for n in row["shape"])  # type: ignore[assignment]
        size = prod(self.shape)
        count, chosen = int(row["count"]), int(row["chosen"])
        if chosen < 0:
            self.positions = np.arange(size, dtype=np.int64)
        else:
            self.positions = chunk.array(chosen, (count,), np.dtype("<i4")).astype(np.int64)
        self.is_whole = chosen < 0
        lengths = self.shape if row["is_box"] else (size, size, size)
        ids = chunk.array(int(row["ids"]), (sum(lengths),), np.dtype("<i4")).astype(np.int64)
        z, y, x = np.split(ids, np.cumsum(lengths)[:2])
        with chunk.launch.trace.damage():
            if row["is_box"]:
                along = np.unravel_index(self.positions, self.shape)
                z, y, x = (i[a] for i, a in zip((z, y, x), along, strict=True))
            else:
                z, y, x = (i[self.positions] for i in (z, y, x))
        self.blocks = np.stack([x, y, z], axis=1)

    @property
    def size(self) -> int:
        """Recorded blocks."""
        return len(self.positions)

    def find(self, block: tuple[int, int, int]) -> int | None:
        """Which of the recorded blocks has that id (x, y, z); None if none has."""
        x, y, z = self.blocks.T
        hits = np.flatnonzero((x == block[0]) & (y == block[1]) & (z == block[2]))
        return int(hits[0]) if hits.size else None

    def each(self, batched: np.ndarray) -> np.ndarray:
        """Of each recorded block, its entry of an array with the batch axes of a record's lanes."""
        if self.is_whole:
            return np.broadcast_to(batched, self.shape).reshape(-1)
        return np.broadcast_to(batched.reshape(-1), (self.size,))

    def meets(self, box: BlockBox) -> bool:
        """Whether one of the recorded blocks is in a box."""
        x, y, z = self.blocks.T
        return bool(box.holds((z, y, x)).any())


class Tile(NamedTuple):
    """The values of one tile of a record: `operand` counts operands, `result` results; the other is None.

    `values` has three batch axes in front, of size 1 where blocks share the tile; (1, 1, n) where only n blocks of the
    group were recorded.
    """

    operand: int | None
    result: int | None
    values: np.ndarray


class Access:
    """What a record touches in one array.

    Attributes:
        array: The array.
        unit_bytes: What offsets and strides count; the size of the array's elements, as a rule.
        offset: Of a window: the first lane's place, from the array's element 0.
        shape: Of the lanes: three batch axes, then the tile's (or the part of it that lies inside the array).
        strides: Of a window: units along each axis; None for lanes that lie anywhere.
    """

    def __init__(self, chunk: Chunk, row: int, group: GroupInfo) -> None:
        entry = chunk.accesses[row]
        self._chunk, self._entry, self.group = chunk, entry, group
        self.array: ArrayInfo = chunk.launch.arrays[int(entry["array"])]
        self.unit_bytes = int(entry["unit_bytes"])
        self.offset = int(entry["offset"])
        rank = int(entry["rank"])
        self.is_window = int(entry["lanes"]) < 0
        dims = chunk.numbers(int(entry["dims"]), rank * (2 if self.is_window else 1))
        self.shape, self.strides = dims[:rank], dims[rank:] if self.is_window else None
        self.begin = tuple(int(n) for n in entry["begin"])
        self.end = tuple(int(n) for n in entry["end"])

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """The lanes of one block."""
        return self.shape[3:]

    @cached_property
    def lanes(self) -> np.ndarray:
        """Offsets of the lanes of an access that is no window, of `shape`."""
        code = int(self._entry["lane_bytes"])
        if code not in LANE_TYPES:
            raise UsageError(f"{self._chunk.launch.trace.name} is damaged: there are lanes of {code} bytes")
        dtype = LANE_TYPES[code]
        return self._chunk.array(int(self._entry["lanes"]), self.shape, dtype)

    @cached_property
    def mask(self) -> np.ndarray | None:
        """Which of `lanes` count; None for all."""
        at = int(self._entry["mask"])
        return None if at < 0 else self._chunk.array(at, self.shape, np.dtype(bool))

    def takes_part(self, which: int) -> bool:
        """Whether a recorded block of the group, by its number there, touches anything here."""
        if not self.is_window:
            mask = self._of_block(self.mask, which) if self.mask is not None else None
            return mask is None or bool(mask.any())
        z, y, x = np.unravel_index(int(self.group.positions[which]), self.group.shape)
        return all(b <= p < e for p, b, e in zip((z, y, x), self.begin, self.end, strict=True))

    def offsets(self, which: int) -> np.ndarray:
        """Offsets in units that one recorded block touches (int64), over its lanes; masked ones are left out, flat."""
        if self.is_window:
            return self.base_of(which) + self.steps
        lanes = self._of_block(self.lanes, which).astype(np.int64) + self.offset
        return lanes if self.mask is None else lanes[self._of_block(self.mask, which)]

    def base_of(self, which: int) -> int:
        """Offset in units of a window's first lane in one recorded block."""
        assert self.strides is not None
        at = np.unravel_index(int(self.group.positions[which]), self.group.shape)
        total = self.offset
        for axis in range(3):
            if self.shape[axis] > 1:
                total += (int(at[axis]) - self.begin[axis]) * self.strides[axis]
        return total

    @cached_property
    def steps(self) -> np.ndarray:
        """Of a window: the lanes' offsets from the first, over the tile's shape."""
        assert self.strides is not None
        return even_items(0, self.tile_shape, self.strides[3:])

    def offsets_of_all(self) -> np.ndarray:
        """Offsets in units (int64, over `shape`) of the lanes of all blocks, those that are masked off among them."""
        if self.is_window:
            assert self.strides is not None
            return even_items(self.offset, self.shape, self.strides)
        return self.lanes.astype(np.int64) + self.offset

    def elements(self, which: int) -> np.ndarray:
        """Elements of the array that one recorded block touches, counted from element 0 in memory (int64)."""
        return self.offsets(which) * self.unit_bytes // self.array.item_bytes

    def box(self, which: int) -> Box | None:
        """(first, end) along each axis of the array that holds all that one block touches; None if that is nothing."""
        if not self.takes_part(which):
            return None
        if self.is_window:
            assert self.strides is not None
            return self.box_around([self.base_of(which)], list(zip(self.tile_shape, self.strides[3:], strict=True)))
        return box_of_elements(self.array, self.elements(which))

    def box_around(self, firsts: Sequence[int], steps: Sequence[tuple[int, int]]) -> Box | None:
        """The box around what is reached from `firsts` by steps (how many places, how far apart), all in units."""
        unit, item = self.unit_bytes, self.array.item_bytes
        if any(stride * unit % item for _, stride in steps):
            places = np.array(firsts, np.int64)
            for count, stride in steps:
                places = np.unique(places[:, None] + np.arange(count, dtype=np.int64) * stride)
            return box_of_elements(self.array, places * unit // item)
        return box_of_steps(
            self.array, [first * unit // item for first in firsts], [(n, stride * unit // item) for n, stride in steps]
        )

    def _of_block(self, array: np.ndarray, which: int) -> np.ndarray:
        return of_block(array, which, self.group)


def of_block(array: np.ndarray, which: int, group: GroupInfo) -> np.ndarray:
    """One recorded block's part of a batched array of a record."""
    if array.shape[:3] == (1, 1, 1):
        return array[0, 0, 0]
    if not group.is_whole:
        return array[0, 0, which]
    z, y, x = np.unravel_index(int(group.positions[which]), group.shape)
    return array[tuple(min(int(p), n - 1) for p, n in zip((z, y, x), array.shape[:3], strict=True))]


class Record:
    """One execution of an operation by a group of blocks.

    Attributes:
        number: Its place among all records of the launch, in time order.
        start_ns, took_ns: In the simulator, from the launch's start; they say nothing of a GPU.
    """

    def __init__(self, chunk: Chunk, row: int, number: int) -> None:
        entry = chunk.records[row]
        self._chunk, self._entry = chunk, entry
        self.number = number
        self.op: OpInfo = chunk.launch.ops[int(entry["op"])]
        self.start_ns, self.took_ns = int(entry["start_ns"]), int(entry["took_ns"])

    def __repr__(self) -> str:
        where = f" at {self.op.location}" if self.op.location else ""
        arrays = ", ".join(dict.fromkeys(a.array.name for a in self.accesses))
        return f"<Record {self.number}: {self.op.name}{where}" + (f" of {arrays}" if arrays else "") + ">"

    @property
    def kind(self) -> str:
        """The operation's kind."""
        return self.op.kind

    @cached_property
    def group(self) -> GroupInfo:
        """The blocks that ran it."""
        return self._chunk.group(int(self._entry["group"]))

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """What it touches: one access an array, or several where tiles are cut off at an array's end."""
        first, count = int(self._entry["access"]), int(self._entry["accesses"])
        return tuple(Access(self._chunk, row, self.group) for row in range(first, first + count))

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """Values of its operands and results, if they were recorded."""
        first, count = int(self._entry["tile"]), int(self._entry["tiles"])
        return tuple(self._tile(self._chunk.tiles[row]) for row in range(first, first + count))

    def _tile(self, entry: Any) -> Tile:
        shape = self._chunk.numbers(int(entry["dims"]), int(entry["rank"]))
        dtype = element_type(self._chunk.launch.element_names[int(entry["element"])]).storage
        role = int(entry["role"])
        values = self._chunk.array(int(entry["data"]), shape, dtype)
        return Tile(role if role < RESULT else None, role - RESULT if role >= RESULT else None, values)

    def value(self, block: tuple[int, int, int], *, operand: int | None = None) -> np.ndarray | None:
        """The tile that a block (x, y, z) loaded, stored or computed, in its storage type; or an operand of it.

        A store's is what it stores. None where it was not recorded. Raises UsageError where the block did not run it.
        """
        which = self.group.find(block)
        if which is None:
            raise UsageError(f"block {block} is not among those that ran record {self.number}")
        for tile in self.tiles:
            if tile.operand == operand if operand is not None else tile.result == 0 or self.kind == "store":
                return of_block(tile.values, which, self.group)
        return None

    def boxes(self) -> Iterator[tuple[tuple[int, int, int], ArrayInfo, Box]]:
        """(block, array, box) of everything that every recorded block touches."""
        for access in self.accesses:
            for which, block in enumerate(self.group.blocks):
                box = access.box(which)
                if box is not None:
                    x, y, z = (int(n) for n in block)
                    yield (x, y, z), access.array, box
