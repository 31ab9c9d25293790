"""Rules of arithmetic, conversions, shapes and matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from cutile_sim.dtypes import F8E8M0FNU, F16, F32, F64, TF32, ElementType
from cutile_sim.optable.encoding import (
    IntegerOverflow,
    RoundingMode,
    Signedness,
)
from cutile_sim.tileir.core import Module, Op
from cutile_sim.tileir.types import (
    TileType,
    element_of,
)
from cutile_sim.tileir.verify_rules import many_of, names_of, result_of, rule, tile_of

# Rounding, flushing, overflow

_IEEE = (RoundingMode.NEAREST_EVEN, RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF)
_FULL_OR_APPROX = (RoundingMode.FULL, RoundingMode.APPROX)
_ROUNDING: dict[str, tuple[RoundingMode, ...]] = {
    "addf": _IEEE, "subf": _IEEE, "mulf": _IEEE, "fma": _IEEE,
    "divf": (*_IEEE, *_FULL_OR_APPROX), "sqrt": (*_IEEE, RoundingMode.APPROX),
    "exp": _FULL_OR_APPROX, "tanh": _FULL_OR_APPROX,
    "divi": (RoundingMode.ZERO, RoundingMode.NEGATIVE_INF, RoundingMode.POSITIVE_INF),
    "ftoi": (RoundingMode.NEAREST_INT_TO_ZERO,),
}  # fmt: skip


@rule("rounding-mode", *_ROUNDING)
def _rounding_mode(op: Op, module: Module) -> Iterator[str]:
    allowed = _ROUNDING[op.name]
    mode = op.attributes["rounding" if op.name == "divi" else "rounding_mode"]
    if mode not in allowed:
        yield f"rounding mode {mode.name.lower()} is not one of {names_of(*allowed)}"


@rule("approx-f32", "divf", "sqrt", "exp", "tanh")
def _approx_f32(op: Op, module: Module) -> Iterator[str]:
    mode = op.attributes["rounding_mode"]
    special = _FULL_OR_APPROX if op.name == "divf" else (RoundingMode.APPROX,)
    if mode in special and result_of(op).element is not F32:
        yield f"rounding mode {mode.name.lower()} exists only for f32, not for {result_of(op)}"


@rule("flush-f32", "addf", "subf", "mulf", "fma", "divf", "sqrt", "rsqrt", "exp2", "maxf", "minf")
def _flush_f32(op: Op, module: Module) -> Iterator[str]:
    if op.attributes["flush_to_zero"] and result_of(op).element is not F32:
        yield f"flush_to_zero exists only for f32, not for {result_of(op)}"


@rule("divi-unsigned-floor", "divi")
def _unsigned_floor(op: Op, module: Module) -> Iterator[str]:
    rounds_down = op.attributes["rounding"] is RoundingMode.NEGATIVE_INF
    if rounds_down and op.attributes["signedness"] is Signedness.UNSIGNED:
        yield "rounding mode negative_inf is not allowed with unsigned"


@rule("negi-overflow", "negi")
def _negi_overflow(op: Op, module: Module) -> Iterator[str]:
    if op.attributes["overflow"] is IntegerOverflow.NUW:
        yield "the promise of no unsigned wrap is not supported"


# Conversions


@rule("bitcast-width", "bitcast")
def _bitcast_width(op: Op, module: Module) -> Iterator[str]:
    source, result = tile_of(op, "source"), result_of(op)
    if _width_bits(source) != _width_bits(result):
        yield f"{source} and {result} have elements of different widths"


def _width_bits(kind: TileType) -> int:
    # A tf32 has 19 bits as a number, though it is stored in 32.
    return 19 if kind.element is TF32 else element_of(kind).width_bits


@rule("extend-width", "exti")
def _extend_width(op: Op, module: Module) -> Iterator[str]:
    source, result = tile_of(op, "source"), result_of(op)
    if _width_bits(result) <= _width_bits(source):
        yield f"{result} is not wider than {source}"


@rule("truncate-width", "trunci")
def _truncate_width(op: Op, module: Module) -> Iterator[str]:
    source, result = tile_of(op, "source"), result_of(op)
    if _width_bits(result) >= _width_bits(source):
        yield f"{result} is not narrower than {source}"


@rule("convert-rounding", "ftof", "itof")
def _convert_rounding(op: Op, module: Module) -> Iterator[str]:
    source, result, mode = element_of(tile_of(op, "source")), element_of(result_of(op)), op.attributes["rounding_mode"]
    allowed = _conversion_modes(source, result)
    if mode not in allowed:
        yield f"{source} to {result} takes rounding mode {names_of(*allowed)}, not {mode.name.lower()}"


def _conversion_modes(source: ElementType, result: ElementType) -> tuple[RoundingMode, ...]:
    """Read off the compiler's verdict on all pairs of types and modes; the public dialect is behind it."""
    if source.format is None or result.format is None:
        return (RoundingMode.NEAREST_EVEN,)
    if result is F8E8M0FNU:
        return (RoundingMode.ZERO, RoundingMode.POSITIVE_INF)
    if result.width_bits <= 8:
        return (RoundingMode.NEAREST_EVEN,)
    if (source, result) == (F64, F32):
        return _IEEE
    if (source, result) == (F32, TF32):
        return (RoundingMode.NEAREST_EVEN, RoundingMode.ZERO, RoundingMode.NEAREST_AWAY)
    a, b = source.format, result.format
    if b.precision >= a.precision and b.min_exponent <= a.min_exponent and b.max_exponent >= a.max_exponent:
        return (*_IEEE, RoundingMode.NEAREST_AWAY)
    return (RoundingMode.NEAREST_EVEN, RoundingMode.ZERO)


