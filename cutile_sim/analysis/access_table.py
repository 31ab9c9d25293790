"""All accesses of a launch as columns, so that questions about many records need no look at each of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from cutile_sim.analysis.footprints import Part, Selector
from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.reader import LaunchTrace
from cutile_sim.traces.record import LANE_TYPES, Access, Chunk, GroupInfo


@dataclass(frozen=True)
class Form:
    """What many accesses have in common: all of a window but its offset and its blocks. Attributes as of `Access`."""

    array: ArrayInfo
    unit_bytes: int
    begin: tuple[int, ...]
    end: tuple[int, ...]
    is_window: bool
    has_mask: bool
    lane_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    offset: int = 0

    @property
    def tile_shape(self) -> tuple[int, ...]:
        """The lanes of one block."""
        return self.shape[3:]


@dataclass(frozen=True)
class Pattern:
    """How the blocks of a group lie to each other; `Part.ids` are counted from those at the first position.

    Attributes:
        shape: Batch shape z, y, x.
        count: Recorded blocks.
        is_whole: Whether all blocks of the group were recorded.
        parts: The recorded blocks.
    """

    shape: tuple[int, int, int]
    count: int
    is_whole: bool
    parts: tuple[Part, ...]

    @property
    def is_single(self) -> bool:
        """Whether it is one block by itself."""
        return self.count == 1 and self.shape == (1, 1, 1)


class AccessTable:
    """The accesses of a launch in time order.

    Attributes:
        record, op, array: Numbers of the record of each access, of its operation and its array.
        group: Number of its group; groups of all chunks are counted on.
        offset: As `Access.offset`.
        form: Which of `forms` it has.
        pattern, first_block: Of each group, which of `patterns` its blocks make, and the number in launch order of the
            block at the first position.
        is_single: Of each group, whether it is one block by itself.
        record_group: Of each record, the number of its group.
    """

    def __init__(self, launch: LaunchTrace) -> None:
        self._launch = launch
        self.forms: list[Form] = []
        self.patterns: list[Pattern] = []
        self._form_numbers: dict[bytes, int] = {}
        self._pattern_numbers: dict[tuple[object, ...], int] = {}
        columns: dict[str, list[np.ndarray]] = {name: [] for name in _COLUMNS}
        records = groups = 0
        self._chunk_starts, self._group_starts = [0], [0]
        for chunk in launch.chunks():
            with launch.trace.damage():
                found = self._columns(chunk, records, groups)
            for name, column in found.items():
                columns[name].append(column)
            records += len(chunk.records)
            groups += len(chunk.groups)
            self._chunk_starts.append(self._chunk_starts[-1] + len(found["record"]))
            self._group_starts.append(groups)
        joined = {n: np.concatenate([np.zeros(0, np.int64), *parts]) for n, parts in columns.items()}
        self.record, self.op, self.array = joined["record"], joined["op"], joined["array"]
        self.group, self.offset, self.form = joined["group"], joined["offset"], joined["form"]
        self.pattern, self.first_block = joined["pattern"], joined["first_block"]
        self.record_group, self._row = joined["record_group"], joined["row"]
        self.is_single = np.array([p.is_single for p in self.patterns], bool)[self.pattern]

    def _columns(self, chunk: Chunk, records: int, groups: int) -> dict[str, np.ndarray]:
        counts = chunk.records["accesses"].astype(np.int64)
        # The rows of the table of accesses that belong to each record, one after another.
        owner = np.repeat(np.arange(len(counts)), counts)
        row = chunk.records["access"][owner] + np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]
        entries = chunk.accesses[row]
        pattern, first_block = self._patterns(chunk)
        found = {
            "record": records + owner,
            "op": chunk.records["op"][owner],
            "array": entries["array"],
            "group": groups + chunk.records["group"][owner],
            "offset": entries["offset"],
            "form": self._forms(chunk, entries),
            "row": row,
            "record_group": groups + chunk.records["group"],
            "pattern": pattern,
            "first_block": first_block,
        }
        return {name: column.astype(np.int64) for name, column in found.items()}

    def _forms(self, chunk: Chunk, entries: np.ndarray) -> np.ndarray:
        found = np.zeros(len(entries), np.int64)
        is_window = entries["lanes"] < 0
        for window, rank in sorted({*zip(is_window.tolist(), entries["rank"].tolist(), strict=True)}):
            rows = np.flatnonzero((is_window == window) & (entries["rank"] == rank))
            at, count = entries["dims"][rows], rank * (2 if window else 1)
            if rank < 3 or at.min() < 0 or at.max() + count > len(chunk.dims):
                raise ValueError("a shape lies outside its table")
            some = entries[rows]
            keys = np.column_stack(
                [
                    some["array"], some["unit_bytes"], some["begin"], some["end"], np.full(len(rows), window),
                    some["mask"] >= 0, some["lane_bytes"], chunk.dims[at[:, None] + np.arange(count)],
                ]
            ).astype(np.int64)  # fmt: skip
            size = keys.itemsize * keys.shape[1]
            data = keys.tobytes()
            names = [data[at : at + size] for at in range(0, len(data), size)]
            for n, name in zip(rows.tolist(), names, strict=True):
                number = self._form_numbers.get(name)
                if number is None:
                    number = self._form_numbers[name] = len(self.forms)
                    self.forms.append(self._form(np.frombuffer(name, np.int64).tolist(), rank))
                found[n] = number
        return found

    def _form(self, key: list[int], rank: int) -> Form:
        dims = key[11:]
        return Form(
            self._launch.arrays[key[0]], key[1], tuple(key[2:5]), tuple(key[5:8]), bool(key[8]), bool(key[9]), key[10],
            tuple(dims[:rank]), tuple(dims[rank:]) if key[8] else None,
        )  # fmt: skip

    def _patterns(self, chunk: Chunk) -> tuple[np.ndarray, np.ndarray]:
        groups, (gx, gy, _) = chunk.groups, self._launch.grid
        pattern, first_block = np.zeros(len(groups), np.int64), np.zeros(len(groups), np.int64)
        # Where blocks run one by one there are as many groups as records: those are read at once.
        single = (groups["shape"] == 1).all(axis=1) & (groups["chosen"] < 0) & (groups["ids"] % 4 == 0)
        at = groups["ids"] // 4
        if single.any():
            ids = np.frombuffer(chunk.pool, "<i4", len(chunk.pool) // 4)
            if at[single].min() < 0 or at[single].max() + 3 > len(ids):
                raise ValueError("an array has no place")
            z, y, x = ids[at[single][:, None] + np.arange(3)].T.astype(np.int64)
            first_block[single] = x + gx * (y + gy * z)
            first = int(np.flatnonzero(single)[0])
            pattern[single] = self._pattern(chunk.group(first))[0]
        for number in np.flatnonzero(~single).tolist():
            pattern[number], first_block[number] = self._pattern(chunk.group(number))
        return pattern, first_block

    def _pattern(self, group: GroupInfo) -> tuple[int, int]:
        parts = Selector(self._launch, ()).of(group).parts
        firsts = [int(ids[0]) for ids in parts[0].ids] if parts else []
        relative = tuple(
            Part(part.taken, (part.ids[0] - firsts[0], part.ids[1] - firsts[1], part.ids[2] - firsts[2]))
            for part in parts
        )
        key = (group.shape, group.size, *(a.tobytes() for part in relative for a in (*part.taken, *part.ids)))
        number = self._pattern_numbers.get(key)
        if number is None:
            number = self._pattern_numbers[key] = len(self.patterns)
            self.patterns.append(Pattern(group.shape, group.size, group.is_whole, relative))
        return number, sum(firsts)

    def rows(self, ops: np.ndarray, array: int | None = None, between: tuple[int, int] | None = None) -> np.ndarray:
        """Rows of accesses by some operations (bool [ops]) to an array, of records from the first up to the second."""
        if not ops.size:
            return np.zeros(0, np.int64)
        wanted = ops[self.op]
        if array is not None:
            wanted &= self.array == array
        if between is not None:
            wanted[: np.searchsorted(self.record, between[0])] = False
            wanted[np.searchsorted(self.record, between[1]) :] = False
        return np.flatnonzero(wanted)

    def alike(self, rows: np.ndarray) -> Iterator[tuple[Form, Pattern, np.ndarray]]:
        """(form, pattern of the group, those of some ascending rows that have both)."""
        keys = self.form[rows] * max(len(self.patterns), 1) + self.pattern[self.group[rows]]
        order = np.argsort(keys, kind="stable")
        for some in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1) if rows.size else ():
            row = int(rows[some[0]])
            yield self.forms[self.form[row]], self.patterns[self.pattern[self.group[row]]], rows[some]

    def holds(self, block: tuple[int, int, int]) -> np.ndarray:
        """Which groups a block (x, y, z) is of (bool [groups])."""
        (x, y, z), (gx, gy, _) = block, self._launch.grid
        number = x + gx * (y + gy * z)
        found = self.is_single & (self.first_block == number)
        for group in np.flatnonzero(~self.is_single).tolist():
            found[group] = self.group_of(group).find(block) is not None
        return found

    def group_of(self, number: int) -> GroupInfo:
        """A group by its number here."""
        chunk = int(np.searchsorted(self._group_starts, number, "right")) - 1
        return self._launch.chunk(chunk).group(number - self._group_starts[chunk])

    def by_chunk(self, rows: np.ndarray) -> Iterator[tuple[Chunk, np.ndarray, np.ndarray]]:
        """(chunk, which of these ascending rows are of it, their rows in its table)."""
        cuts = np.searchsorted(rows, self._chunk_starts)
        for index, (first, end) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)):
            if first < end:
                yield self._launch.chunk(index), rows[first:end], self._row[rows[first:end]]

    def lanes(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
        """(some of the rows, offsets of their lanes in units, which of these count) of rows with one form, no window.

        Offsets (int64) and mask (bool; None for all) have a row's shape behind an axis of the rows.
        """
        for chunk, of_chunk, places in self.by_chunk(rows):
            entries, form = chunk.accesses[places], self.forms[self.form[of_chunk[0]]]
            with self._launch.trace.damage():
                lanes = _from_pool(chunk, entries["lanes"], form.shape, LANE_TYPES[form.lane_bytes])
                mask = _from_pool(chunk, entries["mask"], form.shape, np.dtype(bool)) if form.has_mask else None
            yield of_chunk, lanes + self.offset[of_chunk].reshape(-1, *(1,) * len(form.shape)), mask

    def accesses(self, rows: np.ndarray) -> Iterator[tuple[int, Access]]:
        """(row, access) of some ascending rows."""
        for chunk, of_chunk, places in self.by_chunk(rows):
            index = int(np.searchsorted(self._chunk_starts, of_chunk[0], "right")) - 1
            groups = self.group[of_chunk] - self._group_starts[index]
            for row, place, group in zip(of_chunk.tolist(), places.tolist(), groups.tolist(), strict=True):
                yield row, Access(chunk, place, chunk.group(group))


def _from_pool(chunk: Chunk, at: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Arrays of one shape that lie at some places of the pool, along a new first axis."""
    size = prod(shape)
    if at.min() < 0 or min(shape) < 0 or (at % dtype.itemsize).any():
        raise ValueError("an array has no place")
    pool = np.frombuffer(chunk.pool, dtype, len(chunk.pool) // dtype.itemsize)
    return pool[(at // dtype.itemsize)[:, None] + np.arange(size)].reshape(-1, *shape)


_COLUMNS = ("record", "op", "array", "group", "offset", "form", "row", "record_group", "pattern", "first_block")
_lock = threading.Lock()


def access_table(launch: LaunchTrace) -> AccessTable:
    """The accesses of a launch, read once. Raises UsageError for a damaged file."""
    with _lock:
        if AccessTable not in launch.kept:
            launch.kept[AccessTable] = AccessTable(launch)
        found: AccessTable = launch.kept[AccessTable]
        return found
