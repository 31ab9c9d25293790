"""What types the operands and results of each operation may have, and which of them must agree.

One row an operation: the element types of each operand and result by name, then the groups that must agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cutile_sim.dtypes import (
    BF16,
    F4E2M1FN,
    F8E4M3FN,
    F8E5M2,
    F8E5M3FNU,
    F8E8M0FNU,
    F16,
    F32,
    F64,
    I1,
    I4,
    I8,
    I16,
    I32,
    I64,
    TF32,
    ElementType,
)  # fmt: skip
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import (
    GatherScatterViewType,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
)


@dataclass(frozen=True)
class Kind:
    """A set of types: tiles of some elements, perhaps scalars only, or other classes of types."""

    name: str
    elements: frozenset[ElementType] = frozenset()
    pointers: bool = False
    scalar: bool = False
    classes: tuple[type, ...] = ()

    def holds(self, kind: Type) -> bool:
        if not isinstance(kind, TileType):
            return isinstance(kind, self.classes)
        if self.scalar and kind.shape:
            return False
        return self.pointers if isinstance(kind.element, PointerType) else kind.element in self.elements


def _tiles(name: str, *elements: ElementType) -> Kind:
    return Kind(name, frozenset(elements))


_INTEGERS = (I1, I8, I16, I32, I64)
_FLOATS = (F16, BF16, F32, F64)
_ALL_FLOATS = (*_FLOATS, TF32, F8E4M3FN, F8E5M2, F8E8M0FNU, F8E5M3FNU, F4E2M1FN)
INT = _tiles("a tile of integers", *_INTEGERS)
FLOAT = _tiles("a tile of f16, bf16, f32 or f64", *_FLOATS)
ANY_FLOAT = _tiles("a tile of floats", *_ALL_FLOATS)
NUMBER = _tiles("a tile of numbers", *_INTEGERS, *_ALL_FLOATS)
PACKED = _tiles("a tile of numbers", *_INTEGERS, I4, *_ALL_FLOATS)
ANY_INT = _tiles("a tile of integers", *_INTEGERS, I4)
BOOL, BYTES, INT32, INT64 = (_tiles(f"a tile of {t}", t) for t in (I1, I8, I32, I64))
POINTER = Kind("a tile of pointers", pointers=True)
TILE = Kind("a tile", frozenset((*_INTEGERS, I4, *_ALL_FLOATS)), pointers=True)
SCALAR_INT = Kind("an integer scalar", frozenset(_INTEGERS), scalar=True)
SCALAR_I32 = Kind("an i32 scalar", frozenset((I32,)), scalar=True)
SCALAR_BOOL = Kind("an i1 scalar", frozenset((I1,)), scalar=True)
SCALAR_POINTER = Kind("a scalar pointer", pointers=True, scalar=True)
TOKEN = Kind("a token", classes=(TokenType,))
TENSOR = Kind("a tensor view", classes=(TensorViewType,))
VIEW = Kind("a view of tiles", classes=(PartitionViewType, StridedViewType, GatherScatterViewType))
_MMA_INPUT = _tiles("a tile of f16, bf16, f32, f64, tf32, f8E4M3FN, f8E5M2 or f4E2M1FN",
                    F16, BF16, F32, F64, TF32, F8E4M3FN, F8E5M2, F4E2M1FN)  # fmt: skip
_MMA_RESULT = _tiles("a tile of f16, f32 or f64", F16, F32, F64)
_SCALED_INPUT = _tiles("a tile of f8E4M3FN, f8E5M2 or f4E2M1FN", F8E4M3FN, F8E5M2, F4E2M1FN)
_SCALE = _tiles("a tile of f8E8M0FNU or f8E4M3FN", F8E8M0FNU, F8E4M3FN, F8E5M3FNU)


@dataclass(frozen=True)
class Row:
    """Kinds by operand or result name, and groups of names whose types, shapes, elements or ranks must
    agree.
    """

    kinds: dict[str, Kind]
    same_type: tuple[tuple[str, ...], ...] = ()
    same_shape: tuple[tuple[str, ...], ...] = ()
    same_element: tuple[tuple[str, ...], ...] = ()
    same_rank: tuple[tuple[str, ...], ...] = ()


def _alike(kind: Kind, *names: str) -> Row:
    """All of one type."""
    return Row(dict.fromkeys(names, kind), same_type=(names,))


def _unary(kind: Kind) -> Row:
    return _alike(kind, "source", "result")


def _binary(kind: Kind) -> Row:
    return _alike(kind, "lhs", "rhs", "result")


def _convert(source: Kind, result: Kind) -> Row:
    return Row({"source": source, "result": result}, same_shape=(("source", "result"),))


_TOKENS = {"token": TOKEN, "result_token": TOKEN}
_VIEW_ACCESS = {"view": VIEW, "index": INT} | _TOKENS

ROWS: dict[str, Row] = (
    {name: _unary(FLOAT) for name in (
        "absf", "ceil", "cos", "cosh", "exp", "exp2", "floor", "log", "log2", "negf", "rsqrt", "sin", "sinh", "sqrt",
        "tan", "tanh",
    )}
    | {name: _binary(FLOAT) for name in ("addf", "divf", "maxf", "minf", "mulf", "remf", "subf")}
    | {name: _binary(INT) for name in (
        "addi", "andi", "divi", "maxi", "mini", "muli", "ori", "remi", "shli", "shri", "subi", "xori",
    )}
    | {
        "absi": _unary(INT),
        "negi": _unary(INT),
        "mulhii": _alike(INT, "x", "y", "result"),
        "atan2": _alike(FLOAT, "x", "y", "result"),
        "pow": _alike(FLOAT, "source", "exponent", "result"),
        "fpowi": Row(
            {"source": FLOAT, "exponent": _tiles("a tile of i1, i8, i16 or i32", I1, I8, I16, I32), "result": FLOAT},
            same_type=(("source", "result"),), same_shape=(("source", "exponent"),),
        ),
        "fma": _alike(FLOAT, "lhs", "rhs", "acc", "result"),
        "cmpf": Row({"lhs": FLOAT, "rhs": FLOAT, "result": BOOL}, (("lhs", "rhs"),), (("lhs", "result"),)),
        "cmpi": Row({"lhs": INT, "rhs": INT, "result": BOOL}, (("lhs", "rhs"),), (("lhs", "result"),)),
        "bitcast": _convert(NUMBER, NUMBER),
        "exti": _convert(ANY_INT, ANY_INT),
        "trunci": _convert(ANY_INT, ANY_INT),
        "ftof": _convert(ANY_FLOAT, ANY_FLOAT),
        "ftoi": _convert(ANY_FLOAT, INT),
        "itof": _convert(INT, ANY_FLOAT),
        "int_to_ptr": _convert(INT64, POINTER),
        "ptr_to_int": _convert(POINTER, INT64),
        "ptr_to_ptr": _convert(POINTER, POINTER),
        "broadcast": Row({"source": TILE, "result": TILE}, same_element=(("source", "result"),),
                         same_rank=(("source", "result"),)),
        "cat": Row({"lhs": TILE, "rhs": TILE, "result": TILE}, same_element=(("lhs", "rhs", "result"),),
                   same_rank=(("lhs", "rhs", "result"),)),
        "constant": Row({"result": NUMBER}),
        "extract": Row({"source": TILE, "indices": SCALAR_I32, "result": TILE}, same_rank=(("source", "result"),)),
        "insert": Row({"source": TILE, "destination": TILE, "indices": SCALAR_I32, "result": TILE},
                      same_type=(("destination", "result"),), same_rank=(("source", "destination"),)),
        "iota": Row({"result": INT}),
        "pack": Row({"source": PACKED, "result": BYTES}, same_rank=(("source", "result"),)),
        "unpack": Row({"source": BYTES, "result": PACKED}, same_rank=(("source", "result"),)),
        "permute": Row({"source": TILE, "result": TILE}, same_element=(("source", "result"),),
                       same_rank=(("source", "result"),)),
        "reshape": Row({"source": TILE, "result": TILE}, same_element=(("source", "result"),)),
        "select": Row({"cond": BOOL, "val_if_true": TILE, "val_if_false": TILE, "result": TILE},
                      (("val_if_true", "val_if_false", "result"),), (("cond", "result"),)),
        "mmaf": Row({"lhs": _MMA_INPUT, "rhs": _MMA_INPUT, "acc": _MMA_RESULT, "result": _MMA_RESULT},
                    (("acc", "result"),), same_element=(("lhs", "rhs"),), same_rank=(("lhs", "rhs", "acc"),)),
        "mmaf_scaled": Row(
            {"lhs": _SCALED_INPUT, "rhs": _SCALED_INPUT, "acc": _tiles("a tile of f32", F32),
             "lhs_scale": _SCALE, "rhs_scale": _SCALE},
            (("acc", "result"),), same_element=(("lhs", "rhs"), ("lhs_scale", "rhs_scale")),
            same_rank=(("lhs", "rhs", "acc", "lhs_scale", "rhs_scale"),),
        ),
        "mmai": Row({"lhs": BYTES, "rhs": BYTES, "acc": INT32, "result": INT32}, (("acc", "result"),),
                    same_rank=(("lhs", "rhs", "acc"),)),
        "reduce": Row({"operands": TILE, "results": TILE}, same_shape=(("operands",),)),
        "scan": Row({"operands": TILE, "results": TILE}, same_shape=(("operands",),)),
        "alloca": Row({"result": SCALAR_POINTER}),
        "get_global": Row({"result": SCALAR_POINTER}),
        "offset": Row({"ptr": POINTER, "offset": INT, "result": POINTER}, (("ptr", "result"),), (("ptr", "offset"),)),
        "make_token": Row({"result": TOKEN}),
        "join_tokens": Row({"tokens": TOKEN, "result": TOKEN}),
        "load_ptr_tko": Row({"source": POINTER, "mask": BOOL, "padding_value": NUMBER, "result": TILE} | _TOKENS,
                            same_shape=(("source", "mask", "padding_value", "result"),)),
        "store_ptr_tko": Row({"destination": POINTER, "value": TILE, "mask": BOOL} | _TOKENS,
                             same_shape=(("destination", "value", "mask"),)),
        "atomic_cas_tko": Row({"pointers": POINTER, "cmp": TILE, "val": TILE, "mask": BOOL, "result": TILE} | _TOKENS,
                              (("cmp", "val", "result"),), (("pointers", "val", "mask"),)),
        "atomic_rmw_tko": Row({"pointers": POINTER, "arg": TILE, "mask": BOOL, "result": TILE} | _TOKENS,
                              (("arg", "result"),), (("pointers", "arg", "mask"),)),
        "atomic_red_view_tko": Row({"value": TILE} | _VIEW_ACCESS),
        "load_view_tko": Row({"tile": TILE} | _VIEW_ACCESS),
        "store_view_tko": Row({"tile": TILE} | _VIEW_ACCESS),
        "make_tensor_view": Row({"base": SCALAR_POINTER, "dynamic_shape": SCALAR_INT, "dynamic_strides": SCALAR_INT,
                                 "result": TENSOR}),
        "make_partition_view": Row(
            {"tensor_view": TENSOR, "result": Kind("a partition view", classes=(PartitionViewType,))}
        ),
        "make_strided_view": Row({"tensor_view": TENSOR, "result": Kind("a strided view", classes=(StridedViewType,))}),
        "make_gather_scatter_view": Row(
            {"tensor_view": TENSOR, "result": Kind("a gather/scatter view", classes=(GatherScatterViewType,))}
        ),
        "get_tensor_shape": Row({"src": TENSOR, "results": SCALAR_INT}, (("results",),)),
        "get_index_space_shape": Row({"src": VIEW, "results": SCALAR_INT}, (("results",),)),
        "get_tile_block_id": Row({f"block_id_{axis}": SCALAR_I32 for axis in "xyz"}),
        "get_num_tile_blocks": Row({f"grid_size_{axis}": SCALAR_I32 for axis in "xyz"}),
        "for": Row({"lower_bound": SCALAR_INT, "upper_bound": SCALAR_INT, "step": SCALAR_INT},
                   (("lower_bound", "upper_bound", "step"),)),
        "if": Row({"condition": SCALAR_BOOL}),
        "assert": Row({"condition": BOOL}),
        "assume": Row({}, (("value", "result"),)),
        "print_tko": Row({"args": TILE} | _TOKENS),
    }
)  # fmt: skip


def operand_errors(op: Op) -> Iterator[str]:
    """What is wrong with the types of an operation's operands and results."""
    row = ROWS.get(op.name)
    if row is None:
        return
    values = named_values(op)
    for name, kind in row.kinds.items():
        for value in values.get(name, ()):
            if not kind.holds(value.type):
                yield f"{name} must be {kind.name}, and is {value.type}"
    for groups, what, of in (
        (row.same_type, "type", lambda kind: kind),
        (row.same_shape, "shape", lambda kind: kind.shape),
        (row.same_element, "element type", lambda kind: kind.element),
        (row.same_rank, "rank", lambda kind: len(kind.shape)),
    ):
        for group in groups:
            types = [value.type for name in group for value in values.get(name, ())]
            if what != "type":
                types = [kind for kind in types if isinstance(kind, TileType)]
            if any(of(kind) != of(types[0]) for kind in types[1:]):
                shown = ", ".join(map(str, types))
                yield f"{', '.join(group)} must have the same {what}: {shown}"


def named_values(op: Op) -> dict[str, tuple[Value, ...]]:
    """Operands and results by name; an absent one has no values."""
    values: dict[str, tuple[Value, ...]] = {}
    for name, value in op.operands.items():
        values[name] = value if isinstance(value, tuple) else (value,) if value is not None else ()
    encoding = op.spec.encoding
    if encoding.results_variadic:
        values[encoding.results[0]] = op.results
    else:
        values |= {name: (value,) for name, value in zip(encoding.results, op.results, strict=False)}
    return values
