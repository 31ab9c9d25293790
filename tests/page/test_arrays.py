"""What the page is told of elements is what counting them one by one gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from page_answers import touches, unpack
from synthetic_traces import Group, Row, Window, launch_of

from cutile_sim.errors import UsageError
from cutile_sim.page.answers import answer
from cutile_sim.page.planes import edges
from cutile_sim.traces import Trace
from cutile_sim.traces.writer import ArchiveWriter

Ask = Callable[..., dict[str, Any]]


@settings(max_examples=150)
@given(st.data())
def test_cells_of_any_window(data: Any) -> None:
    """Sums over the elements of each cell, for axes in any order, slices, rows of any length."""
    shape = tuple(data.draw(st.lists(st.integers(1, 7), min_size=0, max_size=4)))
    if len(shape) == 1:
        shape = (data.draw(st.integers(1, 40)),)
    size = int(np.prod(shape))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    lanes = rng.integers(0, size, (1, 1, 1, 30)).astype(np.int32)
    strides = tuple(int(np.prod(shape[a + 1 :])) for a in range(len(shape)))
    made = launch_of(
        [(shape, strides)],
        [Row("load", Group((1, 1, 1), [[0], [0], [0]]), [Window(lanes.shape, lanes=lanes)])],
        (1, 1, 1),
    )
    counts = np.bincount(lanes.ravel(), minlength=size).reshape(shape)
    parameters: dict[str, str] = {"launch": "0", "array": "0"}
    if len(shape) == 1:
        wrap = data.draw(st.integers(1, size))
        parameters["wrap"] = str(wrap)
        plane = np.zeros(-(-size // wrap) * wrap, int)
        plane[:size] = counts
        plane = plane.reshape(-1, wrap)
        there = (np.arange(plane.size) < size).reshape(plane.shape)
    elif len(shape) == 0:
        plane, there = counts.reshape(1, 1), np.ones((1, 1), bool)
    else:
        rows, cols = data.draw(st.permutations(range(len(shape))))[:2]
        parameters |= {"rows": str(rows), "cols": str(cols)}
        fixed = [data.draw(st.integers(0, n - 1)) for n in shape]
        if len(shape) > 2:
            parameters["fixed"] = ",".join(map(str, fixed))
        index: list[Any] = list(fixed)
        index[rows], index[cols] = slice(None), slice(None)
        plane = counts[tuple(index)] if rows < cols else counts[tuple(index)].T
        there = np.ones(plane.shape, bool)
    r0, c0 = (data.draw(st.integers(0, n - 1)) for n in plane.shape)
    r1, c1 = (data.draw(st.integers(low + 1, n)) for low, n in zip((r0, c0), plane.shape, strict=True))
    cells = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 8))
    if data.draw(st.booleans()):
        parameters |= {"window": f"{r0},{c0},{r1},{c1}", "cells": f"{cells[0]},{cells[1]}"}
    else:
        (r0, c0), (r1, c1), cells = (0, 0), plane.shape, plane.shape
    got = answer(made.trace, "plane", parameters)
    h, w = min(cells[0], r1 - r0), min(cells[1], c1 - c0)
    assert got["window"] == [r0, c0, r1, c1] and got["shape"] == [h, w]
    means = unpack(got["load"], (h, w)) if "load" in got else np.zeros((h, w))
    down, across = edges(r1 - r0, h), edges(c1 - c0, w)
    for i, j in product(range(h), range(w)):
        part = slice(r0 + down[i], r0 + down[i + 1]), slice(c0 + across[j], c0 + across[j + 1])
        want = plane[part].sum() / max(there[part].sum(), 1)
        assert means[i, j] == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("name", ["a", "b"])
def test_accesses_of_lines_and_their_times(synthetic: Trace, ask: Ask, name: str) -> None:
    launch = synthetic.launches[0]
    info = launch.array(name)
    where = {"launch": 0, "array": info.number, **({"wrap": 10} if name == "b" else {"rows": 0, "cols": 1})}
    every = touches(launch, name)

    def want(chosen: Any) -> np.ndarray:
        counts = np.zeros(-(-info.size // 10) * 10 if name == "b" else info.size)
        for touch in every:
            counts[touch[4]] += chosen(touch)
        return counts

    for line, kind in enumerate(("load", "store", "atomic"), 1):
        for only in ({}, {"line": f"0:{line}"}, {"line": "0:99"}):
            got = ask(synthetic, "plane", **where, **only)
            counts = want(lambda t, kind=kind, only=only: t[1] == kind and only.get("line", f"0:{t[2]}") == f"0:{t[2]}")
            assert (kind in got) == bool(counts.any())
            if kind in got:
                np.testing.assert_array_equal(unpack(got[kind]), counts)
                assert got["most"][kind] == counts.max()
    first = np.full(len(want(lambda t: 0)), -1)
    for touch in reversed(every):
        first[touch[4]] = touch[0]
    np.testing.assert_array_equal(unpack(ask(synthetic, "times", **where)["first"]), first)


def test_coverage(synthetic: Trace, ask: Ask) -> None:
    launch = synthetic.launches[0]
    for number, (name, size, where) in enumerate([("a", 48, {"rows": 1, "cols": 0}), ("b", 37, {"wrap": 37})]):
        got = ask(synthetic, "coverage", launch=0, array=number, **where)
        writers: dict[int, set[Any]] = {}
        for _, kind, _, block, element in touches(launch, name):
            if kind == "store":
                writers.setdefault(element, set()).add(block)
            elif kind == "atomic":
                writers.setdefault(element, {block})
        counts = Counter(min(len(writers.get(e, ())), 2) for e in range(size))
        assert (got["never"], got["once"], got["several"]) == (counts[0], counts[1], counts[2])
        assert (got["covers"], got["has_updates"]) == ("written", name == "b")
        bits = unpack(got["coverage"], got["shape"])
        bits = bits.T.ravel() if name == "a" else bits.ravel()
        assert bits.tolist() == [1 << min(len(writers.get(e, ())), 2) for e in range(size)]


def test_coverage_of_what_is_only_read(ask: Ask) -> None:
    rows = [Row("load", Group((1, 1, 2), [[0], [0], [0, 1]]), [Window((1, 1, 2, 3), (0, 0, 2, 1))])]
    made = launch_of([((6,), (1,))], rows, (2, 1, 1)).trace
    got = ask(made, "coverage", launch=0, array=0, wrap=6)
    assert (got["covers"], got["never"], got["once"], got["several"]) == ("read", 1, 4, 1)
    assert unpack(got["coverage"]).tolist() == [2, 2, 4, 2, 2, 1]


@pytest.mark.parametrize("name", ["a", "b"])
def test_who_touched_an_element(synthetic: Trace, ask: Ask, name: str) -> None:
    launch = synthetic.launches[0]
    info = launch.array(name)
    every = touches(launch, name)
    for index in np.ndindex(info.shape):
        number = int(np.ravel_multi_index(index, info.shape))
        got = ask(synthetic, "element", launch=0, array=info.number, index=index)
        want = {(r, kind, block) for r, kind, _, block, element in every if element == number}
        assert {(t["record"], t["kind"], tuple(t["block"])) for t in got["touches"]} == want
        assert got["total"] == len(want) and not got["is_cut"] and got["before"] is None


def with_contents(values: np.ndarray, dtype: str) -> Trace:
    """A launch without records that holds an array before (as given) and after (reversed)."""
    from io import BytesIO

    from cutile_sim.traces import load_trace
    from cutile_sim.traces.format import contents_member

    file = BytesIO()
    archive = ArchiveWriter(file)
    number = archive.begin("k")
    facts = dict(launch_of([], [], (1, 1, 1)).facts)
    strides = [s // values.itemsize for s in values.strides]
    facts["arrays"] = [
        {
            "name": "x",
            "dtype": dtype,
            "item_bytes": values.itemsize,
            "shape": list(values.shape),
            "strides": strides,
            "is_argument": True,
        }
    ]
    for when, content in (("before", values), ("after", values[::-1])):
        archive.write(contents_member(number, 0, when), [np.ascontiguousarray(content).view(np.uint8).data])
    archive.end(number, 0, facts)
    archive.close()
    return load_trace(file)


def test_values(ask: Ask) -> None:
    values = np.arange(24, dtype=np.float32).reshape(4, 6)
    values[0, 0], values[1, 1], values[2, 5] = np.nan, np.inf, -np.inf
    made = with_contents(values, "float32")
    got = ask(made, "values", launch=0, array=0, rows=0, cols=1, when="before")
    np.testing.assert_array_equal(unpack(got["mean"], (4, 6))[np.isfinite(values)], values[np.isfinite(values)])
    odd = unpack(got["odd"], (4, 6))
    assert (odd[0, 0], odd[1, 1], odd[2, 5], np.count_nonzero(odd)) == (1, 3, 4, 3)
    assert (got["low"], got["high"], got["nan"], got["infinite"]) == (1, 23, 1, 2)
    counts, ends = got["histogram"]["counts"], got["histogram"]["edges"]
    for count, low, high in zip(counts, ends, ends[1:], strict=False):
        inside = (values >= low) & ((values < high) | ((high == ends[-1]) & (values == high)))
        assert count == inside.sum()
    assert sum(counts) == 21
    after = ask(made, "values", launch=0, array=0, rows=0, cols=1, when="after", window=(1, 0, 3, 6), cells=(1, 3))
    part = values[::-1][1:3].reshape(2, 3, 2).transpose(1, 0, 2).reshape(3, 4)
    np.testing.assert_allclose(unpack(after["mean"]), [np.mean(p[np.isfinite(p)]) for p in part], rtol=1e-6)
    assert unpack(after["odd"]).tolist() == [3, 0, 4]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (np.array([[True, False, True]]), "bool_"),
        (np.array([[-3, 0, 127]], np.int8), "int8"),
        (np.array([[0, 2**63, 2**64 - 1]], np.uint64), "uint64"),
        (np.array([[1.5, -2, 0.25]], ml_dtypes.bfloat16), "bfloat16"),
        (np.array([[1.5, -2, 448]], ml_dtypes.float8_e4m3fn), "float8_e4m3fn"),
        (np.array([[-1.7e308, 0, 1.7e308]]), "float64"),
        (np.full((1, 3), np.nan, np.float16), "float16"),
        (np.full((1, 3), 7, np.int32), "int32"),
    ],
)
def test_values_of_any_type(ask: Ask, values: np.ndarray, dtype: str) -> None:
    got = ask(with_contents(values, dtype), "values", launch=0, array=0, rows=0, cols=1, when="before")
    numbers = values.astype(np.float64)
    if np.isnan(numbers).all():
        assert (got["low"], got["nan"], got["histogram"]["counts"]) == (None, 3, [])
        return
    assert (got["low"], got["high"]) == (numbers.min(), numbers.max())
    np.testing.assert_allclose(unpack(got["mean"]), numbers[0], rtol=1e-6)
    assert sum(got["histogram"]["counts"]) == 3
    element = ask(with_contents(values, dtype), "element", launch=0, array=0, index=(0, 1))
    assert element["before"] == str(float(values[0, 1]) if "float" in dtype else values[0, 1].item())


def test_no_contents(synthetic: Trace, ask: Ask) -> None:
    with pytest.raises(UsageError, match="contents=True"):
        ask(synthetic, "values", launch=0, array=0, rows=0, cols=1, when="after")


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 4), ()])
def test_empty_arrays_and_single_elements(ask: Ask, shape: tuple[int, ...]) -> None:
    made = launch_of([(shape, tuple(1 for _ in shape))], [], (1, 1, 1)).trace
    where: dict[str, Any] = {"launch": 0, "array": 0}
    if len(shape) == 1:
        where["wrap"] = 1
    elif shape:
        where |= {"rows": len(shape) - 2, "cols": len(shape) - 1, "fixed": ",".join("0" * len(shape))}
    size = int(np.prod(shape))
    for name in ("plane", "times", "coverage"):
        got = ask(made, name, **where)
        assert int(np.prod(got["shape"])) == size if len(shape) < 3 else got["shape"] == [0, 4]
    assert got["never"] == size
    assert ask(made, "cuts", launch=0, array=0) == {"cuts": [[] for _ in shape]}


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("plane", {"launch": 0}, "the question lacks 'array'"),
        ("plane", {"launch": 0, "array": 7}, "array must be a number from 0 to 1, not '7'"),
        ("plane", {"launch": 0, "array": "0x1"}, "array must be whole numbers"),
        ("plane", {"launch": 3, "array": 0}, "no launch 3"),
        ("plane", {"launch": 0, "array": 0, "rows": 1, "cols": 1}, "different axes"),
        ("plane", {"launch": 0, "array": 0, "rows": 0, "cols": 1, "window": "0,0,9,9"}, "has no window"),
        ("plane", {"launch": 0, "array": 0, "rows": 0, "cols": 1, "cells": "99999,99999"}, "cells must be two numbers"),
        ("plane", {"launch": 0, "array": 1, "wrap": 0}, "wrap must be a number from 1 to 37"),
        (
            "plane",
            {"launch": 0, "array": 0, "rows": 0, "cols": 1, "line": "k.py"},
            "the number of a file and of a line",
        ),
        ("plane", {"launch": 0, "array": 0, "rows": 0, "cols": 1, "line": "7:1"}, "the number of a file and of a line"),
        ("plane", {"launch": 0, "array": 0, "rows": 0, "cols": 1, "line": "0:²"}, "the number of a file and of a line"),
        ("element", {"launch": 0, "array": 0, "index": "9,9"}, "has no element"),
        ("values", {"launch": 0, "array": 0, "rows": 0, "cols": 1, "when": "later"}, "before and after"),
        ("values", {"launch": 0, "array": 0, "rows": 0, "cols": 1, "when": "²"}, "before and after"),
        ("block", {"launch": 0, "block": "3,0,0"}, "has no block '3,0,0'"),
        ("block", {"launch": 0, "block": "1"}, "has no block '1'"),
        ("record", {"launch": 0, "record": 5}, "record must be a number from 0 to 4"),
        ("blocks", {"launch": 0, "z": 1}, "z must be a number from 0 to 0"),
        ("summary", {"launch": 0, "gpu": "ENIAC"}, "no rates of a GPU 'ENIAC'"),
        ("secrets", {}, "nothing called 'secrets'"),
    ],
)
def test_questions_that_make_no_sense(synthetic: Trace, ask: Ask, name: str, parameters: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ask(synthetic, name, **parameters)
