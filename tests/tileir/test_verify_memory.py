"""Rules of memory, views, atomics and promises: what breaks each, a valid twin, NVIDIA's verdict on both."""

from __future__ import annotations

import pytest

from cutile_sim.tileir.verify_rules import RULES

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from cuda.tile._bytecode import attribute as attr  # noqa: E402
from cuda.tile._bytecode import encodings as e  # noqa: E402
from cuda.tile._bytecode.type_base import PaddingValue  # noqa: E402

ORDER, SCOPE, MODE = e.MemoryOrderingSemantics, e.MemoryScope, e.AtomicRMWMode
CASES = {}


def case(name, good, bad):
    """Register a body with the arguments that make it valid and those that break the rule `name`, before a slash."""

    def register(body):
        CASES[name] = (body, good, bad)
        return body

    return register


case("operand-type/view", {"right": True}, {"right": False})(
    lambda b, right: b.op("GetTensorShape", result_types=["i32"], src=b.tensor()[0] if right else b.zero("i32"))
)


def load(b, element="f32", pointer="ptr<f32>", mask=None, padding=None, **extra):
    extra |= {"mask": b.zero(mask) if mask else None, "paddingValue": b.zero(padding) if padding else None}
    b.op("LoadPtrTko", result_type="4x" + element, source=b.zero("4x" + pointer), **extra)


case("operand-type/mask", {"mask": "4xi1"}, {"mask": "8xi1"})(load)
case("memory-order", {"memory_ordering_semantics": ORDER.ACQUIRE, "memory_scope": SCOPE.DEVICE},
     {"memory_ordering_semantics": ORDER.RELEASE, "memory_scope": SCOPE.DEVICE})(load)  # fmt: skip
case("memory-scope/weak", {}, {"memory_scope": SCOPE.DEVICE})(load)
case("memory-scope", {"memory_ordering_semantics": ORDER.RELAXED, "memory_scope": SCOPE.SYS},
     {"memory_ordering_semantics": ORDER.RELAXED})(load)  # fmt: skip
case("pointee/load", {}, {"pointer": "ptr<i32>"})(load)
case("padding-type", {"mask": "4xi1", "padding": "4xf32"}, {"mask": "4xi1", "padding": "4xi32"})(load)
case("pointee/store", {"value": "4xf32"}, {"value": "4xi32"})(
    lambda b, value: b.op("StorePtrTko", destination=b.zero("4xptr<f32>"), value=b.zero(value))
)
case("memory-order/store", {"memory_ordering_semantics": ORDER.RELEASE}, {"memory_ordering_semantics": ORDER.ACQUIRE})(
    lambda b, **k: b.op(
        "StorePtrTko", destination=b.zero("4xptr<f32>"), value=b.zero("4xf32"), memory_scope=SCOPE.DEVICE, **k
    )
)
case("tokens", {"count": 2}, {"count": 1})(
    lambda b, count: b.op("JoinTokens", result_type="token", tokens=[b.zero("token")] * count)
)
case("alignment", {"alignment": 16}, {"alignment": 12})(
    lambda b, alignment: b.op("Alloca", result_type="ptr<f32>", num_elem=4, alignment=alignment)
)
case("alignment/natural", {"alignment": 8}, {"alignment": 4})(
    lambda b, alignment: b.op("Alloca", result_type="ptr<f64>", num_elem=4, alignment=alignment)
)


def rmw(b, element="i32", mode=MODE.ADD, order=ORDER.RELAXED):
    b.op("AtomicRMWTko", result_type="4x" + element, pointers=b.zero(f"4xptr<{element}>"), arg=b.zero("4x" + element),
         mode=mode, memory_ordering_semantics=order, memory_scope=SCOPE.DEVICE)  # fmt: skip


case("atomic-mode", {}, {"element": "i16"})(rmw)
case("atomic-mode/addf", {"element": "f16", "mode": MODE.ADDF}, {"element": "i32", "mode": MODE.ADDF})(rmw)
case("atomic-mode/xchg", {"element": "f64", "mode": MODE.XCHG}, {"element": "f16", "mode": MODE.XCHG})(rmw)
case("memory-order/atomic", {"order": ORDER.ACQ_REL}, {"order": ORDER.WEAK})(rmw)


def cas(b, element="f32", mask="4xi1"):
    tile = "4x" + element
    b.op("AtomicCASTko", result_type=tile, pointers=b.zero(f"4xptr<{element}>"), cmp=b.zero(tile), val=b.zero(tile),
         mask=b.zero(mask), memory_ordering_semantics=ORDER.RELAXED, memory_scope=SCOPE.DEVICE)  # fmt: skip


case("cas-element", {}, {"element": "f16"})(cas)
case("operand-type/cas-mask", {}, {"mask": "2xi1"})(cas)


def tensor_only(b, **k):
    b.tensor(**k)


