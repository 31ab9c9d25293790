"""The frame of a bytecode file: header, sections, and the tables of strings, types, constants and globals."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TypeVar

import numpy as np

from cutile_sim.dtypes import I1, TF32, ElementType
from cutile_sim.tileir.constants import ConstantPool, constant_data, is_splat
from cutile_sim.tileir.core import Global
from cutile_sim.tileir.reader import Reader
from cutile_sim.tileir.types import TileType
from cutile_sim.tileir.typetable import TypeTable

MAGIC = b"\x7fTileIR\x00"
OLDEST, NEWEST = (13, 1), (13, 5)
_PREVIEW_TAG = 1

STRING, FUNCTION, DEBUG, CONSTANT, TYPE, GLOBAL, PRODUCER = 1, 2, 3, 4, 5, 6, 7
SECTION_NAMES = {
    STRING: "string", FUNCTION: "function", DEBUG: "debug", CONSTANT: "constant",
    TYPE: "type", GLOBAL: "global", PRODUCER: "producer",
}  # fmt: skip

# The most elements a tile may have (cuda_tile dialect, verifyTileSize).
MAX_TILE_ELEMENTS = 1 << 24
# A few bytes may announce a large global; no GPU's constant or global data comes near this.
_MAX_GLOBAL_BYTES = 1 << 28

T = TypeVar("T")


def read_header(reader: Reader) -> tuple[int, int]:
    """The version of the file. Raises DecodeError where it is no Tile IR bytecode or of a version not known
    here.
    """
    if reader.data[: len(MAGIC)] != MAGIC:
        raise reader.fail("this is not Tile IR bytecode: the file does not begin with \\x7fTileIR")
    reader.take(len(MAGIC))
    version = (reader.byte(), reader.byte())
    tag = reader.little(2)
    if not OLDEST <= version <= NEWEST or tag & ~_PREVIEW_TAG:
        shown = f"{version[0]}.{version[1]}" + (f".{tag}" if tag else "")
        known = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
        advice = "update cutile_sim, or export the kernel for an older version" if version > NEWEST else "it is damaged"
        raise reader.fail(f"the file says bytecode version {shown}; this release knows {known}: {advice}", at=8)
    return version


def read_sections(reader: Reader) -> dict[int, Reader]:
    """A reader for each section. Raises DecodeError where one is unknown, doubled or cut."""
    sections: dict[int, Reader] = {}
    while head := reader.byte():
        number = head & 0x7F
        name = SECTION_NAMES.get(number)
        if name is None:
            raise reader.fail(f"section {number} is unknown: the file is damaged or newer", at=reader.position - 1)
        if number in sections:
            raise reader.fail(f"there are two {name} sections", at=reader.position - 1)
        size_bytes = reader.varint()
        if head & 0x80:
            alignment_bytes = reader.varint()
            if alignment_bytes & (alignment_bytes - 1) or not alignment_bytes:
                raise reader.fail(f"the {name} section has alignment {alignment_bytes}, not a power of two")
            reader.align(alignment_bytes, origin=0)
        start = reader.position
        reader.take(size_bytes)
        sections[number] = reader.part(start, reader.position, name)
    reader.finish()
    for number in (STRING, FUNCTION):
        if number not in sections:
            raise reader.fail(f"there is no {SECTION_NAMES[number]} section")
    return sections


def read_table(reader: Reader | None, offset_size_bytes: int) -> list[tuple[int, int]]:
    """Where the entries of a table of offsets begin and end in the file."""
    if reader is None:
        return []
    size = reader.count(offset_size_bytes)
    reader.align(offset_size_bytes)
    offsets = [reader.little(offset_size_bytes) for _ in range(size)]
    base = reader.position
    bounds = [base + o for o in offsets] + [reader.end]
    entries = list(pairwise(bounds))
    if any(not base <= start <= end <= reader.end for start, end in entries):
        raise reader.fail(f"the {reader.section} table has entries out of order", at=base)
    return entries


def entry(table: list[T], index: int, reader: Reader, what: str) -> T:
    """The table's entry of that index, which `reader` has just read."""
    if index >= len(table):
        raise reader.fail(f"{what} {index} does not exist: there are {len(table)}")
    return table[index]


@dataclass(frozen=True)
class Tables:
    """All that function bodies refer to by number."""

    version: tuple[int, int]
    strings: list[str]
    types: TypeTable
    constants: ConstantPool

    def string(self, reader: Reader) -> str:
        """The string whose number comes next."""
        return entry(self.strings, reader.varint(), reader, "string")


def read_tables(version: tuple[int, int], sections: dict[int, Reader]) -> Tables:
    """The tables of strings, types and constants of a file."""
    texts = sections[STRING]
    strings: list[str] = []
    for start, end in read_table(texts, 4):
        try:
            strings.append(texts.data[start:end].decode())
        except UnicodeDecodeError:
            raise texts.fail("a string is not UTF-8", at=start) from None
    kinds = sections.get(TYPE)
    types = TypeTable(version, kinds, read_table(kinds, 4))
    constants = sections.get(CONSTANT)
    return Tables(version, strings, types, ConstantPool(constants, read_table(constants, 8)))


def read_globals(reader: Reader | None, tables: Tables) -> dict[str, Global]:
    """The module's globals by name, with their initial bytes laid out as in memory."""
    found: dict[str, Global] = {}
    size_bytes = 0
    if reader is None:
        return found
    for _ in range(reader.count(4)):
        at = reader.position
        name = tables.string(reader)
        kind = tables.types.read(reader)
        number = reader.varint()
        alignment_bytes = reader.varint()
        private = constant = False
        if tables.version >= (13, 3):
            private, constant = reader.flag(), reader.flag()
        if name in found or not name:
            raise reader.fail(f"the global {name!r} is defined twice" if name else "a global has no name", at=at)
        if not isinstance(kind, TileType) or not isinstance(kind.element, ElementType):
            raise reader.fail(f"the global {name} has type {kind}: it must be a tile of numbers", at=at)
        size_bytes += prod(kind.shape) * kind.element.size_bytes
        if size_bytes > _MAX_GLOBAL_BYTES:
            raise reader.fail(f"the globals take more than {_MAX_GLOBAL_BYTES} bytes", at=at)
        data = memory_bytes(tables.constants.raw(number, reader), kind, reader)
        found[name] = Global(name, kind, data, alignment_bytes, constant, private)
    reader.finish()
    return found


def memory_bytes(raw: bytes, kind: TileType, reader: Reader) -> bytes:
    """A constant's bytes as they lie in memory: splats repeated, packed i1 and 3-byte tf32 widened."""
    element = kind.element
    assert isinstance(element, ElementType)
    if element in (I1, TF32):
        values = constant_data(raw, element, kind.shape, reader)
        return np.broadcast_to(values, kind.shape).astype(element.storage).tobytes()
    if is_splat(raw, element):
        return raw * prod(kind.shape)
    if len(raw) != element.size_bytes * prod(kind.shape):
        raise reader.fail(f"a constant of type {kind} has {len(raw)} bytes")
    return raw
