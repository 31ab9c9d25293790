"""What all commands share in what they print: errors with their exit codes, and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, TypeVar

import click

from cutile_sim.errors import CutileSimError, DecodeError, InternalError, UnsupportedError, UsageError
from cutile_sim.plain import plain
from cutile_sim.tileir.core import Location

FINE, FINDINGS, USAGE = 0, 1, 2
"""Exit codes: nothing is wrong; the kernel is at fault; the command, a file or an argument is."""

_JSON_KEY = "cutile_sim.json"

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """The option `--json`, which every command has."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")(command)


def note_json(ctx: click.Context, args: list[str]) -> None:
    """Remember whether JSON is wanted, before options are read: a mistake in one of them is to come out as JSON too."""
    ctx.meta[_JSON_KEY] = "--json" in args


def wants_json() -> bool:
    """Whether the running command prints JSON."""
    ctx = click.get_current_context(silent=True)
    return ctx is not None and ctx.meta.get(_JSON_KEY, False)


def nearest(word: str, possible: Iterable[str]) -> str:
    """`; did you mean WORD?` for the most similar possible word, or nothing."""
    near = get_close_matches(word, list(possible), 1)
    return f"; did you mean {near[0]}?" if near else ""


def print_json(value: Any) -> None:
    """Print a JSON document. Numbers that JSON does not have are strings: "nan", "inf", "-inf"."""
    click.echo(json.dumps(plain(value), indent=2, ensure_ascii=False))


def exit_code(error: CutileSimError) -> int:
    """What the program ends with after this error."""
    return USAGE if isinstance(error, (UsageError, DecodeError, UnsupportedError)) else FINDINGS


def location_fields(location: Location | None) -> dict[str, Any]:
    """File, line and column for JSON; null where they are unknown."""
    if location is None:
        return {"file": None, "line": None, "column": None}
    return {"file": location.file, "line": location.line, "column": location.column or None}


def error_fields(error: CutileSimError, class_name: str) -> dict[str, Any]:
    """An error for JSON."""
    block, lane = getattr(error, "block", None), getattr(error, "lane", None)
    return {
        "class": class_name,
        "reason": error.reason,
        **location_fields(error.location),
        "block": None if block is None else [int(i) for i in block],
        "lane": None if lane is None else [int(i) for i in lane],
    }


def report_error(error: CutileSimError, as_json: bool, class_name: str) -> None:
    """Print an error: as JSON on standard output, as text on standard error."""
    if as_json:
        print_json({"error": error_fields(error, class_name), "printed": error.printed})
        return
    click.echo(f"error: {error}", err=True)
    if isinstance(error, InternalError):
        click.echo("This is a mistake of cutile-sim itself, not of your kernel: please report it.", err=True)
