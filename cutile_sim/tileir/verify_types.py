"""Which types are valid. The rules are those of the cuda_tile dialect's type verifiers."""

from __future__ import annotations

from collections.abc import Iterator

from cutile_sim.dtypes import F4E2M1FN, ElementType
from cutile_sim.tileir.sections import MAX_TILE_ELEMENTS
from cutile_sim.tileir.types import (
    GatherScatterViewType,
    PaddingValue,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    Type,
    ViewType,
)

Finding = tuple[str, str]


def type_errors(kind: Type) -> Iterator[Finding]:
    """The rules that a type breaks, as (rule, text)."""
    match kind:
        case TileType():
            yield from tile_errors(kind.shape, kind.element)
        case TensorViewType():
            yield from _tensor_errors(kind)
        case PartitionViewType() | StridedViewType() | GatherScatterViewType():
            yield from _tensor_errors(kind.tensor)
            yield from _view_errors(kind)


def tile_errors(shape: tuple[int, ...], element: ElementType | PointerType) -> Iterator[Finding]:
    """The rules that a tile of that shape breaks."""
    if element is F4E2M1FN and all(n % 2 for n in shape):
        yield "tile-f4-even", "a tile of f4E2M1FN needs an even number of elements"
    if any(n & (n - 1) or n < 1 for n in shape):
        yield "tile-power-of-two", "all sizes must be powers of two"
    size = 1
    for n in shape:
        size *= n
    if size > MAX_TILE_ELEMENTS:
        yield "tile-size", f"it has {size} elements, more than {MAX_TILE_ELEMENTS}"


def _tensor_errors(kind: TensorViewType) -> Iterator[Finding]:
    if any(n is not None and n < 1 for n in kind.shape):
        yield "tensor-shape", "its known sizes must be positive"
    if any(n is not None and n < 1 for n in kind.strides):
        yield "tensor-strides", "its known strides must be positive"


def _view_errors(kind: ViewType) -> Iterator[Finding]:
    rank = len(kind.tensor.shape)
    tile_rank = len(kind.tile_shape)
    if not tile_rank:
        yield "view-rank-0", "a view of tiles without dimensions is not supported"
        return
    if tile_rank != rank:
        yield "view-rank", f"its tiles have {tile_rank} dimensions, the tensor {rank}"
        return
    yield from tile_errors(kind.tile_shape, kind.tensor.element)
    if isinstance(kind, GatherScatterViewType):
        if kind.sparse_dim >= rank:
            yield "view-sparse-dim", f"the sparse dimension {kind.sparse_dim} is not below {rank}"
    elif sorted(kind.dim_map) != list(range(rank)):
        yield "view-dim-map", f"its dimension map {list(kind.dim_map)} does not name each of {rank} dimensions once"
    if isinstance(kind, StridedViewType):
        strides = kind.traversal_strides
        if len(strides) != tile_rank or any(n < 1 for n in strides):
            yield "view-traversal", f"its traversal strides {list(strides)} must be {tile_rank} positive numbers"
    if kind.padding not in (PaddingValue.MISSING, PaddingValue.ZERO) and not kind.tensor.element.is_float:
        yield "view-padding", f"padding {kind.padding.name.lower()} needs floating-point elements"
