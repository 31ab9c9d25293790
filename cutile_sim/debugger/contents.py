"""What variables hold, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cutile_sim.debugger.bindings import ArrayArgument, Binding, Held, Items, Known, Missing, Names, settled
from cutile_sim.debugger.follower import Follower
from cutile_sim.debugger.signs import Unsigned
from cutile_sim.dtypes import ElementType, to_storage
from cutile_sim.errors import UsageError
from cutile_sim.frontend.arrays import ArrayArg, is_array
from cutile_sim.frontend.params import LaunchParam, ListBuffer, PointerParam
from cutile_sim.memory.space import HostMemory
from cutile_sim.tileir.core import Function, Value
from cutile_sim.tileir.types import TileType, TokenType


class Contents:
    """Reads variables and arrays of one launch."""

    def __init__(self, params: Sequence[LaunchParam], unsigned: Unsigned) -> None:
        self.arrays = {a.name: memory_of(a) for a in _arrays(params)}
        self.unsigned = unsigned

    def of(self, name: str, binding: Binding | None, follower: Follower) -> Any:
        """What a variable holds: a NumPy array (a tile, an array argument), a NumPy or Python number, a tuple.

        Raises UsageError, with the reason, where that is not available.
        """
        binding = Missing("there is no such variable") if binding is None else settled(binding)
        if isinstance(binding, Known):
            return binding.value
        if isinstance(binding, ArrayArgument):
            return self.arrays[binding.name]
        if isinstance(binding, Items):
            return tuple(self.of(f"{name}[{i}]", item, follower) for i, item in enumerate(binding.items))
        if isinstance(binding, Held):
            computed = [v for v in binding.values if v.index in follower.times]
            chosen = max(computed, key=lambda v: follower.times[v.index], default=binding.values[0])
            return self.tile(name, chosen, follower)
        reason = binding.reason if isinstance(binding, Missing) else "it is not told apart from others"
        raise UsageError(f"{name} is not available here: {reason}")

    def tile(self, name: str, value: Value, follower: Follower) -> Any:
        """The block's tile of a value of the kernel, in the kernel's own dtype."""
        held = follower.holds(value)
        if held is None:
            raise UsageError(f"{name} is not available here: {_why_not(value)}")
        assert isinstance(value.type, TileType)
        element = value.type.element
        if not isinstance(element, ElementType):
            return held
        stored = to_storage(np.ascontiguousarray(held), element).reshape(held.shape)
        if value in self.unsigned and element.is_integer and element.width_bits >= 8:
            stored = stored.view(f"u{stored.dtype.itemsize}")
        return stored[()]


def _why_not(value: Value) -> str:
    if isinstance(value.type, TokenType):
        return "a token carries no data"
    if not isinstance(value.type, TileType):
        return "it is a view of an array: print the array"
    return "it is not computed yet, or was dropped before this block was followed"


def argument_names(names: Iterable[str], args: Iterable[Any], scalars: Mapping[str, Value]) -> Names:
    """What the parameters of a kernel's Python function stand for.

    Args:
        names, args: Of the launch, in order.
        scalars: The entry function's parameters that are plain numbers, by name, such as `n` or `pair[1]`.
    """
    return {name: _argument(name, arg, scalars) for name, arg in zip(names, args, strict=True)}


def _argument(name: str, arg: Any, scalars: Mapping[str, Value]) -> Binding:
    if isinstance(arg, (tuple, list)):
        return Items(tuple(_argument(f"{name}[{i}]", item, scalars) for i, item in enumerate(arg)))
    if is_array(arg):
        return ArrayArgument(name, tuple(int(n) for n in arg.shape))
    if name in scalars:
        return Held((scalars[name],))
    return Known(arg)


def scalar_parameters(function: Function, names: Sequence[str]) -> dict[str, Value]:
    """An entry function's parameters by name."""
    return dict(zip(names, function.parameters, strict=True))


def memory_of(array: ArrayArg) -> np.ndarray:
    """An array argument as the kernel sees it now: its memory itself, not to be written."""
    dtype = np.dtype(array.dtype_name) if array.dtype_name.startswith("uint") else array.element.storage
    if 0 in array.shape:
        return np.empty(array.shape, dtype)
    memory = np.asarray(HostMemory(array.base_address, array.base_bytes, False, array.keepalive))
    strides = tuple(s * dtype.itemsize for s in array.strides_elems)
    return np.ndarray(array.shape, dtype, buffer=memory, offset=array.offset_bytes, strides=strides)


def _arrays(params: Iterable[LaunchParam]) -> Iterable[ArrayArg]:
    for param in params:
        if isinstance(param, PointerParam):
            yield param.array
        elif isinstance(param, ListBuffer):
            yield from (w for w in param.words if isinstance(w, ArrayArg))
