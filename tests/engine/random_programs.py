"""Random structured kernels, as text that is plain Python too."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

VARIABLES = ("a", "b", "c")
DATA = np.random.default_rng(3).integers(0, 50, 32).astype(np.int32)
"""The argument `x` of such kernels."""

atoms = st.sampled_from((*VARIABLES, "bx", "by", "bz")) | st.integers(-3, 7).map(str)
expressions = st.one_of(
    atoms,
    st.builds("({} {} {})".format, atoms, st.sampled_from("+-*"), atoms),
    st.builds("pick(x, ({} + {}) % 32)".format, atoms, atoms),
)
conditions = st.builds(
    "({} + {}) % {} {} {}".format,
    atoms,
    atoms,
    st.integers(2, 4),
    st.sampled_from(("==", "<", "!=")),
    st.integers(0, 2),
)


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


@st.composite
def statement(draw, depth: int, loop: str | None) -> list[str]:
    """Lines of one statement. `loop` is the counter of the loop around it, which bounds how often it turns."""
    kinds = (
        ["assign", "assign", "helper", "tile", "sum"]
        + ["leave"] * (loop is not None)
        + ["if", "for", "while"] * (depth > 0)
    )
    kind = draw(st.sampled_from(kinds))
    target = draw(st.sampled_from(VARIABLES))
    if kind == "assign":
        return [f"{target} = ({draw(expressions)} + {draw(expressions)}) % 97"]
    if kind == "helper":
        return [f"{target} = helper({draw(atoms)}, {draw(atoms)})"]
    if kind == "tile":
        return [f"t = (t * {draw(st.integers(1, 3))} + tile_at(x, ({draw(expressions)}) % 8) + {draw(atoms)}) % 97"]
    if kind == "sum":
        return [f"{target} = total(t) % 97"]
    if kind == "leave":
        return [f"if {draw(conditions)}:", "    " + draw(st.sampled_from(("break", "continue")))]
    if kind == "if":
        lines = [f"if {draw(conditions)}:", *indented(draw(block(depth - 1, loop)))]
        if draw(st.booleans()):
            lines += ["else:", *indented(draw(block(depth - 1, loop)))]
        return lines
    counter = f"i{depth}"
    trips = f"({draw(atoms)} + {draw(atoms)}) % {draw(st.integers(2, 5))}"
    if kind == "for":
        return [f"for {counter} in range({trips}):", *indented(draw(block(depth - 1, counter)))]
    body = [f"{counter} += 1", *draw(block(depth - 1, counter))]
    return [f"{counter} = 0", f"{counter}_end = {trips}", f"while {counter} < {counter}_end:", *indented(body)]


@st.composite
def block(draw, depth: int, loop: str | None) -> list[str]:
    parts = draw(st.lists(statement(depth, loop), min_size=1, max_size=3))
    return [line for part in parts for line in part]


HELPER = """
def helper(p, q):
    if p % 3 == 0:
        return q + 1
    if q % 2 == 0:
        r = p * 2
        if r > 20:
            return r - 20
    else:
        r = p + q
    return r % 50
"""
START = ["a = (bx * 5 + by) % 13", "b = (by + bz * 3) % 7", "c = bx % 4", "t = tile_at(x, bx % 8)"]


def kernel_of(lines: list[str], folder: Path):
    """The statements as a kernel `(x, out)` that writes the variables of each block into a row of `out`; its file."""
    body = "\n".join(indented([*START, *lines]))
    text = f"""import cuda.tile as ct


@ct.function
def pick(x, i):
    return ct.gather(x, i)


@ct.function
def tile_at(x, i):
    return ct.load(x, (i,), (4,))


@ct.function
def total(t):
    return ct.sum(t)


@ct.function{HELPER}

@ct.kernel
def kernel(x, out):
    bx, by, bz = ct.bid(0), ct.bid(1), ct.bid(2)
{body}
    row = (bz * ct.num_blocks(1) + by) * ct.num_blocks(0) + bx
    ct.scatter(out, (row, 0), a)
    ct.scatter(out, (row, 1), b)
    ct.scatter(out, (row, 2), c)
    ct.store(out, (row, 1), ct.reshape(t, (1, 4)))
"""
    path = folder / f"kernel_{hash(text) & 0xFFFFFFFF:08x}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel, path
