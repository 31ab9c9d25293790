"""The types of Tile IR values. Frozen, compared by content; `str()` prints them as the disassembler does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from cutile_sim.dtypes import ElementType


class PaddingValue(Enum):
    """What a view yields outside its tensor. `MISSING`: anything (the lanes are undetermined)."""

    MISSING = None
    ZERO = 0
    NEG_ZERO = 1
    NAN = 2
    POS_INF = 3
    NEG_INF = 4


@dataclass(frozen=True)
class PointerType:
    """A pointer to elements of one type; tiles of pointers hold virtual byte addresses (int64)."""

    pointee: ElementType

    def __str__(self) -> str:
        return f"ptr<{self.pointee.name}>"


@dataclass(frozen=True)
class TileType:
    """A tile: `shape` is () for a scalar."""

    element: ElementType | PointerType
    shape: tuple[int, ...]

    def __str__(self) -> str:
        name = self.element.name if isinstance(self.element, ElementType) else str(self.element)
        return "tile<" + "".join(f"{n}x" for n in self.shape) + name + ">"


def element_of(kind: TileType) -> ElementType:
    """The element type of a tile of numbers."""
    assert isinstance(kind.element, ElementType)
    return kind.element


@dataclass(frozen=True)
class TokenType:
    """Orders memory operations; carries no data."""

    def __str__(self) -> str:
        return "token"


def _dims(dims: tuple[int | None, ...], separator: str) -> str:
    return separator.join("?" if n is None else str(n) for n in dims)


def _tile(shape: tuple[int, ...]) -> str:
    return f"tile=({_dims(shape, 'x')}), "


def _padding(padding: PaddingValue) -> str:
    return "" if padding is PaddingValue.MISSING else f"padding_value = {padding.name.lower()}, "


def _map(dim_map: tuple[int, ...]) -> str:
    if dim_map == tuple(range(len(dim_map))):
        return ""
    return f", dim_map=[{', '.join(map(str, dim_map))}]"


@dataclass(frozen=True)
class TensorViewType:
    """An array in memory: element type, shape and strides in elements; None marks a size known at run
    time.
    """

    element: ElementType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...]
    pointer_attr: int | None = None

    def __str__(self) -> str:
        shape = "".join("?x" if n is None else f"{n}x" for n in self.shape)
        strides = f", strides=[{_dims(self.strides, ',')}]" if self.strides else ""
        return f"tensor_view<{shape}{self.element.name}{strides}>"


@dataclass(frozen=True)
class PartitionViewType:
    """A tensor cut into tiles of one shape. Tile dimension i runs along tensor dimension `dim_map[i]`."""

    tile_shape: tuple[int, ...]
    tensor: TensorViewType
    dim_map: tuple[int, ...]
    padding: PaddingValue

    @property
    def pitches(self) -> tuple[int, ...]:
        """Elements from one tile to the next along each tile dimension."""
        return self.tile_shape

    def __str__(self) -> str:
        return f"partition_view<{_tile(self.tile_shape)}{_padding(self.padding)}{self.tensor}{_map(self.dim_map)}>"


@dataclass(frozen=True)
class StridedViewType:
    """Like a partition, but tile i starts `traversal_strides[d] * i` elements along, so tiles may overlap
    or leave gaps.
    """

    tile_shape: tuple[int, ...]
    traversal_strides: tuple[int, ...]
    tensor: TensorViewType
    dim_map: tuple[int, ...]
    padding: PaddingValue

    @property
    def pitches(self) -> tuple[int, ...]:
        """Elements from one tile to the next along each tile dimension."""
        return self.traversal_strides

    def __str__(self) -> str:
        strides = f"traversal_strides=[{_dims(self.traversal_strides, ',')}], "
        padding, dim_map = _padding(self.padding), _map(self.dim_map)
        return f"strided_view<{_tile(self.tile_shape)}{strides}{padding}{self.tensor}{dim_map}>"


@dataclass(frozen=True)
class GatherScatterViewType:
    """Tiles whose positions along `sparse_dim` are given lane by lane; dense along the others."""

    tile_shape: tuple[int, ...]
    tensor: TensorViewType
    sparse_dim: int
    padding: PaddingValue

    @property
    def pitches(self) -> tuple[int, ...]:
        """Elements from one tile to the next along each tile dimension but the sparse one."""
        return self.tile_shape

    def __str__(self) -> str:
        padding = _padding(self.padding)
        return f"gather_scatter_view<{_tile(self.tile_shape)}{padding}{self.tensor}, sparse_dim={self.sparse_dim}>"


@dataclass(frozen=True)
class FunctionType:
    """Parameter and result types of a function."""

    parameters: tuple[Type, ...]
    results: tuple[Type, ...]

    def __str__(self) -> str:
        parameters, results = (", ".join(map(str, types)) for types in (self.parameters, self.results))
        return f"({parameters}) -> ({results})"


ViewType = PartitionViewType | StridedViewType | GatherScatterViewType
Type = (
    ElementType | PointerType | TileType | TokenType | TensorViewType | PartitionViewType | StridedViewType
    | GatherScatterViewType | FunctionType
)  # fmt: skip
