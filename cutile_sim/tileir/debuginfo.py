"""Debug information: where in the user's source each operation came from.

The section holds, for each function, one number for the function and one for each of its operations in
program order, and a table of records that these numbers (from 1; 0 is unknown) refer to.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from cutile_sim.tileir.core import Location
from cutile_sim.tileir.reader import Reader
from cutile_sim.tileir.sections import Tables, entry, read_table

_UNKNOWN, _COMPILE_UNIT, _FILE, _LEXICAL_BLOCK, _LOC, _SUBPROGRAM, _CALL_SITE = range(7)

# Deeper than any chain of inlined calls (cuTile inlines recursion up to about a thousand); keeps a damaged file from
# growing chains by doubling.
_MAX_CHAIN = 4096
# Deeper than scopes nest, and than a called place is itself a call.
_MAX_NESTING = 64


class DebugInfo:
    """Locations by number. Without a debug section every location is unknown."""

    def __init__(self, reader: Reader | None, tables: Tables) -> None:
        self._tables = tables
        self._reader = reader
        self._starts: list[int] = []
        self._indices: list[int] = []
        self._bounds: list[tuple[int, int]] = []
        self._locations: dict[int, Location | None] = {0: None}
        if reader is None:
            return
        functions = reader.count(4)
        reader.align(4)
        self._starts = [reader.little(4) for _ in range(functions)]
        size = reader.count(8)
        reader.align(8)
        self._indices = [reader.little(8) for _ in range(size)]
        # The padding of the table of records counts from the section's beginning.
        self._bounds = read_table(reader, 4)

    def stream(self, number: int, reader: Reader) -> LocationStream:
        """The locations of a function and of its operations; `number` is the function's, from 1, or 0 for
        none.
        """
        if number == 0 or self._reader is None:
            return LocationStream(self, None, reader)
        start = entry(self._starts, number - 1, reader, "debug information of function")
        return LocationStream(self, start, reader)

    def index(self, position: int, reader: Reader) -> int:
        return entry(self._indices, position, reader, "debug index")

    def location(self, number: int) -> Location | None:
        """The location of that number, or None where it is unknown."""
        return self._location(number, 0)

    def _record(self, number: int) -> tuple[Reader, int]:
        assert self._reader is not None
        start, end = entry(self._bounds, number - 1, self._reader, "debug record")
        item = self._reader.part(start, end)
        return item, item.varint()

    def _location(self, number: int, depth: int) -> Location | None:
        calls: list[tuple[int, int, Reader]] = []
        while number not in self._locations:
            item, tag = self._record(number)
            if depth > _MAX_NESTING or len(calls) > _MAX_CHAIN:
                raise item.fail("debug records refer to one another without end")
            if tag != _CALL_SITE:
                self._locations[number] = self._place(number, item, tag)
                break
            calls.append((number, item.varint(), item))
            number = item.varint()
        found = self._locations[number]
        for call, callee, item in reversed(calls):
            found = self._locations[call] = _called_from(self._location(callee, depth + 1), found, item)
        return found

    def _place(self, number: int, item: Reader, tag: int) -> Location | None:
        """The location that a record gives by itself."""
        if tag == _UNKNOWN:
            return None
        if tag != _LOC:
            raise item.fail(f"debug record {number} is no location but of kind {tag}")
        function, directory = self._scope(item.varint(), item, 0)
        file = self._tables.string(item)
        line, column = item.varint(), item.varint()
        # Columns are counted from 0 in the file, from 1 in a Location.
        return Location(_join(directory, file), line, column + 1, function) if line else None

    def _scope(self, number: int, item: Reader, depth: int) -> tuple[str, str]:
        """The name of the function that a scope lies in, and the directory of its file."""
        if depth > _MAX_NESTING:
            raise item.fail("debug scopes are nested without end")
        scope, tag = self._record(number) if number else (item, _UNKNOWN)
        if tag == _LEXICAL_BLOCK:
            return self._scope(scope.varint(), scope, depth + 1)
        if tag != _SUBPROGRAM:
            return "", ""
        directory = self._directory(scope.varint())
        scope.varint()
        return self._tables.string(scope), directory

    def _directory(self, number: int) -> str:
        file, tag = self._record(number) if number else (None, _UNKNOWN)
        if file is None or tag != _FILE:
            return ""
        self._tables.string(file)
        return self._tables.string(file)


class LocationStream:
    """The locations of one function: first its own, then those of its operations."""

    def __init__(self, info: DebugInfo, position: int | None, reader: Reader) -> None:
        self._info = info
        self._position = position
        self._reader = reader

    def next(self) -> Location | None:
        if self._position is None:
            return None
        number = self._info.index(self._position, self._reader)
        self._position += 1
        return self._info.location(number)


def _join(directory: str, file: str) -> str:
    if not directory or posixpath.isabs(file) or re.match(r"[A-Za-z]:|\\", file) or file.startswith("<"):
        return file
    return posixpath.join(directory, file)


def _called_from(callee: Location | None, caller: Location | None, item: Reader) -> Location | None:
    if callee is None or caller is None:
        return callee or caller
    inner, outer = list(callee.chain()), list(caller.chain())
    if len(inner) + len(outer) > _MAX_CHAIN:
        raise item.fail("debug records chain calls without end")
    at = caller
    for location in reversed(inner):
        at = replace(location, caller=at)
    return at
