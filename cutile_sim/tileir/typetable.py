"""The table of types of a bytecode file."""

from __future__ import annotations

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
from cutile_sim.tileir.reader import Reader
from cutile_sim.tileir.types import (
    FunctionType,
    GatherScatterViewType,
    PaddingValue,
    PartitionViewType,
    PointerType,
    StridedViewType,
    TensorViewType,
    TileType,
    TokenType,
    Type,
)

_SIMPLE: dict[int, tuple[Type, tuple[int, int]]] = {
    0x00: (I1, (13, 1)), 0x01: (I8, (13, 1)), 0x02: (I16, (13, 1)), 0x03: (I32, (13, 1)), 0x04: (I64, (13, 1)),
    0x05: (F16, (13, 1)), 0x06: (BF16, (13, 1)), 0x07: (F32, (13, 1)), 0x08: (TF32, (13, 1)), 0x09: (F64, (13, 1)),
    0x0A: (F8E4M3FN, (13, 1)), 0x0B: (F8E5M2, (13, 1)), 0x11: (TokenType(), (13, 1)), 0x12: (F8E8M0FNU, (13, 2)),
    0x13: (F4E2M1FN, (13, 3)), 0x16: (I4, (13, 3)), 0x82: (F8E5M3FNU, (13, 4)),
}  # fmt: skip
_POINTER, _TILE, _TENSOR_VIEW, _PARTITION_VIEW, _FUNCTION, _GATHER_SCATTER_VIEW, _STRIDED_VIEW = (
    0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x14, 0x15,
)  # fmt: skip
_SINCE_13_3 = {_GATHER_SCATTER_VIEW, _STRIDED_VIEW}

_DYNAMIC = -(1 << 63)
# A function of views of tensors of elements: no type of the format nests deeper.
_MAX_NESTING = 4
ValueType = (TileType, TokenType, TensorViewType, PartitionViewType, StridedViewType, GatherScatterViewType)


class TypeTable:
    """Types by number. They are decoded when first asked for, since they may refer to one another in any
    order.
    """

    def __init__(self, version: tuple[int, int], reader: Reader | None, bounds: list[tuple[int, int]]) -> None:
        self._version = version
        self._reader = reader
        self._bounds = bounds
        self._types: dict[int, Type] = {}

    def __len__(self) -> int:
        return len(self._bounds)

    def read(self, reader: Reader) -> Type:
        """The type whose number comes next in `reader`."""
        return self._get(reader.varint(), reader, 0)

    def read_value_type(self, reader: Reader) -> Type:
        """Like `read`, for a type that an SSA value can have."""
        at = reader.position
        kind = self._get(reader.varint(), reader, 0)
        if not isinstance(kind, ValueType):
            raise reader.fail(f"no value can have type {kind}", at=at)
        return kind

    def _get(self, number: int, reader: Reader, depth: int) -> Type:
        known = self._types.get(number)
        if known is not None:
            return known
        if number >= len(self._bounds):
            raise reader.fail(f"type {number} does not exist: there are {len(self._bounds)}")
        if depth > _MAX_NESTING:
            raise reader.fail("types are nested without end")
        assert self._reader is not None
        item = self._reader.part(*self._bounds[number])
        kind = self._decode(item, depth + 1)
        item.finish()
        self._types[number] = kind
        return kind

    def _decode(self, item: Reader, depth: int) -> Type:
        at = item.position
        tag = item.varint()
        if tag in _SIMPLE:
            kind, since = _SIMPLE[tag]
            self._check_since(item, f"type {kind}", since)
            return kind
        if tag in _SINCE_13_3:
            self._check_since(item, f"the view type {tag:#x}", (13, 3))
        if tag == _POINTER:
            if self._version >= (13, 4) and item.varint() & 1:
                # The only pointer attribute there is ("default") says no more than its absence.
                pointee = self._element(item, depth)
                item.byte()
                return PointerType(pointee)
            return PointerType(self._element(item, depth))
        if tag == _TILE:
            element = self._get(item.varint(), item, depth)
            if not isinstance(element, ElementType | PointerType):
                raise item.fail(f"a tile cannot hold {element}", at=at)
            return TileType(element, _sizes(item, item.integers(8)))
        if tag == _TENSOR_VIEW:
            return self._tensor_view(item, depth)
        if tag in (_PARTITION_VIEW, _GATHER_SCATTER_VIEW, _STRIDED_VIEW):
            return self._view(tag, item, depth)
        if tag == _FUNCTION:
            parameters = tuple(self._value(item, depth) for _ in range(item.count()))
            return FunctionType(parameters, tuple(self._value(item, depth) for _ in range(item.count())))
        raise item.fail(f"type tag {tag:#x} is unknown: the file is damaged or newer", at=at)

    def _check_since(self, item: Reader, what: str, since: tuple[int, int]) -> None:
        if self._version < since:
            raise item.fail(f"{what} exists only since version {since[0]}.{since[1]}")

    def _element(self, item: Reader, depth: int) -> ElementType:
        kind = self._get(item.varint(), item, depth)
        if not isinstance(kind, ElementType):
            raise item.fail(f"memory cannot hold elements of type {kind}")
        return kind

    def _value(self, item: Reader, depth: int) -> Type:
        kind = self._get(item.varint(), item, depth)
        if not isinstance(kind, ValueType):
            raise item.fail(f"no parameter or result can have type {kind}")
        return kind

    def _tensor_view(self, item: Reader, depth: int) -> TensorViewType:
        flags = item.varint() if self._version >= (13, 4) else 0
        element = self._element(item, depth)
        shape, strides = (tuple(None if n == _DYNAMIC else n for n in item.integers(8)) for _ in range(2))
        if any(n is not None and n < 0 for n in shape + strides):
            raise item.fail("a tensor view has a negative size or stride")
        if len(shape) != len(strides):
            raise item.fail(f"a tensor view has {len(shape)} sizes but {len(strides)} strides")
        return TensorViewType(element, shape, strides, item.byte() if flags & 1 else None)

    def _view(self, tag: int, item: Reader, depth: int) -> Type:
        flags = item.varint() if tag != _PARTITION_VIEW or self._version >= (13, 3) else None
        tile_shape = _sizes(item, item.integers(4))
        traversal_strides = item.integers(4) if tag == _STRIDED_VIEW else ()
        tensor = self._get(item.varint(), item, depth)
        if not isinstance(tensor, TensorViewType):
            raise item.fail(f"a view is of type {tensor}, not of a tensor view")
        if tag == _GATHER_SCATTER_VIEW:
            sparse_dim = item.varint()
            return GatherScatterViewType(tile_shape, tensor, sparse_dim, _padding(item, flags))
        dim_map = item.integers(4)
        padding = _padding(item, flags)
        if tag == _STRIDED_VIEW:
            return StridedViewType(tile_shape, traversal_strides, tensor, dim_map, padding)
        return PartitionViewType(tile_shape, tensor, dim_map, padding)


def _sizes(item: Reader, sizes: tuple[int, ...]) -> tuple[int, ...]:
    if any(n < 1 for n in sizes):
        raise item.fail(f"a tile has shape {sizes}: sizes must be positive")
    return sizes


def _padding(item: Reader, flags: int | None) -> PaddingValue:
    present = item.varint() if flags is None else flags & 1
    if not present:
        return PaddingValue.MISSING
    value = item.byte()
    try:
        return PaddingValue(value)
    except ValueError:
        raise item.fail(f"padding value {value} is unknown", at=item.position - 1) from None
