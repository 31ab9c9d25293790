"""The page in a real browser: what people do with it works, served and as a file, and nothing goes wrong meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("cuda.tile")
pytest.importorskip("flask")
pytestmark = [pytest.mark.cutile, pytest.mark.browser]

from page_driver import choose, move, pixels, wait_change, wait_text  # noqa: E402
from page_kernels import matmul_trace, slices_trace  # noqa: E402

from cutile_sim.traces import Trace  # noqa: E402

Open = Callable[..., Any]
HOW = pytest.mark.parametrize("how", ["served", "file"])


@pytest.fixture(scope="module")
def product() -> Trace:
    return matmul_trace()


@HOW
def test_it_shows_the_launch(product: Trace, open_page: Open, how: str) -> None:
    page = open_page(product, how)
    assert page.title().startswith("matmul")
    assert page.locator("#title").inner_text() == "matmul"
    wait_text(page, "#facts", "grid 4 × 3 × 1, 12 blocks")
    row = page.locator("tr.counts", has_text="x = ct.load(a")
    assert row.locator("td").nth(1).inner_text() == "36"
    wait_text(page, "#panel-summary", "Floating point")
    wait_text(page, "#panel-summary", "nothing was timed on a GPU")
    page.get_by_role("tab", name="Printed").click()
    assert "column 2" in page.locator("#panel-printed").inner_text()
    page.get_by_role("tab", name="Findings").click()
    wait_text(page, "#panel-findings", "found nothing|none")


@HOW
def test_pointing_at_blocks_and_elements(product: Trace, open_page: Open, how: str) -> None:
    page = open_page(product, how)
    page.wait_for_timeout(400)
    dark = pixels(page, "#array-canvas")
    move(page, "#blocks-canvas", 0.5, 0.5)
    wait_text(page, "#blocks-readout", r"block \(\d, 1\)")
    lit = wait_change(page, "#array-canvas", dark)
    wait_text(page, "#panel-block", r"Block \(\d, 1\)")
    move(page, "#array-canvas", 0.5, 0.5)
    wait_text(page, "#array-readout", r"a\[2[45], \d+\] +loaded 3×")
    wait_text(page, "#panel-element", "touched 3 times")
    assert wait_change(page, "#array-canvas", lit) != lit
    rows = page.locator("#panel-element tbody tr")
    assert rows.count() == 3 and "load" in rows.first.inner_text()
    rows.first.get_by_title("Move the time slider there").click()
    wait_text(page, ".time output", "load a")


@HOW
def test_choosing_and_comparing_blocks(product: Trace, open_page: Open, how: str) -> None:
    page = open_page(product, how)
    move(page, "#blocks-canvas", 0.45, 0.5)
    page.mouse.down()
    page.mouse.up()
    wait_text(page, "#panel-block", "accesses")
    move(page, "#blocks-canvas", 0.45, 0.62)
    if how == "file":
        return
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.up()
    page.keyboard.up("Shift")
    wait_text(page, "#panel-compare", "Only A")
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Compare").click()
    wait_text(page, "#panel-compare", "Choose a block")


@HOW
def test_time(product: Trace, open_page: Open, how: str) -> None:
    page = open_page(product, how)
    page.wait_for_timeout(400)
    whole = pixels(page, "#array-canvas")
    slider = page.locator("#time")
    slider.focus()
    page.keyboard.press("Home")
    wait_text(page, ".time output", r"record 0 of \d+: load a")
    early = wait_change(page, "#array-canvas", whole)
    assert page.locator("tr.now").count() == 1
    wait_text(page, "#panel-record", "load_view_tko")
    assert page.locator("#panel-record canvas.tile").count() == 1
    page.keyboard.press("ArrowRight")
    wait_text(page, ".time output", "record 1 of")
    page.locator("#play").click()
    page.wait_for_function("() => document.querySelector('#time').value > 3")
    page.locator("#play").click()
    page.get_by_role("button", name="Whole launch").click()
    assert wait_change(page, "#array-canvas", early) == whole


@HOW
def test_a_line_lights_its_accesses(product: Trace, open_page: Open, how: str) -> None:
    page = open_page(product, how)
    page.locator("tr.counts", has_text="y = ct.load(b").click()
    assert page.locator("[data-name=array] input:checked").evaluate("e => e.parentElement.innerText") == "b"
    assert page.locator("tr[aria-selected=true]").count() == 1
    page.get_by_role("button", name="All lines").click()
    assert page.locator("tr[aria-selected=true]").count() == 0


@HOW
def test_arrays_and_views(product: Trace, open_page: Open, how: str) -> None:
    page = open_page(product, how)
    choose(page, "array", 2)
    assert "Array c" in page.locator("#array-canvas").get_attribute("aria-label")
    page.wait_for_timeout(300)
    accesses = pixels(page, "#array-canvas")
    choose(page, "mode", "coverage")
    wait_text(page, ".legend", "by one block 3,500")
    coverage = wait_change(page, "#array-canvas", accesses)
    choose(page, "mode", "values")
    page.locator(".histogram rect").first.wait_for(state="attached")
    wait_change(page, "#array-canvas", coverage)
    choose(page, "when", "before")
    wait_text(page, ".legend", "NaN 3,500")
    move(page, "#array-canvas", 0.5, 0.5)
    wait_text(page, "#array-readout", "NaN")
    if how == "served":
        choose(page, "when", "time")
        move(page, "#array-canvas", 0.5, 0.5)
        wait_text(page, "#array-readout", r"c\[\d+, \d+\] +-?\d")
        page.locator("#time").focus()
        page.keyboard.press("Home")
        wait_text(page, ".legend", "NaN 3,500")


def test_values_of_tiles_alone(open_page: Open) -> None:
    """Without contents an array is known as far as tiles were loaded or stored."""
    page = open_page(matmul_trace(contents=False))
    choose(page, "mode", "values")
    assert page.locator("[data-name=when] input:checked").get_attribute("value") == "time"
    assert page.locator("[data-name=when] input[value=after]").is_disabled()
    page.locator("#time").focus()
    page.keyboard.press("Home")
    wait_text(page, ".legend", "not known")
    move(page, "#array-canvas", 0.6, 0.5)
    wait_text(page, "#array-readout", "not known")


@HOW
def test_an_array_of_three_axes(open_page: Open, how: str) -> None:
    page = open_page(slices_trace(), how)
    choose(page, "mode", "values")
    move(page, "#array-canvas", 0.502, 0.52)
    wait_text(page, "#array-readout", r"q\[0, 12, 8\] +200")
    page.get_by_label("Axis 0 at").fill("2")
    page.keyboard.press("Enter")
    move(page, "#array-canvas", 0.502, 0.55)
    wait_text(page, "#array-readout", r"q\[2, 1\d, 8\] +9\d\d")
    # A block that is chosen brings the slice that it touches.
    page.get_by_label("Axis 0 at").fill("0")
    page.keyboard.press("Enter")
    move(page, "#blocks-canvas", 0.5, 0.85)
    wait_text(page, "#blocks-readout", r"block \(1, 3\)")
    page.mouse.down()
    page.mouse.up()
    page.wait_for_function("() => document.querySelector('#array-body input[type=number]').value === '3'")
    if how == "served":
        page.get_by_label("Rows").select_option("0")
        move(page, "#array-canvas", 0.502, 0.52)
        wait_text(page, "#array-readout", r"q\[2, \d+, 8\]")


def test_light_and_dark(product: Trace, open_page: Open) -> None:
    page = open_page(product, color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    background = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(background)
    page.locator("#theme").click()
    assert page.evaluate(theme) == "light" and page.evaluate(background) != dark
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate(theme) == "light"
    page.keyboard.press("t")
    assert page.evaluate(theme) == "dark"


@HOW
def test_without_a_pointer(product: Trace, open_page: Open, how: str) -> None:
    page = open_page(product, how)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("?")
    assert page.locator("dialog").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("dialog").is_visible()
    page.keyboard.press("b")
    page.keyboard.press("ArrowRight")  # the first key shows where the cursor is
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    wait_text(page, "#blocks-readout", r"block \(1, 1\)")
    wait_text(page, "#live", r"[Bb]lock \(1, 1\)")
    page.keyboard.press("Enter")
    wait_text(page, "#panel-block", r"Block \(1, 1\)")
    if how == "served":
        page.keyboard.press("ArrowRight")
        page.keyboard.press("c")
        wait_text(page, "#panel-compare", r"\(2, 1\)")
    page.keyboard.press("a")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("End")
    wait_text(page, "#array-readout", r"a\[10, 39\]")
    wait_text(page, "#live", r"a\[10, 39\]")
    page.keyboard.press("m")
    assert page.locator("[data-name=mode] input:checked").get_attribute("value") == "coverage"
    page.keyboard.press("]")
    assert page.locator("[data-name=array] input:checked").get_attribute("value") == "1"
    page.keyboard.press("s")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator("tr[aria-selected=true]").count() == 1
    page.keyboard.press("r")
    page.keyboard.press("ArrowRight")
    assert page.locator("#tab-findings").get_attribute("aria-selected") == "true"
    page.keyboard.press("ArrowRight")
    page.locator("svg.graph").wait_for()
    page.locator("svg.graph .node").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def test_every_control_has_a_name(product: Trace, open_page: Open) -> None:
    page = open_page(product)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, canvas')].filter((e) => e.offsetParent && !(
            e.getAttribute('aria-label') || e.textContent.trim() || e.title || e.closest('label')?.textContent.trim()
            || e.classList.contains('tile'))).map((e) => e.outerHTML)"""
    )
    assert nameless == []
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.locator("[role=tab][aria-selected=true]").count() == 2


def test_zoom_and_pan(product: Trace, open_page: Open) -> None:
    page = open_page(product)
    page.wait_for_timeout(300)
    whole = pixels(page, "#array-canvas")
    move(page, "#array-canvas", 0.5, 0.5)
    page.mouse.wheel(0, -800)
    near = wait_change(page, "#array-canvas", whole)
    page.mouse.down()
    move(page, "#array-canvas", 0.4, 0.4)
    page.mouse.up()
    wait_change(page, "#array-canvas", near)
    page.get_by_role("button", name="Show the whole array").click()
    page.mouse.move(3, 3)
    assert wait_change(page, "#array-canvas", near) == whole
