"""A group: blocks that run in step, with their program counter and their values.

A box group covers a box of the grid and keeps its three batch axes. Where blocks part ways unevenly, a group becomes a
list of blocks: batch shape (1, 1, n). Groups split at a condition that differs, and merge when they meet again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cutile_sim.engine.values import BatchShape, SharedTiles, TensorView, TileView, batch_of, each, map_value
from cutile_sim.memory.access import Places


class Group:
    """Blocks in step.

    Attributes:
        ids: Block ids along z, y, x as int32 arrays of shapes (z,1,1), (1,y,1), (1,1,x) in a box, all (1,1,n) in a
            list.
        slots: One value a slot of the plan; `UNSET` where none lives.
        pc: Index of the next instruction.
        turns: How often it has turned in loops that may wait for another block.
        carried: What such a loop took into the turn before; None where it is not known.
        is_idle: Whether the last such turn changed none of that.
        scratch: Allocations to free when the batch it came from has ended.
    """

    __slots__ = ("carried", "ids", "is_box", "is_idle", "pc", "scratch", "shape", "size", "slots", "turns")

    def __init__(
        self,
        ids: tuple[np.ndarray, np.ndarray, np.ndarray],
        is_box: bool,
        slots: list[Any],
        pc: int,
        scratch: list[Any],
    ) -> None:
        self.ids = ids
        self.is_box = is_box
        self.slots = slots
        self.pc = pc
        z, y, x = ids[0].shape[0], ids[1].shape[1], ids[2].shape[2]
        self.shape: BatchShape = (z, y, x)
        self.size = z * y * x
        self.turns = 0
        self.carried: list[Any] | None = None
        self.is_idle = False
        self.scratch = scratch

    def block_at(self, position: Sequence[int]) -> tuple[int, int, int]:
        """The block id (x, y, z) at a position on the batch axes."""
        z, y, x = (i[tuple(min(p, n - 1) for p, n in zip(position, i.shape, strict=True))] for i in self.ids)
        return int(x), int(y), int(z)

    def linear_ids(self, grid: tuple[int, int, int]) -> np.ndarray:
        """Position in launch order (x fastest) of every block, over the full batch shape."""
        z, y, x = (i.astype(np.int64) for i in self.ids)
        return np.broadcast_to((z * grid[1] + y) * grid[0] + x, self.shape)

    def split(self, condition: np.ndarray, *, in_order: bool = False) -> tuple[list[Group], list[Group]]:
        """The blocks where the condition [z, y, x] holds, and the rest. Neither may be empty.

        Where it holds or fails in a box of the blocks, such as all but those at the grid's edges, that is one group and
        the rest are few. With `in_order` the rest is one group too, whose blocks keep to launch order.
        """
        if self.is_box:
            varying = sum(n > 1 for n in condition.shape)
            for flipped in (False, True):
                along = _factors(~condition if flipped else condition)
                if along is not None and (varying == 1 or not in_order):
                    inside, rest = self._cut(along)
                    return (rest, [inside]) if flipped else ([inside], rest)
        full = np.broadcast_to(condition, self.shape).ravel()
        return [self._listed(np.flatnonzero(full))], [self._listed(np.flatnonzero(~full))]

    def _cut(self, along: tuple[np.ndarray, ...]) -> tuple[Group, list[Group]]:
        """The box of blocks that is chosen along each axis, and the others in boxes, as they are cut off."""
        inside, rest = self, []
        for axis, chosen in enumerate(along):
            if not chosen.all():
                rest.append(inside._along(axis, np.flatnonzero(~chosen)))
                inside = inside._along(axis, np.flatnonzero(chosen))
        return inside, rest

    def _along(self, axis: int, chosen: np.ndarray) -> Group:
        def change(array: np.ndarray) -> np.ndarray:
            return array if array.shape[axis] == 1 else array.take(chosen, axis=axis)

        z, y, x = (change(i) for i in self.ids)
        slots = [v if v is UNSET else map_value(v, change) for v in self.slots]
        group = Group((z, y, x), True, slots, self.pc, self.scratch)
        group.turns = self.turns
        return group

    def _listed(self, chosen: np.ndarray) -> Group:
        z, y, x = (_as_list(i, self.shape)[:, :, chosen] for i in self.ids)

        def change(array: np.ndarray) -> np.ndarray:
            if array.shape[:3] == (1, 1, 1):
                return array
            return _as_list(array, self.shape)[:, :, chosen]

        slots = [v if v is UNSET else map_value(v, change) for v in self.slots]
        group = Group((z, y, x), False, slots, self.pc, self.scratch)
        group.turns = self.turns
        return group


def _factors(condition: np.ndarray) -> tuple[np.ndarray, ...] | None:
    """A condition on blocks [z, y, x] as one on each axis, all of which must hold; None where it is no such product."""
    z, y, x = (np.any(condition, axis=others) for others in ((1, 2), (0, 2), (0, 1)))
    return (z, y, x) if np.array_equal(np.multiply.outer(np.multiply.outer(z, y), x), condition) else None


class _Unset:
    """The value of a slot that holds nothing."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()


def _as_list(array: np.ndarray, shape: BatchShape) -> np.ndarray:
    """An array with its batch axes spread out and laid in a row: (1, 1, z*y*x, *tile)."""
    tile = array.shape[3:]
    return np.broadcast_to(array, shape + tile).reshape((1, 1, -1, *tile))


