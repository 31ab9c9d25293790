"""Random kernels of arithmetic on tiles of small whole floats: what a compiler fuses, folds, moves and drops.

Every number stays so small that float32 holds it exactly, so that fused and unfused arithmetic agree.
"""

from __future__ import annotations

import random

LIMIT = 2.0**21
NAMES = ("a", "b", "c", "d", "e")

HEAD = """import cuda.tile as ct


def blend(p, q):
    r = p * 2 - q
    if_used = r + p
    return r * 1


def both(p, q):
    s = p + q
    return s, p - q * 2


@ct.kernel
def kernel(x, y, n):
    i = ct.bid(0)
"""


class _Writer:
    """Writes statements, and knows how large each variable may be."""

    def __init__(self, seed: int, loop: str) -> None:
        self.choose = random.Random(seed)
        self.loop = loop
        self.bounds: dict[str, float] = {}
        self.lines: list[str] = []

    def kernel(self) -> str:
        for name in NAMES:
            self.load(name)
        self.statements(self.choose.randint(4, 9), "    ")
        total = " + ".join(NAMES)
        self.lines.append(f"    ct.store(y, (i,), {total})")
        return HEAD + "\n".join(self.lines) + "\n"

    def load(self, name: str, indent: str = "    ") -> None:
        self.lines.append(f"{indent}{name} = ct.load(x, ({self.choose.randint(0, 3)},), (8,))")
        self.bounds[name] = 4.0

    def statements(self, count: int, indent: str, in_loop: bool = False) -> None:
        for _ in range(count):
            self.statement(indent, in_loop)

    def statement(self, indent: str, in_loop: bool) -> None:
        kinds = ["assign"] * 5 + ["update", "update", "alias", "swap", "call", "pair", "where", "cast", "sum", "load"]
        kinds += [] if in_loop else ["loop", "loop", "if", "if"]
        kind = self.choose.choice(kinds)
        target, other, third = self.choose.sample(NAMES, 3)
        if kind == "update":
            value, bound = self.expression(1)
            self.assign(f"{target} {self.choose.choice('+-')}= {value}", target, bound + self.bounds[target], indent)
        elif kind == "alias":
            self.assign(f"{target} = {other}", target, self.bounds[other], indent)
        elif kind == "swap":
            bounds = self.bounds[other], self.bounds[target]
            self.lines.append(f"{indent}{target}, {other} = {other}, {target}")
            self.bounds[target], self.bounds[other] = bounds
        elif kind == "call":
            self.assign(
                f"{target} = blend({other}, {third})", target, 2 * self.bounds[other] + self.bounds[third], indent
            )
        elif kind == "pair":
            bound = self.bounds[other] + 2 * self.bounds[third]
            self.lines.append(f"{indent}{target}, {other} = both({other}, {third})")
            self.keep(target, bound, indent)
            self.keep(other, bound, indent)
        elif kind == "where":
            value, bound = self.expression(1)
            text = f"{target} = ct.where({other} > {third}, {other}, {value})"
            self.assign(text, target, max(bound, self.bounds[other]), indent)
        elif kind == "cast":
            value, bound = self.expression(1)
            self.assign(f"{target} = ({value}).astype(ct.int32).astype(ct.float32)", target, bound, indent)
        elif kind == "sum":
            self.assign(f"{target} = ct.sum({other}) * 2 - {third}", target, 16 * self.bounds[other] + 99, indent)
        elif kind == "load":
            self.load(target, indent)
        elif kind == "loop":
            self.bounds = dict.fromkeys(NAMES, 0.0)
            for name in NAMES:
                self.load(name, indent)
            self.lines.append(f"{indent}for k in {self.loop}:")
            self.statements(self.choose.randint(1, 3), indent + "    ", in_loop=True)
            for name in NAMES:
                self.lines.append(f"{indent}    {name} = ct.minimum(ct.maximum({name}, -4), 4)")
                self.bounds[name] = 4.0
        elif kind == "if":
            self.lines.append(f"{indent}if i {self.choose.choice(('>', '<', '=='))} 1:")
            before = dict(self.bounds)
            self.statements(self.choose.randint(1, 2), indent + "    ", in_loop=True)
            then, self.bounds = self.bounds, before
            self.lines.append(f"{indent}else:")
            self.statements(self.choose.randint(1, 2), indent + "    ", in_loop=True)
            self.bounds = {n: max(then[n], self.bounds[n]) for n in NAMES}
        else:
            value, bound = self.expression(3)
            self.assign(f"{target} = {value}", target, bound, indent)

    def assign(self, text: str, target: str, bound: float, indent: str) -> None:
        if bound > LIMIT:
            self.load(target, indent)
            return
        self.lines.append(indent + text)
        self.bounds[target] = bound

    def keep(self, name: str, bound: float, indent: str) -> None:
        self.bounds[name] = bound
        if bound > LIMIT:
            self.load(name, indent)

    def expression(self, depth: int) -> tuple[str, float]:
        """An expression and the largest magnitude that it may have."""
        if depth == 0 or self.choose.random() < 0.15:
            name = self.choose.choice(NAMES)
            return name, self.bounds[name]
        if self.choose.random() < 0.1:
            value, bound = self.expression(depth - 1)
            return f"-({value})", bound
        left, left_bound = self.expression(depth - 1)
        if self.choose.random() < 0.2:
            right, right_bound = str(self.choose.randint(1, 3)), 3.0
        else:
            right, right_bound = self.expression(depth - 1)
        operator = self.choose.choice("+-**" if left_bound * right_bound < LIMIT else "+-")
        if operator == "*":
            wrapped = [f"({t})" if any(c in t for c in "+-") else t for t in (left, right)]
            return f"{wrapped[0]} * {wrapped[1]}", left_bound * right_bound
        right = f"({right})" if operator == "-" and any(c in right for c in "+-") else right
        return f"{left} {operator} {right}", left_bound + right_bound


def random_arithmetic(seed: int, *, is_unrolled: bool = False) -> str:
    """The source of a kernel `(x, y, n)` on float32 arrays of 32 elements between -4 and 4, for a grid of 4 blocks.

    Its loops have n turns, or are unrolled.
    """
    return _Writer(seed, "ct.static_iter(range(2))" if is_unrolled else "range(n)").kernel()
