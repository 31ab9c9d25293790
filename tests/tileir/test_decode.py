"""Real kernels decoded: structure, constants, locations, globals, versions."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from cutile_sim.dtypes import F32, I1, ElementType
from cutile_sim.errors import DecodeError
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.decode import decode
from cutile_sim.tileir.types import PaddingValue, PartitionViewType, TileType
from cutile_sim.tileir.verify import verify

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

KERNELS = ("add", "calls", "loops", "atomics")
VERSIONS = ("13.1", "13.2", "13.3", "13.4")
SAMPLES = Path(__file__).with_name("sample_kernels.py")


def ops(data: bytes) -> list[Op]:
    return list(decode(data).walk())


def named(data: bytes, name: str) -> list[Op]:
    return [op for op in ops(data) if op.name == name]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_of_every_version(export, name, version):
    module = decode(export(name, version))
    assert module.version == tuple(map(int, version.split(".")))
    (function,) = module.functions
    assert function.is_entry
    assert function.name.startswith(name)
    assert len(function.parameters) == 9
    assert function.body.ops[-1].name == "return"
    assert verify(module) == []


@pytest.mark.parametrize("name", KERNELS)
def test_versions_agree(export, name):
    """cuTile makes the same operations for the last two versions, which are written differently."""
    shapes = {
        tuple((op.name, tuple(str(v.type) for v in op.results)) for op in ops(export(name, v))) for v in VERSIONS[2:]
    }
    assert len(shapes) == 1


@pytest.mark.parametrize("name", KERNELS)
def test_values_are_numbered_once_and_used_in_scope(export, name):
    (function,) = decode(export(name)).functions
    seen: list[Value] = list(function.parameters)

    def walk(block: tuple[Op, ...], scope: set[Value]) -> None:
        for op in block:
            assert set(op.inputs) <= scope
            for region in op.regions:
                seen.extend(region.arguments)
                walk(region.ops, scope | set(region.arguments))
            seen.extend(op.results)
            scope |= set(op.results)

    walk(function.body.ops, set(function.parameters))
    assert sorted(value.index for value in seen) == list(range(function.value_count))


def test_locations_name_the_line_and_its_callers(export):
    lines = SAMPLES.read_text().splitlines()
    (multiply,) = named(export("calls"), "mulf")
    assert multiply.location is not None
    chain = list(multiply.location.chain())
    assert [Path(place.file) for place in chain] == [SAMPLES] * 3
    assert [place.function for place in chain] == ["scaled", "softened", "calls"]
    texts = [lines[place.line - 1][place.column - 1 :] for place in chain]
    assert texts == ["tile * 2.5", "scaled(tile))", "softened(tile))"]
    assert decode(export("calls")).functions[0].location.function == "calls"


def test_loop_and_branch(export):
    data = export("loops")
    (counted,) = named(data, "for")
    assert [str(value.type) for value in counted.regions[0].arguments] == ["tile<i32>", "tile<16xf32>"]
    assert counted.attributes == {"unsigned_cmp": False}
    branch = next(op for op in counted.regions[0].ops if op.name == "if")
    assert [region.ops[-1].name for region in branch.regions] == ["yield", "yield"]
    assert {op.name for op in named(data, "loop")[0].walk()} >= {"break", "continue", "if"}
    view = named(data, "make_partition_view")[0].results[0].type
    assert isinstance(view, PartitionViewType)
    assert (view.tile_shape, view.padding) == ((16,), PaddingValue.ZERO)


@pytest.mark.parametrize("version", ["13.1", "13.4"])
def test_what_older_versions_lack_has_its_default(export, version):
    prints = named(export("atomics", version), "print_tko")
    assert [len(op.results) for op in prints] == [0 if version == "13.1" else 1] * len(prints)
    stores = named(export("add", version), "store_view_tko")
    assert [op.attributes["inbounds"] for op in stores] == [() if version == "13.1" else (False,)]


def constant(build, kind: str, raw: bytes) -> np.ndarray:
    data = build(lambda b: b.op("Constant", result_type=kind, value=raw) and None)
    return named(data, "constant")[0].attributes["value"]


@pytest.mark.parametrize(
    ("kind", "raw", "values"),
    [
        ("4xi32", np.array([1, -2, 3, -(1 << 31)], "<i4").tobytes(), [1, -2, 3, -(1 << 31)]),
        ("2x2xi64", np.arange(4, dtype="<i8").tobytes(), [[0, 1], [2, 3]]),
        ("8xi1", b"\x05", [True, False, True] + [False] * 5),
        ("16xi1", b"\x01\x80", [True] + [False] * 14 + [True]),
        ("2xi4", b"\x07\x0f", [7, -1]),
        ("2xf16", np.array([1.5, -0.25], "<f2").tobytes(), [1.5, -0.25]),
        ("2xbf16", b"\x80\x3f\xc0\xbf", [1.0, -1.5]),
        ("2xtf32", b"\x00\xfc\x01\x00\xfe\x05", [1.0, -1.5]),
        ("2xf8e4m3fn", b"\x38\xfe", [1.0, -448.0]),
        ("2xf8e5m2", b"\x3c\x7c", [1.0, float("inf")]),
        ("2xf8e8m0fnu", b"\x7f\x80", [1.0, 2.0]),
        ("2xf4e2m1fn", b"\x02\x0f", [1.0, -6.0]),
        ("4xfnv8e5m3fnu", b"\x78\x01\xfe\x08", [1.0, 2.0**-17, 1.75 * 2.0**16, 2.0**-14]),
    ],
)
def test_constants(build, kind, raw, values):
    if kind == "2xtf32":  # 19 bits: sign, 8 of exponent, 10 of fraction
        raw = b"".join((bits >> 13).to_bytes(3, "little") for bits in np.array([1.0, -1.5], "<f4").view("<u4").tolist())
    found = constant(build, kind, raw)
    assert found.tolist() == values
    assert not found.flags.writeable


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("64xi1", b"\xff", True),
        ("64xi1", b"\x00", False),
        ("16777216xf32", b"\x00\x00\x80\x3f", 1.0),
        ("4xi8", b"\xff", -1),
    ],
)
def test_splats_have_no_dimensions(build, kind, raw, value):
    found = constant(build, kind, raw)
    assert (found.shape, found.item()) == ((), value)


@pytest.mark.parametrize(("kind", "raw"), [("4xi32", b"12345678"), ("64xi1", b"\x01"), ("4xf16", b"")])
def test_constants_of_the_wrong_size(build, kind, raw):
    with pytest.raises(DecodeError, match=r"has \d bytes"):
        constant(build, kind, raw)


def test_carrier(build):
    for kind, carrier in (("2xbf16", np.float32), ("2xi1", np.bool_), ("2xi16", np.int16), ("2xf64", np.float64)):
        assert constant(build, kind, bytes({"2xbf16": 4, "2xi1": 1, "2xi16": 4, "2xf64": 16}[kind])).dtype == carrier


@pytest.mark.parametrize("version", VERSIONS)
def test_globals(build, version):
    from cuda.tile._bytecode.encodings import SymbolVisibility

    extra = {"constant": True, "symbol_visibility": SymbolVisibility.Private} if version >= "13.3" else {}

    def body(b):
        b.writer.global_section.define_global(
            "table", b.type("4xf32"), np.arange(4, dtype="<f4").tobytes(), 16, **extra
        )
        b.writer.global_section.define_global("zeros", b.type("4xf32"), bytes(4), 4)
        b.writer.global_section.define_global("truth", b.type("8xi1"), b"\x05", 1)

    found = decode(build(body, version=version)).globals
    assert list(found) == ["table", "zeros", "truth"]
    table = found["table"]
    assert (table.type, table.alignment_bytes) == (TileType(F32, (4,)), 16)
    assert np.frombuffer(table.data, "<f4").tolist() == [0, 1, 2, 3]
    assert (table.constant, table.private) == (bool(extra), bool(extra))
    assert found["zeros"].data == bytes(16)
    assert found["truth"].data == bytes([1, 0, 1, 0, 0, 0, 0, 0])
    assert isinstance(found["truth"].type, TileType) and found["truth"].type.element is I1


def test_types_compare_by_content(export):
    kinds = [op.results[0].type for op in named(export("add"), "load_view_tko")]
    assert kinds[0] == kinds[1] == TileType(F32, (16,))
    assert isinstance(kinds[0], TileType) and isinstance(kinds[0].element, ElementType)


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        (9, 6, "13.6; this release knows 13.1 to 13.5: update"),
        (8, 14, "14.4"),
        (9, 0, "13.0"),
        (10, 2, "13.4.2"),
        (0, 0, "not Tile IR"),
    ],
)
def test_other_versions_are_refused_in_words(export, at, value, text):
    data = bytearray(export("add"))
    data[at] = value
    with pytest.raises(DecodeError, match=text.replace(".", r"\.")) as caught:
        decode(bytes(data))
    assert caught.value.section == "header"


def test_regions_nested_without_end(build):
    def nest(b, depth):
        if depth:
            nested = b.op("Loop", result_types=[], initValues=[])
            with nested.new_block([]):
                nest(b, depth - 1)
                b.op("Break")
            nested.done()

    assert len(ops(build(lambda b: nest(b, 60)))) == 121
    with pytest.raises(DecodeError, match="nested deeper"):
        decode(build(lambda b: nest(b, 100)))


def test_public_signature():
    assert list(inspect.signature(decode).parameters) == ["data"]
