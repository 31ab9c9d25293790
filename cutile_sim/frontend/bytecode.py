"""Arguments for a kernel that comes as bytecode: no Python signature, only the entry function's flat parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.errors import UsageError, UsageTypeError
from cutile_sim.frontend.arrays import is_array, read_array
from cutile_sim.frontend.params import LaunchParam, PointerParam, ScalarParam
from cutile_sim.tileir.core import Function
from cutile_sim.tileir.types import PointerType, TileType


def bind_entry(function: Function, args: Sequence[Any]) -> list[LaunchParam]:
    """Flat launch parameters: an array stands for its pointer, shape and strides; a number for one scalar.

    Raises UsageError where arguments and parameters do not fit.
    """
    params: list[LaunchParam] = []
    types = [v.type for v in function.parameters]
    for position, arg in enumerate(args):
        if isinstance(arg, (bool, int, float, np.generic)):
            params.append(_scalar(arg, types, len(params), position))
            continue
        if not is_array(arg):
            raise UsageTypeError(
                f"arg{position} is a {type(arg).__name__}, but bytecode takes numbers and arrays only: "
                "pass a tuple's items one by one"
            )
        array = read_array(arg, f"arg{position}")
        _expect_pointer(array.element, types, len(params), position)
        params.append(PointerParam(array))
        for number in (*array.shape, *array.strides_elems):
            params.append(_scalar(number, types, len(params), position))
    if len(params) != len(types):
        raise UsageError(
            f"kernel {function.name} takes {len(types)} flat parameters ({', '.join(map(str, types))}); "
            f"the {len(args)} arguments make {len(params)} (an array counts 1 + 2 * its dimensions)"
        )
    return params


def _type_at(types: list[Any], at: int, position: int) -> TileType:
    if at >= len(types):
        raise UsageError(f"arg{position} is one too many: the kernel takes {len(types)} flat parameters")
    kind = types[at]
    assert isinstance(kind, TileType)
    return kind


def _expect_pointer(element: ElementType, types: list[Any], at: int, position: int) -> None:
    kind = _type_at(types, at, position)
    if not isinstance(kind.element, PointerType):
        raise UsageError(f"arg{position} is an array, but flat parameter {at} of the kernel is a {kind}")
    if kind.element.pointee is not element:
        raise UsageError(
            f"arg{position} is an array of {element.name}, but flat parameter {at} points to "
            f"{kind.element.pointee.name}"
        )


def _scalar(value: Any, types: list[Any], at: int, position: int) -> ScalarParam:
    kind = _type_at(types, at, position)
    element = kind.element
    if not isinstance(element, ElementType):
        raise UsageError(f"arg{position} gives a number where flat parameter {at} of the kernel is a {kind}")
    if element.is_integer:
        if isinstance(value, (float, np.floating)):
            raise UsageError(f"arg{position} is {value!r}, but flat parameter {at} of the kernel is a {kind}")
        low, high = -(1 << (element.width_bits - 1)), (1 << element.width_bits) - 1
        if element.width_bits > 1 and not low <= int(value) <= high:
            raise UsageError(f"arg{position} is {value}, which does not fit {element.name}")
        wrapped = int(value) & high
        if element.width_bits > 1 and wrapped > -low - 1:
            wrapped -= high + 1
        return ScalarParam(bool(value) if element.width_bits == 1 else wrapped, element)
    return ScalarParam(float(value), element)
