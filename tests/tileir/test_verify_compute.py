"""Rules of arithmetic, conversions, shapes and products: what breaks each, a valid twin, NVIDIA's verdict on both."""

from __future__ import annotations

import pytest

from cutile_sim.tileir.verify_rules import RULES

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from cuda.tile._bytecode import encodings as e  # noqa: E402

RM = e.RoundingMode
CASES = {}


def case(name, good, bad):
    """Register a body with the arguments that make it valid and those that break the rule `name`, before a slash."""

    def register(body):
        CASES[name] = (body, good, bad)
        return body

    return register


case("operand-type/element", {"op": "AddF"}, {"op": "AddI"})(lambda b, **k: b.binary(**k))
case("operand-type/same", {"op": "AddF"}, {"op": "AddF", "result": "8xf32"})(lambda b, **k: b.binary(**k))
case("operand-type/shape", {"result": "4xi1"}, {"result": "8xi1"})(
    lambda b, result: b.binary("CmpI", "i32", result, comparison_predicate=e.ComparisonPredicate.EQUAL)
)
case("operand-type/fpowi", {"exponent": "i32"}, {"exponent": "i64"})(
    lambda b, exponent: b.op("FPowI", result_type="4xf32", source=b.zero("4xf32"), exponent=b.zero("4x" + exponent))
)
case("rounding-mode/addf", {"op": "AddF", "rounding_mode": RM.ZERO}, {"op": "AddF", "rounding_mode": RM.FULL})(
    lambda b, **k: b.binary(**k)
)
case("rounding-mode/sqrt", {"rounding_mode": RM.APPROX}, {"rounding_mode": RM.FULL})(
    lambda b, **k: b.unary("Sqrt", "f32", "f32", **k)
)
case("rounding-mode/exp", {"rounding_mode": RM.FULL}, {"rounding_mode": RM.NEAREST_EVEN})(
    lambda b, **k: b.unary("Exp", "f32", "f32", **k)
)
case("rounding-mode/ftoi", {"rounding_mode": RM.NEAREST_INT_TO_ZERO}, {"rounding_mode": RM.NEAREST_EVEN})(
    lambda b, **k: b.unary("FToI", "4xf32", "4xi32", **k)
)
case("rounding-mode/divi", {"rounding": RM.POSITIVE_INF}, {"rounding": RM.NEAREST_EVEN})(
    lambda b, **k: b.binary("DivI", "i32", **k)
)
case("divi-unsigned-floor", {"signedness": e.Signedness.Signed}, {"signedness": e.Signedness.Unsigned})(
    lambda b, **k: b.binary("DivI", "i32", rounding=RM.NEGATIVE_INF, **k)
)
case("approx-f32", {"element": "f32"}, {"element": "f16"})(lambda b, **k: b.binary("DivF", rounding_mode=RM.FULL, **k))
case("flush-f32", {"element": "f32"}, {"element": "f64"})(lambda b, **k: b.binary("MulF", flush_to_zero=True, **k))
case("negi-overflow", {"overflow": e.IntegerOverflow.NSW}, {"overflow": e.IntegerOverflow.NUW})(
    lambda b, **k: b.unary("NegI", "i32", "i32", **k)
)
case("bitcast-width", {"result": "4xi32"}, {"result": "4xi16"})(lambda b, result: b.unary("Bitcast", "4xf32", result))
case("bitcast-width/tf32", {"result": "4xf32"}, {"result": "4xtf32"})(
    lambda b, result: b.unary("Bitcast", "4xf32", result)
)
case("extend-width", {"result": "4xi32"}, {"result": "4xi16"})(lambda b, result: b.unary("ExtI", "4xi16", result))
case("truncate-width", {"result": "4xi8"}, {"result": "4xi16"})(lambda b, result: b.unary("TruncI", "4xi16", result))
case("convert-same", {"result": "4xf16"}, {"result": "4xf32"})(lambda b, result: b.unary("FToF", "4xf32", result))
case("convert-rounding/narrow", {"rounding_mode": RM.ZERO}, {"rounding_mode": RM.POSITIVE_INF})(
    lambda b, **k: b.unary("FToF", "4xf32", "4xf16", **k)
)
case("convert-rounding/f64", {"rounding_mode": RM.POSITIVE_INF}, {"rounding_mode": RM.NEAREST_AWAY})(
    lambda b, **k: b.unary("FToF", "4xf64", "4xf32", **k)
)
case("convert-rounding/tf32", {"rounding_mode": RM.NEAREST_AWAY}, {"rounding_mode": RM.POSITIVE_INF})(
    lambda b, **k: b.unary("FToF", "4xf32", "4xtf32", **k)
)
case("convert-rounding/e8m0", {"rounding_mode": RM.ZERO}, {"rounding_mode": RM.NEAREST_EVEN})(
    lambda b, **k: b.unary("FToF", "4xf32", "4xf8e8m0fnu", **k)
)
case("convert-rounding/itof", {"rounding_mode": RM.NEAREST_EVEN}, {"rounding_mode": RM.ZERO})(
    lambda b, **k: b.unary("IToF", "4xi32", "4xf32", **k)
)
case("convert-e8m0", {"result": "4xf8e4m3fn"}, {"result": "4xf8e8m0fnu"})(
    lambda b, result: b.unary("IToF", "4xi32", result)
)
case("broadcast-shape", {"source": "1x4xf32"}, {"source": "2x4xf32"})(
    lambda b, source: b.unary("Broadcast", source, "8x4xf32")
)
case("cat-shape", {"dim": 0}, {"dim": 1})(
    lambda b, dim: b.op("Cat", result_type="8x4xf32", lhs=b.zero("4x4xf32"), rhs=b.zero("4x4xf32"), dim=dim)
)
case("cat-shape/dim", {"dim": 1}, {"dim": 2})(
    lambda b, dim: b.op("Cat", result_type="4x8xf32", lhs=b.zero("4x4xf32"), rhs=b.zero("4x4xf32"), dim=dim)
)
case("slice-shape", {"result": "2x4xf32"}, {"result": "8x4xf32"})(
    lambda b, result: b.op("Extract", result_type=result, source=b.zero("4x4xf32"), indices=[b.zero("i32")] * 2)
)
case("slice-shape/indices", {"count": 2}, {"count": 1})(
    lambda b, count: b.op("Extract", result_type="2x4xf32", source=b.zero("4x4xf32"), indices=[b.zero("i32")] * count)
)
case("slice-shape/element", {"source": "2x4xf32"}, {"source": "2x4xf16"})(
    lambda b, source: b.op("Insert", result_type="4x4xf32", source=b.zero(source), destination=b.zero("4x4xf32"),
                           indices=[b.zero("i32")] * 2)
)  # fmt: skip
case("iota-shape", {"result": "256xi8"}, {"result": "512xi8"})(lambda b, result: b.op("Iota", result_type=result))
case("iota-shape/rank", {"result": "8xi32"}, {"result": "4x4xi32"})(lambda b, result: b.op("Iota", result_type=result))
case("pack-shape", {"result": "16xi8"}, {"result": "8xi8"})(lambda b, result: b.unary("Pack", "4xf32", result))
case("pack-shape/width", {"source": "8xi16"}, {"source": "16xf8e5m2"})(
    lambda b, source: b.unary("Pack", source, "16xi8")
)
case("permutation", {"order": [1, 0]}, {"order": [0, 0]})(
    lambda b, order: b.unary("Permute", "4x2xf32", "2x4xf32", permutation=order)
)
case("permutation/shape", {"order": [1, 0]}, {"order": [0, 1]})(
    lambda b, order: b.unary("Permute", "4x2xf32", "2x4xf32", permutation=order)
)
case("permutation/rank", {"shape": "4x1x"}, {"shape": "4x"})(
    lambda b, shape: b.unary("Permute", shape + "f32", shape + "f32", permutation=list(range(shape.count("x"))))
)
case("reshape-size", {"result": "2x2xf32"}, {"result": "8xf32"})(lambda b, result: b.unary("Reshape", "4xf32", result))


