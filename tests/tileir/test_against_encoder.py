"""Every operation in every bytecode version, written by cuTile's own encoder with random arguments and read
back.
"""

from __future__ import annotations

import inspect
import random

import numpy as np
import pytest

from cutile_sim.dtypes import F16, F32, I1, I16, I32
from cutile_sim.errors import DecodeError
from cutile_sim.optable import OPS
from cutile_sim.optable.encoding import ENUMS
from cutile_sim.optable.generate import plain_name
from cutile_sim.tileir.attributes import Bounded, DenseElements, DivBy, FloatAttr, IntegerAttr, SameElements
from cutile_sim.tileir.decode import decode
from cutile_sim.tileir.types import TileType

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from cuda.tile._bytecode import attribute as attr  # noqa: E402
from cuda.tile._bytecode import encodings  # noqa: E402
from cuda.tile._bytecode.basic import encode_int_list, encode_varint  # noqa: E402
from cuda.tile._bytecode.code_builder import Value  # noqa: E402
from cuda.tile._bytecode.type import SimpleType  # noqa: E402

VERSIONS = ("13.1", "13.2", "13.3", "13.4", "13.5")
TRIALS = 4
PARAMETERS = ["i32", "4xf32", "ptr<f32>", "token"] * 40
TILE_TYPES = ["4xf32", "i32", "2x8xi8", "ptr<f16>"]


def number(version: str) -> tuple[int, int]:
    major, minor = version.split(".")
    return int(major), int(minor)


class Written(attr.TaggedAttribute):
    """An attribute whose bytes are given: for those that cuTile cannot write."""

    def __init__(self, write):
        self.write = write

    def encode_tagged(self, string_table, buf):
        self.write(string_table, buf)


