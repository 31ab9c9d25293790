"""Along which axes of the grid each value may differ from block to block."""

from __future__ import annotations

from cutile_sim.tileir.core import Function, Value
from ir_passes.edges import edges_of

X, Y, Z = 1, 2, 4
ALL = X | Y | Z


def grid_axes(function: Function) -> dict[Value, int]:
    """A set of bits a value: X, Y, Z for the axes whose block id it is made from, directly or through a condition.

    A load depends on what its place depends on; an atomic update's old values and fresh memory on all axes. Values that
    are missing are the same in every block.
    """
    found: dict[Value, int] = {}
    leads_to: dict[Value, list[Value]] = {}
    for op in function.walk():
        for source, target, _ in edges_of(op):
            leads_to.setdefault(source, []).append(target)
        if op.name == "get_tile_block_id":
            found.update(zip(op.results, (X, Y, Z), strict=True))
        elif op.spec.effect == "read_write" or op.name == "alloca":
            found.update(dict.fromkeys(op.results, ALL))
    open_ends = list(found)
    while open_ends:
        source = open_ends.pop()
        axes = found[source]
        for target in leads_to.get(source, ()):
            if found.get(target, 0) | axes != found.get(target, 0):
                found[target] = found.get(target, 0) | axes
                open_ends.append(target)
    return found
