"""`cutile-sim trace`: run a kernel, and record what its blocks do; or write a trace in another format."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import ExitStack
from typing import Any

import click
from click.core import ParameterSource

from cutile_sim.cli.launching import Launching, launch_options
from cutile_sim.cli.output import json_option, print_json
from cutile_sim.cli.written import expect_writable
from cutile_sim.errors import KernelError, UsageError
from cutile_sim.traces import LaunchTrace, load_trace, trace, write_perfetto, write_tvz
from cutile_sim.traces.options import KINDS

SUFFIXES = {"ctrace": ".ctrace", "tvz": ".tvz", "perfetto": ".json"}
EXPORTS = {"tvz": write_tvz, "perfetto": write_perfetto}
NEEDED = {"tvz": {"values": True, "contents": True}}
"""What must be recorded for a format."""


@click.command("trace")
@launch_options
@click.option("-o", "--output", "path", metavar="OUT", help="The file to write.  [default: KERNEL.ctrace]")
@click.option(
    "--format",
    "form",
    type=click.Choice(tuple(SUFFIXES)),
    default="ctrace",
    show_default=True,
    help="tvz: for TileLens. perfetto: a timeline, for ui.perfetto.dev.",
)
@click.option(
    "--launch",
    "launches",
    multiple=True,
    type=click.IntRange(0),
    help="Of a trace that is converted, only this launch.",
)
@click.option("--values", is_flag=True, help="Record the tiles that are moved, multiplied and reduced.")
@click.option("--contents", is_flag=True, help="Record the contents of all arrays, before and after.")
@click.option("--kind", "kinds", multiple=True, type=click.Choice(KINDS), help="Only operations of this kind.")
@click.option("--block", "blocks", multiple=True, metavar="X[,Y[,Z]]", help="Only these blocks, such as 0:4,2.")
@click.option("--line", "lines", multiple=True, metavar="[FILE:]LINE", help="Only operations of this line, or 10-20.")
@click.option("--array", "names", multiple=True, metavar="NAME", help="Only accesses to this array.")
@click.option("--every", type=click.IntRange(1), default=1, help="Only every so many-th block.")
@click.option("--sanitize", is_flag=True, help="Look for mistakes that a GPU hides, and keep them in the trace.")
@json_option
def trace_(
    launching: Launching,
    path: str | None,
    form: str,
    launches: tuple[int, ...],
    values: bool,
    contents: bool,
    kinds: tuple[str, ...],
    blocks: tuple[str, ...],
    lines: tuple[str, ...],
    names: tuple[str, ...],
    every: int,
    sanitize: bool,
    as_json: bool,
) -> None:
    """Run a kernel and record what each block reads, computes and writes.

    Arguments and grid are those of cutile-sim run. `cutile-sim view` shows the file. A FILE that is a trace is written
    in another format.

    \b
    Example:
      cutile-sim trace examples/matmul.py -o run.ctrace
      cutile-sim trace run.ctrace --format perfetto -o run.json
    """
    if launching.file.endswith(SUFFIXES["ctrace"]):
        _convert(launching.file, path, form, launches, as_json)
        return
    if launches:
        raise UsageError(f"--launch is for traces: {launching.file} is launched once")
    to = path or launching.target.name + SUFFIXES[form]
    options: dict[str, Any] = {
        "values": values,
        "contents": contents,
        "blocks": blocks,
        "lines": lines,
        "names": names,
        "every": every,
        "sanitize": sanitize,
    }
    if kinds:
        options["kinds"] = kinds
    options |= NEEDED.get(form, {})
    launching.target.compile(launching.arguments, launching.arch)  # so that the time below is that of the run
    with ExitStack() as stack:
        record_to = to
        if form in EXPORTS:
            expect_writable(to)
            record_to = os.path.join(stack.enter_context(tempfile.TemporaryDirectory()), "run.ctrace")
        started = time.perf_counter()
        try:
            trace(*launching.call, to=record_to, echo=not as_json, **(options | launching.keywords))
        except KernelError:
            _keep_failed(record_to, to, form)
            raise
        seconds = time.perf_counter() - started
        with load_trace(record_to) as written:
            (launch,) = written.launches
            notes = EXPORTS[form](written, to) if form in EXPORTS else ()
            fields = _fields(launch, to, seconds) | {"format": form, "notes": list(notes)}
    if as_json:
        print_json(fields)
        return
    for array in fields["arrays"]:
        click.echo(
            f"{array['name']}  {array['dtype']}{array['shape']}  {array['loads']:,} loads, {array['stores']:,} stores,"
            f" {array['updates']:,} updates"
        )
    click.echo(
        f"{to}: {fields['records']:,} records of {launch.block_count:,} blocks,"
        f" {fields['bytes']:,} bytes, {seconds:.3g} s"
    )
    for note in notes:
        click.echo(f"note: {note}", err=True)
    for finding in launch.findings:
        click.echo(f"{finding['severity']}: {finding['message']} [{finding['id']}]", err=True)


def _keep_failed(record_to: str, to: str, form: str) -> None:
    """Keep what was recorded of a launch that failed; the failure matters more than a file that cannot be written."""
    try:
        if form in EXPORTS:
            with load_trace(record_to) as written:
                EXPORTS[form](written, to)
        click.echo(f"{to} holds the launch up to where it failed", err=True)
    except UsageError as error:
        click.echo(f"{to} was not written: {error.reason}", err=True)


def _convert(file: str, path: str | None, form: str, launches: tuple[int, ...], as_json: bool) -> None:
    """Write a trace that there is in another format."""
    context = click.get_current_context()
    usable = ("file", "path", "form", "launches", "as_json")
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in usable and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise UsageError(f"{parameter.opts[0]} says what to run or record, but {file} is a trace already")
    if form not in EXPORTS:
        raise UsageError(f"{file} is a trace already: say with --format what to make of it, {' or '.join(EXPORTS)}")
    to = path or file.removesuffix(SUFFIXES["ctrace"]) + SUFFIXES[form]
    with load_trace(file) as trace:
        notes = EXPORTS[form](trace, to, launches=launches)
        count = len(launches) or len(trace.launches)
    size = os.path.getsize(to)
    if as_json:
        print_json({"trace": to, "format": form, "launches": count, "bytes": size, "notes": list(notes)})
        return
    click.echo(f"{to}: {count:,} {'launch' if count == 1 else 'launches'}, {size:,} bytes")
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _fields(launch: LaunchTrace, path: str, seconds: float) -> dict[str, Any]:
    """What was recorded; tiles that are loaded, stored and updated are counted once a block."""
    moved = {array.number: {"load": 0, "store": 0, "atomic": 0} for array in launch.arrays}
    records = 0
    for record in launch.records():
        records += 1
        for number in {access.array.number for access in record.accesses}:
            moved[number][record.kind] += record.group.size
    return {
        "trace": path,
        "kernel": launch.kernel,
        "grid": list(launch.grid),
        "records": records,
        "bytes": os.path.getsize(path),
        "seconds": seconds,
        "arrays": [
            {
                "name": array.name,
                "dtype": array.dtype_name,
                "shape": list(array.shape),
                "loads": moved[array.number]["load"],
                "stores": moved[array.number]["store"],
                "updates": moved[array.number]["atomic"],
            }
            for array in launch.arrays
        ],
        "findings": launch.findings,
    }
