"""The printed text: complete, one line an operation, readable."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim.dtypes import F32, I32
from cutile_sim.optable.encoding import RoundingMode
from cutile_sim.tileir.attributes import Bounded, DivBy, FloatAttr, IntegerAttr, SameElements
from cutile_sim.tileir.decode import decode
from cutile_sim.tileir.printer import format_attribute, format_op, print_module


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (RoundingMode.NEAREST_EVEN, "nearest_even"), (True, "true"), (7, "7"), ('say "%i"\n', r'"say \"%i\"\n"'),
        (np.array(1.5), "1.5"), (np.arange(4), "[0, 1, 2, 3]"),
        (np.arange(9), "[0, 1, 2, 3, 4, 5, 6, 7, ... 9 elements]"),
        (IntegerAttr(I32, -1), "-1 : i32"), (FloatAttr(F32, float("inf"), 0), "inf : f32"), (DivBy(16), "div_by<16>"),
        (DivBy(4, 2, 0), "div_by<4, every 2, along 0>"), (Bounded(0, None), "bounded<0, ?>"),
        (SameElements((2, 4)), "same_elements<[2, 4]>"), ({"sm_90": {"latency": 4}}, "{sm_90 = {latency = 4}}"),
        ((1, False), "[1, false]"), (b"\x01\xff", "0x01ff"),
    ],
)  # fmt: skip
def test_attributes(value, text):
    assert format_attribute(value) == text


@pytest.mark.cutile
def test_operation(build):
    def body(b):
        x, y = b.parameters
        b.op("AddF", result_type="f32", lhs=x, rhs=y, flush_to_zero=True)

    op = decode(build(body, ["f32", "f32"])).functions[0].body.ops[0]
    assert (
        format_op(op)
        == "%2 = addf %0, %1 {rounding_mode=nearest_even, flush_to_zero} : tile<f32>, tile<f32> -> tile<f32>"
    )


@pytest.mark.cutile
@pytest.mark.parametrize("name", ["add", "calls", "loops", "atomics"])
def test_every_operation_has_a_line(export, name):
    module = decode(export(name))
    text = print_module(module)
    lines = [line.strip() for line in text.splitlines()]
    for op in module.walk():
        first = format_op(op).splitlines()[0].strip()
        assert first in lines
        lines.remove(first)
    assert all(line.startswith(("//", "entry", "}")) for line in lines)
    assert text.count("{\n") == text.count("\n}\n") + text.count("  }")
    located = print_module(module, locations=True)
    assert [line.split("  //")[0] for line in located.splitlines()] == text.rstrip("\n").split("\n")


@pytest.mark.cutile
def test_globals_and_regions(build):
    def body(b):
        b.writer.global_section.define_global("table", b.type("4xf32"), bytes(4), 16)
        nested = b.op("If", result_types=[], condition=b.zero("i1"))
        for _ in range(2):
            with nested.new_block([]):
                b.op("Yield")
        nested.done()

    text = print_module(decode(build(body)))
    assert text == (
        "// Tile IR 13.4\n"
        "global @table alignment=16 : tile<4xf32>\n"
        "entry @kernel() {\n"
        "  %0 = constant {value=False} : tile<i1>\n"
        "  if %0 : tile<i1> () {\n"
        "    yield\n"
        "  } () {\n"
        "    yield\n"
        "  }\n"
        "  return\n"
        "}\n"
    )
