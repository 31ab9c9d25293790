"""`cutile-sim trace`: run a kernel, and record what its blocks do."""

from __future__ import annotations

import os
import time
from typing import Any

import click

from cutile_sim.cli.launching import Launching, launch_options
from cutile_sim.cli.output import json_option, print_json
from cutile_sim.errors import KernelError
from cutile_sim.traces import LaunchTrace, load_trace, trace
from cutile_sim.traces.options import KINDS


@click.command("trace")
@launch_options
@click.option("-o", "--output", "path", metavar="OUT.ctrace", help="The file to write.  [default: KERNEL.ctrace]")
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

    Arguments and grid are those of cutile-sim run. `cutile-sim view` shows the file.

    \b
    Example:
      cutile-sim trace examples/matmul.py -o run.ctrace
    """
    to = path or f"{launching.target.name}.ctrace"
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
    launching.target.compile(launching.arguments, launching.arch)  # so that the time below is that of the run
    started = time.perf_counter()
    try:
        trace(*launching.call, to=to, echo=not as_json, **(options | launching.keywords))
    except KernelError:
        click.echo(f"{to} holds the launch up to where it failed", err=True)
        raise
    seconds = time.perf_counter() - started
    with load_trace(to) as written:
        (launch,) = written.launches
        fields = _fields(launch, to, seconds)
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
    for finding in launch.findings:
        click.echo(f"{finding['severity']}: {finding['message']} [{finding['id']}]", err=True)


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
