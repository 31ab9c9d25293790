"""What a value of the IR is while code is followed symbolically.

An integer tile is a `Poly` (the signed reading of each lane, exact), a tile of i1 a `Condition`; both may depend on the
lane by the symbols of `lane`. Floats and tokens are `Nothing`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cutile_sim.dtypes import ElementType
from cutile_sim.tileir.core import Op
from cutile_sim.tileir.types import PointerType, TileType, Type, ViewType
from ir_passes.symbolic.conditions import Condition, Unknown
from ir_passes.symbolic.terms import Kind, Poly, Symbol


@dataclass(frozen=True, eq=False)
class Root:
    """One block of memory that pointers start from.

    `shape` and `strides_elems` say which items belong to it, counted from the pointer: an array argument's. `position`
    is the parameter's, None for memory that is no argument. `alignment_bytes` divides the pointer's address.
    """

    name: str
    shape: tuple[Poly, ...]
    strides_elems: tuple[Poly, ...]
    item_bytes: int
    position: int | None = None
    alignment_bytes: int = 1
    is_own: bool = False
    """Each block has its own: no other block sees it."""
    is_list: bool = False
    """All arrays of a list: its first dimension is the position in the list."""
    shared_with: frozenset[str] = frozenset()
    """Other arguments that partly lie in the same memory."""
    members: Members | None = None
    """The arrays whose pointers, shapes and strides lie there, where this is the buffer of a list."""
    same_as: Root | None = None
    """The first argument that is the same array, where this is another."""

    @property
    def memory(self) -> Root:
        """The same object for roots that are one array."""
        return self if self.same_as is None else self.same_as


@dataclass(frozen=True, eq=False)
class Members:
    """The arrays of a list, as one root with a dimension more, along which they stand far apart.

    `shapes` and `strides_elems` are those of each. `known` holds what was made of them: equal things are one.
    """

    root: Root
    shapes: tuple[tuple[int, ...], ...]
    strides_elems: tuple[tuple[int, ...], ...]
    known: dict[object, Any] = field(default_factory=dict)

    @property
    def words_each(self) -> int:
        """Words in the buffer for one array: its pointer, its shape, its strides."""
        return 1 + 2 * len(self.shapes[0])

    @property
    def are_alike(self) -> bool:
        """Whether all have the same shape and strides."""
        return len(set(self.shapes)) == 1 and len(set(self.strides_elems)) == 1


@dataclass(frozen=True, eq=False)
class Words:
    """Words read from the buffer of a list, at `place` in words from its start."""

    members: Members
    place: Poly


@dataclass(frozen=True, eq=False)
class Pointers:
    """A tile of pointers into one root, `offset_bytes` from its start."""

    root: Root
    offset_bytes: Poly


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor view."""

    base: Pointers | Lost
    shape: tuple[Poly, ...]
    strides_elems: tuple[Poly, ...]
    element: ElementType


@dataclass(frozen=True, eq=False)
class Tiles:
    """A view that loads and stores tiles of a tensor."""

    tensor: Tensor
    type: ViewType


@dataclass(frozen=True)
class Nothing:
    """A value that is not followed: a float, a token."""


@dataclass(frozen=True)
class Lost:
    """A pointer or a view of which nothing is known, and why."""

    reason: str


Followed = Poly | Condition | Pointers | Tensor | Tiles | Words | Nothing | Lost

NOTHING = Nothing()

Rule = Callable[[Op, Sequence[Followed], Sequence[Poly]], Followed | None]
"""The result of an operation, from its operands and the facts of its path. None: not followed."""


@lru_cache(maxsize=4096)
def lane(dimension: int, size: int) -> Symbol:
    """The position of a lane along a tile dimension of that size."""
    return Symbol(f"lane{dimension}", "lane", 0, size - 1, axis=dimension)


def lane_term(dimension: int, size: int) -> Poly:
    return Poly.of(0) if size == 1 else Poly.of(lane(dimension, size))


def integer_range(element: ElementType) -> tuple[int, int]:
    """Smallest and largest signed reading."""
    half = 1 << (element.width_bits - 1)
    return -half, half - 1


def unknown(kind: Type, why: str, *, data: bool, name: str = "") -> Followed:
    """A value of that type of which nothing else is known: read from memory (`data`), or not followed."""
    if not isinstance(kind, TileType):
        return NOTHING if not hasattr(kind, "tile_shape") and not hasattr(kind, "strides") else Lost(why)
    if isinstance(kind.element, PointerType):
        return Lost(why)
    if not kind.element.is_integer:
        return NOTHING
    sort: Kind = "data" if data else "unmodelled"
    if kind.element.width_bits == 1:
        return Unknown(Symbol(name or sort, sort, 0, 1, why=why))
    low, high = integer_range(kind.element)
    return Poly.of(Symbol(name or sort, sort, low, high, why=why))
