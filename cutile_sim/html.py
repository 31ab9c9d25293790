"""Small pieces of HTML for notebooks: everything is escaped, and the colours are those of the page, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutile_sim.launch import LaunchResult

MOST_PRINTED = 2000
"""So many characters of what a kernel printed are shown."""
_LINE = "border-bottom:1px solid rgba(128,128,128,.35)"
_CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top;background:none;color:inherit"


class Raw(str):
    """HTML that is one already, and is not escaped again."""


def text(value: object) -> Raw:
    """A value as HTML."""
    return value if isinstance(value, Raw) else Raw(escape(str(value)))


def card(title: object, below: object, *parts: Raw) -> str:
    """A title, a smaller line below it, and parts, as a block that stands alone."""
    return (
        '<div style="font:13px/1.45 system-ui,sans-serif;color:inherit;overflow-x:auto">'
        f'<div style="font-weight:600;font-size:14px">{text(title)}</div>'
        f'<div style="opacity:.75;margin-bottom:6px">{text(below)}</div>{"".join(parts)}</div>'
    )


def table(heads: Sequence[object], rows: Sequence[Sequence[object]]) -> Raw:
    """A table; nothing for no rows."""
    if not rows:
        return Raw("")
    head = "".join(f'<th scope="col" style="{_CELL};font-weight:600;{_LINE}">{text(h)}</th>' for h in heads)
    body = "".join("<tr>" + "".join(f'<td style="{_CELL}">{text(cell)}</td>' for cell in row) + "</tr>" for row in rows)
    head = f"<thead><tr>{head}</tr></thead>" if heads else ""
    style = "border-collapse:collapse;margin:4px 0;font:inherit;color:inherit"
    return Raw(f'<table style="{style}">{head}<tbody>{body}</tbody></table>')


def lines(words: str, items: Sequence[object]) -> Raw:
    """Some lines under a word; nothing for none."""
    if not items:
        return Raw("")
    inner = "".join(f"<li>{text(item)}</li>" for item in items)
    return Raw(
        f'<div style="margin-top:6px">{text(words)}</div><ul style="margin:2px 0 2px 18px;padding:0">{inner}</ul>'
    )


def verbatim(words: str, printed: str) -> Raw:
    """Printed text as it is, cut where it is long; nothing for none."""
    if not printed:
        return Raw("")
    shown = printed if len(printed) <= MOST_PRINTED else printed[:MOST_PRINTED] + "\n..."
    return Raw(
        f'<div style="margin-top:6px">{text(words)}</div>'
        f'<pre style="margin:2px 0;max-height:12em;overflow:auto;color:inherit;background:none">{text(shown)}</pre>'
    )


def result_card(result: LaunchResult) -> str:
    """What a launch did."""
    rows = [
        ("arrays written", ", ".join(result.written) or "none"),
        ("operations", f"{result.operations:,}"),
        ("loaded", f"{result.bytes_loaded:,} bytes"),
        ("stored", f"{result.bytes_stored:,} bytes"),
    ]
    return card(
        "Launch",
        f"{result.blocks:,} blocks",
        table((), rows),
        lines("Warnings", result.warnings),
        lines("Findings", [f"{f.message} [{f.id}]" for f in result.findings]),
        verbatim("Printed", result.printed),
    )
