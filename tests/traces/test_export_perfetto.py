"""The timeline is valid in Chrome's trace event format, and says what happened."""

from __future__ import annotations

import json
from collections import defaultdict
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from traced_kernels import overrun, pick  # noqa: E402

from cutile_sim import simulate  # noqa: E402
from cutile_sim.errors import OutOfBoundsError, UsageError  # noqa: E402
from cutile_sim.traces import export_perfetto, load_trace, trace, tracing, write_perfetto  # noqa: E402


@ct.kernel
def matmul(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((M, N), ct.float32)
    for k in range(ct.num_tiles(a, 1, (M, K))):
        x = ct.load(a, (i, k), (M, K), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, (k, j), (K, N), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x.astype(ct.float16), y.astype(ct.float16), acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@ct.kernel
def part(x, y):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (4,))
    if i % 3 == 0:
        ct.store(y, (i,), tile + 1)
    else:
        at = ct.arange(4, dtype=ct.int32)
        ct.store(y, (i,), ct.gather(x, at * at))
    ct.store(x, (i,), tile * 2)


FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "X": {"name": str, "cat": str, "ts": (int, float), "dur": (int, float), "pid": int, "tid": int, "args": dict},
    "M": {"name": str, "pid": int, "tid": int, "args": dict},
    "s": {"name": str, "cat": str, "ts": (int, float), "pid": int, "tid": int, "id": int},
    "f": {"name": str, "cat": str, "ts": (int, float), "pid": int, "tid": int, "id": int, "bp": str},
    "i": {"name": str, "ts": (int, float), "pid": int, "tid": int, "s": str, "args": dict},
}
"""Events by phase, with the fields that the format asks for."""
METADATA = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index"}
METADATA["thread_sort_index"] = "sort_index"


def ns(event: dict[str, Any]) -> tuple[int, int]:
    begin = round(event["ts"] * 1000)
    return begin, begin + round(event.get("dur", 0) * 1000)


def checked(path: Path) -> dict[str, Any]:
    """The file, once it is found to be what the format says."""
    content = json.loads(path.read_bytes(), parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))
    assert set(content) == {"displayTimeUnit", "traceEvents", "otherData"}
    assert content["displayTimeUnit"] == "ns"
    events = content["traceEvents"]
    last = 0
    rows: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    flows: dict[int, list[tuple[str, int]]] = defaultdict(list)
    named: set[tuple[str, int, int]] = set()
    processes: dict[int, int] = {}
    for event in events:
        wanted = FIELDS[event["ph"]]
        assert set(event) == {"ph", *wanted}
        for field, kind in wanted.items():
            assert isinstance(event[field], kind) and not isinstance(event[field], bool), (field, event)
        row = event["pid"], event["tid"]
        if event["ph"] == "M":
            assert list(event["args"]) == [METADATA[event["name"]]]
            named.add((event["name"], *row))
            continue
        begin, end = ns(event)
        assert last <= begin <= end
        last = begin
        assert ("thread_name", *row) in named and ("process_name", row[0], row[0]) in named
        assert processes.setdefault(row[1], row[0]) == row[0] > 0, "threads of two processes are not confused"
        open_slices = rows[row]
        while open_slices and open_slices[-1][1] <= begin and event["ph"] == "X":
            open_slices.pop()
        if event["ph"] == "X":
            assert not open_slices or end <= open_slices[-1][1], "slices of a row nest"
            open_slices.append((begin, end))
        elif event["ph"] in "sf":
            assert open_slices[-1][0] == begin, "an arrow is bound to the slice before it"
            flows[event["id"]].append((event["ph"], begin))
    for ends in flows.values():
        assert [phase for phase, _ in ends] == ["s", "f"]
    return content


