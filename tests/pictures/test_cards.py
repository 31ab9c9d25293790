"""What notebooks show: complete, well formed, and with everything escaped that comes from a user's file."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from synthetic_traces import Group, Row, Window, launch_of

from cutile_sim.findings import Finding
from cutile_sim.launch import LaunchResult
from cutile_sim.pictures.png import png
from cutile_sim.traces import LaunchTrace

EVIL = "<script>alert(1)</script>\"&'"
VOID = {"img"}


class Checked(HTMLParser):
    """Collects tags and text, and fails on what is not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def pixels_of(data: bytes) -> np.ndarray:
    """Decodes what a PNG of our kind holds, by its specification."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(name + body),)
        chunks[name] = body
        at += 12 + length
    width, height, bits, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (bits, kind, rest) == (8, 6, [0, 0, 0]) and chunks[b"IEND"] == b""
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + 4 * width)
    assert not rows[:, 0].any()  # no filter
    return rows[:, 1:].reshape(height, width, 4)


def images(html: str) -> list[np.ndarray]:
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    return [pixels_of(base64.b64decode(one, validate=True)) for one in found]


def launch(**facts: Any) -> LaunchTrace:
    grid = Group((1, 1, 2), [[0], [0], [0, 1]])
    rows = [
        Row("load", grid, [Window((1, 1, 2, 2, 4), (0, 0, 4, 8, 1))]),
        Row("store", grid, [Window((1, 1, 2, 3), (0, 0, 3, 1), array=1)]),
    ]
    made = launch_of([((2, 8), (8, 1)), ((8,), (1,))], rows, (2, 1, 1))
    made.facts.update(facts)
    return made


def test_png() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 4)).astype(np.uint8)
    np.testing.assert_array_equal(pixels_of(png(pixels)), pixels)


def test_a_launch() -> None:
    html = launch()._repr_html_()
    text = Checked(html).text
    for wanted in (
        "synthetic over 2 blocks",
        "float32[2, 8]",
        "64 bytes in 16 loads",
        "24 bytes in 6 stores",
        "complete",
    ):
        assert wanted in text
    loads, stores = images(html)
    assert loads.shape == (2, 8, 4) and (loads[..., :3] == [0, 114, 178]).all()
    assert (loads[:, :4, 3] == 255).all() and (loads[:, 4:, 3] < 255).all()  # the tiles of two blocks
    assert stores.shape == (1, 8, 4)
    assert (stores[0, :6, :3] == [213, 94, 0]).all() and (stores[0, :3, 3] == 255).all()
    assert (stores[0, 6:] == [128, 128, 128, 64]).all()


def test_a_trace_shows_its_only_launch() -> None:
    one = launch()
    assert one.trace._repr_html_() == one._repr_html_()


def test_several_launches() -> None:
    one = launch()
    one.trace.launches = (one, one)
    text = Checked(one.trace._repr_html_()).text
    assert "2 launches" in text and text.count("synthetic") == 2 and "a, b" in text


def test_nothing_of_a_file_is_taken_as_html() -> None:
    made = launch(
        printed=EVIL, findings=[{"id": EVIL, "message": EVIL}], error={"type": "X", "message": EVIL, "block": None}
    )
    for entry in made.facts["arrays"]:
        entry["name"] = EVIL + entry["name"]
    made.kernel = EVIL
    made.trace.name = made.trace.producer = EVIL
    for html in (made._repr_html_(), _of_two(made)):
        checked = Checked(html)
        assert EVIL in checked.text
        assert {tag for tag, _ in checked.tags} <= {
            "div", "span", "table", "thead", "tbody", "tr", "th", "td", "img", "ul", "li", "pre"
        }  # fmt: skip
        assert not any(name.startswith("on") for _, attributes in checked.tags for name in attributes)
        assert "http" not in html  # nothing is fetched


def _of_two(made: LaunchTrace) -> str:
    made.trace.launches = (made, made)
    return made.trace._repr_html_()


def test_a_result() -> None:
    finding = Finding(id="CTS101", severity="error", message=EVIL)
    result = LaunchResult(
        printed=EVIL + "x" * 5000, blocks=1234, operations=5, bytes_loaded=6, written=(EVIL, "y"), warnings=(EVIL,),
        findings=(finding,),
    )  # fmt: skip
    checked = Checked(result._repr_html_())
    assert checked.text.count(EVIL) == 4
    assert "1,234 blocks" in checked.text and "[CTS101]" in checked.text and "..." in checked.text
    assert len(checked.text) < 3000
    assert not {tag for tag, _ in checked.tags} & {"script", "style", "iframe"}


def test_colours_are_those_of_the_page() -> None:
    for html in (launch()._repr_html_(), LaunchResult()._repr_html_()):
        colors = {
            value
            for style in re.findall(r'style="([^"]*)"', html)
            for value in re.findall(r"(?<!-)color:([^;]+)", style)
        }
        assert colors == {"inherit"}
        assert set(re.findall(r"background:([^;\"]+)", html)) <= {"none"}


def test_more_arrays_than_are_shown() -> None:
    made = launch_of([((2,), (1,))] * 15, [], (1, 1, 1))
    text = Checked(made._repr_html_()).text
    assert "and 3 more arrays" in text and text.count("nothing") == 12


def test_many_records_are_shown_without_maps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutile_sim.pictures.cards.MOST_RECORDS", 1)
    assert images(launch()._repr_html_()) == []


@pytest.mark.parametrize("shape", [(), (0, 3), (4, 3, 70, 90)])
def test_arrays_of_every_rank(shape: tuple[int, ...]) -> None:
    strides = tuple(int(np.prod(shape[a + 1 :])) for a in range(len(shape)))
    row = Row("load", Group((1, 1, 1), [[0], [0], [0]]), [Window((1, 1, 1), (0, 0, 0))])
    made = launch_of([(shape, strides)], [row] if np.prod(shape) else [], (1, 1, 1))
    found = images(made._repr_html_())
    assert [f.shape[:2] for f in found] == {(): [(1, 1)], (0, 3): [], (4, 3, 70, 90): [(64, 64)]}[shape]
