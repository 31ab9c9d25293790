"""`cutile-sim view`: the page as a file, or from a server."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Program = Callable[..., Result]

pytestmark = pytest.mark.cutile


@pytest.fixture
def run(program: Program, add_file: Path, tmp_path: Path) -> Path:
    path = tmp_path / "run.ctrace"
    assert program("trace", add_file, "-o", path).exit_code == 0
    return path


def test_one_file(program: Program, run: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = program("view", run, "--html", page)
    assert result.exit_code == 0 and result.output == f"{page}: {page.stat().st_size:,} bytes\n"
    assert "ct.load(y, index=(i,), shape=(N,))" in page.read_text(encoding="utf-8")
    fields = json.loads(program("view", run, "--html", page, "--json").stdout)
    assert fields == {"html": str(page), "bytes": page.stat().st_size}


def test_a_file_needs_no_flask(program: Program, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flask", None)
    monkeypatch.setitem(sys.modules, "werkzeug", None)
    assert program("view", run, "--html", tmp_path / "page.html").exit_code == 0
    result = program("view", run, "--no-browser")
    assert result.exit_code == 2 and "pip install 'cutile-sim[view]'" in result.output


@pytest.mark.parametrize("json_too", [(), ("--json",)])
def test_served(program: Program, run: Path, monkeypatch: pytest.MonkeyPatch, json_too: tuple[str, ...]) -> None:
    serving = pytest.importorskip("werkzeug.serving")
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(serving.BaseWSGIServer, "serve_forever", lambda self: None)
    result = program("view", run, *json_too)
    (address,) = opened
    printed = json.loads(result.stdout)["address"] if json_too else result.output.split()[0]
    assert result.exit_code == 0 and printed == address and address.startswith("http://127.0.0.1:")
    assert program("view", run, "--no-browser").exit_code == 0 and len(opened) == 1


def test_no_such_file(program: Program, tmp_path: Path) -> None:
    (tmp_path / "no.ctrace").write_text("text")
    for name, words in (("none.ctrace", "cannot read"), ("no.ctrace", "is no trace")):
        result = program("view", tmp_path / name)
        assert result.exit_code == 2 and words in result.output
