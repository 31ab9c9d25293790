"""Rules of regions, their ends, kernels and printing: what breaks each, a valid twin, NVIDIA's verdict on both."""

from __future__ import annotations

import pytest

from cutile_sim.tileir.decode import decode
from cutile_sim.tileir.verify import verify
from cutile_sim.tileir.verify_rules import RULES

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from cuda.tile._bytecode import attribute as attr  # noqa: E402
from cuda.tile._bytecode.type import SimpleType  # noqa: E402

CASES = {}


def case(name, good, bad):
    """Register a body with the arguments that make it valid and those that break the rule `name`, before a slash."""

    def register(body):
        CASES[name] = (body, good, bad)
        return body

    return register


def if_op(b, condition="i1", results=(), given=None, end="Yield"):
    nested = b.op("If", result_types=results, condition=b.zero(condition))
    for _ in range(2):
        with nested.new_block([]):
            values = [b.zero(t) for t in (results if given is None else given)]
            if end:
                b.op(end, operands=values)
    nested.done()


case("operand-type/scalar", {"condition": "i1"}, {"condition": "4xi1"})(
    lambda b, condition: if_op(b, condition=condition)
)
case("yield-types", {"results": ["f32"]}, {"results": ["f32"], "given": ["i32"]})(if_op)
case("terminator/if", {"results": ["f32"]}, {"results": ["f32"], "end": "Return"})(
    lambda b, results, end="Yield": if_op(b, results=results, end=end) if end == "Yield" else if_end(b)
)


def if_end(b):
    """An `if` whose regions end in an addition."""
    nested = b.op("If", result_types=[], condition=b.zero("i1"))
    for _ in range(2):
        with nested.new_block([]):
            b.binary("AddF")
    nested.done()


def loop(b, carried=("i32",), arguments=None, given=None, counter="i32", end="Continue"):
    starts = [b.zero(t) for t in carried]
    nested = b.op("For", result_types=carried, lowerBound=b.zero("i32"), upperBound=b.zero("i32"), step=b.zero("i32"),
                  initValues=starts)  # fmt: skip
    with nested.new_block([b.type(t) for t in (counter, *(carried if arguments is None else arguments))]):
        b.op(end, operands=[b.zero(t) for t in (carried if given is None else given)])
    nested.done()


case("loop-values", {}, {"arguments": ["f32"]})(loop)
case("loop-values/counter", {}, {"counter": "i64"})(loop)
case("continue-types", {}, {"given": []})(loop)
case("terminator/for", {}, {"end": "Yield"})(loop)


def endless(b, given=("i32",), results=("i32",), inside=None):
    nested = b.op("Loop", result_types=results, initValues=[b.zero("f32")])
    with nested.new_block([b.type("f32")]):
        if inside:
            inside(b)
        b.op("Break", operands=[b.zero(t) for t in given])
    nested.done()


case("break-types", {}, {"given": ("f32",)})(endless)


@case("early-exit", {"inside": "Loop"}, {"inside": "If"})
def early_exit(b, inside):
    nested = b.op(inside, result_types=[], **({"initValues": []} if inside == "Loop" else {"condition": b.zero("i1")}))
    for _ in range(1 if inside == "Loop" else 2):
        with nested.new_block([]):
            b.op("Break")
    nested.done()


def nested_return(b, outer, inner="If"):
    """A return in `inner` in `outer`."""

    def write(kind, body, end):
        counted = {"lowerBound": b.zero("i32"), "upperBound": b.zero("i32"), "step": b.zero("i32"), "initValues": []}
        extra = {"For": counted, "Loop": {"initValues": []}, "If": {"condition": b.zero("i1")}}[kind]
        nested = b.op(kind, result_types=[], **extra)
        for _ in range(2 if kind == "If" else 1):
            with nested.new_block([b.type("i32")] if kind == "For" else []):
                body()
                if end:
                    b.op(end)
        nested.done()

    write(
        outer, lambda: write(inner, lambda: None, "Return"), {"For": "Continue", "Loop": "Break", "If": "Yield"}[outer]
    )


case("return-place", {"outer": "Loop"}, {"outer": "For"})(nested_return)
case("return-place/loop", {"outer": "If", "inner": "Loop"}, {"outer": "For", "inner": "Loop"})(nested_return)


@case("if-results", {"view": False}, {"view": True})
def if_results(b, view):
    _, value, kind = b.tensor()
    results = [kind] if view else ["i32"]
    nested = b.op("If", result_types=results, condition=b.zero("i1"))
    for _ in range(2):
        with nested.new_block([]):
            b.op("Yield", operands=[value if view else b.zero("i32")])
    nested.done()


def aggregate(
    b, op="Reduce", dim=0, result="8xf32", identity="F32", arguments=("f32", "f32"), given="f32", effect=False
):
    types = b.writer.type_table
    one = attr.Float(0.0, SimpleType[identity], types)
    nested = b.op(op, result_types=[result], operands=[b.zero("4x8xf32")], dim=dim, identities=[one])
    with nested.new_block([b.type(t) for t in arguments]) as values:
        if effect:
            b.op("Assert", condition=b.zero("i1"), message="no")
        b.op("Yield", operands=[values[0] if given == "f32" else b.zero(given)])
    nested.done()


case("aggregate/dim", {}, {"dim": 2})(aggregate)
case("aggregate/shape", {"op": "Scan", "result": "4x8xf32"}, {"op": "Scan", "result": "8xf32"})(aggregate)
case("aggregate/identity", {}, {"identity": "F64"})(aggregate)
case("aggregate/arguments", {}, {"arguments": ("f32",)})(aggregate)
case("aggregate/yield", {}, {"given": "i32"})(aggregate)
case("aggregate/pure", {}, {"effect": True})(aggregate)
case("print-arguments", {"text": "%i 100%%"}, {"text": "%i %i"})(
    lambda b, text: b.op("PrintTko", args=[b.zero("i32")], str=text)
)


@pytest.mark.parametrize("name", CASES)
def test_rule(check_rule, name):
    check_rule(name, *CASES[name])


@pytest.mark.tileiras
@pytest.mark.parametrize("name", CASES)
def test_nvidia_agrees(check_verdicts, name):
    check_verdicts(*CASES[name])


def test_every_rule_has_a_case():
    named = {
        rule.name for rules in RULES.values() for rule in rules if rule.check.__module__.endswith("verify_regions")
    }
    assert named <= {name.partition("/")[0] for name in CASES}


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("entry-only", {"entry": False}),
        ("entry-scalars", {"parameters": ["4xf32"]}),
        ("entry-results", {"results": ["f32"]}),
    ],
)
def test_entry_rules(build, rule, options):
    assert rule in [error.rule for error in verify(decode(build(lambda b: None, **options)))]
    assert verify(decode(build(lambda b: None, parameters=["f32"]))) == []


def test_missing_return(build):
    errors = verify(decode(build(lambda b: b.zero("f32"))))
    assert [error.rule for error in errors] == ["terminator"]
