"""The data flow of a kernel, laid out so that it can be drawn."""

from __future__ import annotations

from dataclasses import dataclass

from cutile_sim.traces.model import OpInfo
from cutile_sim.traces.reader import LaunchTrace


@dataclass(frozen=True)
class Node:
    """One operation.

    Attributes:
        op: Its number.
        name, kind: Of the operation.
        file, line: Its place in the user's source; "" and 0 where that is unknown.
        parent, region: The operation and its region that it lies in; -1 for the kernel itself.
        layer: Its row within that region: below all that it depends on there.
        column: Its place within the row.
        results: Types of its results.
    """

    op: int
    name: str
    kind: str
    file: str
    line: int
    parent: int
    region: int
    layer: int
    column: int
    results: tuple[str, ...]


@dataclass(frozen=True)
class Edge:
    """A value that one operation takes.

    Attributes:
        source: The operation that makes it, or in whose region it is an argument; -1 for a parameter of the kernel.
        role: "result", "argument" (of a region of the source) or "parameter".
        number: Which of those.
        target: The operation that takes it.
        operand: As what.
        type: The value's type.
    """

    source: int
    role: str
    number: int
    target: int
    operand: str
    type: str


@dataclass(frozen=True)
class DataFlow:
    """Nodes in program order, and edges in the order of their targets.

    Attributes:
        parameters: Types of the kernel's parameters, in the order of the launch.
    """

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    parameters: tuple[str, ...]


def dataflow(launch: LaunchTrace) -> DataFlow:
    """The operations of a kernel and the values that pass between them.

    Raises UsageError for a damaged file.
    """
    parameters = launch.parameters
    edges = _Scopes(launch.ops).edges(parameters)
    layers = _layers(launch.ops, edges)
    filled: dict[tuple[int, int, int], int] = {}
    nodes = []
    for op in launch.ops:
        row = op.parent, op.region, layers[op.number]
        column = filled.get(row, 0)
        filled[row] = column + 1
        nodes.append(
            Node(
                op.number,
                op.name,
                op.kind,
                *op.file_and_line,
                op.parent,
                op.region,
                layers[op.number],
                column,
                tuple(t for _, t in op.results),
            )
        )
    return DataFlow(tuple(nodes), edges, tuple(t for _, t in parameters))


class _Scopes:
    """Finds who made a value. Numbers of values are given anew after each region."""

    def __init__(self, ops: tuple[OpInfo, ...]) -> None:
        self._ops = ops
        self._inside: dict[tuple[int, int], list[OpInfo]] = {}
        for op in ops:
            self._inside.setdefault((op.parent, op.region), []).append(op)

    def edges(self, parameters: tuple[tuple[int, str], ...]) -> tuple[Edge, ...]:
        known = {value: (-1, "parameter", n, kind) for n, (value, kind) in enumerate(parameters)}
        found: list[Edge] = []
        self._walk((-1, 0), known, found)
        return tuple(sorted(found, key=lambda e: e.target))

    def _walk(self, region: tuple[int, int], known: dict[int, tuple[int, str, int, str]], found: list[Edge]) -> None:
        known = dict(known)
        for op in self._inside.get(region, ()):
            for name, values in op.operands.items():
                for value in values:
                    if value in known:
                        source, role, number, kind = known[value]
                        found.append(Edge(source, role, number, op.number, name, kind))
            for n, arguments in enumerate(op.arguments):
                inner = known | {v: (op.number, "argument", i, kind) for i, (v, kind) in enumerate(arguments)}
                self._walk((op.number, n), inner, found)
            known |= {v: (op.number, "result", i, kind) for i, (v, kind) in enumerate(op.results)}


def _layers(ops: tuple[OpInfo, ...], edges: tuple[Edge, ...]) -> list[int]:
    """The row of each operation within its region: what is taken inside a region counts for the operation around it."""
    layers = [0] * len(ops)
    below: dict[int, set[int]] = {}
    for edge in edges:
        target = edge.target
        while target >= 0 and edge.source >= 0:
            if ops[target].parent == ops[edge.source].parent and ops[target].region == ops[edge.source].region:
                if target != edge.source:
                    below.setdefault(target, set()).add(edge.source)
                break
            target = ops[target].parent
    for op in ops:  # in program order: what an operation depends on comes before it
        layers[op.number] = 1 + max((layers[s] for s in below.get(op.number, ())), default=-1)
    # What ends a region stands below all of it.
    deepest: dict[tuple[int, int], int] = {}
    ends = {(op.parent, op.region): op.number for op in ops}
    for op in ops:
        if op.number != ends[op.parent, op.region]:
            deepest[op.parent, op.region] = max(deepest.get((op.parent, op.region), -1), layers[op.number])
    for place, number in ends.items():
        layers[number] = deepest.get(place, -1) + 1
    return layers
