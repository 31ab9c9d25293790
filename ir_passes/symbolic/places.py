"""Where an access goes: coordinates in the memory that its pointers start from, as terms of block, turn and lane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import GatherScatterViewType, PartitionViewType, PointerType, StridedViewType, TileType
from ir_passes.symbolic.conditions import Condition, at_least, both, either, less, polys_of
from ir_passes.symbolic.evaluate import replace
from ir_passes.symbolic.events import Event
from ir_passes.symbolic.numbers import as_condition, shape_of, unsigned
from ir_passes.symbolic.parts import without_factors
from ir_passes.symbolic.terms import ONE, ZERO, Atom, Poly
from ir_passes.symbolic.values import Lost, Pointers, Root, Tensor, Tiles, lane, lane_term

TARGETS = ("source", "destination", "pointers", "view")
"""Operands through which an operation touches memory."""


@dataclass(frozen=True, eq=False)
class Dimension:
    """One dimension of a tile of a view: the first element, that of each lane, and the tensor dimension it runs along.

    `is_sparse`: each lane has an element of its own, and `first` means nothing.
    """

    first: Poly
    element: Poly
    along: int
    extent: Poly
    is_sparse: bool = False


@dataclass(frozen=True, eq=False)
class Place:
    """What one access touches. It touches a lane where `given` (the path, the mask, what a view leaves in) holds.

    `items` counts items of the access's element type from the root's start; None where `misfit` says why not.
    `dimensions` are those of a view's tile.
    """

    event: Event
    root: Root
    items: Poly | None
    given: Condition
    dimensions: tuple[Dimension, ...] = ()
    tensor: Tensor | None = None
    misfit: str = ""

    @property
    def is_whole_root(self) -> bool:
        """Whether it goes through a view of exactly the memory that the array argument is."""
        t = self.tensor
        return (
            t is not None
            and isinstance(t.base, Pointers)
            and t.base.offset_bytes == ZERO
            and t.element.size_bytes == self.root.item_bytes
            and t.shape == self.root.shape
            and t.strides_elems == self.root.strides_elems
        )

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for accesses that touch the same, as far as terms tell."""
        return self.root, self.items, self.given, self.misfit, self.is_whole_root

    def coordinates(self) -> tuple[Poly, ...] | None:
        """An index along each of the root's dimensions that gives this place, if one is found."""
        if self.is_whole_root:
            by_dimension = {d.along: d.element for d in self.dimensions}
            return tuple(by_dimension.get(d, ZERO) for d in range(len(self.root.shape)))
        return None if self.items is None else decompose(self.items, self.root)


def target_of(op: Op) -> Value | None:
    """The operand through which an operation touches memory."""
    if op.spec.effect not in ("read", "write", "read_write"):
        return None
    return next((v for n in TARGETS if isinstance(v := op.operands.get(n), Value)), None)


def place_of(event: Event) -> Place | str:
    """Where an access goes, or why that is not known."""
    value = target_of(event.op)
    assert value is not None
    target = event.of(value)
    if isinstance(target, Tiles):
        return _view_place(event, target)
    if isinstance(target, Pointers):
        return _pointer_place(event, target, value)
    return f"its address comes from {target.reason}" if isinstance(target, Lost) else "its address is not followed"


def _pointer_place(event: Event, target: Pointers, value: Value) -> Place:
    mask = event.op.operands.get("mask")
    given = both(event.path, as_condition(event.of(mask))) if isinstance(mask, Value) else event.path
    assert isinstance(value.type, TileType) and isinstance(value.type.element, PointerType)
    size = value.type.element.pointee.size_bytes
    items = _in_items(target.offset_bytes, size)
    return _place(event, target.root, items, size, given)


