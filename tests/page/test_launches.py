"""What the page is told of launches, and of real kernels."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_answers import unpack

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from page_kernels import count, matmul, matmul_trace, overrun, pick_trace  # noqa: E402

from cutile_sim import simulate  # noqa: E402
from cutile_sim.errors import KernelError, UsageError  # noqa: E402
from cutile_sim.page import reports  # noqa: E402
from cutile_sim.page.launches import _short_names  # noqa: E402
from cutile_sim.traces import load_trace, trace, tracing  # noqa: E402

Ask = Callable[..., dict[str, Any]]


def test_a_matrix_product(ask: Ask) -> None:
    made = matmul_trace()
    got = ask(made, "launch", launch=0)
    launch = made.launches[0]
    assert (got["kernel"], got["grid"], got["blocks"]) == ("matmul", [4, 3, 1], 12)
    assert [(a["name"], a["dtype"], a["shape"], a["has_values"]) for a in got["arrays"]] == [
        ("a", "float32", [50, 40], True),
        ("b", "float32", [40, 70], True),
        ("c", "float32", [50, 70], True),
    ]
    (file,) = [f for f in got["files"] if f["text"] is not None]
    assert file["name"] == "page_kernels.py" and "acc = ct.mma(x, y, acc)" in file["text"]
    lines = file["text"].split("\n")
    by_words = {lines[line["line"] - 1].strip(): line for line in got["lines"]}
    # 12 blocks, three steps of 16 (the last of 8) over tiles that are cut off at the edges.
    assert by_words["acc = ct.mma(x, y, acc)"]["flops"] == 12 * 3 * 2 * 16 * 32 * 16
    loaded = by_words["x = ct.load(a, (i, k), (M, K), padding_mode=ct.PaddingMode.ZERO)"]
    assert loaded["bytes"] == 50 * 40 * 4 * 3 and loaded["blocks"] == 36
    assert by_words["ct.store(c, (i, j), acc)"]["bytes"] == 50 * 70 * 4
    assert sum(line["share"] for line in got["lines"]) <= 1.0001
    assert got["printed"] == "column 0\ncolumn 1\ncolumn 2\n" and got["error"] is None
    records = list(launch.records())
    assert got["records"] == len(records)
    assert unpack(got["timeline"]).tolist() == [r.op.number for r in records]
    for array in got["arrays"]:
        touching = Counter(r.op.number for r in launch.records(names=(array["name"],)))
        assert {a["op"]: a["records"] for a in array["accesses"]} == touching
        assert all(got["ops"][a["op"]]["arrays"] == [array["number"]] for a in array["accesses"])


def test_tiles_of_a_record(ask: Ask) -> None:
    made = matmul_trace()
    store = next(made.launches[0].records(kinds=("store",)))
    got = ask(made, "record", launch=0, record=store.number, block=(3, 2, 0))
    (tile,) = got["tiles"]
    value = store.value((3, 2, 0))
    assert (tile["role"], tile["shape"], got["block"]) == ("stored", [16, 32], [3, 2, 0])
    np.testing.assert_allclose(unpack(tile["mean"], (16, 32)), value, rtol=1e-6)
    assert (tile["low"], tile["high"]) == (float(value.min()), float(value.max()))
    product = next(made.launches[0].records(kinds=("product",)))
    got = ask(made, "record", launch=0, record=product.number)
    assert [t["role"] for t in got["tiles"]] == ["operand 0", "operand 1", "operand 2", "result"]


def test_findings_and_what_stopped_a_launch(ask: Ask, tmp_path: Path) -> None:
    found = ask(pick_trace(), "launch", launch=0)["findings"]
    assert any(f["array"] == "y" and f["line"] for f in found)
    with tracing(tmp_path / "x.ctrace"), pytest.raises(KernelError):
        simulate(overrun, 4, np.zeros(16, np.float32))
    got = ask(load_trace(tmp_path / "x.ctrace"), "launch", launch=0)
    assert "store outside memory" in got["error"]["message"] and got["error"]["line"] > 0
    assert ask(load_trace(tmp_path / "x.ctrace"), "trace")["launches"][0]["error"] is True


def test_what_was_recorded_is_said(ask: Ask, tmp_path: Path) -> None:
    a, b, c = (np.zeros((16, 16), np.float32) for _ in range(3))
    with tracing(tmp_path / "x.ctrace", kinds=("store",), blocks=((0, 0),), every=2, names=("c",)):
        simulate(matmul, (1, 1), a, b, c, 16, 16, 16)
    words = ask(load_trace(tmp_path / "x.ctrace"), "launch", launch=0)["recorded"]
    assert words == "store; blocks [0, 0]; arrays c; every 2th block"


def test_the_summary(ask: Ask) -> None:
    made = matmul_trace()
    got = ask(made, "summary", launch=0)
    assert got["gpu"] in got["gpus"]
    traffic = {a["array"]: a for a in got["arrays"]}
    assert traffic["a"]["loaded_bytes"] == 50 * 40 * 4 * 3 and traffic["a"]["reuse"] == 3
    assert traffic["c"]["stored_bytes"] == 50 * 70 * 4
    slow = ask(made, "summary", launch=0, gpu="RTX 4090")["roofline"]
    assert slow["memory_s"] > got["roofline"]["memory_s"] > 0
    assert reports.DEFAULT_GPU in got["gpus"]


def test_names_of_files() -> None:
    paths = [
        os.path.join("/", "a", "k.py"),
        os.path.join("/", "b", "k.py"),
        os.path.join("/", "c", "m.py"),
        "",
        "<string>",
    ]
    assert _short_names(paths) == ["a/k.py", "b/k.py", "m.py", "unknown", "<string>"]


def test_the_graph_of_a_kernel(ask: Ask) -> None:
    made = matmul_trace()
    for everything in ({}, {"all": 1}):
        got = ask(made, "graph", launch=0, **everything)
        boxes = {n["id"]: n for n in got["nodes"]}
        ops = made.launches[0].ops
        inside = {n: {m for m in boxes if ops[m].parent == n} for n in boxes}
        for one in got["nodes"]:
            assert one["x"] >= 0 and one["x"] + one["w"] <= got["width"]
            assert one["y"] >= 0 and one["y"] + one["h"] <= got["height"]
            for other in got["nodes"]:
                if other["id"] in inside[one["id"]]:
                    assert one["x"] <= other["x"] and other["x"] + other["w"] <= one["x"] + one["w"]
                    assert one["y"] <= other["y"] and other["y"] + other["h"] <= one["y"] + one["h"]
                elif one["id"] < other["id"] and ops[one["id"]].parent == ops[other["id"]].parent:
                    apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
                    assert apart_x or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert all(e["from"] in boxes and e["to"] in boxes for e in got["edges"])
        kinds = {(boxes[e["from"]]["kind"], boxes[e["to"]]["kind"]) for e in got["edges"]}
        assert ("load", "product") in kinds
    loads = [n for n in ask(made, "graph", launch=0)["nodes"] if n["kind"] == "load"]
    assert [n["sub"].split(":")[0] for n in loads] == ["a", "b"]
    assert [lines for n in loads if (lines := n["line"])]


def test_values_through_time(ask: Ask) -> None:
    """What tiles say of arrays: at the end what the launch left, before each store what was there."""
    with_contents, without = matmul_trace(), matmul_trace(contents=False)
    launch = with_contents.launches[0]
    last = len(launch.record_ops) - 1
    for number, name in enumerate("abc"):
        where = {"launch": 0, "array": number, "rows": 0, "cols": 1}
        after = launch.contents(name)
        for made in (with_contents, without):
            got = ask(made, "values", **where, when=last)
            np.testing.assert_array_equal(unpack(got["mean"], after.shape), after)
            assert not unpack(got["odd"]).any()
        first = ask(without, "values", **where, when=0)
        loaded = np.zeros(after.shape, bool)
        if name == "a":
            loaded[:, :16] = True
        odd = unpack(first["odd"], after.shape)
        np.testing.assert_array_equal(odd == 0, loaded)
        np.testing.assert_array_equal(unpack(first["mean"], after.shape)[loaded], after[loaded])
        assert (first["low"] is None) == (name != "a")
    with pytest.raises(UsageError, match="values=True"):
        ask(
            trace(matmul, (1, 1), *(np.zeros((8, 8), np.float32) for _ in range(3)), 8, 8, 8),
            "values",
            launch=0,
            array=0,
            rows=0,
            cols=1,
            when=0,
        )


def test_values_through_time_do_not_depend_on_what_was_asked_before(ask: Ask) -> None:
    onward, backward = (matmul_trace(contents=False, batch_blocks=1) for _ in range(2))
    last = len(onward.launches[0].record_ops) - 1
    for array in (0, 2):
        where = {"launch": 0, "array": array, "rows": 0, "cols": 1}
        times = range(0, last + 1, 7)
        on = [ask(onward, "values", **where, when=n) for n in times]
        back = [ask(backward, "values", **where, when=n) for n in reversed(times)]
        assert on == back[::-1]
        known = [found["known"] for found in on]
        assert known == sorted(known) and known[0] < known[-1]


@pytest.mark.parametrize("options", [{}, {"blocks": ("0:2",)}, {"every": 2}])
def test_values_of_scattered_lanes_through_time(ask: Ask, options: Any) -> None:
    made = pick_trace(values=True, contents=not options, **options)
    launch = made.launches[0]
    known = {name: np.zeros(64, bool) for name in ("x", "index", "y")}
    for record in launch.records(kinds=("load", "store")):
        for access in record.accesses:
            for which in range(record.group.size):
                known[access.array.name][access.elements(which)] = True
    index = np.random.default_rng(1).integers(0, 64, 64)
    want = {"x": np.arange(64), "index": index, "y": np.where(known["y"], np.arange(64), 0)}
    for number, name in enumerate(("x", "index", "y")):
        got = ask(made, "values", launch=0, array=number, wrap=64, when=len(launch.record_ops) - 1)
        sure = unpack(got["odd"]) == 0
        np.testing.assert_array_equal(sure, known[name] if options else np.ones(64, bool))
        np.testing.assert_array_equal(unpack(got["mean"])[sure], want[name][sure])


def test_what_an_update_leaves_is_not_known(ask: Ask) -> None:
    made = trace(count, 2, np.zeros(8, np.int32), np.full(3, 5, np.int32), 4, values=True, contents=True)
    last = len(made.launches[0].record_ops) - 1
    assert unpack(ask(made, "values", launch=0, array=1, wrap=3, when=last)["odd"]).tolist() == [2, 0, 0]
    assert unpack(ask(made, "values", launch=0, array=1, wrap=3, when="after")["mean"]).tolist() == [13, 5, 5]


def test_what_a_damaged_trace_claims_is_refused(ask: Ask) -> None:
    """Numbers that JSON does not have, texts for numbers: an error in words, or left out."""
    for name, value in (("findings", [{"message": "m", "line": "x"}]), ("files", [{}]), ("seconds", "soon")):
        made = matmul_trace()
        made.launches[0].facts[name] = value
        with pytest.raises(UsageError, match="damaged"):
            ask(made, "launch", launch=0)
    made = matmul_trace()
    made.launches[0].facts["findings"] = [{"message": "m", "details": {"x": float("nan")}, "index": [1.0, 2.0]}]
    (finding,) = ask(made, "launch", launch=0)["findings"]
    assert finding["index"] == [1, 2] and "details" not in finding
