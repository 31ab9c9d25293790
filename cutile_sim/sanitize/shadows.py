"""Shadows: for each lane of a tile, what is doubtful about it, and how operations pass that on.

A shadow is a uint8 array of the tile's shape (batch axes may be 1) with the bits below. The shadow of a tile with
nothing doubtful is one fixed array of zeros, so that asking costs a comparison of objects.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.group import UNSET
from cutile_sim.engine.steps import bound_function, uses_of
from cutile_sim.sanitize.watch import BATCH_AXES
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import TileType

UNDETERMINED = np.uint8(1)
"""The value may be anything."""
PADDED = np.uint8(2)
"""The value stands for an element that no array has, or was computed with one."""
UNDEFINED = np.uint8(4)
"""The value comes from arithmetic without a defined result."""
DOUBTFUL = UNDETERMINED | UNDEFINED

_ALIKE = frozenset(("reshape", "broadcast", "permute", "cat", "extract", "insert"))


@lru_cache(maxsize=4096)
def clean(shape: tuple[int, ...]) -> np.ndarray:
    """The shadow of a tile of that shape with nothing doubtful in it."""
    return np.broadcast_to(np.zeros((), np.uint8), (1,) * BATCH_AXES + shape)


def clean_of(value: Value) -> np.ndarray | None:
    """`clean` for a value, None where it is no tile."""
    return clean(value.type.shape) if isinstance(value.type, TileType) else None


def tidy(shadow: np.ndarray) -> np.ndarray:
    """The shadow, or the clean one where it has no bit set."""
    return shadow if shadow.any() else clean(shadow.shape[BATCH_AXES:])


class Rule:
    """How one operation's results get their shadows from those of its operands."""

    def __init__(self, op: Op, shadow: int) -> None:
        self.op = op
        self.inputs = [
            (v.index, shadow + v.index, clean(v.type.shape)) for v in op.inputs if isinstance(v.type, TileType)
        ]
        self.outputs = [(shadow + v.index, clean(v.type.shape)) for v in op.results if isinstance(v.type, TileType)]
        self.spread = getattr(self, f"_{op.name}", self._alike if op.name in _ALIKE else self._elementwise)
        self.function = bound_function(op, uses_of(())) if op.name in _ALIKE else None

    def __call__(self, op: Op, slots: list[Any], cx: Any) -> None:
        dirty = False
        for _, at, none in self.inputs:
            known = slots[at]
            if known is not none and known is not UNSET:
                dirty = True
                break
        if not dirty:
            for at, none in self.outputs:
                slots[at] = none
            return
        shadows = [none if slots[at] is UNSET else slots[at] for _, at, none in self.inputs]
        result = tidy(self.spread(shadows, slots))
        for at, _ in self.outputs:
            slots[at] = result

    def _values(self, slots: list[Any]) -> list[np.ndarray]:
        return [slots[i] for i, _, _ in self.inputs]

    def _elementwise(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        shape = self.outputs[0][1].shape[BATCH_AXES:] if self.outputs else ()
        total = None
        for shadow in shadows:
            if shadow.ndim != BATCH_AXES + len(shape):  # a scalar beside a tile, or a change of size such as unpack's
                axes = tuple(range(BATCH_AXES, shadow.ndim))
                shadow = np.bitwise_or.reduce(shadow, axis=axes).reshape(shadow.shape[:BATCH_AXES] + (1,) * len(shape))
            total = shadow if total is None else total | shadow
        assert total is not None
        if total.shape[BATCH_AXES:] != shape:
            total = np.bitwise_or.reduce(total, axis=tuple(range(BATCH_AXES, total.ndim)), keepdims=True)
            total = np.broadcast_to(total, total.shape[:BATCH_AXES] + shape)
        return total

    def _alike(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        """Moves lanes: what the operation does to the lanes, it does to their shadows."""
        op, moved, n = self.op, [], 0
        given: list[Any] = []
        for operand in op.operands.values():
            if isinstance(operand, tuple):
                given.append(tuple(slots[v.index] for v in operand))
                moved += shadows[n : n + len(operand)]
                n += len(operand)
            elif operand is not None:
                given.append(shadows[n])
                n += 1
        assert self.function is not None
        result = self.function(*given)
        for index in moved:  # a doubtful slice number makes the whole slice doubtful
            if index.any():
                result = result | index.reshape(index.shape + (1,) * (result.ndim - index.ndim))
        return result

    def _select(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        """What is not selected is dropped, but for having to do with padding."""
        condition, yes, no = shadows
        chosen = np.where(slots[self.inputs[0][0]], yes, no)
        return chosen | condition | ((yes | no) & PADDED)

    def _andi(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        return self._absorbing(shadows, slots, lambda value: value == 0)

    _muli = _andi

    def _ori(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        return self._absorbing(shadows, slots, lambda value: value == (True if value.dtype == bool else -1))

    def _absorbing(self, shadows: list[np.ndarray], slots: list[Any], absorbs: Any) -> np.ndarray:
        """A determined operand that alone decides the result, such as false in an `and`."""
        left, right = self._values(slots)
        a, b = shadows
        decided = ((a & DOUBTFUL) == 0) & absorbs(left) | ((b & DOUBTFUL) == 0) & absorbs(right)
        return np.where(decided, (a | b) & PADDED, a | b)

    def _reduce(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        axis = int(self.op.attributes["dim"]) + BATCH_AXES
        return np.bitwise_or.reduce(_all_of(shadows), axis=axis)

    def _scan(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        axis = int(self.op.attributes["dim"]) + BATCH_AXES
        total = _all_of(shadows)
        if self.op.attributes["reverse"]:
            return np.flip(np.bitwise_or.accumulate(np.flip(total, axis), axis=axis), axis)
        return np.bitwise_or.accumulate(total, axis=axis)

    def _mmaf(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        """A row or a column with a doubtful element makes that row or column of the product doubtful."""
        lhs, rhs, acc = shadows[:3]
        total = acc
        if lhs.any():
            total = total | np.bitwise_or.reduce(lhs, axis=-1, keepdims=True)
        if rhs.any():
            total = total | np.bitwise_or.reduce(rhs, axis=-2, keepdims=True)
        return total

    _mmai = _mmaf

    def _mmaf_scaled(self, shadows: list[np.ndarray], slots: list[Any]) -> np.ndarray:
        lhs, rhs, acc, lhs_scale, rhs_scale = shadows
        rows = np.bitwise_or.reduce(lhs, axis=-1, keepdims=True) | np.bitwise_or.reduce(
            lhs_scale, axis=-1, keepdims=True
        )
        columns = np.bitwise_or.reduce(rhs, axis=-2, keepdims=True) | np.bitwise_or.reduce(
            rhs_scale, axis=-2, keepdims=True
        )
        return acc | rows | columns


def _all_of(shadows: list[np.ndarray]) -> np.ndarray:
    total = shadows[0]
    for shadow in shadows[1:]:
        total = total | shadow
    return total


def is_float(value: Value) -> bool:
    """Whether a value is a tile of floating-point numbers."""
    kind = value.type
    return isinstance(kind, TileType) and isinstance(kind.element, ElementType) and kind.element.is_float
