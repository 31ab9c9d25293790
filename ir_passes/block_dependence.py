"""Which values may differ from block to block."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx

from cutile_sim.tileir.core import Function, Region, Value
from ir_passes.dataflow import dataflow_graph
from ir_passes.edges import terminators


def block_dependence(function: Function) -> frozenset[Value]:
    """Values that may depend on the block: made from a block id, from memory, or under a condition that is.

    All others are the same in every block of a launch. A loop whose bounds depend on the block makes its results depend
    on it, also where a carried value itself does not.
    """
    graph = dataflow_graph(function)
    sources: set[Value] = set()
    for op in function.walk():
        if op.name == "get_tile_block_id" or op.spec.effect in ("read", "read_write") or op.name == "alloca":
            sources.update(op.results)
    found = set(sources)
    for source in sources:
        found |= nx.descendants(graph, source)
    return frozenset(_under_divergent_exits(function, graph, found))


def _under_divergent_exits(function: Function, graph: nx.DiGraph, found: set[Value]) -> set[Value]:
    """Add what a loop carries and yields where a `break` or `continue` stands under a block-dependent condition."""
    while True:
        more: set[Value] = set()
        for op in function.walk():
            if op.name in ("for", "loop") and any(c in found for c in exit_conditions(op.regions[0])):
                more.update(op.results)
                more.update(op.regions[0].arguments[op.name == "for" :])
        more -= found
        if not more:
            return found
        for value in more:
            found |= nx.descendants(graph, value) | {value}


def exit_conditions(region: Region) -> Iterator[Value]:
    """Conditions under which the `break`s and `continue`s of the loop with this body stand."""
    for op in region.ops:
        if op.name == "if" and any(True for nested in op.regions for _ in terminators(nested)):
            yield op.inputs[0]
            for nested in op.regions:
                yield from exit_conditions(nested)