class Arguments:
    """Random arguments of one encoder function, and what a decoder must make of them."""

    def __init__(self, row, version: tuple[int, int], rng: random.Random) -> None:
        self.row = row
        self.rng = rng
        self.version = version
        encoding = row.encoding
        live = encoding.flags_since is None or version >= encoding.flags_since
        self.flags = {name: live and rng.random() < 0.5 for name in encoding.flags}
        self.given: dict[str, object] = {}
        self.operands: dict[str, object] = {}
        self.attributes: dict[str, object] = {}
        self.results: list[str] = []
        function = getattr(encodings, f"encode_{encoding.class_name}")
        for parameter in list(inspect.signature(function).parameters)[1:]:
            self.add(parameter)

    def add(self, parameter: str) -> None:
        name = plain_name(parameter)
        encoding = self.row.encoding
        operand = next((o for o in encoding.operands if o.name == name), None)
        attribute = next((a for a in encoding.attributes if a.name == name), None)
        if operand is not None:
            self.given[parameter], self.operands[name] = self.operand(operand)
        elif attribute is not None:
            self.given[parameter], self.attributes[name] = self.attribute(attribute)
        elif name in self.flags:
            self.given[parameter] = self.attributes[name] = self.flags[name]
        else:
            self.result(parameter)

    def result(self, parameter: str) -> None:
        token = parameter == "result_token_type"
        if token and self.row.encoding.results_since is not None and self.version < self.row.encoding.results_since:
            self.given[parameter] = None
        elif parameter.endswith("_types"):
            self.given[parameter] = [self.rng.choice(TILE_TYPES) for _ in range(self.rng.randrange(4))]
            self.results += self.given[parameter]
        else:
            self.given[parameter] = "token" if token else self.rng.choice(["4xf32", "8xf32"])
            self.results.append(self.given[parameter])

    def operand(self, operand):
        indices = [self.rng.randrange(len(PARAMETERS)) for _ in range(self.rng.randrange(4))]
        if operand.kind in ("counted", "rest"):
            return [Value(i) for i in indices], tuple(indices)
        present = operand.kind == "one" or (self.flags[operand.flag] if operand.flag else self.rng.random() < 0.5)
        index = self.rng.randrange(len(PARAMETERS))
        return (Value(index), index) if present else (None, None)

    def attribute(self, attribute):
        if attribute.flag is not None and not self.flags[attribute.flag]:
            return None, None
        if attribute.since is not None and self.version < attribute.since:
            if attribute.enum is None:
                return (), attribute.default
            theirs = getattr(encodings, attribute.enum)
            return next(m for m in theirs if m.value[0] == attribute.default.value), attribute.default
        return getattr(self, attribute.kind)(attribute)

    def enum(self, attribute):
        member = self.rng.choice(list(getattr(encodings, attribute.enum)))
        return member, ENUMS[attribute.enum](member.value[0])

    def bool(self, attribute):
        value = self.rng.random() < 0.5
        return value, value

    def int(self, attribute):
        value = self.rng.randrange(1 << self.rng.randrange(1, 40))
        return value, value

    def str(self, attribute):
        text = self.rng.choice(["x", "kernel name", "100 %\n", "größer"])
        return text, text

    def typeid(self, attribute):
        return "4xf32", TileType(F32, (4,))

    def array(self, attribute):
        values = [self.rng.randrange(-(1 << 31), 1 << 31) for _ in range(self.rng.randrange(3))]
        return [attr.Integer.create_i32(v) for v in values], tuple(IntegerAttr(I32, v) for v in values)

    def tagged(self, attribute):
        a, b, c = (self.rng.choice([None, self.rng.randrange(-99, 99)]) for _ in range(3))
        d = self.rng.randrange(1 << 40)
        return self.rng.choice([(attr.DivBy(d, a, b), DivBy(d, a, b)), (attr.Bounded(b, c), Bounded(b, c))])

    def dense_int32_array(self, attribute):
        values = [self.rng.randrange(-(1 << 31), 1 << 31) for _ in range(3)]
        return values, tuple(values)

    def dense_bool_array(self, attribute):
        values = [self.rng.random() < 0.5 for _ in range(3)]
        return values, tuple(values)

    def dense_typed_elements(self, attribute):
        value = np.float32(self.rng.randrange(1000) / 8)
        return value.tobytes(), value if self.row.mnemonic == "constant" else value.tobytes()

    def optimization_hints(self, attribute):
        hints = attr.make_load_store_hints(
            {"sm_90": attr.LoadStoreHints(latency=4, allow_tma=False), "default": attr.LoadStoreHints()}
        )
        return hints, {"sm_90": {"allow_tma": False, "latency": 4}, "default": {}}


def write(b, row, arguments: Arguments):
    given = dict(arguments.given)
    function = getattr(encodings, f"encode_{row.encoding.class_name}")
    if "function_type" in given:
        given["function_type"] = b.type(given["function_type"])
    kinds = {k: v for k, v in given.items() if k.endswith(("_type", "_types"))}
    given |= {k: [b.type(t) for t in v] if isinstance(v, list) else b.type(v) for k, v in kinds.items()}
    nested = function(b.code, **given)
    for number_of_region in range(row.encoding.regions):
        with nested.new_block([b.type("4xf32")] * number_of_region):
            b.zero("i32")
    if row.encoding.regions:
        nested.done()
    b.op("Return")
    return True


def numbers(value):
    if isinstance(value, tuple):
        return tuple(v.index for v in value)
    return None if value is None else value.index


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("mnemonic", OPS)
def test_round_trip(build, mnemonic, version):
    row = OPS[mnemonic]
    at = number(version)
    for trial in range(TRIALS):
        arguments = Arguments(row, at, random.Random(f"{mnemonic} {trial}"))
        if mnemonic == "entry" and at < (13, 5) and arguments.flags["arg_attrs"]:
            continue  # cuTile refuses to write it
        data = build(lambda b, a=arguments: write(b, row, a), PARAMETERS, version)
        if at < row.encoding.since:
            with pytest.raises(DecodeError, match=f"{mnemonic} exists only since"):
                decode(data)
            continue
        op, last = decode(data).functions[0].body.ops
        assert last.name == "return"
        assert op.name == mnemonic
        assert {name: numbers(value) for name, value in op.operands.items()} == arguments.operands
        assert dict(op.attributes) == arguments.attributes
        assert list(op.attributes) == list(row.attribute_names)
        assert [str(value.type) for value in op.results] == [expected_type(t) for t in arguments.results]
        assert [[str(v.type) for v in r.arguments] for r in op.regions] == [
            ["tile<4xf32>"] * n for n in range(row.encoding.regions)
        ]
        assert [[inner.name for inner in r.ops] for r in op.regions] == [["constant"]] * row.encoding.regions