def _in_items(offset_bytes: Poly, size: int) -> Poly | None:
    if any(c % size for c in offset_bytes.terms.values()):
        return None
    return Poly({m: c // size for m, c in offset_bytes.terms.items()})


def _place(
    event: Event,
    root: Root,
    items: Poly | None,
    size: int,
    given: Condition,
    dimensions: tuple[Dimension, ...] = (),
    tensor: Tensor | None = None,
) -> Place:
    misfit = ""
    if size != root.item_bytes:
        items, misfit = None, f"{root.name} is accessed as elements of {size} bytes, but has {root.item_bytes}"
    elif items is None:
        misfit = "its distance in bytes may be no multiple of the element's size"
    return Place(event, root, items, given, dimensions, tensor, misfit)


def _view_place(event: Event, view: Tiles) -> Place | str:
    tensor = view.tensor
    index = event.op.operands["index"]
    assert isinstance(index, tuple)
    facts = list(polys_of(event.path))
    dimensions = _dimensions(event, view, index, facts)
    if isinstance(dimensions, str):
        return dimensions
    if isinstance(tensor.base, Lost):
        return f"its address comes from {tensor.base.reason}"
    given = event.path
    items = _in_items(tensor.base.offset_bytes, tensor.element.size_bytes)
    for d in dimensions:
        given = both(given, at_least(d.element, 0), less(d.element, d.extent))
        items = None if items is None else items + d.element * tensor.strides_elems[d.along]
    return _place(event, tensor.base.root, items, tensor.element.size_bytes, given, dimensions, tensor)


def _dimensions(
    event: Event, view: Tiles, index: tuple[Value, ...], facts: Sequence[Poly]
) -> tuple[Dimension, ...] | str:
    kind = view.type
    found = []
    for i, value in enumerate(index):
        number = event.of(value)
        if not isinstance(number, Poly):
            return "its index is not followed"
        assert isinstance(value.type, TileType)
        width = value.type.element.width_bits  # type: ignore[union-attr]
        number = unsigned(number, width, facts)
        size = kind.tile_shape[i]
        if isinstance(kind, GatherScatterViewType):
            if i == kind.sparse_dim:
                sizes = shape_of(value)
                by: dict[Atom, Poly] = {lane(d, n): lane_term(i, n) for d, n in enumerate(sizes) if n > 1}
                element = replace(number, by)
                found.append(Dimension(element, element, i, view.tensor.shape[i], is_sparse=True))
                continue
            first, along = number, i
        else:
            assert isinstance(kind, (PartitionViewType, StridedViewType))
            first, along = number * kind.pitches[i], kind.dim_map[i]
        found.append(Dimension(first, first + lane_term(i, size), along, view.tensor.shape[along]))
    return tuple(found)


def decompose(items: Poly, root: Root) -> tuple[Poly, ...] | None:
    """Indices along the root's dimensions whose distances add up to `items`; the widest dimension takes what it can.

    None where something is left over.
    """
    order = sorted(range(len(root.shape)), key=lambda d: _size(root.strides_elems[d]), reverse=True)
    found: dict[int, Poly] = {}
    rest = items
    for d in order:
        stride = root.strides_elems[d]
        if stride == ZERO or root.shape[d] == ONE:
            continue
        if len(stride.terms) != 1:
            return None
        ((by, coefficient),) = stride.terms.items()
        if coefficient < 0:
            return None
        terms, left = {}, {}
        for m, c in rest.terms.items():
            outside = without_factors(m, by)
            if outside is None:
                left[m] = c
            else:
                whole = abs(c) // coefficient * (1 if c > 0 else -1)
                terms[outside], left[m] = whole, c - whole * coefficient
        found[d], rest = Poly(terms), Poly(left)
    if rest != ZERO:
        return None
    return tuple(found.get(d, ZERO) for d in range(len(root.shape)))


def _size(stride: Poly) -> tuple[int, int]:
    """Orders strides: more factors first, then the larger number."""
    return max((len(m) for m in stride.terms), default=0), max((abs(c) for c in stride.terms.values()), default=0)


def is_dense(root: Root) -> bool:
    """Whether every item between the root's first and last belongs to it."""
    reach = ONE
    dims = [d for d in range(len(root.shape)) if root.shape[d] != ONE]
    for d in sorted(dims, key=lambda d: _size(root.strides_elems[d])):
        if root.strides_elems[d] != reach:
            return False
        reach = reach * root.shape[d]
    return True


def item_count(root: Root) -> Poly:
    total = ONE
    for n in root.shape:
        total = total * n
    return total


def outside(items: Poly, root: Root) -> Condition:
    """The condition that an item lies before the first or past the last of a dense root."""
    return either(less(items, 0), at_least(items, item_count(root)))


def beyond(coordinates: Sequence[Poly], root: Root) -> Condition:
    """The condition that some coordinate leaves its dimension."""
    return either(*(either(less(i, 0), at_least(i, n)) for i, n in zip(coordinates, root.shape, strict=True)))
