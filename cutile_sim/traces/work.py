"""How much arithmetic an operation is: floating-point operations a block, by the types in the IR."""

from __future__ import annotations

from math import prod

from cutile_sim.dtypes import ElementType
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import TileType

_FUSED = {"fma": 2}


def flops_of(op: Op) -> int:
    """Floating-point operations of one execution in one block.

    A fused multiply-add counts as two, any other arithmetic or function of `floating` and `math` as one a lane, a
    matrix product as two for each product of its operands' elements, a reduction or scan as its region's operations
    for each element.
    """
    family = op.spec.meaning.family
    if family == "mma":
        left, accumulator = op.operands.get("lhs"), op.operands.get("acc")
        assert isinstance(left, Value) and isinstance(accumulator, Value)
        assert isinstance(left.type, TileType) and isinstance(accumulator.type, TileType)
        return 2 * prod(accumulator.type.shape) * left.type.shape[-1] if _is_float(accumulator) else 0
    if family == "reduce":
        inner = sum(flops_of(o) for region in op.regions for o in region.ops)
        kind = op.inputs[0].type
        assert isinstance(kind, TileType)
        return inner * prod(kind.shape)
    if family in ("floating", "math", "atomics") and op.inputs:
        kinds = [v.type for v in (*op.results, *op.inputs) if isinstance(v.type, TileType) and _is_float(v)]
        lanes = max((prod(k.shape) for k in kinds), default=0)
        return lanes * _FUSED.get(op.name, 1)
    return 0


def _is_float(value: Value) -> bool:
    kind = value.type
    return isinstance(kind, TileType) and isinstance(kind.element, ElementType) and kind.element.is_float
