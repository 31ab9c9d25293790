"""Damaged files: only DecodeError may come out, soon, with the place of the fault."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.errors import DecodeError
from cutile_sim.tileir.decode import decode
from cutile_sim.tileir.printer import print_module
from cutile_sim.tileir.reader import Reader
from cutile_sim.tileir.verify import verify

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def survives(data: bytes) -> bool:
    """Whether the bytes decode; if they do, the rest of the package must cope with the module."""
    try:
        module = decode(data)
    except DecodeError as error:
        assert 0 <= error.offset_bytes <= len(data)
        assert error.section in str(error)
        return False
    verify(module)
    print_module(module, locations=True)
    return True


@pytest.mark.parametrize("name", ["add", "loops", "atomics"])
def test_cut_at_every_byte(export, name):
    data = export(name)
    assert survives(data)
    assert not any(survives(data[:size]) for size in range(len(data)))


@pytest.mark.parametrize(("name", "value"), [("add", 0x00), ("add", 0x7F), ("calls", 0x80), ("loops", 0xFF)])
def test_every_byte_replaced(export, name, value):
    data = export(name)
    for at in range(len(data)):
        survives(data[:at] + bytes([value]) + data[at + 1 :])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=6), st.integers(0, 3))
def test_bytes_flipped(export, edits, which):
    data = bytearray(export(["add", "calls", "loops", "atomics"][which]))
    for at, value in edits:
        data[at % len(data)] ^= value
    survives(bytes(data))


@settings(max_examples=60)
@given(st.binary(max_size=200))
def test_anything_after_the_header(tail):
    survives(b"\x7fTileIR\x00\x0d\x04\x00\x00" + tail)


def test_bytes_after_the_end(export):
    with pytest.raises(DecodeError, match="left over"):
        decode(export("add") + b"\x00")


def test_location_chain_that_doubles_is_refused(build):
    """Call sites that refer twice to the one before would make a chain of two to the sixtieth."""

    def body(b):
        table = b.writer.debug_attr_table
        file = table.file("k.py", "/d")
        place = table.loc(table.subprogram(file, 1, "f", "f", table.compile_unit(file), 1), "k.py", 1, 0)
        for _ in range(60):
            place = table.call_site(place, place)
        with b.code.debug_attr(place):
            b.zero("f32")

    with pytest.raises(DecodeError, match="chain calls without end"):
        decode(build(body))


@pytest.mark.parametrize(
    ("data", "read", "text"),
    [
        (b"", Reader.byte, "ends in the middle"),
        (b"\x80" * 12, Reader.varint, "longer than any"),
        (b"\xff\x7f", Reader.count, "only 0 bytes are left"),
        (b"\x02", Reader.flag, "not 0 or 1"),
        (b"ab", lambda reader: reader.take(3), "only 2 are left"),
    ],
)
def test_reader_refuses(data, read, text):
    with pytest.raises(DecodeError, match=text) as caught:
        read(Reader(data, "test"))
    assert caught.value.section == "test"


@given(st.integers(-(1 << 63), 1 << 63))
def test_signed_varint(value):
    from cuda.tile._bytecode.basic import encode_signed_varint

    buffer = bytearray()
    encode_signed_varint(value, buffer)
    reader = Reader(bytes(buffer), "test")
    assert reader.signed_varint() == value
    reader.finish()
