"""Kernels of several loads, stores and atomic updates, and which block touches what, counted out in plain Python.

Nothing of the package is used: the same expression is a line of the kernel and a line that Python evaluates.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

TILE = 4

_KERNEL = """
import cuda.tile as ct

@ct.kernel
def kernel(xs, y, out):
    bx, by, nx = ct.bid(0), ct.bid(1), ct.num_blocks(0)
    lanes = ct.arange({tile}, dtype=ct.int32)
    {reductions}
    read = ct.full(({tile},), 0, dtype=ct.float32)
    for t in range({start}, {stop}, {step}):
        {body}
    ct.store(out, (bx + nx * by,), read)
"""

REDUCTIONS = {
    "total": ("ct.sum(lanes * {a} + {b}, axis=0)", lambda a, b: sum(n * a + b for n in range(TILE))),
    "top": ("ct.max(lanes * {a} - {b}, axis=0)", lambda a, b: max(n * a - b for n in range(TILE))),
    "low": ("ct.min({b} - lanes * {a}, axis=0)", lambda a, b: min(b - n * a for n in range(TILE))),
    "run": (
        "ct.cumsum(ct.full(({tile},), {a}, dtype=ct.int32), axis=0)",
        lambda a, b: [a * (n + 1) for n in range(TILE)],
    ),
}
"""Numbers that come out of reductions and scans: the line of the kernel, and what Python makes of it."""


@dataclass(frozen=True)
class Statement:
    """One access. `kind`: load, store or update; `target`: "y", or an index into the list; by tile, or by element."""

    kind: str
    target: str
    index: str
    condition: str
    by_tile: bool

    @property
    def array(self) -> str:
        return "y" if self.target == "y" else f"xs[({self.target}) % len(xs)]"

    @property
    def line(self) -> str:
        place = f"({self.index})"
        if self.kind == "update":
            doing = f"ct.atomic_add({self.array}, {place} + lanes, 1.0, memory_order=ct.MemoryOrder.RELAXED)"
        elif self.kind == "load" and self.by_tile:
            doing = f"read = read + ct.load({self.array}, ({place},), ({TILE},))"
        elif self.kind == "load":
            doing = f"read = read + ct.gather({self.array}, {place} + lanes)"
        elif self.by_tile:
            doing = f"ct.store({self.array}, ({place},), ct.full(({TILE},), 1, dtype=ct.float32))"
        else:
            doing = f"ct.scatter({self.array}, {place} + lanes, 1.0)"
        return f"if {self.condition}:\n            {doing}"


@dataclass(frozen=True)
class Program:
    """A kernel with its launch: `lengths` are those of the arrays in the list, `length` that of `y`."""

    statements: tuple[Statement, ...]
    turns: tuple[str, str, int]
    grid: tuple[int, int]
    length: int
    lengths: tuple[int, ...]
    numbers: tuple[int, int]

    @property
    def source(self) -> str:
        a, b = self.numbers
        start, stop, step = self.turns
        return _KERNEL.format(
            tile=TILE,
            reductions="\n    ".join(
                f"{name} = {text.format(a=a, b=b, tile=TILE)}" for name, (text, _) in REDUCTIONS.items()
            ),
            start=start,
            stop=stop,
            step=step,
            body="\n        ".join(s.line for s in self.statements),
        )


@dataclass
class Touches:
    """The blocks that load, store and update each element of one array, by kind and index."""

    blocks: dict[str, dict[tuple[int, ...], set[tuple[int, int]]]] = field(
        default_factory=lambda: {"load": {}, "store": {}, "update": {}}
    )

    def clash(self, kind: str, other: str) -> bool:
        """Whether two different blocks touch one element in these ways."""
        for element, blocks in self.blocks[kind].items():
            others = self.blocks[other].get(element, set())
            if any(a != b for a, b in product(blocks, others)):
                return True
        return False


def touched(program: Program) -> dict[str, Touches]:
    """What happens to `y` and to the list `xs`, over all blocks."""
    found = {"y": Touches(), "xs": Touches()}
    known = {name: value(*program.numbers) for name, (_, value) in REDUCTIONS.items()}
    for by, bx in product(range(program.grid[1]), range(program.grid[0])):
        names: dict[str, Any] = {**known, "bx": bx, "by": by, "nx": program.grid[0]}
        start, stop, step = program.turns
        for t in range(eval(start, names), eval(stop, names), step):
            names["t"] = t
            for statement in program.statements:
                if eval(statement.condition, names):
                    _touch(statement, program, names, (bx, by), found)
    return found


def _touch(
    statement: Statement, program: Program, names: dict[str, Any], block: tuple[int, int], found: dict[str, Touches]
) -> None:
    prefix: tuple[int, ...] = ()
    name, length = "y", program.length
    if statement.target != "y":
        position = eval(statement.target, names) % len(program.lengths)
        prefix, name, length = (position,), "xs", program.lengths[position]
    for lane in range(TILE):
        here = {**names, **{n: v[lane] for n, v in names.items() if isinstance(v, list)}}
        first = eval(statement.index, here)
        # A tile index is read as unsigned: what is negative lies past the end.
        element = first * TILE + lane if statement.by_tile and statement.kind != "update" else first + lane
        if 0 <= element < length:
            found[name].blocks[statement.kind].setdefault((*prefix, element), set()).add(block)
