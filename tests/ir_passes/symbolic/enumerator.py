"""Random kernels that store along a line, and what they do, counted out in plain Python block by block.

Nothing of the package is used: the same expression is a line of the kernel and a line that Python evaluates.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import product

TILE = 8

_KERNEL = """
import cuda.tile as ct

@ct.kernel
def kernel(y):
    bx, by, nx = ct.bid(0), ct.bid(1), ct.num_blocks(0)
    lanes = ct.arange({tile}, dtype=ct.int32)
    for t in range({start}, {stop}, {step}):
        i = {index}
        if {condition}:
            {store}
"""


@dataclass(frozen=True)
class Case:
    """One kernel: its expressions, its grid, the length of its array, and whether it stores tiles of a view."""

    index: str
    condition: str
    turns: tuple[str, str, int]
    grid: tuple[int, int]
    length: int
    by_tile: bool
    mask: str

    @property
    def source(self) -> str:
        start, stop, step = self.turns
        if self.by_tile:
            store = f"ct.store(y, (i,), ct.full(({TILE},), 1, dtype=ct.float32))"
        else:
            store = f"ct.scatter(y, i + lanes, 1.0, mask=({self.mask}), check_bounds=False)"
        return _KERNEL.format(
            tile=TILE, start=start, stop=stop, step=step, index=self.index, condition=self.condition, store=store
        )


@dataclass
class Truth:
    """What happens in some block: `owners` are the blocks that store to each element."""

    leaves_memory: bool = False
    leaves_index_space: bool = False
    is_clipped: bool = False
    divides_by_zero: bool = False
    owners: dict[int, set[tuple[int, int]]] = field(default_factory=dict)

    @property
    def overlaps(self) -> bool:
        return any(len(blocks) > 1 for blocks in self.owners.values())


def enumerate_case(case: Case) -> Truth:
    truth = Truth()
    for by, bx in product(range(case.grid[1]), range(case.grid[0])):
        names = {"bx": bx, "by": by, "nx": case.grid[0], "min": min, "max": max}
        start, stop, step = case.turns
        for t in range(eval(start, names), eval(stop, names), step):
            names["t"] = t
            try:
                names["i"] = i = eval(case.index, names)
            except ZeroDivisionError:
                truth.divides_by_zero = True
                continue
            if eval(case.condition, names):
                _store(case, names, i, (bx, by), truth)
    return truth


def _store(case: Case, names: dict, i: int, block: tuple[int, int], truth: Truth) -> None:
    first = i * TILE if case.by_tile else i
    if case.by_tile and not 0 <= first < case.length:
        truth.leaves_index_space = True
        return
    for lane in range(TILE):
        element = first + lane
        if not case.by_tile and not eval(case.mask, {**names, "lanes": lane}):
            continue
        if 0 <= element < case.length:
            truth.owners.setdefault(element, set()).add(block)
        elif case.by_tile:
            truth.is_clipped = True
        else:
            truth.leaves_memory = True


def random_case(seed: int) -> Case:
    rng = random.Random(seed)
    by_tile = rng.random() < 0.5
    unit = 1 if by_tile else TILE
    start = rng.choice(["0", "0", "bx", "1"])
    stop = rng.choice(["1", "2", "3", "bx + 1", "by + 2", "5"])
    step = rng.choice([1, 1, 2, 3])
    grid = rng.choice([(1, 1), (4, 1), (3, 2), (5, 3), (8, 1)])
    index = _expression(rng, 3)
    if rng.random() < 0.6:
        index = rng.choice(["bx", "bx + nx * by", "bx * 3 + t", "(bx + nx * by) * 2 + t", "bx // 2", "nx - 1 - bx"])
    if unit > 1 and rng.random() < 0.7:
        index = f"({index}) * {unit}"
    condition = rng.choice(["True", "True", "t < 2", "i >= 0", f"i < {rng.choice([8, 24, 40])}", "bx != by"])
    mask = rng.choice(["i + lanes < 64", "(i + lanes < 40) & (i + lanes >= 0)", "lanes < 5", "i + lanes >= 0"])
    length = rng.choice([8, 24, 32, 40, 61, 64, 100])
    return Case(index, condition, (start, stop, step), grid, length, by_tile, mask)


def _expression(rng: random.Random, depth: int) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["bx", "by", "t", str(rng.randint(0, 9)), "nx"])
    a, b = _expression(rng, depth - 1), _expression(rng, depth - 1)
    kind = rng.choice(["+", "-", "*", "//", "%", "min", "max", "+", "*", "/v"])
    if kind in ("min", "max"):
        return f"{kind}({a}, {b})"
    if kind in ("//", "%"):
        return f"(({a}) {kind} {rng.choice([2, 3, 5, 8, -3])})"
    if kind == "/v":
        return f"(({a}) {rng.choice(['//', '%'])} ({b}))"
    return f"(({a}) {kind} ({b}))"
