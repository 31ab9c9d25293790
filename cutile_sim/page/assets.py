"""The page's own files, and how they become one: HTML with style and script inside, or beside it on a server."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

STATIC = files("cutile_sim.page") / "static"
STYLE = "page.css"
MAIN = "main.js"
_IMPORT = re.compile(r'^import (?P<names>\{[^}]*\}) from "\./(?P<file>\w+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const) (?P<name>\w+)", re.MULTILINE)


@cache
def names() -> tuple[str, ...]:
    """Names of all files that a server may give out."""
    return tuple(sorted(f.name for f in STATIC.iterdir() if f.name.endswith((".js", ".css"))))


def read(name: str) -> str:
    """The text of one of the files."""
    return (STATIC / name).read_text(encoding="utf-8")


def served_page() -> str:
    """The page for a server."""
    page = read("index.html")
    page = page.replace("<!-- style -->", f'<link rel="stylesheet" href="static/{STYLE}">')
    page = page.replace("<!-- data -->\n", "")
    return page.replace("<!-- script -->", f'<script type="module" src="static/{MAIN}"></script>')


def whole_page(data: Any) -> str:
    """The page as one file, with its answers inside. It loads nothing, and runs no script but its own."""
    style, script = f"\n{read(STYLE)}", f"\n{bundle()}"
    rules = f"default-src 'none'; img-src data: blob:; style-src {_hash(style)}; script-src {_hash(script)}"
    page = read("index.html")
    head = f'<meta http-equiv="Content-Security-Policy" content="{rules}">\n<style>{style}</style>'
    page = page.replace("<!-- style -->", head)
    page = page.replace(
        "<!-- data -->", f'<script type="application/json" id="page-data">{json_in_html(data)}</script>'
    )
    return page.replace("<!-- script -->", f'<script type="module">{script}</script>')


def json_in_html(data: Any) -> str:
    """JSON that can stand in a script element whatever texts it holds."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def bundle() -> str:
    """All modules as one script, each a function's body after those it imports, so that their own names stay apart."""
    done: dict[str, str] = {}
    _add(MAIN, done, ())
    return "\n".join(done.values())


def _add(name: str, done: dict[str, str], above: tuple[str, ...]) -> None:
    if name in above:
        raise ValueError(f"modules import each other: {' '.join((*above, name))}")
    if name in done:
        return
    text = read(name)
    for match in _IMPORT.finditer(text):
        _add(match["file"], done, (*above, name))
    names = ", ".join(m["name"] for m in _EXPORT.finditer(text))
    body = _EXPORT.sub(lambda m: m[0].removeprefix("export "), _IMPORT.sub(_imported, text))
    done[name] = f"const {_variable(name)} = (() => {{\n{body}return {{ {names} }};\n}})();"


def _imported(match: re.Match[str]) -> str:
    return f"const {match['names']} = {_variable(match['file'])};\n"


def _variable(name: str) -> str:
    return f"module_{name.removesuffix('.js')}"
