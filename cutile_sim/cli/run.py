"""`cutile-sim run`: run a kernel over a grid, and show what it wrote."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import Any, NoReturn

import click
import numpy as np

from cutile_sim.api import simulate
from cutile_sim.cli.findings import Report, findings_options, report_of
from cutile_sim.cli.launching import Launching, launch_options
from cutile_sim.cli.output import FINDINGS, json_option, nearest, print_json
from cutile_sim.cli.specs import make_arguments
from cutile_sim.cli.targets import Target
from cutile_sim.cli.written import Comparison, compare, expect_writable, host_array, named_arrays, save, summarize
from cutile_sim.errors import KernelError, UsageError
from cutile_sim.launch import LaunchResult
from cutile_sim.sanitize import CHECK_NAMES, DEFAULT_CHECKS, SMS_OF_H200, SanitizeOptions

SHOW_PROGRESS_AFTER_SECONDS = 1.0


@click.command()
@launch_options
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="How many threads share the blocks; the result does not depend on it.",
)
@click.option("--save", "save_path", metavar="OUT.npz", help="Save the arrays that were written.")
@click.option(
    "--expect", "expected", multiple=True, metavar="NAME=SPEC", help="Compare an array; exit 1 if it differs."
)
@click.option("--rtol", type=click.FloatRange(0), default=0.0, help="Relative tolerance of --expect.  [default: 0]")
@click.option("--atol", type=click.FloatRange(0), default=0.0, help="Absolute tolerance of --expect.  [default: 0]")
@click.option("--sanitize", is_flag=True, help="Look for mistakes that a GPU hides; exit 1 if there are any.")
@click.option("--checks", metavar="NAME,...", help=f"What --sanitize looks for, out of {', '.join(CHECK_NAMES)}.")
@click.option("--uninitialised", multiple=True, metavar="NAME", help="An array whose contents mean nothing yet.")
@click.option("--output", "outputs", multiple=True, metavar="NAME", help="An array that must be written whole.")
@click.option(
    "--resident-blocks",
    type=click.IntRange(1),
    metavar="N",
    help=f"How many blocks the GPU surely runs at once.  [default: {SMS_OF_H200}, the SMs of an H200]",
)
@findings_options
@json_option
def run(
    launching: Launching,
    workers: int,
    save_path: str | None,
    expected: tuple[str, ...],
    rtol: float,
    atol: float,
    sanitize: bool,
    checks: str | None,
    uninitialised: tuple[str, ...],
    outputs: tuple[str, ...],
    resident_blocks: int | None,
    sarif_path: str | None,
    baseline: str | None,
    write_baseline: str | None,
    as_json: bool,
) -> None:
    """Run a kernel and show what it wrote.

    Arguments come from the function inputs() in the file, and from --arg, which wins. If the file has a function
    check(args), it is called after the run and may raise AssertionError.

    \b
    SPEC is one of:
      rand:f32[256,256]      standard normal floats, small integers; seeded by --seed and the name
      zeros:bf16[4,4]  ones:i32[8]  arange:u8[16]  full(3):f16[2,2]
      data.npy  data.npy:bf16
      7  -1.5  true
      [rand:f32[4], ones:f32[4]] for a list of arrays, (1, 2) for a tuple

    \b
    Example:
      cutile-sim run add.py --grid 4 --arg x=rand:f32[64] --arg y=zeros:f32[64] --arg TILE=16
    """
    if save_path is not None:
        expect_writable(save_path)
    kernel, arguments, grid = launching.target, launching.arguments, launching.grid
    arrays = {name: host_array(name, value) for name, value in named_arrays(arguments.values).items()}
    if sanitize and workers > 1:
        raise UsageError("--sanitize watches the launch, which then runs on one thread: leave out --workers")
    wanted = _expectations(expected, arrays, launching.seed)
    needing = (checks, resident_blocks, sarif_path, baseline, write_baseline)
    options = _sanitize_options(sanitize, arrays, checks, uninitialised, outputs, resident_blocks, needing)
    kernel.compile(arguments, launching.arch)  # so that the time below is that of the run
    progress = _Progress(math.prod(grid))
    started = time.perf_counter()
    try:
        result = simulate(
            *launching.call,
            **launching.keywords,
            workers=workers,
            echo=not as_json,
            progress=progress.update,
            sanitize=options if options is not None else False,
        )
    except KernelError as error:
        if options is None or not error.findings:
            raise
        _stopped(error, report_of(error.findings, sarif_path, baseline, write_baseline), as_json)
    finally:
        progress.close()
    seconds = time.perf_counter() - started
    written = {name: arrays[name] for name in result.written}
    if save_path is not None:
        save(save_path, written)
    comparisons = [compare(name, arrays[name], value, rtol, atol) for name, value in wanted.items()]
    failure = kernel.run_check(arguments.values)
    found = report_of(result.findings, sarif_path, baseline, write_baseline) if options is not None else None
    if as_json:
        fields = _fields(kernel, grid, result, seconds, written, comparisons, failure)
        if found is not None:
            fields["findings"] = [f.to_json() for f in found.new]
            fields["findings_in_baseline"] = found.known
        print_json(fields)
    else:
        if found is not None:
            found.print()
        _print(grid, result, seconds, written, comparisons, failure)
    if failure or any(c.problem for c in comparisons) or (found is not None and found.is_bad):
        raise click.exceptions.Exit(FINDINGS)


def _sanitize_options(
    sanitize: bool,
    arrays: Mapping[str, np.ndarray],
    checks: str | None,
    uninitialised: tuple[str, ...],
    outputs: tuple[str, ...],
    resident_blocks: int | None,
    needing: tuple[Any, ...],
) -> SanitizeOptions | None:
    """What to look for, None for nothing. Raises UsageError for options that would have no effect."""
    if not sanitize:
        if uninitialised or outputs or any(n is not None for n in needing):
            raise UsageError(
                "--checks, --uninitialised, --output, --resident-blocks, --sarif and the baseline options need "
                "--sanitize"
            )
        return None
    for name in (*uninitialised, *outputs):
        if name not in arrays:
            raise UsageError(f"there is no array {name!r}{nearest(name, arrays)}")
    names = DEFAULT_CHECKS if checks is None else tuple(name.strip() for name in checks.split(","))
    return SanitizeOptions(names, uninitialised, outputs, resident_blocks or SMS_OF_H200)


def _stopped(error: KernelError, found: Report, as_json: bool) -> NoReturn:
    """Show what was found in a launch that did not end."""
    if as_json:
        fields = {"error": error.reason, "printed": error.printed, "findings": [f.to_json() for f in found.new]}
        print_json({**fields, "findings_in_baseline": found.known})
    else:
        found.print()
    raise click.exceptions.Exit(FINDINGS)


def _expectations(texts: tuple[str, ...], arrays: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    wanted: dict[str, np.ndarray] = {}
    for name, value in make_arguments(texts, seed, option="--expect").items():
        if name not in arrays:
            raise UsageError(f"--expect {name}: there is no such array{nearest(name, arrays)}")
        if isinstance(value, (list, tuple)):
            raise UsageError(f"--expect {name}: expect one array or number, and name the item: {name}[0]=...")
        wanted[name] = np.asarray(value)
    return wanted


def _print(
    grid: tuple[int, int, int],
    result: LaunchResult,
    seconds: float,
    written: Mapping[str, np.ndarray],
    comparisons: list[Comparison],
    failure: str | None,
) -> None:
    if result.printed and not result.printed.endswith("\n"):
        click.echo()
    for name, array in written.items():
        click.echo(str(summarize(name, array)))
    if not written:
        click.echo("no array was written")
    click.echo(
        f"{result.blocks:,} blocks ({', '.join(map(str, grid))}), {result.operations:,} operations,"
        f" {result.bytes_loaded:,} bytes loaded, {result.bytes_stored:,} stored, {seconds:.3g} s"
    )
    for warning in result.warnings:
        click.echo(f"warning: {warning}", err=True)
    for comparison in comparisons:
        click.echo(f"expect {comparison}", err=bool(comparison.problem))
    if failure is not None:
        click.echo(f"check: {failure}" if failure else "check: ok", err=bool(failure))


def _fields(
    kernel: Target,
    grid: tuple[int, int, int],
    result: LaunchResult,
    seconds: float,
    written: Mapping[str, np.ndarray],
    comparisons: list[Comparison],
    failure: str | None,
) -> dict[str, Any]:
    return {
        "kernel": kernel.name,
        "grid": list(grid),
        "printed": result.printed,
        "written": [summarize(name, array).fields() for name, array in written.items()],
        "blocks": result.blocks,
        "operations": result.operations,
        "bytes_loaded": result.bytes_loaded,
        "bytes_stored": result.bytes_stored,
        "seconds": seconds,
        "warnings": list(result.warnings),
        "expect": [{"name": c.name, "ok": not c.problem, "problem": c.problem or None} for c in comparisons],
        "check": None if failure is None else {"ok": not failure, "problem": failure or None},
    }


class _Progress:
    """A bar of finished blocks on standard error, if that is a terminal and the run takes a while."""

    def __init__(self, blocks: int) -> None:
        self.blocks = blocks
        self.shown = 0
        self.bar: Any = None
        self.due = time.perf_counter() + SHOW_PROGRESS_AFTER_SECONDS if sys.stderr.isatty() else math.inf

    def update(self, finished: int) -> None:
        if self.bar is None:
            if time.perf_counter() < self.due:
                return
            self.bar = click.progressbar(length=self.blocks, label="blocks", file=sys.stderr)
            self.bar.__enter__()
        self.bar.update(finished - self.shown)
        self.shown = finished

    def close(self) -> None:
        if self.bar is not None:
            self.bar.__exit__(None, None, None)
