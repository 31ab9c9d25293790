"""Reductions that pick one element: argmax and its kin, done by NumPy whatever way their region is written.

A region that only compares its arguments and selects among them is a function of how they compare. Trying it on one
pair of each kind of outcome therefore tells all about it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from cutile_sim.tileir.core import Op

Tiles = tuple[np.ndarray, ...]
Evaluate = Callable[..., Tiles]

_COMPARING = frozenset({"cmpf", "cmpi", "andi", "ori", "xori", "select"})


class Rule(NamedTuple):
    """Which element a region picks of a row of them: the first that is the largest, or the smallest."""

    largest: bool
    unsigned: bool = False
    takes_nan: bool = False


def only_compares(op: Op) -> bool:
    """Whether the region of a reduction of values with indices only compares its arguments and selects among them."""
    region = op.regions[0]
    *steps, _ = region.ops
    known = {*region.arguments, *(v for o in steps for v in o.results)}
    return len(region.arguments) == 4 and all(o.name in _COMPARING and all(v in known for v in o.inputs) for o in steps)


def rule_of(evaluate: Evaluate, values: np.dtype, indices: np.dtype) -> Rule | None:
    """The rule of a region that `only_compares`, or None where it is none of those here.

    `evaluate` is the region on arrays. On the left is always the element of lower index, and its index is lower.
    """
    if values.kind == "f":
        nan = np.nan
        left, right = [1, 0.0, 2, nan, 1, nan], [2, -0.0, 1, 1, nan, nan]
        rules = {
            (largest, False, takes_nan): [not largest, True, largest, takes_nan, not takes_nan, True]
            for largest in (True, False)
            for takes_nan in (True, False)
        }
    elif values.kind == "i":
        left, right = [1, 1, 2, -1, 1, -2, -1], [2, 1, 1, 1, -1, -1, -2]
        rules = {
            (largest, unsigned, False): [
                not largest, True, largest, largest == unsigned, largest != unsigned, not largest, largest,
            ]
            for largest in (True, False)
            for unsigned in (True, False)
        }  # fmt: skip
    else:
        return None
    count = len(left)

    def row(numbers: list, dtype: np.dtype) -> np.ndarray:
        return np.array(numbers, dtype).reshape(1, 1, 1, count)

    # Values and indices must be picked together, so the sides are told by the index.
    picked, index = evaluate(
        row(left, values), row(right, values), row([3] * count, indices), row([5] * count, indices)
    )
    took_left = (np.broadcast_to(index, (1, 1, 1, count)) == 3).ravel()
    want = np.where(took_left, np.array(left, values), np.array(right, values))
    if np.broadcast_to(picked, (1, 1, 1, count)).tobytes() != want.tobytes():
        return None
    found = next((key for key, lefts in rules.items() if lefts == took_left.tolist()), None)
    return None if found is None else Rule(*found)


def pick(values: np.ndarray, indices: np.ndarray, axis: int, rule: Rule) -> Tiles | None:
    """The picked element along the (negative) axis and its index; None where the indices do not rise from 0 or more
    along it, or a NaN must be passed over.
    """
    along = indices.ndim + axis
    # One index where it is repeated: usually all rows have the same ones.
    few = indices[tuple(slice(0, 1 if s == 0 and i != along else None) for i, s in enumerate(indices.strides))]
    if few.min() < 0 or not (np.diff(few, axis=axis) > 0).all():
        return None
    compared = values.view(f"u{values.dtype.itemsize}") if rule.unsigned else values
    place = np.expand_dims(compared.argmax(axis=axis) if rule.largest else compared.argmin(axis=axis), axis)
    best = np.take_along_axis(values, place, axis=axis)
    if values.dtype.kind == "f" and not rule.takes_nan and np.isnan(best).any():
        return None
    lead = np.broadcast_shapes(place.shape, tuple(1 if i == place.ndim + axis else n for i, n in enumerate(few.shape)))
    if few.size == few.shape[axis]:
        index = few.reshape(-1)[place]
    else:
        shape = list(lead)
        shape[axis] = few.shape[axis]
        index = np.take_along_axis(np.broadcast_to(few, shape), np.broadcast_to(place, lead), axis=axis)
    return best.squeeze(axis), index.squeeze(axis)
