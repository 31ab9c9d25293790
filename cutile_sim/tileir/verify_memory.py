"""Rules of memory, views, atomics and promises."""

from __future__ import annotations

from collections.abc import Iterator

from cutile_sim.dtypes import BF16, F16, F32, F64, I32, I64
from cutile_sim.optable.encoding import (
    AtomicRMWMode,
    MemoryOrderingSemantics,
    MemoryScope,
)
from cutile_sim.tileir.attributes import Bounded, DivBy, SameElements
from cutile_sim.tileir.core import Module, Op, Value
from cutile_sim.tileir.types import (
    GatherScatterViewType,
    PaddingValue,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
)
from cutile_sim.tileir.verify_rules import many_of, names_of, result_of, rule, tile_of

# Memory

_LOAD_ORDERS = (MemoryOrderingSemantics.WEAK, MemoryOrderingSemantics.RELAXED, MemoryOrderingSemantics.ACQUIRE)
_STORE_ORDERS = (MemoryOrderingSemantics.WEAK, MemoryOrderingSemantics.RELAXED, MemoryOrderingSemantics.RELEASE)
_ATOMIC_ORDERS = tuple(order for order in MemoryOrderingSemantics if order is not MemoryOrderingSemantics.WEAK)
_ORDERS: dict[str, tuple[MemoryOrderingSemantics, ...]] = {
    "load_ptr_tko": _LOAD_ORDERS, "load_view_tko": _LOAD_ORDERS,
    "store_ptr_tko": _STORE_ORDERS, "store_view_tko": _STORE_ORDERS,
    "atomic_cas_tko": _ATOMIC_ORDERS, "atomic_rmw_tko": _ATOMIC_ORDERS,
    "atomic_red_view_tko": (MemoryOrderingSemantics.RELAXED,),
}  # fmt: skip


@rule("memory-order", *_ORDERS)
def _memory_order(op: Op, module: Module) -> Iterator[str]:
    order, allowed = op.attributes["memory_ordering_semantics"], _ORDERS[op.name]
    if order not in allowed:
        yield f"memory order {order.name.lower()} is not one of {names_of(*allowed)}"


@rule("memory-scope", "load_ptr_tko", "load_view_tko", "store_ptr_tko", "store_view_tko")
def _memory_scope(op: Op, module: Module) -> Iterator[str]:
    order, scope = op.attributes["memory_ordering_semantics"], op.attributes["memory_scope"]
    if order is MemoryOrderingSemantics.WEAK and scope is not None:
        yield "a weak access must have no memory scope"
    if order is not MemoryOrderingSemantics.WEAK and scope is None:
        yield f"a {order.name.lower()} access needs a memory scope"


@rule("pointee", "load_ptr_tko", "store_ptr_tko", "atomic_cas_tko", "atomic_rmw_tko", "make_tensor_view", "get_global")
def _pointee(op: Op, module: Module) -> Iterator[str]:
    names = {"load_ptr_tko": "source", "store_ptr_tko": "destination", "make_tensor_view": "base"}
    pointer = (result_of(op) if op.name == "get_global" else tile_of(op, names.get(op.name, "pointers"))).element
    assert isinstance(pointer, PointerType)
    if op.name == "get_global":
        known = module.globals.get(op.attributes["name"])
        if known is None or not isinstance(known.type, TileType):
            yield f"there is no global {op.attributes['name']}"
            return
        element = known.type.element
    elif op.name == "make_tensor_view":
        view = op.results[0].type
        assert isinstance(view, TensorViewType)
        element = view.element
    else:
        values = {"store_ptr_tko": "value", "atomic_cas_tko": "val", "atomic_rmw_tko": "arg"}
        element = (result_of(op) if op.name == "load_ptr_tko" else tile_of(op, values[op.name])).element
    if element != pointer.pointee:
        yield f"{pointer} does not point to {element}"


@rule("padding-type", "load_ptr_tko")
def _padding_type(op: Op, module: Module) -> Iterator[str]:
    if op.operands["padding_value"] is not None and tile_of(op, "padding_value") != result_of(op):
        yield f"the padding is {tile_of(op, 'padding_value')}, the result {result_of(op)}"


