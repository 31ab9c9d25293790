"""A kernel and its arguments, prepared for following its blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cutile_sim.debugger.bindings import Names
from cutile_sim.debugger.contents import Contents, argument_names, scalar_parameters
from cutile_sim.debugger.follower import Block, Program
from cutile_sim.debugger.naming import Naming
from cutile_sim.debugger.positions import Positions
from cutile_sim.debugger.signs import unsigned_values
from cutile_sim.errors import UsageError
from cutile_sim.frontend.arrays import is_array
from cutile_sim.frontend.params import LaunchParam, PointerParam
from cutile_sim.tileir.core import Function


@dataclass(frozen=True)
class Subject:
    """What is debugged.

    Attributes:
        program: What is known ahead of the launch.
        contents: Reads what its variables hold.
        numbers: The arguments that are no arrays, by name.
    """

    function: Function
    program: Program
    contents: Contents
    grid: tuple[int, int, int]
    numbers: Mapping[str, Any]

    def expect_block(self, block: Any) -> Block:
        """A block (x, y, z) of the grid; fewer numbers stand for zeros. Raises UsageError for any other."""
        parts = (block,) if isinstance(block, int) else block
        try:
            numbers = tuple(int(n) for n in parts)
        except (TypeError, ValueError):
            raise UsageError(f"a block is one to three whole numbers, such as (1, 2), not {block!r}") from None
        if not 1 <= len(numbers) <= 3:
            raise UsageError(f"a block has one to three coordinates, not {len(numbers)}: {block!r}")
        x, y, z = (*numbers, 0, 0)[:3]
        if not all(0 <= n < size for n, size in zip((x, y, z), self.grid, strict=True)):
            raise UsageError(f"block {(x, y, z)} is outside the grid of {self.grid} blocks")
        return x, y, z


def make_subject(
    function: Function,
    params: Sequence[LaunchParam],
    grid: tuple[int, int, int],
    names: Sequence[str] | None,
    args: Sequence[Any],
    flat_names: Sequence[str],
) -> Subject:
    """Find out what can be known of a launch ahead of it.

    Args:
        function, params: The entry function and its flat parameters.
        names: Of the kernel's Python parameters, one an argument; None where they are not known, for bytecode.
        flat_names: Of the entry function's parameters, such as `x.shape[0]`; empty for bytecode.
    """
    pointers = [
        value
        for value, param in zip(function.parameters, params, strict=True)
        if isinstance(param, PointerParam) and param.array.dtype_name.startswith("uint")
    ]
    arguments: Names = {}
    shown = names if names is not None else [f"arg{i}" for i in range(len(args))]
    numbers = {n: a for n, a in zip(shown, args, strict=True) if not is_array(a) and not isinstance(a, (list, tuple))}
    if names is not None:
        arguments = argument_names(names, args, scalar_parameters(function, flat_names))
    positions = Positions(function)
    program = Program(positions, Naming(positions, arguments))
    return Subject(function, program, Contents(params, unsigned_values(function, pointers)), grid, numbers)