def mma(b, lhs="4x8xf16", rhs="8x2xf16", acc="4x2xf32"):
    b.op("MmaF", result_type=acc, lhs=b.zero(lhs), rhs=b.zero(rhs), acc=b.zero(acc))


case("mma-shape", {}, {"rhs": "4x2xf16"})(mma)
case("mma-shape/batch", {"lhs": "2x4x8xf16", "rhs": "2x8x2xf16", "acc": "2x4x2xf32"},
     {"lhs": "2x4x8xf16", "rhs": "1x8x2xf16", "acc": "2x4x2xf32"})(mma)  # fmt: skip
case("mma-elements", {"lhs": "4x8xbf16", "rhs": "8x2xbf16"}, {"lhs": "4x8xbf16", "rhs": "8x2xbf16", "acc": "4x2xf16"})(
    mma
)


def scaled(b, element="f8e4m3fn", scale="f8e8m0fnu", blocks=1):
    b.op("MmaFScaled", result_type="4x4xf32", lhs=b.zero(f"4x32x{element}"), rhs=b.zero(f"32x4x{element}"),
         acc=b.zero("4x4xf32"), lhs_scale=b.zero(f"4x{blocks}x{scale}"),
         rhs_scale=b.zero(f"{blocks}x4x{scale}"))  # fmt: skip


case("mma-scale", {}, {"blocks": 2})(scaled)
case("mma-scale/f4", {"element": "f4e2m1fn", "scale": "f8e4m3fn", "blocks": 2}, {"scale": "f8e4m3fn"})(scaled)
case("tile-power-of-two", {"tile": "4xf32"}, {"tile": "3xf32"})(lambda b, tile: b.zero(tile) and None)
case("tile-size", {"tile": "16777216xi8"}, {"tile": "33554432xi8"})(lambda b, tile: b.zero(tile) and None)
case("tile-f4-even", {"tile": "2xf4e2m1fn"}, {"tile": "1xf4e2m1fn"})(lambda b, tile: b.zero(tile) and None)


@pytest.mark.parametrize("name", CASES)
def test_rule(check_rule, name):
    check_rule(name, *CASES[name])


@pytest.mark.tileiras
@pytest.mark.parametrize("name", CASES)
def test_nvidia_agrees(check_verdicts, name):
    check_verdicts(*CASES[name])


def test_every_rule_has_a_case():
    named = {
        rule.name for rules in RULES.values() for rule in rules if rule.check.__module__.endswith("verify_compute")
    }
    assert named <= {name.partition("/")[0] for name in CASES}
