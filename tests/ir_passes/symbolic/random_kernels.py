"""Random kernels of shapes that people write: loops in loops, breaks, branches, early returns, numbers of any width,
tiles made of tiles, slices, views with steps of their own, lists, assertions, and indices that are read.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

_HEAD = """import cuda.tile as ct


@ct.kernel
def kernel(x, y, z, indices, xs, n, m):
    bx, by, nx = ct.bid(0), ct.bid(1), ct.num_blocks(0)
    lanes = ct.arange(8, dtype=ct.int32)
    four = ct.arange(4, dtype=ct.int32)
    one = ct.full((8,), 1, dtype=ct.float32)
    acc = ct.full((8,), 0, dtype=ct.float32)
"""
_TAIL = "    ct.scatter(x, lanes + bx * 0, acc, mask=lanes < 0)\n"
_WIDTHS = ["int8", "uint8", "int16", "uint16", "int64", "uint32", "uint64"]
_LIKELY = ["bx", "bx + nx * by", "bx * 2", "bx * 3", "nx - 1 - bx", "(bx + 1) % nx", "bx // 2", "bx * 4 + by"]


@dataclass(frozen=True)
class Launch:
    """A kernel's source with what it is launched with."""

    source: str
    grid: tuple[int, int]
    lengths: tuple[int, int]
    rows: tuple[int, int]
    numbers: tuple[int, int]
    seed: int

    def arguments(self) -> tuple[object, ...]:
        x, y = (np.zeros(n, np.float32) for n in self.lengths)
        indices = np.random.default_rng(self.seed).integers(-4, 20, 32).astype(np.int32)
        xs = [np.zeros(16, np.float32), np.zeros(16, np.float32)]
        return x, y, np.zeros(self.rows, np.float32), indices, xs, *self.numbers


def random_launch(seed: int) -> Launch:
    writer = _Writer(seed)
    source = writer.kernel()
    pick = writer.rng.choice
    return Launch(
        source,
        pick([(1, 1), (2, 1), (4, 1), (3, 2), (2, 3), (4, 2)]),
        (pick([16, 40, 64]), pick([8, 16, 24, 40, 61, 64])),
        pick([(8, 8), (8, 16), (13, 24), (16, 16)]),
        (pick([0, 1, 3, 5, 8]), pick([0, 2, 7, -1])),
        seed,
    )