def slices(content: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    return [
        e for e in content["traceEvents"] if e["ph"] == "X" and all(e.get(field) == v for field, v in wanted.items())
    ]


def test_a_matrix_product(tmp_path: Path) -> None:
    m, n, k, tile = 40, 24, 36, 16
    a, b, c = np.ones((m, k), np.float32), np.ones((k, n), np.float32), np.zeros((m, n), np.float32)
    traced = trace(matmul, (3, 2), a, b, c, tile, tile, tile)
    assert write_perfetto(traced, tmp_path / "x.json") == ()
    content = checked(tmp_path / "x.json")
    (whole,) = slices(content, cat="launch")
    assert whole["name"] == "matmul" and whole["args"]["blocks"] == 6
    assert whole["args"]["bytes stored"] == c.nbytes
    assert {e["args"]["name"] for e in content["traceEvents"] if e["name"] == "process_name"} == {"matmul (3, 2, 1)"}
    (blocks,) = slices(content, cat="blocks")
    assert blocks["name"] == "6 blocks 0:3, 0:2, 0" and blocks["tid"] == whole["tid"] + 1
    loads = slices(content, name="load a")
    assert [e["args"]["box"] for e in loads] == ["a[0:40, 0:16]", "a[0:40, 16:32]", "a[0:40, 32:36]"]
    assert sum(e["args"]["bytes"] for e in loads) == 2 * a.nbytes  # every block of a row of blocks
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    for event in loads:
        file, line = event["args"]["line"].split(":")
        assert file == Path(__file__).name and lines[int(line) - 1].strip() == event["args"]["source"]
        assert event["args"]["source"].startswith("x = ct.load(a")
    products = slices(content, cat="product")
    assert sum(e["args"]["flops"] for e in products) == 3 * 6 * 2 * tile**3
    (store,) = slices(content, cat="store")
    assert store["args"]["box"] == "c[0:40, 0:24]" and store["args"]["bytes"] == c.nbytes
    records = list(traced.launches[0].records())
    operations = [e for e in slices(content) if e["cat"] not in ("launch", "blocks")]
    assert [(e["cat"], *ns(e)) for e in operations] == [(r.kind, r.start_ns, r.start_ns + r.took_ns) for r in records]
    # From each load to the product that takes its tile, through the conversion between.
    starts = {e["id"]: round(e["ts"] * 1000) for e in content["traceEvents"] if e["ph"] == "s"}
    ends = {e["id"]: round(e["ts"] * 1000) for e in content["traceEvents"] if e["ph"] == "f"}
    fed = defaultdict(list)
    for number, begin in starts.items():
        fed[ends[number]].append(begin)
    assert {product: sorted(begins) for product, begins in fed.items()} == {
        records[i + 2].start_ns: [records[i].start_ns, records[i + 1].start_ns] for i in (0, 3, 6)
    }


def test_blocks_that_part_have_rows_of_their_own(tmp_path: Path) -> None:
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    write_perfetto(trace(part, 8, x, y), tmp_path / "x.json")
    content = checked(tmp_path / "x.json")
    spans = {e["name"]: e for e in slices(content, cat="blocks")}
    assert set(spans) == {"8 blocks 0:8, 0, 0", "3 blocks in 0:7, 0, 0", "5 blocks in 1:8, 0, 0"}
    rows = [spans[name]["tid"] for name in sorted(spans)]
    assert rows[0] == rows[1] == rows[2] + 1
    stores = slices(content, name="store y")
    assert sorted((e["args"]["count"], e["args"]["bytes"], e["args"]["box"]) for e in stores) == [
        (3, 3 * 16, "y[0:28]"),
        (5, 5 * 16, "y[4:32]"),
    ]
    (gathered,) = [e for e in slices(content, name="load x") if e["args"]["count"] == 5]
    assert gathered["args"]["box"] == "x[0:10]" and gathered["args"]["bytes"] == 5 * 16


@pytest.mark.parametrize("options", [{}, {"every": 2}, {"blocks": ("1:3",)}])
def test_gathered_lanes(tmp_path: Path, options: dict[str, Any]) -> None:
    index = np.random.default_rng(1).integers(-5, 25, 64).astype(np.int32)
    traced = trace(pick, 4, np.arange(20, dtype=np.float32), index, np.zeros(64, np.float32), 16, **options)
    write_perfetto(traced, tmp_path / "x.json")
    content = checked(tmp_path / "x.json")
    chosen = {"every": [0, 2], "blocks": [1, 2]}.get(next(iter(options), ""), [0, 1, 2, 3])
    at = np.concatenate([index[16 * b : 16 * b + 16] for b in chosen])
    inside = at[(at >= 0) & (at < 20)]
    (gather,) = slices(content, name="load x")
    assert gather["args"]["bytes"] == 4 * len(inside)
    assert gather["args"]["box"] == f"x[{inside.min()}:{inside.max() + 1}]"
    (load,) = slices(content, name="load index")
    assert load["args"]["bytes"] == 4 * 16 * len(chosen)
    assert load["args"]["box"] == f"index[{16 * min(chosen)}:{16 * max(chosen) + 16}]"


def test_launches_follow_each_other(tmp_path: Path) -> None:
    with tracing(tmp_path / "x.ctrace"):
        for tile in (8, 16):
            simulate(matmul, 1, *(np.ones((16, 16), np.float32) for _ in range(3)), tile, tile, tile)
    with load_trace(tmp_path / "x.ctrace") as found:
        write_perfetto(found, tmp_path / "x.json")
        first, second = slices(checked(tmp_path / "x.json"), cat="launch")
        assert first["pid"] != second["pid"] and ns(first)[1] < ns(second)[0]
        write_perfetto(found, tmp_path / "x.json", launches=(1,))
        (only,) = slices(checked(tmp_path / "x.json"), cat="launch")
        assert only["args"] == second["args"] != first["args"]
        with pytest.raises(UsageError, match="has no launch 7; it has 0, 1"):
            write_perfetto(found, tmp_path / "y.json", launches=(7,))
        with pytest.raises(UsageError, match="cannot write"):
            write_perfetto(found, tmp_path / "none" / "y.json")
    assert not (tmp_path / "y.json").exists()


def test_a_launch_that_failed(tmp_path: Path) -> None:
    with pytest.raises(OutOfBoundsError):
        trace(overrun, 4, np.arange(16, dtype=np.float32), to=tmp_path / "x.ctrace")
    with load_trace(tmp_path / "x.ctrace") as found:
        write_perfetto(found, tmp_path / "x.json")
    content = checked(tmp_path / "x.json")
    (mark,) = [e for e in content["traceEvents"] if e["ph"] == "i"]
    assert mark["name"] == "OutOfBoundsError" and mark["args"]["block"] == [3, 0, 0] and mark["s"] == "p"


def test_large_traces_are_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_perfetto, "MOST_RECORDS", 5)
    traced = trace(matmul, (3, 2), *(np.ones((40, 40), np.float32) for _ in range(3)), 16, 16, 16)
    (note,) = write_perfetto(traced, tmp_path / "x.json")
    assert "the first 5 of 10 records were written; record fewer" in note
    content = checked_cut(tmp_path / "x.json")
    assert content["otherData"]["notes"] == [note]
    assert len([e for e in slices(content) if e["cat"] not in ("launch", "blocks")]) == 5


def checked_cut(path: Path) -> dict[str, Any]:
    """As `checked`, but for arrows to products beyond the cut."""
    content = json.loads(path.read_bytes())
    ended = {e["id"] for e in content["traceEvents"] if e["ph"] == "f"}
    content["traceEvents"] = [e for e in content["traceEvents"] if e["ph"] != "s" or e["id"] in ended]
    path.write_text(json.dumps(content))
    return checked(path)


def test_many_blocks(tmp_path: Path) -> None:
    """As many events as records, however many blocks those are of."""
    grid = (64, 64)
    x = np.ones((64 * 4, 64 * 4), np.float32)
    traced = trace(matmul, grid, x, x, np.zeros_like(x), 4, 4, 128)
    assert write_perfetto(traced, tmp_path / "x.json") == ()
    content = checked(tmp_path / "x.json")
    shown = [e for e in slices(content) if e["cat"] not in ("launch", "blocks")]
    assert len(shown) == sum(1 for _ in traced.launches[0].records())
    assert sum(e["args"]["count"] for e in shown if e["cat"] == "store") == prod(grid)
    assert sum(e["args"]["bytes"] for e in shown if e["cat"] == "store") == x.nbytes