@rule("convert-same", "ftof")
def _convert_same(op: Op, module: Module) -> Iterator[str]:
    if tile_of(op, "source") == result_of(op):
        yield f"converts {result_of(op)} to itself"


@rule("convert-e8m0", "itof")
def _convert_e8m0(op: Op, module: Module) -> Iterator[str]:
    if result_of(op).element is F8E8M0FNU:
        yield "integers do not convert to f8E8M0FNU: convert to another float type first"


# Shapes


@rule("broadcast-shape", "broadcast")
def _broadcast_shape(op: Op, module: Module) -> Iterator[str]:
    source, result = tile_of(op, "source"), result_of(op)
    if any(a not in (1, b) for a, b in zip(source.shape, result.shape, strict=True)):
        yield f"{source} does not broadcast to {result}"


@rule("cat-shape", "cat")
def _cat_shape(op: Op, module: Module) -> Iterator[str]:
    dim, lhs, rhs, result = (
        op.attributes["dim"],
        tile_of(op, "lhs").shape,
        tile_of(op, "rhs").shape,
        result_of(op).shape,
    )
    if dim >= len(lhs):
        yield f"dimension {dim} is not below {len(lhs)}"
    elif (
        result != (*lhs[:dim], lhs[dim] + rhs[dim], *lhs[dim + 1 :])
        or lhs[:dim] + lhs[dim + 1 :] != rhs[:dim] + rhs[dim + 1 :]
    ):
        yield f"{list(lhs)} and {list(rhs)} along dimension {dim} do not make {list(result)}"


@rule("slice-shape", "extract", "insert")
def _slice_shape(op: Op, module: Module) -> Iterator[str]:
    if op.name == "extract":
        whole, part = tile_of(op, "source"), result_of(op)
    else:
        whole, part = tile_of(op, "destination"), tile_of(op, "source")
    if whole.element != part.element:
        yield f"{part} and {whole} have different elements"
    if any(a % b for a, b in zip(whole.shape, part.shape, strict=True)):
        yield f"{whole} cannot be cut into slices of {part}"
    if len(many_of(op, "indices")) != len(whole.shape):
        yield f"{len(many_of(op, 'indices'))} indices are given for {len(whole.shape)} dimensions"


@rule("iota-shape", "iota")
def _iota_shape(op: Op, module: Module) -> Iterator[str]:
    result = result_of(op)
    if len(result.shape) != 1:
        yield f"its result must have one dimension, and is {result}"
    elif result.shape[0] > 1 << _width_bits(result):
        yield f"{result.shape[0]} numbers do not fit in {result.element}"


