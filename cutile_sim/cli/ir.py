"""`cutile-sim ir`: the typed IR of a kernel beside the lines of its source."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any

import click

from cutile_sim.cli.output import json_option, location_fields, print_json
from cutile_sim.cli.targets import Arguments, argument_options, open_one
from cutile_sim.tileir.core import Function, Location, Module, Op
from cutile_sim.tileir.printer import format_op, print_module

WIDTH = 120


@click.command()
@click.argument("target", metavar="FILE[::KERNEL]")
@argument_options
@click.option("--arch", metavar="GPU", help="Compile for this GPU, such as sm_90.")
@click.option("--no-source", is_flag=True, help="Print the IR alone.")
@json_option
def ir(target: str, specs: tuple[str, ...], seed: int, arch: str | None, no_source: bool, as_json: bool) -> None:
    """Print Tile IR beside the source lines.

    Each operation stands below the line of the kernel that it comes from; code that a kernel calls, below its callers.

    \b
    Example:
      cutile-sim ir examples/matmul.py
    """
    kernel = open_one(target)
    module = kernel.compile(kernel.arguments(specs, seed) if kernel.file else Arguments({}, None), arch)
    if as_json:
        version = f"{module.version[0]}.{module.version[1]}"
        print_json({"version": version, "functions": [_fields(function) for function in module.functions]})
    elif no_source:
        click.echo(print_module(module), nl=False)
    else:
        for line in beside_source(module):
            click.echo(line)


def beside_source(module: Module) -> Iterator[str]:
    """The lines of the listing, at most `WIDTH` characters wide where that can be had."""
    yield f"Tile IR {module.version[0]}.{module.version[1]}"
    for function in module.functions:
        arguments = ", ".join(f"{value!r}: {value.type}" for value in function.parameters)
        yield ""
        yield from _wrapped(f"entry @{function.name}({arguments})", "")
        shown: Location | None = None
        for text, depth, location in listing(function):
            if location is not None and (shown is None or _place(location) != _place(shown)):
                shown = location
                yield ""
                yield from _source(location)
            yield from _wrapped(text, "    " + "  " * depth)


def listing(function: Function) -> Iterator[tuple[str, int, Location | None]]:
    """(text, depth of nesting, location) of each operation, and of each line that begins or ends a region."""
    for op in function.body.ops:
        yield from _listing(op, 0)


def _listing(op: Op, depth: int) -> Iterator[tuple[str, int, Location | None]]:
    yield format_op(op).split("\n", 1)[0], depth, op.location
    for number, region in enumerate(op.regions):
        if number:
            arguments = ", ".join(f"{value!r}: {value.type}" for value in region.arguments)
            yield f"}} ({arguments}) {{", depth, None
        for inner in region.ops:
            yield from _listing(inner, depth + 1)
    if op.regions:
        yield "}", depth, None


def _place(location: Location) -> list[tuple[str, int]]:
    return [(at.file, at.line) for at in location.chain()]


def _source(location: Location) -> Iterator[str]:
    """The source line, outermost caller first, as `file:line  text`."""
    for depth, at in enumerate(reversed(list(location.chain()))):
        text = linecache.getline(at.file, at.line).strip()
        yield f"{'  ' * depth}{_short_path(at.file)}:{at.line}  {text}".rstrip()


def _short_path(file: str) -> str:
    """The path from the current folder, for a file that lies below it."""
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


def _wrapped(text: str, indent: str) -> list[str]:
    return wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "        ",
        break_long_words=False,
        break_on_hyphens=False,
    ) or [indent]


def _fields(function: Function) -> dict[str, Any]:
    return {
        "name": function.name,
        "parameters": [{"value": repr(value), "type": str(value.type)} for value in function.parameters],
        "operations": [
            {"text": format_op(op).split("\n", 1)[0], "name": op.name, "depth": depth, **location_fields(op.location)}
            for op, depth in _ops(function)
        ],
    }


def _ops(function: Function) -> Iterator[tuple[Op, int]]:
    pending = [(op, 0) for op in reversed(function.body.ops)]
    while pending:
        op, depth = pending.pop()
        yield op, depth
        pending += [(inner, depth + 1) for region in reversed(op.regions) for inner in reversed(region.ops)]