case("dynamic-sizes", {"shape": (None, 8)}, {"shape": (None, 8), "sizes": 2})(tensor_only)
case("pointee/view", {}, {"pointer": "ptr<i32>"})(tensor_only)
case("view-rank", {"tile": [4]}, {"tile": [4, 4]})(tensor_only)
case("tile-power-of-two/view", {"tile": [4]}, {"tile": [3]})(tensor_only)
case("view-dim-map", {"shape": (None, None), "dim_map": [1, 0]}, {"shape": (None, None), "dim_map": [1, 1]})(
    tensor_only
)
case(
    "view-padding",
    {"padding_value": PaddingValue.Nan},
    {"padding_value": PaddingValue.Nan, "element": "i32", "pointer": "ptr<i32>"},
)(tensor_only)
case(
    "view-traversal",
    {"kind": "strided_view", "traversal_strides": [2]},
    {"kind": "strided_view", "traversal_strides": [0]},
)(tensor_only)
case(
    "view-sparse-dim",
    {"kind": "gather_scatter_view", "sparse_dim": 0},
    {"kind": "gather_scatter_view", "sparse_dim": 1},
)(tensor_only)
case("tensor-shape", {"shape": (8,)}, {"shape": (0,)})(tensor_only)
case("tensor-strides", {"strides": [2]}, {"strides": [0]})(tensor_only)


@case("view-rank-0", {"rank": 1}, {"rank": 0})
def view_rank(b, rank):
    b.tensor(shape=(4,) * rank, tile=None)


@case("view-of", {"same": True}, {"same": False})
def view_of(b, same):
    value, _, _ = b.tensor()
    b.op(
        "MakePartitionView", result_type=b.view("partition_view", [4], (None,) if same else (8,))[1], tensor_view=value
    )


@case("space-rank", {"count": 2}, {"count": 1})
def space_rank(b, count):
    _, view, _ = b.tensor(shape=(None, None))
    b.op("GetIndexSpaceShape", result_types=["i32"] * count, src=view)


@case("space-rank/tensor", {"count": 2}, {"count": 3})
def tensor_rank(b, count):
    value, _, _ = b.tensor(shape=(None, None))
    b.op("GetTensorShape", result_types=["i32"] * count, src=value)


def view_load(b, tile="4x4xf32", indices=("i32", "i32"), inbounds=(False, False), **extra):
    _, view, _ = b.tensor(shape=(None, None), **extra)
    b.op("LoadViewTko", tile_type=tile, view=view, index=[b.zero(i) for i in indices], inbounds=inbounds)


case("view-access", {}, {"tile": "4x2xf32"})(view_load)
case("view-access/count", {}, {"indices": ("i32",), "inbounds": (False,)})(view_load)
case("view-access/scalar", {}, {"indices": ("i32", "4xi32")})(view_load)
case("view-access/one-type", {"indices": ("i64", "i64")}, {"indices": ("i32", "i64")})(view_load)
SPARSE = {"kind": "gather_scatter_view", "sparse_dim": 0}
case("view-access/sparse", SPARSE | {"indices": ("4xi32", "i32")}, SPARSE | {"indices": ("8xi32", "i32")})(view_load)
case("inbounds", {}, {"inbounds": (True,)})(view_load)


def reduction(b, mode=MODE.ADDF, order=ORDER.RELAXED, scope=SCOPE.DEVICE, **extra):
    _, view, _ = b.tensor(**extra)
    b.op("AtomicRedViewTko", view=view, index=[b.zero("i32")], value=b.zero("4xf32"), mode=mode,
         memory_ordering_semantics=order, memory_scope=scope)  # fmt: skip


case("reduction-view", {}, {"padding_value": PaddingValue.Zero})(reduction)
case("reduction-view/xchg", {}, {"mode": MODE.XCHG})(reduction)
case("reduction-view/scope", {}, {"scope": SCOPE.SYS})(reduction)
case("memory-order/reduction", {}, {"order": ORDER.ACQ_REL})(reduction)
case("atomic-mode/reduction", {}, {"mode": MODE.ADD})(reduction)


def promise(b, predicate, tile="4xi32"):
    b.op("Assume", result_type=tile, value=b.zero(tile), predicate=predicate)


case("assume/divisor", {"predicate": attr.DivBy(16)}, {"predicate": attr.DivBy(12)})(promise)
case("assume/pair", {"predicate": attr.DivBy(4, 2, 0)}, {"predicate": attr.DivBy(4, 2, None)})(promise)
case("assume/along", {"predicate": attr.DivBy(4, 2, 0)}, {"predicate": attr.DivBy(4, 2, 1)})(promise)
case("assume/float", {"predicate": attr.DivBy(4)}, {"predicate": attr.DivBy(4), "tile": "4xf32"})(promise)
case("assume/bounds", {"predicate": attr.Bounded(0, 9)}, {"predicate": attr.Bounded(9, 0)})(promise)
case(
    "assume/width",
    {"predicate": attr.Bounded(-128, 127), "tile": "i8"},
    {"predicate": attr.Bounded(0, 128), "tile": "i8"},
)(promise)
case(
    "assume/pointer",
    {"predicate": attr.DivBy(4), "tile": "ptr<f32>"},
    {"predicate": attr.Bounded(0, None), "tile": "ptr<f32>"},
)(promise)


@pytest.mark.parametrize("name", CASES)
def test_rule(check_rule, name):
    check_rule(name, *CASES[name])


@pytest.mark.tileiras
@pytest.mark.parametrize("name", CASES)
def test_nvidia_agrees(check_verdicts, name):
    check_verdicts(*CASES[name])


def test_every_rule_has_a_case():
    named = {rule.name for rules in RULES.values() for rule in rules if rule.check.__module__.endswith("verify_memory")}
    assert named <= {name.partition("/")[0] for name in CASES}
