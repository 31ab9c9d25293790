"""`cutile-sim plot`: a picture of what a launch does to one array."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from cutile_sim.analysis.footprints import ACCESS_KINDS
from cutile_sim.cli.launching import Launching, launch_options
from cutile_sim.cli.output import json_option, print_json
from cutile_sim.cli.written import expect_writable
from cutile_sim.errors import UsageError
from cutile_sim.pictures import WHATS, expect_picture, plot, save
from cutile_sim.traces import LaunchTrace, Trace, load_trace, trace

SUFFIX = ".ctrace"
_OF_TRACES = ("file", "array", "what", "kind", "blocks", "at", "launch_number", "path", "as_json")
"""Parameters that make sense where FILE is a trace."""


@click.command("plot")
@launch_options
@click.option("--array", required=True, metavar="NAME", help="The array to draw.")
@click.option(
    "--what",
    type=click.Choice(WHATS),
    default="touches",
    show_default=True,
    help="How often each element is touched, which blocks touch what, or the contents afterwards.",
)
@click.option("--kind", type=click.Choice(ACCESS_KINDS), help="Only accesses of this kind.")
@click.option("--block", "blocks", multiple=True, metavar="X[,Y[,Z]]", help="Only this block; may be given again.")
@click.option("--slice", "at", metavar="I[,J...]", help="Of more than two axes, the index along all but the last two.")
@click.option("--launch", "launch_number", type=click.IntRange(0), help="Which launch of the trace.")
@click.option("-o", "--output", "path", metavar="OUT", help="The picture: .png, .svg or .pdf.  [default: ARRAY.png]")
@json_option
def plot_(
    launching: Launching,
    array: str,
    what: str,
    kind: str | None,
    blocks: tuple[str, ...],
    at: str | None,
    launch_number: int | None,
    path: str | None,
    as_json: bool,
) -> None:
    """Draw what a launch does to one array. Needs matplotlib: pip install 'cutile-sim[plot]'.

    FILE is a trace, or a kernel to run; then arguments and grid are those of cutile-sim run.

    \b
    Example:
      cutile-sim plot examples/matmul.py --array c -o c.png
      cutile-sim plot run.ctrace --array a --what tiles --block 1,2
    """
    to = path or f"{array}.png"
    expect_writable(to)
    expect_picture(to)
    options: dict[str, Any] = {
        "what": what,
        "kind": kind,
        "blocks": [_numbers("--block", block) for block in blocks],
        "at": _numbers("--slice", at) if at else (),
    }
    with _traced(launching, what, launch_number) as traced:
        launch = _chosen(traced, launch_number)
        save(plot(launch, array, **options), to)
        if as_json:
            print_json({"picture": to, "array": array, "what": what, "kernel": launch.kernel})
        else:
            click.echo(to)


def _traced(launching: Launching, what: str, launch_number: int | None) -> Trace:
    """The trace that FILE is, or one of running it."""
    if launching.file.endswith(SUFFIX):
        context = click.get_current_context()
        for parameter in context.command.params:
            name = parameter.name or ""
            if name not in _OF_TRACES and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
                raise UsageError(f"{parameter.opts[0]} says what to run, but {launching.file} is a trace already")
        return load_trace(launching.file)
    if launch_number is not None:
        raise UsageError(f"--launch is for traces: {launching.file} is launched once")
    return trace(*launching.call, contents=what == "values", echo=False, **launching.keywords)


def _chosen(traced: Trace, number: int | None) -> LaunchTrace:
    count = len(traced.launches)
    if number is None and count != 1:
        raise UsageError(f"{traced.name} holds {count} launches: choose one with --launch, from 0 on")
    if number is not None and number >= count:
        raise UsageError(f"--launch {number}: {traced.name} holds {count} launches, numbered from 0")
    return traced.launches[number or 0]


def _numbers(option: str, text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"{option} {text}: write whole numbers, such as 1,2") from None
