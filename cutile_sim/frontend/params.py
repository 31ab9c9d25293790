"""The flat parameters a kernel is launched with, in the order of its entry function.

cuTile's calling convention version 2 (its documentation, "Compilation and Export"): a scalar is one parameter; an
array is a pointer, then the length of each axis, then the stride of each axis; a list of arrays is a pointer to a
buffer and a length; a tuple is its items one after the other; a constant is no parameter.
"""

from __future__ import annotations

from typing import NamedTuple

from cutile_sim.dtypes import ElementType
from cutile_sim.frontend.arrays import ArrayArg


class ScalarParam(NamedTuple):
    """A number, already of the parameter's type: a float is rounded to float32."""

    value: bool | int | float
    element: ElementType


class PointerParam(NamedTuple):
    """A pointer to element 0 of an array."""

    array: ArrayArg


class ListBuffer(NamedTuple):
    """A pointer to a read-only, 8-byte aligned buffer of 64-bit words in device memory: the arrays of a list.

    `words` holds 1 + 2 * ndim words an array: the array itself where its device address goes, its shape, its strides
    in elements.
    """

    words: tuple[ArrayArg | int, ...]


LaunchParam = ScalarParam | PointerParam | ListBuffer