def expected_type(text: str) -> str:
    return text if text == "token" else f"tile<{text}>"


def in_array(build, *items, version="13.4"):
    """What the array attribute of a reduce holds, decoded."""

    def body(b):
        made = [item(b) if callable(item) else item for item in items]
        nested = b.op("Reduce", result_types=["f32"], operands=[b.zero("4xf32")], dim=0, identities=made)
        with nested.new_block([b.type("f32")] * 2) as values:
            b.op("Yield", operands=[values[0]])
        nested.done()

    return next(op for op in decode(build(body, version=version)).walk() if op.name == "reduce").attributes[
        "identities"
    ]


def test_numbers_in_attributes(build):
    half, single = (lambda b, t=t, v=v: attr.Float(v, t, b.writer.type_table) for t, v in
                    ((SimpleType.F16, -1.5), (SimpleType.F32, float("inf"))))  # fmt: skip
    short = lambda b: attr.Integer(b.type("!i16"), 16, -7)  # noqa: E731
    truth = lambda b: attr.Integer(b.type("!i1"), 1, 1)  # noqa: E731
    assert in_array(build, half, single, short, truth) == (
        FloatAttr(F16, -1.5, 0xBE00), FloatAttr(F32, float("inf"), 0x7F800000),
        IntegerAttr(I16, -7), IntegerAttr(I1, 1),
    )  # fmt: skip


@pytest.mark.parametrize(
    "kind", [t for t in SimpleType if t.name[0] in "FBT" and t.name != "Token"], ids=lambda t: t.name
)
@pytest.mark.parametrize("value", [1.0, 2.0, 0.5])
def test_floats_of_every_type(build, kind, value):
    (found,) = in_array(build, lambda b: attr.Float(value, kind, b.writer.type_table))
    assert found.value == value


def test_other_tagged_attributes(build):
    def tag(number, write):
        return lambda b: Written(lambda strings, buf: (buf.append(number), write(b, strings, buf)))

    found = in_array(
        build,
        attr.Bool(True),
        tag(4, lambda b, strings, buf: encode_varint(b.type("4xf32").type_id, buf)),
        tag(5, lambda b, strings, buf: encode_varint(strings[b"text"].string_id, buf)),
        attr.AttributeArray([attr.Bool(False), attr.AttributeArray([])]),
        tag(9, lambda b, strings, buf: encode_int_list([1, 1 << 40], 8, buf)),
        attr.Dictionary([("key", attr.Integer.create_i32(3))]),
        attr.make_entry_hints({"default": attr.EntryHints(occupancy=2)}),
    )
    assert found == (True, TileType(F32, (4,)), "text", (False, ()), SameElements((1, 1 << 40)),
                     {"key": IntegerAttr(I32, 3)},
                     {"default": {"occupancy": 2}})  # fmt: skip


def test_dense_elements(build):
    def make(b):
        constant = b.writer.constant_table.dense_constant(np.arange(4, dtype=np.float32).tobytes())

        def write(strings, buf):
            buf.append(7)
            encode_varint(b.type("4xf32").type_id, buf)
            encode_varint(constant.constant_id, buf)

        return Written(write)

    (found,) = in_array(build, make)
    assert isinstance(found, DenseElements)
    assert found.type == TileType(F32, (4,))
    assert found.values.tolist() == [0, 1, 2, 3]


def test_arrays_nested_without_end(build):
    deep = attr.AttributeArray([])
    for _ in range(100):
        deep = attr.AttributeArray([deep])
    with pytest.raises(DecodeError, match="nested without end"):
        in_array(build, deep)
