"""The server answers its own page on this machine, and nothing else."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

pytest.importorskip("flask")

from cutile_sim.errors import UsageError
from cutile_sim.page import assets, view
from cutile_sim.page.server import make_server
from cutile_sim.traces import Trace


@pytest.fixture
def port(synthetic: Trace) -> Iterator[int]:
    server, address = make_server(synthetic, 0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield int(address.rstrip("/").rpartition(":")[2])
    server.shutdown()
    thread.join()
    server.server_close()


def get(port: int, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    for name, value in {"Host": f"127.0.0.1:{port}", **headers}.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    found = response.status, dict(response.headers), response.read()
    connection.close()
    return found


def test_the_page_and_its_files(port: int) -> None:
    status, headers, page = get(port, "/")
    assert status == 200 and b'src="static/main.js"' in page and b"page-data" not in page
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    for name in assets.names():
        status, headers, content = get(port, f"/static/{name}")
        assert status == 200 and content.decode() == assets.read(name)
        assert headers["Content-Type"].startswith("text/css" if name.endswith(".css") else "text/javascript")


def test_answers(port: int) -> None:
    status, _, content = get(port, "/data/element?launch=0&array=0&index=0,0")
    assert status == 200 and json.loads(content)["touches"][0]["kind"] == "load"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/data/nothing", "nothing called"),
        ("/data/plane?launch=x", "whole numbers"),
        ("/data/launch?launch=9", "no launch 9"),
    ],
)
def test_a_bad_question(port: int, path: str, words: str) -> None:
    status, _, content = get(port, path)
    assert status == 400 and words in json.loads(content)["error"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "127.0.0.1:{port}.evil.example"]
)
def test_other_names_are_turned_away(port: int, host: str) -> None:
    """A page of another site whose name leads here (DNS rebinding) gets nothing."""
    for path in ("/", "/data/trace", "/static/main.js"):
        status, _, content = get(port, path, Host=host.format(port=port))
        assert status in (400, 403) and b"launches" not in content and b"<html" not in content.lower()[:15]
    assert get(port, "/data/trace", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        "/static/../page.py", "/static/..%2fserver.py", "/static/%2e%2e/server.py", "/static/..%5cserver.py",
        "/static//etc/passwd", "/static/index.html", "/static/", "/../etc/passwd", "//etc/passwd",
        "/static/main.js%00.css",
    ],
)  # fmt: skip
def test_no_other_file(port: int, path: str) -> None:
    status, _, content = get(port, path)
    assert status in (400, 404) and b"import" not in content and b"root:" not in content


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_is_written(port: int, method: str) -> None:
    assert get(port, "/data/trace", method, **{"Content-Length": "0"})[0] in (404, 405)


def test_loopback_only(synthetic: Trace) -> None:
    server, address = make_server(synthetic, 0)
    try:
        assert server.socket.getsockname()[0] == "127.0.0.1" and address.startswith("http://127.0.0.1:")
    finally:
        server.server_close()


def test_a_port_that_is_taken(synthetic: Trace) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match="choose another port"):
            make_server(synthetic, taken.getsockname()[1])


def test_without_flask(synthetic: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "flask", None)
    with pytest.raises(UsageError, match=r"pip install 'cutile-sim\[view\]'.*--html"):
        view(synthetic, open_browser=False)


def test_view_opens_the_page(synthetic: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def browse(address: str) -> bool:
        opened.append(address)
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", browse)
    ready: list[str] = []
    view(synthetic, ready=ready.append)
    assert ready == opened and opened[0].startswith("http://127.0.0.1:")


def test_view_wants_a_trace(tmp_path: Path) -> None:
    (tmp_path / "x.ctrace").write_text("no")
    for path, words in ((tmp_path / "x.ctrace", "is no trace"), (tmp_path / "y.ctrace", "cannot read")):
        with pytest.raises(UsageError, match=words):
            view(path, open_browser=False)
