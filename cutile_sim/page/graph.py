"""Places for the graph of operations: rows by dependence, what lies in a loop or branch inside its box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cutile_sim.analysis import DataFlow, Edge, Node
from cutile_sim.page.launches import file_paths, touched
from cutile_sim.traces.reader import LaunchTrace

CHARACTER_PX = 6.7
NODE_PX = 34
HEAD_PX = 22
GAP_PX, ROW_GAP_PX, PAD_PX = 14, 26, 12
MOST_NODES = 1500
LONGEST_SUB = 26
ENDS = ("yield", "continue", "break", "return")
PLUMBING = (
    "constant", "assume", "make_token", "join_tokens", "make_tensor_view", "make_partition_view", "get_tensor_shape",
    "get_index_space_shape",
)  # fmt: skip
"""Operations that say where and how others work, and would hide them."""


def layout(flow: DataFlow, launch: LaunchTrace, *, everything: bool = False) -> dict[str, Any]:
    """Boxes and edges for the page, in CSS pixels: nodes in program order, those with `inside` around others.

    Values that pass through operations left out are edges between those on either side.
    """
    nodes = [n for n in flow.nodes if n.name not in ENDS and (everything or n.name not in PLUMBING)]
    left_out = max(0, len(nodes) - MOST_NODES)
    return _Layout(flow, nodes[:MOST_NODES], launch).result() | {"left_out": left_out}


class _Layout:
    def __init__(self, flow: DataFlow, nodes: Sequence[Node], launch: LaunchTrace) -> None:
        self._paths = file_paths(launch)
        self._arrays = _arrays_of(launch)
        self._nodes = {n.op: n for n in nodes}
        self._inside: dict[tuple[int, int], list[Node]] = {}
        for node in nodes:
            self._inside.setdefault((node.parent, node.region), []).append(node)
        self._sources: dict[int, list[int]] = {}
        self._edges = _contracted(flow, self._nodes)
        for edge in self._edges:
            self._sources.setdefault(edge.target, []).append(edge.source)
        self._layers = _layers(self._nodes, self._edges)
        self._boxes: dict[int, list[float]] = {}
        self._order: dict[int, float] = {}

    def result(self) -> dict[str, Any]:
        width, height = self._region((-1, 0))
        boxes = [self._node(node) for node in self._nodes.values()]
        edges = [self._drawn(e) for e in self._edges]
        return {"width": width + 2 * PAD_PX, "height": height + 2 * PAD_PX, "nodes": boxes, "edges": edges}

    def _region(self, region: tuple[int, int]) -> tuple[float, float]:
        """Place all of a region from (0, 0) on; its width and height."""
        rows: dict[int, list[Node]] = {}
        for node in self._inside.get(region, ()):
            rows.setdefault(self._layers[node.op], []).append(node)
        y, widest = 0.0, 0.0
        spans = []
        for layer in sorted(rows):
            row = sorted(rows[layer], key=self._barycenter)
            x, tallest = 0.0, 0.0
            for node in row:
                w, h = self._size(node)
                self._boxes[node.op] = [x, y, w, h]
                self._order[node.op] = x + w / 2
                x += w + GAP_PX
                tallest = max(tallest, h)
            spans.append((row, x - GAP_PX))
            widest = max(widest, x - GAP_PX)
            y += tallest + ROW_GAP_PX
        for row, width in spans:
            for node in row:
                self._move(node, (widest - width) / 2, 0)
        return widest, max(0.0, y - ROW_GAP_PX)

    def _barycenter(self, node: Node) -> float:
        at = [self._order[s] for s in self._sources.get(node.op, ()) if s in self._order]
        return sum(at) / len(at) if at else 0.0

    def _size(self, node: Node) -> tuple[float, float]:
        """The size of a node; its own inside is placed relative to the inside of its box."""
        least = CHARACTER_PX * max(len(node.name), len(self._sub(node))) + 16
        x, tallest = float(PAD_PX), 0.0
        for region in sorted(r for parent, r in self._inside if parent == node.op):
            w, h = self._region((node.op, region))
            for inner in self._inside[node.op, region]:
                self._move(inner, x, HEAD_PX + PAD_PX)
            x += w + PAD_PX
            tallest = max(tallest, h)
        if not tallest:
            return least, NODE_PX
        return max(least, x), HEAD_PX + tallest + 2 * PAD_PX

    def _move(self, node: Node, dx: float, dy: float) -> None:
        box = self._boxes[node.op]
        box[0] += dx
        box[1] += dy

    def _place(self, op: int) -> tuple[float, float, float, float]:
        """A box on the whole picture: boxes are kept relative to the box around them."""
        x, y, w, h = self._boxes[op]
        parent = self._nodes[op].parent
        if parent in self._boxes:
            px, py, _, _ = self._place(parent)
            return x + px, y + py, w, h
        return x + PAD_PX, y + PAD_PX, w, h

    def _node(self, node: Node) -> dict[str, Any]:
        x, y, w, h = self._place(node.op)
        line = {"file": self._paths.index(node.file), "line": node.line} if node.file in self._paths else None
        has_inside = any(parent == node.op for parent, _ in self._inside)
        return {
            "id": node.op, "label": node.name, "sub": self._sub(node), "kind": node.kind, "line": line,
            "inside": has_inside, "x": round(x, 1), "y": round(y, 1), "w": round(w, 1), "h": round(h, 1),
        }  # fmt: skip

    def _sub(self, node: Node) -> str:
        arrays = ", ".join(self._arrays.get(node.op, ()))
        types = ", ".join(t for t in node.results if t != "token")
        words = ": ".join(part for part in (arrays, types) if part)
        return words if len(words) <= LONGEST_SUB else words[: LONGEST_SUB - 1] + "…"

    def _drawn(self, edge: Edge) -> dict[str, Any]:
        sx, sy, sw, sh = self._place(edge.source)
        tx, ty, tw, _ = self._place(edge.target)
        start = [sx + sw / 2, sy + sh]
        if edge.role == "argument":  # of a loop: from below its head
            start = [min(max(tx + tw / 2, sx), sx + sw), sy + HEAD_PX]
        return {
            "from": edge.source,
            "to": edge.target,
            "operand": edge.operand,
            "token": edge.type == "token",
            "points": [[round(start[0], 1), round(start[1], 1)], [round(tx + tw / 2, 1), round(ty, 1)]],
        }


def _arrays_of(launch: LaunchTrace) -> dict[int, list[str]]:
    """Names of the arrays that each operation was recorded to touch."""
    found: dict[int, list[str]] = {}
    for op, array in touched(launch):
        found.setdefault(op, []).append(launch.arrays[array].name)
    return found


def _contracted(flow: DataFlow, nodes: Mapping[int, Node]) -> list[Edge]:
    """Edges between the nodes, one a pair, through operations that are not among them."""
    incoming: dict[int, list[Edge]] = {}
    for edge in flow.edges:
        incoming.setdefault(edge.target, []).append(edge)
    found: dict[tuple[int, int], Edge] = {}
    for target in nodes:
        seen: set[int] = set()
        waiting = [(edge, edge) for edge in incoming.get(target, ())]
        while waiting:
            edge, last = waiting.pop()
            if edge.source in nodes:
                known = found.get((edge.source, target))
                if known is None or (known.type == "token" and edge.type != "token"):
                    kind = "token" if "token" in (edge.type, last.type) else edge.type
                    found[edge.source, target] = replace(edge, target=target, operand=last.operand, type=kind)
            elif edge.source >= 0 and edge.source not in seen:
                seen.add(edge.source)
                waiting += [(before, last) for before in incoming.get(edge.source, ())]
    return list(found.values())


def _layers(nodes: Mapping[int, Node], edges: Sequence[Edge]) -> dict[int, int]:
    """The row of each node within its region: below all that it, or what lies in it, depends on there."""
    above: dict[int, set[int]] = {}
    for edge in edges:
        place = nodes[edge.source].parent, nodes[edge.source].region
        target = edge.target
        while target in nodes and (nodes[target].parent, nodes[target].region) != place:
            target = nodes[target].parent
        if target in nodes and target != edge.source:
            above.setdefault(target, set()).add(edge.source)
    layers: dict[int, int] = {}
    for number in nodes:  # in program order: what an operation depends on comes before it
        layers[number] = 1 + max((layers[s] for s in above.get(number, ()) if s in layers), default=-1)
    return layers