@rule("alignment", "alloca")
def _alignment(op: Op, module: Module) -> Iterator[str]:
    alignment_bytes = op.attributes["alignment"]
    pointer = result_of(op).element
    assert isinstance(pointer, PointerType)
    if alignment_bytes < 1 or alignment_bytes & (alignment_bytes - 1):
        yield f"alignment {alignment_bytes} is not a power of two"
    elif alignment_bytes < pointer.pointee.width_bits // 8:
        yield f"alignment {alignment_bytes} is less than the size of {pointer.pointee}"


@rule("tokens", "join_tokens")
def _tokens(op: Op, module: Module) -> Iterator[str]:
    if len(many_of(op, "tokens")) < 2:
        yield "it needs two tokens or more"


# Views


@rule("view-of", "make_partition_view", "make_strided_view", "make_gather_scatter_view")
def _view_of(op: Op, module: Module) -> Iterator[str]:
    tensor, view = op.inputs[0].type, op.results[0].type
    assert isinstance(view, PartitionViewType | StridedViewType | GatherScatterViewType)
    if view.tensor != tensor:
        yield f"the view is of {view.tensor}, the operand {tensor}"


@rule("dynamic-sizes", "make_tensor_view")
def _dynamic_sizes(op: Op, module: Module) -> Iterator[str]:
    view = op.results[0].type
    assert isinstance(view, TensorViewType)
    for name, sizes in (("dynamic_shape", view.shape), ("dynamic_strides", view.strides)):
        if len(many_of(op, name)) != sizes.count(None):
            yield f"{len(many_of(op, name))} values are given as {name} where {view} needs {sizes.count(None)}"
    if len({value.type for value in (*many_of(op, "dynamic_shape"), *many_of(op, "dynamic_strides"))}) > 1:
        yield "dynamic sizes and strides must all be of one type"


@rule("space-rank", "get_tensor_shape", "get_index_space_shape")
def _space_rank(op: Op, module: Module) -> Iterator[str]:
    source = op.inputs[0].type
    assert not isinstance(source, TileType)
    rank = len(source.shape) if isinstance(source, TensorViewType) else len(getattr(source, "tile_shape", ()))
    if len(op.results) != rank:
        yield f"it gives {len(op.results)} sizes for {rank} dimensions"


@rule("view-access", "load_view_tko", "store_view_tko", "atomic_red_view_tko")
def _view_access(op: Op, module: Module) -> Iterator[str]:
    view = op.operands["view"]
    assert isinstance(view, Value)
    kind = view.type
    assert isinstance(kind, PartitionViewType | StridedViewType | GatherScatterViewType)
    names = {"store_view_tko": "tile", "atomic_red_view_tko": "value"}
    tile = tile_of(op, names[op.name]) if op.name in names else result_of(op)
    due = TileType(kind.tensor.element, kind.tile_shape)
    if tile != due:
        yield f"the tile is {tile} where the view has {due}"
    indices = many_of(op, "index")
    if len(indices) != len(kind.tile_shape):
        yield f"{len(indices)} indices are given for {len(kind.tile_shape)} dimensions"
        return
    scalars = list(indices)
    if isinstance(kind, GatherScatterViewType) and kind.sparse_dim < len(indices):
        sparse = scalars.pop(kind.sparse_dim).type
        assert isinstance(sparse, TileType)
        if sparse.shape != (kind.tile_shape[kind.sparse_dim],):
            yield f"the sparse index is {sparse} where {kind.tile_shape[kind.sparse_dim]} lanes are needed"
    if any(isinstance(value.type, TileType) and value.type.shape for value in scalars):
        yield "an index that is not sparse must be a scalar"
    elif len({value.type for value in scalars}) > 1:
        yield "the indices must all be of one type"


@rule("inbounds", "load_view_tko", "store_view_tko", "atomic_red_view_tko")
def _inbounds(op: Op, module: Module) -> Iterator[str]:
    given, rank = len(op.attributes["inbounds"]), len(many_of(op, "index"))
    if given not in (0, rank):
        yield f"{given} inbounds flags are given for {rank} dimensions"


# Atomics

_INTEGER_MODES = frozenset(AtomicRMWMode) - {AtomicRMWMode.ADDF, AtomicRMWMode.XCHG}


