"""Reads trace files: what a launch is as a whole at once, its records chunk by chunk when they are asked for."""

from __future__ import annotations

import json
import os
import threading
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from cutile_sim.dtypes import ELEMENT_TYPES
from cutile_sim.errors import UsageError
from cutile_sim.traces.format import (
    FORMAT,
    MANIFEST,
    TABLES,
    VERSION,
    contents_member,
    launch_member,
    member,
)
from cutile_sim.traces.model import ArrayInfo, OpInfo, values_from_json
from cutile_sim.traces.options import KINDS, BlockBox, LineRange
from cutile_sim.traces.record import Chunk, Record

if TYPE_CHECKING:
    from cutile_sim.launch import LaunchResult

KEPT_BYTES = 256 << 20
"""How much of a launch's records stays in memory; the last chunk that was read does in any case."""
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, LookupError, ValueError, TypeError, AttributeError, EOFError, OverflowError,
    MemoryError, RecursionError, NotImplementedError,
)  # fmt: skip
"""What reading a damaged file may raise."""


def load_trace(source: str | os.PathLike[str] | IO[bytes]) -> Trace:
    """Open a trace file. Nothing in it is executed. Its records are read when they are asked for.

    Raises UsageError where the file cannot be read, is no trace, is damaged, or is newer than this release.
    """
    name = os.fspath(source) if isinstance(source, (str, os.PathLike)) else "the trace"
    try:
        archive = zipfile.ZipFile(source)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error}") from None
    except zipfile.BadZipFile:
        raise UsageError(f"{name} is no trace, or was not written to its end") from None
    return Trace(archive, str(name))


class Trace:
    """An open trace file: `launches` in the order in which they began.

    `result` is what the launch returned, of a trace that was just made by `trace`.
    """

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self.name = name
        self.result: LaunchResult | None = None
        self._archive = archive
        manifest = self.read_json(MANIFEST)
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise UsageError(f"{name} is no trace of cutile_sim")
        version = manifest.get("version")
        if not isinstance(version, int) or version > VERSION:
            raise UsageError(f"{name} is of version {version} of the format; this release reads up to {VERSION}")
        with self.damage():
            self.producer = str(manifest["producer"])
            self.launches: tuple[LaunchTrace, ...] = tuple(
                LaunchTrace(self, int(entry["number"]), str(entry["name"]), int(entry["chunks"]))
                for entry in manifest["launches"]
            )

    def __enter__(self) -> Trace:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. What has been read stays."""
        self._archive.close()

    def __repr__(self) -> str:
        return f"<Trace {self.name}: {len(self.launches)} launches>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        from cutile_sim.pictures.cards import trace_card

        return trace_card(self)

    # Members, each read whole so that its checksum is verified

    def damage(self) -> _Damage:
        """A `with` block in which whatever a damaged file raises becomes a UsageError."""
        return _Damage(self.name)

    def read(self, member: str) -> bytes:
        """A member's bytes. Raises UsageError for a damaged file."""
        with self.damage():
            return self._archive.read(member)

    def has(self, member: str) -> bool:
        """Whether there is such a member."""
        return member in self._archive.NameToInfo

    def read_json(self, member: str) -> Any:
        """A member's JSON. Raises UsageError for a damaged file."""
        with self.damage():
            return json.loads(self._archive.read(member))

    def read_table(self, member: str, dtype: np.dtype) -> np.ndarray:
        """A one-dimensional table of such rows. Raises UsageError for a damaged file."""
        with self.damage(), self._archive.open(member) as stream:
            table = np.lib.format.read_array(stream, allow_pickle=False)
            stream.read()  # to the end, where the checksum is compared
            if table.dtype != dtype or table.ndim != 1:
                raise ValueError(f"{member} has other columns")
            return table


class _Damage:
    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UsageError):
            return
        if isinstance(error, OSError):
            raise UsageError(f"cannot read {self.name}: {error.strerror or error}") from None
        if isinstance(error, _DAMAGE):
            raise UsageError(f"{self.name} is damaged: {error}") from None


