"""What a trace knows of a kernel and its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from cutile_sim.dtypes import numpy_dtype
from cutile_sim.tileir.core import Location


@dataclass(frozen=True)
class ArrayInfo:
    """An array argument of a launch, or other memory that it touched.

    Attributes:
        dtype_name: cuTile's name of its element type, such as `bfloat16` or `bool_`.
        strides_elems: Elements to step along each axis.
        is_argument: False for memory of the kernel's own.
    """

    number: int
    name: str
    dtype_name: str
    item_bytes: int
    shape: tuple[int, ...]
    strides_elems: tuple[int, ...]
    is_argument: bool

    @classmethod
    def from_json(cls, number: int, entry: Mapping[str, Any]) -> ArrayInfo:
        """Raises KeyError, TypeError or ValueError for what no writer wrote."""
        shape, strides = tuple(map(int, entry["shape"])), tuple(map(int, entry["strides"]))
        if len(shape) != len(strides):
            raise ValueError(f"array {entry['name']} has {len(shape)} sizes and {len(strides)} strides")
        found = cls(
            number,
            str(entry["name"]),
            str(entry["dtype"]),
            int(entry["item_bytes"]),
            shape,
            strides,
            bool(entry["is_argument"]),
        )
        if found.dtype.itemsize != found.item_bytes:
            raise ValueError(f"array {found.name} has elements of {found.item_bytes} bytes")
        return found

    @property
    def dtype(self) -> np.dtype:
        """NumPy's type of its elements. Raises ValueError for an unknown name."""
        name = self.dtype_name.rstrip("_")
        try:
            return numpy_dtype(name)
        except (AttributeError, TypeError):
            raise ValueError(f"there is no element type {self.dtype_name!r}") from None

    @property
    def size(self) -> int:
        """Its number of elements."""
        return prod(self.shape)

    @property
    def span_elems(self) -> int:
        """Elements from its first to its last, with those between that are not its own."""
        return 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides_elems, strict=True)) if self.size else 0

    @cached_property
    def axes_by_stride(self) -> tuple[int, ...]:
        """The axes along which elements lie apart, the farthest first."""
        axes = [a for a in range(len(self.shape)) if self.strides_elems[a] > 0 and self.shape[a] > 0]
        return tuple(sorted(axes, key=lambda a: -self.strides_elems[a]))

    def index_of(self, offsets_elems: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(index of the element at each offset (..., rank), whether there is one (...)).

        Where strides do not nest, or are zero, an element has several indices and the first is given.
        """
        rest = np.asarray(offsets_elems, np.int64)
        index = np.zeros((*rest.shape, len(self.shape)), np.int64)
        inside = rest >= 0
        for axis in self.axes_by_stride:
            stride, length = self.strides_elems[axis], self.shape[axis]
            along = np.clip(rest // stride, 0, length - 1)
            index[..., axis] = along
            rest = rest - along * stride
        return index, inside & (rest == 0) & (self.size > 0)


@dataclass(frozen=True)
class OpInfo:
    """One operation of a kernel.

    Attributes:
        number: Its place in program order.
        name: Its name in Tile IR.
        kind: One of `options.KINDS`.
        chain: Where it is in the source, innermost first; then where that was called from.
        location: The innermost place of the user's own.
        parent, region: The operation and its region that it lies in; -1 for the kernel itself.
        operands: Numbers of the values that it takes, by the operand's name.
        results: Numbers and types of the values that it makes.
        arguments: Those of its regions' arguments.
        flops: Floating-point operations of one execution in one block.
        axis: The dimension of its operands that a reduction or scan goes along.
        tile: Shape and element type of the tile that it moves to or from memory.
    """

    number: int
    name: str
    kind: str
    chain: tuple[Location, ...]
    location: Location | None
    parent: int
    region: int
    operands: Mapping[str, tuple[int, ...]] = field(hash=False)
    results: tuple[tuple[int, str], ...]
    arguments: tuple[tuple[tuple[int, str], ...], ...]
    flops: int
    axis: int | None
    tile: tuple[tuple[int, ...], str] | None

    @property
    def file_and_line(self) -> tuple[str, int]:
        """Of its location; "" and 0 where that is unknown."""
        return ("", 0) if self.location is None else (self.location.file, self.location.line)

    @classmethod
    def from_json(cls, number: int, entry: Mapping[str, Any], files: list[str]) -> OpInfo:
        """Raises KeyError, TypeError, ValueError or IndexError for what no writer wrote."""
        at: Location | None = None
        for file, line, column, function in reversed(entry["at"]):
            at = Location(files[int(file)], int(line), int(column), str(function), at)
        chain = tuple(at.chain()) if at is not None else ()
        tile = entry["tile"]
        return cls(
            number,
            str(entry["name"]),
            str(entry["kind"]),
            chain,
            chain[int(entry["line"])] if chain and int(entry["line"]) >= 0 else None,
            int(entry["parent"]),
            int(entry["region"]),
            {str(k): tuple(map(int, v)) if isinstance(v, list) else (int(v),) for k, v in entry["operands"].items()},
            values_from_json(entry["results"]),
            tuple(map(values_from_json, entry["arguments"])),
            int(entry["flops"]),
            None if entry.get("axis") is None else int(entry["axis"]),
            None if tile is None else (tuple(map(int, tile["shape"])), str(tile["element"])),
        )


def values_from_json(entries: list[Mapping[str, Any]]) -> tuple[tuple[int, str], ...]:
    """Numbers and types of values. Raises KeyError, TypeError or ValueError for what no writer wrote."""
    return tuple((int(v["id"]), str(v["type"])) for v in entries)
