"""The data-flow graph of a function: which value each value is made from, through regions and loops."""

from __future__ import annotations

import networkx as nx

from cutile_sim.tileir.core import Function
from ir_passes.edges import edges_of


def dataflow_graph(function: Function) -> nx.DiGraph:
    """A graph of the function's values.

    Nodes are Values. An edge a -> b carries `op` and says that b is made from a: as an operand; by a loop, as its
    initial or carried value; by an `if`, as what either side yields or as the condition (`control=True`). A loop makes
    a cycle.
    """
    graph = nx.DiGraph()
    graph.add_nodes_from(function.parameters)
    for op in function.walk():
        graph.add_nodes_from(op.results)
        for source, target, control in edges_of(op):
            graph.add_edge(source, target, op=op, control=control)
    return graph