class LaunchTrace:
    """One launch of a trace.

    Attributes:
        number: Its place in the file.
        kernel: The kernel's name.
        kept: What others work out of its records once.
    """

    def __init__(self, trace: Trace, number: int, kernel: str, chunks: int) -> None:
        self.trace = trace
        self.number = number
        self.kernel = kernel
        self.chunk_count = chunks
        self.kept: dict[Any, Any] = {}
        self._chunks: dict[int, Chunk] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<LaunchTrace {self.number}: {self.kernel} over {'x'.join(map(str, self.grid))} blocks>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        from cutile_sim.pictures.cards import launch_card

        return launch_card(self)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What is known of the launch as a whole, as docs/traces.md lists it."""
        facts = self.trace.read_json(launch_member(self.number))
        with self.trace.damage():
            if not isinstance(facts, dict):
                raise ValueError("what is known of a launch is no object")
            return facts

    @cached_property
    def grid(self) -> tuple[int, int, int]:
        """Blocks along x, y, z."""
        with self.trace.damage():
            x, y, z = map(int, self.facts["grid"])
            return x, y, z

    @property
    def block_count(self) -> int:
        """Blocks of the grid."""
        x, y, z = self.grid
        return x * y * z

    @cached_property
    def arrays(self) -> tuple[ArrayInfo, ...]:
        """The array arguments, and other memory that was touched."""
        with self.trace.damage():
            return tuple(ArrayInfo.from_json(n, entry) for n, entry in enumerate(self.facts["arrays"]))

    def array(self, name: str) -> ArrayInfo:
        """The array of that name. Raises UsageError where there is none."""
        for array in self.arrays:
            if array.name == name:
                return array
        raise UsageError(f"there is no array {name!r}; there are {', '.join(a.name for a in self.arrays) or 'none'}")

    @cached_property
    def ops(self) -> tuple[OpInfo, ...]:
        """All operations of the kernel, in program order."""
        with self.trace.damage():
            files = [str(f["path"]) for f in self.facts["files"]]
            return tuple(OpInfo.from_json(n, entry, files) for n, entry in enumerate(self.facts["ops"]))

    @cached_property
    def parameters(self) -> tuple[tuple[int, str], ...]:
        """Numbers and types of the values that the launch passes to the kernel."""
        with self.trace.damage():
            return values_from_json(self.facts["parameters"])

    @cached_property
    def sources(self) -> dict[str, str]:
        """The text of the user's source files, by path, as far as it was to be had."""
        with self.trace.damage():
            return {str(f["path"]): str(f["text"]) for f in self.facts["files"] if f["text"] is not None}

    @cached_property
    def counts(self) -> dict[str, np.ndarray]:
        """How often each operation ran and what it did, of the whole launch whatever was recorded (int64 [ops]).

        `executions`: by groups of blocks in step; `blocks`: by blocks; `took_ns`: time in the simulator, which says
        nothing of a GPU; `bytes_loaded`, `bytes_stored`.
        """
        with self.trace.damage():
            found = {str(k): np.array(v, np.int64) for k, v in self.facts["counts"].items()}
            if any(c.shape != (len(self.ops),) for c in found.values()):
                raise ValueError("the counts are of other operations")
            return found

    @cached_property
    def record_ops(self) -> np.ndarray:
        """Of each record, in time order, the number of its operation (int32 [records])."""
        return np.concatenate([np.zeros(0, np.int32), *self._ops_of_chunks])

    @cached_property
    def _ops_of_chunks(self) -> list[np.ndarray]:
        members = [member(self.number, n, "records") for n in range(self.chunk_count)]
        return [self.trace.read_table(name, TABLES["records"])["op"] for name in members]

    @cached_property
    def _first_records(self) -> np.ndarray:
        """Of each chunk, the number of its first record; and the number of all records."""
        return np.cumsum([0, *map(len, self._ops_of_chunks)])

    @cached_property
    def element_names(self) -> tuple[str, ...]:
        """Element types of recorded tiles, by their number in the file."""
        with self.trace.damage():
            names = tuple(map(str, self.facts["elements"]))
            if any(name not in ELEMENT_TYPES for name in names):
                raise ValueError("there are unknown element types")
            return names

    @cached_property
    def options(self) -> dict[str, Any]:
        """What was asked for when it was recorded: the fields of `TraceOptions`."""
        with self.trace.damage():
            found = self.facts["options"]
            lists = all(isinstance(found[name], list) for name in ("kinds", "blocks", "lines", "names"))
            if not lists or not isinstance(found["every"], int):
                raise ValueError("the options are of another kind")
            return dict(found)

    @property
    def printed(self) -> str:
        """What the kernel printed."""
        return str(self.facts.get("printed", ""))

    @property
    def error(self) -> dict[str, Any] | None:
        """What stopped the launch: type, message, block, file, line."""
        return self.facts.get("error")

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What the sanitizer found, as JSON, if it was asked."""
        return list(self.facts.get("findings", ()))

    def contents(self, name: str, when: str = "after") -> np.ndarray | None:
        """An array's contents "before" or "after" the launch, in its own shape and type; None if not recorded.

        Raises UsageError where there is no such array.
        """
        if when not in ("before", "after"):
            raise UsageError(f"an array's contents are recorded before and after the launch, not {when!r}")
        array = self.array(name)
        place = contents_member(self.number, array.number, when)
        if not self.trace.has(place):
            return None
        data = self.trace.read(place)
        with self.trace.damage():
            return np.frombuffer(data, array.dtype).reshape(array.shape)

    def has_contents(self, name: str, when: str = "after") -> bool:
        """Whether an array's contents were recorded. Raises UsageError where there is no such array."""
        return self.trace.has(contents_member(self.number, self.array(name).number, when))

    def chunks(self) -> Iterator[Chunk]:
        """The tables of the records, part by part, for those who look at many at once."""
        for index in range(self.chunk_count):
            yield self.chunk(index)

    def chunk(self, index: int) -> Chunk:
        """One of these parts."""
        with self._lock:
            found = self._chunks.pop(index, None) or self._read_chunk(index)
            self._chunks[index] = found  # the last one now
            size = sum(chunk.size_bytes for chunk in self._chunks.values())
            while size > KEPT_BYTES and len(self._chunks) > 1:
                size -= self._chunks.pop(next(iter(self._chunks))).size_bytes
            return found

    def records(
        self,
        *,
        kinds: Sequence[str] = (),
        names: Sequence[str] = (),
        blocks: Sequence[Any] = (),
        lines: Sequence[Any] = (),
        between: tuple[int, int] | None = None,
    ) -> Iterator[Record]:
        """The records in the order in which they happened; those of all blocks that ran in step are one record.

        Args:
            kinds: Only these kinds of operations.
            names: Only what touches one of these arrays.
            blocks: Only records of one of these blocks, as `TraceOptions.blocks`.
            lines: Only operations of these lines, as `TraceOptions.lines`.
            between: Only records with numbers from the first up to but without the second.

        Raises:
            UsageError: A filter makes no sense, or the file is damaged.
        """
        chosen = self.chosen_ops(kinds, lines)
        wanted_arrays = {self.array(name).number for name in names}
        boxes = [BlockBox.of(b) for b in blocks]
        first, end = between or (0, None)
        number = 0
        for index in range(self.chunk_count):
            if end is not None and number >= end:
                return
            chunk = self.chunk(index)
            wanted = chosen[chunk.records["op"]] if chosen.size else np.zeros(0, bool)
            wanted[: max(first - number, 0)] = False
            if end is not None:
                wanted[end - number :] = False
            if wanted_arrays:
                wanted &= chunk.touches(wanted_arrays)
            if boxes:
                wanted &= chunk.meets(boxes, wanted)
            for row in np.flatnonzero(wanted):
                yield Record(chunk, int(row), number + int(row))
            number += len(chunk.records)

    def records_at(self, numbers: Sequence[int] | np.ndarray) -> Iterator[Record]:
        """The records with these numbers, in this order."""
        for number in map(int, numbers):
            index = int(np.searchsorted(self._first_records, number, "right")) - 1
            yield Record(self.chunk(index), number - int(self._first_records[index]), number)

    def chosen_ops(self, kinds: Sequence[str] = (), lines: Sequence[Any] = ()) -> np.ndarray:
        """Which operations are of some kinds and lines (bool [ops]), as `records`."""
        if unknown := [k for k in kinds if k not in KINDS]:
            raise UsageError(f"there is no kind of operation {unknown[0]!r}; there are {', '.join(KINDS)}")
        ranges = [LineRange.parse(line) for line in lines]
        return np.array(
            [
                (not kinds or op.kind in kinds) and (not ranges or any(r.holds(op.chain) for r in ranges))
                for op in self.ops
            ],
            bool,
        )

    def _read_chunk(self, index: int) -> Chunk:
        tables = {
            name: self.trace.read_table(member(self.number, index, name), dtype) for name, dtype in TABLES.items()
        }
        pool = self.trace.read(member(self.number, index, "pool"))
        with self.trace.damage():
            return Chunk(self, tables, pool)