@rule("atomic-mode", "atomic_rmw_tko", "atomic_red_view_tko")
def _atomic_mode(op: Op, module: Module) -> Iterator[str]:
    mode = op.attributes["mode"]
    element = tile_of(op, "arg" if op.name == "atomic_rmw_tko" else "value").element
    if mode in _INTEGER_MODES and element not in (I32, I64):
        yield f"mode {mode.name.lower()} needs i32 or i64, not {element}"
    elif mode is AtomicRMWMode.ADDF and element not in (F16, BF16, F32, F64):
        yield f"mode addf needs f16, bf16, f32 or f64, not {element}"
    elif mode is AtomicRMWMode.XCHG and element not in (I32, I64, F32, F64):
        yield f"mode xchg needs elements of 32 or 64 bits, not {element}"


@rule("cas-element", "atomic_cas_tko")
def _cas_element(op: Op, module: Module) -> Iterator[str]:
    element = tile_of(op, "val").element
    if element not in (I32, I64, F32, F64):
        yield f"it needs elements of 32 or 64 bits, not {element}"


@rule("reduction-view", "atomic_red_view_tko")
def _reduction_view(op: Op, module: Module) -> Iterator[str]:
    view = op.operands["view"]
    assert isinstance(view, Value)
    kind = view.type
    if isinstance(kind, GatherScatterViewType):
        yield "a gather/scatter view is not supported: use a partition view"
    elif isinstance(kind, PartitionViewType | StridedViewType) and kind.padding is not PaddingValue.MISSING:
        yield "a view with padding is not supported"
    if op.attributes["mode"] is AtomicRMWMode.XCHG:
        yield "mode xchg is not supported"
    if op.attributes["memory_scope"] is MemoryScope.SYS:
        yield "memory scope sys is not supported: use device"


# Promises


@rule("assume", "assume")
def _assume(op: Op, module: Module) -> Iterator[str]:
    kind, predicate = op.results[0].type, op.attributes["predicate"]
    tile = kind if isinstance(kind, TileType) else None
    if tile is not None and not isinstance(tile.element, PointerType) and tile.element.is_float:
        yield f"a promise of {type(predicate).__name__} is about integers and pointers, not {tile}"
    elif isinstance(predicate, DivBy):
        yield from _div_by(predicate, tile, isinstance(kind, TensorViewType))
    elif tile is None:
        yield f"a promise of {type(predicate).__name__} is about tiles, not {kind}"
    elif isinstance(predicate, SameElements):
        values = predicate.values
        if len(values) != len(tile.shape) or any(not 0 <= v <= n for v, n in zip(values, tile.shape, strict=False)):
            yield f"same_elements {list(values)} does not fit {tile}"
    elif isinstance(predicate, Bounded):
        yield from _bounded(predicate, tile)
    else:
        yield f"{predicate!r} is no promise"


def _div_by(predicate: DivBy, tile: TileType | None, is_tensor: bool) -> Iterator[str]:
    divisor, every, along = predicate.divisor, predicate.every, predicate.along
    if divisor < 1 or divisor & (divisor - 1) or divisor > 1 << 62:
        yield f"the divisor {divisor} is not a power of two up to 2**62"
    if (every is None) != (along is None):
        yield "every and along go together"
    elif tile is None and not is_tensor:
        yield "div_by is about integers, pointers and tensor views"
    elif every is not None and along is not None:
        fits = tile is not None and 0 <= along < len(tile.shape) and 0 <= every <= tile.shape[along]
        if not fits:
            yield f"every {every} along {along} does not fit {tile or 'a tensor view'}"


def _bounded(predicate: Bounded, tile: TileType) -> Iterator[str]:
    if isinstance(tile.element, PointerType):
        yield "bounds are about integers, not pointers"
        return
    half = 1 << (tile.element.width_bits - 1)
    bounds = [b for b in (predicate.lower, predicate.upper) if b is not None]
    if any(not -half <= b < half for b in bounds):
        yield f"bounds {bounds} do not fit {tile.element}"
    elif len(bounds) == 2 and bounds[0] > bounds[1]:
        yield f"the lower bound {bounds[0]} is above the upper bound {bounds[1]}"
