"""Printing, assertions, assumptions."""

from __future__ import annotations

import numpy as np

from cutile_sim.engine.context import Context, at_block
from cutile_sim.errors import AssertionFailedError
from cutile_sim.ops.printing import format_print
from cutile_sim.ops.registry import implements


@implements("print_tko", ignores=("token",))
def print_tko(args: tuple[np.ndarray, ...], *, format: str, operand_types: dict, cx: Context) -> None:
    """Write text, one block after another in launch order. The text is that of the device's printf (GPU recording)."""
    types = operand_types["args"]
    for number, position in cx.each_block():
        values = [(at_block(a, position), t) for a, t in zip(args, types, strict=True)]
        cx.printed.append((number, format_print(format, values)))


@implements("assert")
def assert_(condition: np.ndarray, *, message: str, cx: Context) -> None:
    """Stop the launch where any lane of the condition (i1) is false, after printing where, as the GPU does.

    Raises AssertionFailedError for the first false lane of the first block in launch order.
    """
    if condition.all():
        return
    location = cx.op.location if cx.op is not None else None
    place = f"{location.file}:{location.line}" if location is not None else "<unknown>"
    first: tuple[tuple[int, int, int], tuple[int, ...]] | None = None
    for number, position in cx.each_block():
        tile = at_block(condition, position)
        block = cx.group.block_at(position)
        for lane in np.argwhere(~tile):
            at = tuple(int(i) for i in lane)
            first = first or (block, at)
            text = f"{place}: tile block: {list(block)}, position: {list(at)}: {message}\n"
            cx.printed.append((number, text))
    assert first is not None
    raise AssertionFailedError(f"assertion failed: {message}", location=location, block=first[0], lane=first[1] or None)


@implements("assume", ignores=("predicate",))
def assume(value: np.ndarray) -> np.ndarray:
    """The value itself. The promise is for the compiler; a broken one is the sanitizer's to find."""
    return value
