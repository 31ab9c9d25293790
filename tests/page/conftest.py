"""Traces to look at, and a page of them in a browser."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic_traces import Group, Row, Window, launch_of

from cutile_sim.page.answers import answer
from cutile_sim.traces import Trace


@pytest.fixture
def ask() -> Callable[..., dict[str, Any]]:
    """Asks a trace a question; parameters as the page writes them."""

    def asked(trace: Trace, name: str, **parameters: Any) -> dict[str, Any]:
        def words(value: Any) -> str:
            return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)

        return answer(trace, name, {key: words(value) for key, value in parameters.items()})

    return asked


@pytest.fixture(scope="session")
def synthetic() -> Trace:
    """Two arrays, a of 6 by 8 and b of 37: windows, an edge, lanes with a mask; a block that stores twice."""
    four = Group((1, 2, 2), [[0], [0, 1], [0, 1]])
    some = Group((1, 1, 2), [(2, 0, 0), (0, 1, 0)], is_box=False)
    lanes = np.array([[[[1, 5, 36, 5], [0, 2, 30, 7]]]], np.int32)
    rows = [
        Row("load", four, [Window((1, 2, 2, 3, 4), (0, 24, 4, 8, 1))]),
        Row("store", four, [Window((1, 2, 2, 2, 4), (0, 24, 4, 8, 1))]),
        Row("store", some, [Window((1, 1, 1, 1, 8), (0, 0, 0, 8, 1), offset=8)]),
        Row("load", some, [Window((1, 1, 2, 4), lanes=lanes, mask=lanes != 2, array=1)]),
        Row("atomic", four, [Window((1, 2, 2, 5), (0, 18, 9, 1), array=1)]),
    ]
    launch = launch_of([((6, 8), (8, 1)), ((37,), (1,))], rows, (3, 2, 1), chunk_rows=2)
    for op in launch.facts["ops"]:
        op["operands"] = {}  # of no view: these rows are tiles of different shapes
    return launch.trace


@pytest.fixture
def open_page(chromium: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens the page of a trace, served or as a file. At the end nothing may have gone wrong in it."""
    from cutile_sim.page.html import write_html
    from cutile_sim.page.server import make_server

    wrong: list[str] = []
    closing: list[Callable[[], object]] = []

    def opened(trace: Trace, how: str = "served", **context: Any) -> Any:
        if how == "file":
            write_html(trace, tmp_path / "page.html")
            address = (tmp_path / "page.html").as_uri()
        else:
            server, address = make_server(trace, 0)
            thread = threading.Thread(target=server.serve_forever)
            thread.start()
            closing.extend([server.server_close, thread.join, server.shutdown])
        tab = chromium.new_context(viewport={"width": 1400, "height": 900}, **context)
        closing.append(tab.close)
        page = tab.new_page()
        page.on("console", lambda m: m.type in ("error", "warning") and wrong.append(m.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
        page.on("response", lambda r: r.status >= 400 and wrong.append(f"{r.status}: {r.url}"))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        page.wait_for_selector("html[data-ready]", timeout=20_000)
        return page

    yield opened
    for close in reversed(closing):
        close()
    assert wrong == []
