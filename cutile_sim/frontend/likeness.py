"""Arguments that are alike need not be bound again: most launches of a kernel differ only in what their arrays hold.

That goes for numbers and for plain NumPy arrays that own their memory; other arguments are bound anew each time.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cutile_sim.frontend.arrays import ArrayArg
from cutile_sim.frontend.params import LaunchParam, PointerParam, ScalarParam


class _Pointer(NamedTuple):
    """A pointer to the array at a position among the arguments, laid out like `array`."""

    position: int
    array: ArrayArg


Remembered = ScalarParam | _Pointer


def likeness_of(args: Sequence[Any]) -> Hashable | None:
    """All that binding reads of the arguments but where arrays lie; None where they are of other kinds."""
    found: list[Hashable] = []
    for arg in args:
        kind = type(arg)
        if kind is np.ndarray:
            if arg.base is not None:
                return None
            found.append((arg.dtype, arg.shape, arg.strides, arg.flags.writeable))
        elif kind is int or kind is bool:
            found.append((kind, arg))
        elif kind is float:
            found.append(arg.hex())  # -0.0 equals 0.0, and NaN nothing
        else:
            return None
    return tuple(found)


def without_arrays(params: Sequence[LaunchParam], args: Sequence[Any]) -> list[Remembered]:
    """The parameters that came of such arguments, to be remembered: they keep no array alive."""
    positions = iter([i for i, a in enumerate(args) if type(a) is np.ndarray])
    remembered: list[Remembered] = []
    for param in params:
        if isinstance(param, PointerParam):
            remembered.append(_Pointer(next(positions), replace(param.array, keepalive=None)))
        else:
            assert isinstance(param, ScalarParam)
            remembered.append(param)
    return remembered


def with_arrays(params: Sequence[Remembered], args: Sequence[Any]) -> list[LaunchParam]:
    """The parameters of another launch whose arguments are alike."""
    return [p if isinstance(p, ScalarParam) else PointerParam(p.array.moved_to(args[p.position])) for p in params]