@rule("pack-shape", "pack", "unpack")
def _pack_shape(op: Op, module: Module) -> Iterator[str]:
    source, result = tile_of(op, "source"), result_of(op)
    if len(source.shape) != 1:
        yield f"its operand must have one dimension, and is {source}"
        return
    if _width_bits(source) == _width_bits(result):
        yield f"{source} and {result} have elements of one width: use bitcast"
    sizes_bits = [element_of(kind).width_bits if kind.element is not TF32 else 32 for kind in (source, result)]
    source_bits, result_bits = sizes_bits[0] * prod(source.shape), sizes_bits[1] * prod(result.shape)
    if source_bits != result_bits or source_bits % 8:
        yield f"{source} has {source_bits} bits, {result} has {result_bits}"


@rule("permutation", "permute")
def _permutation(op: Op, module: Module) -> Iterator[str]:
    source, result, order = tile_of(op, "source").shape, result_of(op).shape, op.attributes["permutation"]
    if len(source) < 2:
        yield f"its operand must have two dimensions or more, and has {len(source)}"
    elif sorted(order) != list(range(len(source))):
        yield f"{list(order)} does not name each of {len(source)} dimensions once"
    elif tuple(source[i] for i in order) != result:
        yield f"{list(source)} in the order {list(order)} is not {list(result)}"


@rule("reshape-size", "reshape")
def _reshape_size(op: Op, module: Module) -> Iterator[str]:
    source, result = tile_of(op, "source"), result_of(op)
    if prod(source.shape) != prod(result.shape):
        yield f"{source} and {result} have different numbers of elements"


# Matrix products

_MMA_ACCUMULATORS: dict[str, tuple[ElementType, ...]] = {
    "f4E2M1FN": (F16, F32), "f8E4M3FN": (F16, F32), "f8E5M2": (F16, F32), "f16": (F16, F32), "bf16": (F32,),
    "tf32": (F32,), "f32": (F32,), "f64": (F64,),
}  # fmt: skip


@rule("mma-shape", "mmaf", "mmai", "mmaf_scaled")
def _mma_shape(op: Op, module: Module) -> Iterator[str]:
    lhs, rhs, acc = (tile_of(op, name).shape for name in ("lhs", "rhs", "acc"))
    if len(lhs) not in (2, 3):
        yield f"its operands must have 2 or 3 dimensions, and have {len(lhs)}"
    elif lhs[:-2] != rhs[:-2] or lhs[:-2] != acc[:-2] or lhs[-1] != rhs[-2] or acc[-2:] != (lhs[-2], rhs[-1]):
        yield f"{list(lhs)} times {list(rhs)} is not {list(acc)}"


@rule("mma-elements", "mmaf")
def _mma_elements(op: Op, module: Module) -> Iterator[str]:
    lhs, acc = element_of(tile_of(op, "lhs")), element_of(tile_of(op, "acc"))
    allowed = _MMA_ACCUMULATORS[lhs.name]
    if acc not in allowed:
        yield f"{lhs} accumulates in {' or '.join(t.name for t in allowed)}, not in {acc}"


@rule("mma-scale", "mmaf_scaled")
def _mma_scale(op: Op, module: Module) -> Iterator[str]:
    lhs, rhs, lhs_scale, rhs_scale = (tile_of(op, name).shape for name in ("lhs", "rhs", "lhs_scale", "rhs_scale"))
    if len(lhs) not in (2, 3):
        return
    if (
        lhs_scale[:-1] != lhs[:-1]
        or rhs_scale[:-2] != rhs[:-2]
        or rhs_scale[-1] != rhs[-1]
        or lhs_scale[-1] != rhs_scale[-2]
    ):
        yield f"scales {list(lhs_scale)} and {list(rhs_scale)} do not fit {list(lhs)} and {list(rhs)}"
        return
    element, scale = element_of(tile_of(op, "lhs")).name, element_of(tile_of(op, "lhs_scale")).name
    allowed = {"f4E2M1FN": {"f8E4M3FN": (16,), "f8E8M0FNU": (16, 32)}}.get(element, {"f8E8M0FNU": (32,)})
    if scale not in allowed:
        yield f"{element} cannot be scaled by {scale}"
    elif lhs[-1] % lhs_scale[-1] or lhs[-1] // lhs_scale[-1] not in allowed[scale]:
        yield f"{element} takes one scale of {scale} for {' or '.join(map(str, allowed[scale]))} elements"