def merge(groups: list[Group]) -> Group:
    """One group of all blocks of groups that stand at the same instruction, in launch order."""
    axis = _common_axis(groups)
    if axis is None and all(g.is_box for g in groups):
        boxes = _larger_boxes(groups)
        if len(boxes) < len(groups):
            return merge(boxes) if len(boxes) > 1 else boxes[0]
    return _merge_along(axis, groups)


def _larger_boxes(groups: list[Group]) -> list[Group]:
    """Box groups, joined where they lie side by side along an axis: the last first, as `Group.split` cuts it last."""
    for axis in (2, 1, 0):
        beside: dict[tuple[bytes, ...], list[Group]] = {}
        for group in groups:
            beside.setdefault(tuple(i.tobytes() for a, i in enumerate(group.ids) if a != axis), []).append(group)
        groups = [_merge_along(axis, found) if len(found) > 1 else found[0] for found in beside.values()]
    return groups


def _merge_along(axis: int | None, groups: list[Group]) -> Group:
    """Groups as one: boxes laid end to end along an axis, or any as a list of blocks."""
    first = groups[0]
    if axis is None:
        keys = [_as_list(_order(g), g.shape).ravel() for g in groups]
    else:
        keys = [g.ids[axis].ravel() for g in groups]
    order = np.argsort(np.concatenate(keys), kind="stable")
    target = 2 if axis is None else axis

    def join(values: list[Any]) -> Any:
        if any(v is UNSET for v in values):
            return UNSET
        head = values[0]
        may_be_one = batch_of(head)[target] == 1 and (axis is not None or batch_of(head) == (1, 1, 1))
        if may_be_one and (all(v is head for v in values) or _same_bits(values)):
            return head
        if any(isinstance(v, (Places, SharedTiles)) for v in values):
            values = [_plain(v) for v in values]
            head = values[0]
        if isinstance(head, np.ndarray):
            return _concatenate(values, groups, axis).take(order, axis=target)
        if head is None:
            return None
        return _join_views(values, join)

    ids = list(first.ids)
    if axis is None:
        ids = [np.concatenate([_as_list(g.ids[a], g.shape) for g in groups], axis=2)[:, :, order] for a in range(3)]
    else:
        ids[axis] = np.concatenate([g.ids[axis] for g in groups], axis=axis).take(order, axis=axis)
    slots = [join(list(values)) for values in zip(*(g.slots for g in groups), strict=True)]
    scratch = first.scratch
    for group in groups[1:]:
        if group.scratch is not scratch:
            scratch.extend(s for s in group.scratch if s not in scratch)
    merged = Group((ids[0], ids[1], ids[2]), axis is not None, slots, first.pc, scratch)
    merged.turns = min(g.turns for g in groups)
    return merged


def _plain(value: Any) -> Any:
    """A value as an array, where it can be one."""
    return value.addresses() if isinstance(value, Places) else each(value)


def _order(group: Group) -> np.ndarray:
    # CUDA's grids have at most 2**31 - 1, 65535 and 65535 blocks along x, y and z.
    z, y, x = (i.astype(np.int64) for i in group.ids)
    return (z << 47) + (y << 31) + x


def _same_bits(values: list[Any]) -> bool:
    """Whether values are arrays that hold the same: loop counters, or tiles that depend on other axes only."""
    head = values[0]
    if not all(isinstance(v, np.ndarray) and v.shape == head.shape and v.dtype == head.dtype for v in values):
        return False
    bits = f"u{head.itemsize}"
    return all(np.array_equal(v.view(bits), head.view(bits)) for v in values[1:])


def _common_axis(groups: list[Group]) -> int | None:
    """The one axis along which box groups may be laid end to end, or None."""
    first = groups[0]
    if not all(g.is_box for g in groups):
        return None
    differing = [a for a in range(3) if any(not np.array_equal(g.ids[a], first.ids[a]) for g in groups[1:])]
    return differing[0] if len(differing) == 1 else None


def _concatenate(arrays: list[np.ndarray], groups: list[Group], axis: int | None) -> np.ndarray:
    if axis is None:
        return np.concatenate([_as_list(a, g.shape) for a, g in zip(arrays, groups, strict=True)], axis=2)
    batch = np.broadcast_shapes(*(tuple(1 if a == axis else n for a, n in enumerate(v.shape[:3])) for v in arrays))
    spread = []
    for array, group in zip(arrays, groups, strict=True):
        shape = list(batch)
        shape[axis] = group.shape[axis]
        spread.append(np.broadcast_to(array, tuple(shape) + array.shape[3:]))
    return np.concatenate(spread, axis=axis)


def _join_views(values: list[Any], join: Any) -> Any:
    if isinstance(values[0], TileView):
        return TileView(_join_views([v.tensor for v in values], join), values[0].type)

    def one(parts: list[Any]) -> Any:
        if all(isinstance(p, int) and p == parts[0] for p in parts):
            return parts[0]
        return join([np.full((1, 1, 1), p, np.int64) if isinstance(p, int) else p for p in parts])

    head = values[0]
    return TensorView(
        one([v.base for v in values]),
        tuple(one(list(p)) for p in zip(*(v.shape for v in values), strict=True)),
        tuple(one(list(p)) for p in zip(*(v.strides_elems for v in values), strict=True)),
        head.element,
    )