class _Writer:
    """Writes one kernel. `changing` are variables that statements may assign, `fixed` those they only read."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.changing: list[str] = []
        self.fixed: list[str] = []
        self.loops: list[str] = []
        self.lines: list[str] = []
        self.made = 0

    def kernel(self) -> str:
        for _ in range(self.rng.randint(0, 2)):
            self.variable(1)
        self.block(1, 6)
        return _HEAD + "".join(self.lines) + _TAIL

    def name(self, prefix: str) -> str:
        self.made += 1
        return f"{prefix}{self.made}"

    def write(self, depth: int, *lines: str) -> None:
        self.lines += [f"{'    ' * depth}{line}\n" for line in lines]

    # Expressions

    def atom(self) -> str:
        own = (self.changing + self.fixed) * 2
        return self.rng.choice(["bx", "by", "nx", "n", "m", *map(str, (self.rng.randint(0, 9), 40, -3)), *own])

    def number(self, depth: int = 2) -> str:
        pick = self.rng.choice
        if depth == 0 or self.rng.random() < 0.25:
            return self.atom()
        a, b = self.number(depth - 1), self.number(depth - 1)
        as_tile = f"ct.astile({a}, dtype=ct.int32)"
        makers = [
            *(lambda sign=sign: f"({a} {sign} {b})" for sign in "++-**"),
            lambda: f"({a} {pick(['//', '%'])} {pick([2, 3, 4, 5, 8, -3, 16])})",
            lambda: f"({a} {pick(['//', '%'])} ({b} + {pick([0, 1, 5])}))",
            lambda: f"{pick(['min', 'max'])}({a}, {b})",
            lambda: f"ct.where({self.test()}, {as_tile}, ct.astile({b}, dtype=ct.int32))",
            lambda: f"{as_tile}.astype(ct.{pick(_WIDTHS)}).astype(ct.int32)",
            lambda: f"({a} {pick(['& 1', '& 7', '& 5', '& -1', '| 4', '^ 8', '>> 1', '>> 31', '<< 2'])})",
            lambda: f"{pick(['-', 'abs'])}({a})",
            lambda: f"ct.{pick(['sum', 'max', 'min'])}({self.tile()}, axis=0)",
        ]
        return pick(makers)()

    def test(self) -> str:
        a, b, c, d = (self.number(1) for _ in range(4))
        first, second = (self.rng.choice(["<", "<=", ">", ">=", "==", "!="]) for _ in range(2))
        whole = f"(({a}) {first} ({b})) {self.rng.choice('&|')} (({c}) {second} ({d}))"
        return whole if self.rng.random() < 0.25 else f"({a}) {first} ({b})"

    def tile(self) -> str:
        """Eight integers."""
        pick, a = self.rng.choice, self.number(1)
        makers = [
            *([lambda: f"(lanes * {pick(['1', '1', '2', '3', self.atom()])} + {a})"] * 4),
            lambda: f"({a} - lanes)",
            lambda: f"ct.where(lanes {pick(['<', '>=', '=='])} {pick(['3', self.atom()])}, lanes + {a}, 7 - lanes)",
            lambda: f"(lanes * lanes + {a})",
            lambda: f"(ct.cumsum({pick(['lanes', 'lanes - 3'])}, axis=0) + {a})",
            lambda: f"(ct.reshape(ct.permute(ct.reshape(lanes, (2, 4)), (1, 0)), (8,)) + {a})",
            lambda: f"ct.cat((four, four + {a}), 0)",
            lambda: f"ct.extract(ct.arange(16, dtype=ct.int32), ({pick(['bx % 2', self.atom()])},), (8,))",
            lambda: f"((lanes + {a}) {pick(['//', '%'])} {pick([2, 3, 8])})",
            lambda: f"ct.gather(indices, lanes + {a}, padding_value=0)",
            lambda: f"ct.reshape(ct.broadcast_to(ct.reshape(four, (4, 1)), (4, 2)) + {a}, (8,))",
        ]
        return pick(makers)()

    def place(self) -> str:
        base = self.rng.choice(_LIKELY) if self.rng.random() < 0.6 else self.number()
        own = self.changing + self.fixed
        return (
            f"({base}) * {self.rng.choice([1, 2, 4])} + {self.rng.choice(own)}"
            if own and self.rng.random() < 0.4
            else base
        )

    def array(self) -> str:
        listed = f"xs[{self.rng.choice(['0', '1', 'bx % 2', self.atom()])}]"
        return self.rng.choice(["x", "y", "y", "y"]) if self.rng.random() < 0.85 else listed

    # Statements

    def access(self, depth: int) -> None:
        pick, a, b, made = self.rng.choice, self.place(), self.place(), self.name("w")
        wide = "ct.full((4, 8), 1, dtype=ct.float32)"
        choices = [
            *([[f"ct.store({self.array()}, ({a},), one)"]] * 3),
            *([[f"ct.scatter({self.array()}, {self.tile()} + {a}{pick(['', ' * 8'])}, 1.0)"]] * 3),
            *([[f"ct.store(z, ({a}, {b}), {wide})"]] * 2),
            [f"acc = acc + ct.load({self.array()}, ({a},), (8,), padding_mode=ct.PaddingMode.ZERO)"],
            [f"acc = acc + ct.load({self.array()}, ({a},), (8,), check_bounds=False)"],
            [f"acc = acc + ct.gather({self.array()}, {self.tile()} + {a})"],
            [f"acc = acc + ct.gather(z, ({self.tile()}, {self.tile()}))"],
            [
                f"{made} = {self.tile()} + {a}",
                f"inside = ({made} >= 0) & ({made} < {pick(['y.shape[0]', 'x.shape[0]', '40'])})",
                f"ct.scatter(y, {made}, 1.0, mask=inside, check_bounds=False)",
            ],
            [
                f"{made} = y.slice(axis=0, start=max(0, min({a}, 8)), stop={pick(['y.shape[0]', '16'])})",
                f"ct.store({made}, ({b},), one)",
            ],
            [f"{made} = y.tiled_view((8,), traversal_steps=({pick([1, 3, 4, 8, 16])},))", f"{made}.store(({a},), one)"],
            [
                f"{made} = z.tiled_view((4, 8), traversal_steps=({pick([1, 2, 4, 8])}, {pick([4, 8, 16])}))",
                f"{made}.store(({a}, {b}), {wide})",
            ],
            [f"ct.store_advanced_indexing(z, ({self.tile()}, ct.Slice({a}, 4)), ct.full((8, 4), 1, dtype=ct.float32))"],
            [f"ct.scatter(z, (ct.reshape({self.tile()}, (8, 1)), ct.reshape(four, (1, 4)) + {a}), 1.0)"],
            [f"ct.atomic_add({pick(['x', 'y'])}, {self.tile()} + {a}, 1.0)"],
            [f"{made} = y.get_raw_memory()", f"{made}.store_offset(max(0, min({a}, 10)) + lanes, 1.0)"],
        ]
        self.write(depth, *pick(choices))

    def variable(self, depth: int) -> None:
        name = self.name("v")
        self.write(depth, f"{name} = {self.number()} + bx * 0")
        self.changing.append(name)

    def change(self, depth: int) -> None:
        pick = self.rng.choice
        if self.changing:
            by = pick(["1", "2", "3", self.number(1)])
            self.write(depth, f"{pick(self.changing)} {pick(['+=', '-=', '='])} {by} + bx * 0")
        elif depth == 1:
            self.variable(depth)

    def branch(self, depth: int) -> None:
        self.write(depth, f"if {self.test()}:")
        self.block(depth + 1, 2)
        if self.loops and self.rng.random() < 0.3:
            self.write(depth + 1, "break" if self.loops[-1] == "while" else self.rng.choice(["break", "continue"]))
        elif self.rng.random() < 0.5:
            self.write(depth, "else:")
            self.block(depth + 1, 2)

    def loop(self, depth: int) -> None:
        pick, name = self.rng.choice, self.name("t")
        kind = pick(["for", "for", "while"])
        if kind == "for":
            start = pick(["0", "0", "bx", "1", self.atom()])
            stop = pick(["1", "2", "3", "bx + 1", "by + 2", "n", f"min(6, {self.atom()})"])
            self.write(depth, f"for {name} in range({start}, {stop}, {pick(['1', '1', '2', 'nx', '3'])}):")
        else:
            self.write(depth, f"{name} = {pick(['0', 'bx', '1'])} + bx * 0", f"while {name} < {pick(['3', 'n', '4'])}:")
        self.fixed.append(name)
        self.loops.append(kind)
        self.block(depth + 1, 3)
        self.loops.pop()
        self.fixed.remove(name)
        if kind == "while":
            self.write(depth + 1, f"{name} += {pick(['1', '1', '2', 'nx'])}")

    def block(self, depth: int, most: int) -> None:
        for _ in range(self.rng.randint(1, most)):
            chance = self.rng.random()
            if chance < 0.2:
                self.change(depth)
            elif chance < 0.3 and depth < 4:
                self.branch(depth)
            elif chance < 0.52 and depth < 4 and len(self.loops) < 2:
                self.loop(depth)
            elif chance < 0.56 and depth == 1:
                self.write(depth, f"if {self.test()}:", "    return")
            elif chance < 0.6 and depth == 1:
                name = self.name("d")
                self.write(depth, f"{name} = ct.gather(indices, {self.place()}, padding_value=0).item()")
                self.fixed.append(name)
            elif chance < 0.62:
                self.write(depth, f"ct.assert_({self.test()})")
            else:
                self.access(depth)
        self.write(depth, "acc = acc + 1")
