"""Writes a trace file as a stream: chunk by chunk while launches run, the manifest last."""

from __future__ import annotations

import json
import os
import threading
import zipfile
from collections.abc import Sequence
from typing import IO, Any

import numpy as np

from cutile_sim.errors import UsageError
from cutile_sim.traces.format import ALIGNMENT_BYTES, FORMAT, MANIFEST, TABLES, VERSION, launch_member, member
from cutile_sim.version import __version__

CHUNK_RECORDS = 1 << 14
CHUNK_BYTES = 32 << 20
"""How much a launch holds back before it is written. Members are not compressed: that would cost more than the launch.
"""


class ArchiveWriter:
    """One trace file. Several launches, on several threads, may write to it.

    Raises UsageError where the file cannot be written.
    """

    def __init__(self, to: str | os.PathLike[str] | IO[bytes]) -> None:
        self._lock = threading.Lock()
        self._launches: list[dict[str, Any]] = []
        try:
            self._zip = zipfile.ZipFile(to, "w", zipfile.ZIP_STORED)
        except OSError as error:
            raise UsageError(f"cannot write {os.fspath(to)}: {error.strerror or error}") from None  # type: ignore[arg-type]

    def begin(self, name: str) -> int:
        """Register a launch; returns its number."""
        with self._lock:
            self._launches.append({"name": name, "chunks": 0, "complete": False})
            return len(self._launches) - 1

    def write(self, name: str, parts: Sequence[Any]) -> None:
        """A member made of bytes-like parts, one after another."""
        with self._lock, self._zip.open(name, "w", force_zip64=True) as stream:
            for part in parts:
                stream.write(part)

    def write_table(self, name: str, table: np.ndarray) -> None:
        """A member in NumPy's own format."""
        with self._lock, self._zip.open(name, "w", force_zip64=True) as stream:
            np.lib.format.write_array(stream, table, allow_pickle=False)

    def end(self, launch: int, chunks: int, facts: dict[str, Any], kernel: str | None = None) -> None:
        """Everything of a launch is written; `facts` and the fields of the JSON object `kernel` go into its member."""
        text = json.dumps(facts, allow_nan=False)
        if kernel is not None:
            text = f"{text[:-1]}, {kernel[1:]}"
        self.write(launch_member(launch), [text.encode()])
        with self._lock:
            self._launches[launch] |= {"chunks": chunks, "complete": True}

    @property
    def is_empty(self) -> bool:
        """Whether no launch has been recorded."""
        return not self._launches

    def close(self) -> None:
        """Write the manifest. Launches that have not ended by now are left out."""
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "producer": f"cutile-sim {__version__}",
            "launches": [
                {"number": n, "name": launch["name"], "chunks": launch["chunks"]}
                for n, launch in enumerate(self._launches)
                if launch["complete"]
            ],
        }
        self.write(MANIFEST, [json.dumps(manifest).encode()])
        with self._lock:
            self._zip.close()


class Chunks:
    """The tables of one launch, written whenever there is enough. Row numbers count within a chunk."""

    def __init__(self, archive: ArchiveWriter, launch: int) -> None:
        self.archive = archive
        self.launch = launch
        self.written = 0
        self._start()

    def _start(self) -> None:
        self.rows: dict[str, list[tuple[Any, ...]]] = {"records": [], "accesses": [], "tiles": [], "groups": []}
        self.dims: list[int] = []
        self._pool: list[np.ndarray] = []
        self._pool_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to write."""
        return len(self.rows["records"]) >= CHUNK_RECORDS or self._pool_bytes >= CHUNK_BYTES

    def keep(self, array: np.ndarray) -> int:
        """Take an array into the pool; returns its place, in bytes. It must not change afterwards."""
        at = self._pool_bytes
        self._pool.append(array if array.flags.c_contiguous else np.ascontiguousarray(array))
        self._pool_bytes = at + -(-array.nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return at

    def add_dims(self, numbers: Sequence[int]) -> int:
        """Take numbers into the table of dims; returns the place of the first."""
        at = len(self.dims)
        self.dims.extend(numbers)
        return at

    def flush(self) -> None:
        """Write what is there, and start again."""
        if not any(self.rows.values()):
            return
        for name, rows in self.rows.items():
            table = np.array(rows, TABLES[name])
            self.archive.write_table(member(self.launch, self.written, name), table)
        dims = np.array(self.dims, TABLES["dims"])
        self.archive.write_table(member(self.launch, self.written, "dims"), dims)
        self.archive.write(member(self.launch, self.written, "pool"), self._padded())
        self.written += 1
        self._start()

    def _padded(self) -> list[Any]:
        parts: list[Any] = []
        for array in self._pool:
            parts.append(array.reshape(-1).view(np.uint8).data if array.size else b"")
            if rest := -array.nbytes % ALIGNMENT_BYTES:
                parts.append(bytes(rest))
        return parts
