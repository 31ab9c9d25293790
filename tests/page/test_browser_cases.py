"""The page in a real browser with traces out of the ordinary: failures, hostile names, nothing at all, very much."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cuda.tile")
pytest.importorskip("flask")
pytestmark = [pytest.mark.cutile, pytest.mark.browser]

from page_driver import move, wait_text  # noqa: E402
from page_kernels import overrun, pick_trace  # noqa: E402
from synthetic_traces import Group, Row, Window, launch_of  # noqa: E402

from cutile_sim import simulate  # noqa: E402
from cutile_sim.errors import KernelError  # noqa: E402
from cutile_sim.traces import load_trace, tracing  # noqa: E402
from cutile_sim.traces.writer import ArchiveWriter  # noqa: E402

Open = Callable[..., Any]
HOW = pytest.mark.parametrize("how", ["served", "file"])


def test_findings_lead_to_their_place(open_page: Open) -> None:
    page = open_page(pick_trace())
    page.get_by_role("tab", name=re.compile("Findings")).click()
    page.locator(".finding", has_text="both write array 'y'").click()
    assert "Array y" in page.locator("#array-canvas").get_attribute("aria-label")
    wait_text(page, "#panel-block", "Block 0")
    assert page.locator(".source .mark").count() >= 1
    assert page.locator("tr[aria-selected=true]").count() == 1


def test_several_launches_and_one_that_stopped(open_page: Open, tmp_path: Any) -> None:
    with tracing(tmp_path / "x.ctrace", values=True), pytest.raises(KernelError):
        simulate(overrun, 2, np.zeros(32, np.float32))
        simulate(overrun, 4, np.zeros(16, np.float32))
    page = open_page(load_trace(tmp_path / "x.ctrace"))
    assert page.locator("#notice").is_hidden()
    page.locator("#launch").select_option("1")
    wait_text(page, "#notice", "Stopped: store outside memory")
    page.get_by_role("tab", name=re.compile(r"Findings \(1\)")).click()
    wait_text(page, "#panel-findings", "The launch stopped")
    assert page.locator("tr.counts", has_text="ct.scatter").locator(".mark.error").count() == 1


def test_no_launches_at_all(open_page: Open, tmp_path: Any) -> None:
    """Nothing goes wrong where there is nothing to point at."""
    ArchiveWriter(tmp_path / "x.ctrace").close()
    page = open_page(load_trace(tmp_path / "x.ctrace"))
    wait_text(page, "#notice", "no launches")
    for canvas in ("#blocks-canvas", "#array-canvas"):
        move(page, canvas, 0.5, 0.5)
        page.mouse.down()
        page.mouse.up()
    page.keyboard.press("p")
    assert page.locator(".time button:not([disabled]), .time input:not([disabled])").count() == 0


def test_very_many_arrays(open_page: Open) -> None:
    one = Group((1, 1, 1), [[0], [0], [0]])
    rows = [Row("load", one, [Window((1, 1, 1, 8), (0, 0, 0, 1), array=n)]) for n in range(26)]
    launch = launch_of([((8,), (1,))] * 26, rows, (1, 1, 1))
    for op in launch.facts["ops"]:
        op["operands"] = {}
    page = open_page(launch.trace)
    page.locator("#array .head select").select_option("25")
    assert "Array z" in page.locator("#array-canvas").get_attribute("aria-label")
    page.keyboard.press("Escape")
    move(page, "#array-canvas", 0.5, 0.5)
    wait_text(page, "#array-readout", r"z\[\d\] +loaded")


def test_very_many_records(open_page: Open) -> None:
    """Blocks one by one in a loop: the page shows one, an element, and the middle of the launch."""
    rows = []
    for x in range(100):
        one = Group((1, 1, 1), [[0], [0], [x]])
        rows += [Row("load", one, [Window((1, 1, 1, 8), (0, 0, 0, 1), 8 * k)]) for k in range(100)]
    launch = launch_of([((800,), (1,))], rows, (100, 1, 1))
    for op in launch.facts["ops"]:
        op["operands"] = {}
    page = open_page(launch.trace)
    move(page, "#blocks-canvas", 0.5, 0.5)
    wait_text(page, "#panel-block", "100 accesses")
    move(page, "#array-canvas", 0.5, 0.5)
    wait_text(page, "#panel-element", "touched 100 times")
    page.locator("#time").focus()
    page.keyboard.press("PageDown")
    wait_text(page, ".time output", r"record 9,\d+ of 10,000: load a")
    wait_text(page, "#panel-record", "load")


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    '"><b id=broken>',
    "a\u2028b & <!-- <i>",
]


@HOW
def test_names_stay_text(open_page: Open, how: str) -> None:
    launch = launch_of(
        [((8,), (1,)) for _ in HOSTILE],
        [Row("load", Group((1, 1, 1), [[0], [0], [0]]), [Window((1, 1, 1, 8), (0, 0, 0, 1))])],
        (1, 1, 1),
    )
    facts = launch.facts
    for array, name in zip(facts["arrays"], HOSTILE, strict=True):
        array["name"] = name
    facts["files"][0] = {"path": HOSTILE[1], "text": "\n".join(HOSTILE)}
    facts["ops"][0] |= {"name": HOSTILE[0], "operands": {}, "results": [{"id": 5, "type": HOSTILE[2]}]}
    facts["ops"][0]["at"][0][3] = HOSTILE[0]
    finding = {
        "id": HOSTILE[0],
        "severity": "error",
        "message": HOSTILE[1],
        "file": HOSTILE[1],
        "line": 1,
        "block": [0, 0, 0],
    }
    facts |= {
        "printed": HOSTILE[1],
        "error": None,
        "findings": [finding | {"array": HOSTILE[0], "index": [3], "count": 1}],
    }
    launch.kernel = HOSTILE[0]
    page = open_page(launch.trace, how)
    assert page.locator("#title").inner_text() == HOSTILE[0]
    assert page.locator("[data-name=array] .choice").first.inner_text() == HOSTILE[0]
    assert HOSTILE[2] in page.locator(".source").inner_text()
    for tab in ("Findings", "Data flow", "Printed", "Summary"):
        page.get_by_role("tab", name=re.compile(tab)).click()
    page.get_by_role("tab", name=re.compile("Findings")).click()
    page.locator(".finding").click()
    wait_text(page, "#array-readout", r"onerror=alert\(1\)>\[3\] +loaded")
    page.locator("#time").focus()
    page.keyboard.press("Home")
    page.wait_for_timeout(400)
    assert page.locator("img, #broken, main i:not(.swatch):not(.ramp):not(.share i), iframe").count() == 0
    assert page.locator("script").count() == (1 if how == "served" else 2)


def test_a_million_blocks(open_page: Open) -> None:
    """The grid and the array are drawn, and pointing at them answers."""
    n = 1_000_000
    group = Group((1, 1, n), [np.zeros(1), np.zeros(1), np.arange(n)])
    rows = [Row(kind, group, [Window((1, 1, n, 4), (0, 0, 4, 1), array=a)]) for a, kind in enumerate(("load", "store"))]
    launch = launch_of([((4 * n,), (1,)), ((4 * n,), (1,))], rows, (n, 1, 1))
    for op in launch.facts["ops"]:
        op["operands"] = {}
    page = open_page(launch.trace)
    page.set_default_timeout(60_000)
    assert page.locator("tr.counts", has_text="(source not in the trace)").count() == 3
    move(page, "#blocks-canvas", 0.5, 0.5)
    page.locator("#blocks-readout").filter(has_text=re.compile(r"block 5\d+ +32 B moved")).wait_for(timeout=60_000)
    page.locator("#panel-block").filter(has_text="2 accesses").wait_for(timeout=60_000)
    move(page, "#array-canvas", 0.5, 0.5)
    page.locator("#panel-element").filter(has_text="touched once").wait_for(timeout=60_000)
