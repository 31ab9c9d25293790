"""The program `cutile-sim`: the group of commands, and what becomes of their errors."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import click

from cutile_sim import __version__
from cutile_sim.checker import compile_finding
from cutile_sim.cli.check import check
from cutile_sim.cli.debug import debug_
from cutile_sim.cli.exec import exec_
from cutile_sim.cli.ir import ir
from cutile_sim.cli.ops import ops
from cutile_sim.cli.output import exit_code, note_json, report_error, wants_json
from cutile_sim.cli.plot import plot_
from cutile_sim.cli.run import run
from cutile_sim.cli.trace import trace_
from cutile_sim.cli.view import view_
from cutile_sim.errors import CutileSimError, InternalError, UsageError, VerifyError


class _Group(click.Group):
    """Turns every error of a command into a message and an exit code."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        note_json(ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception as error:
            shown = _as_ours(error)
            report_error(shown, wants_json(), type(error if isinstance(shown, VerifyError) else shown).__name__)
            ctx.exit(exit_code(shown))


def _as_ours(error: Exception) -> CutileSimError:
    """The error itself, or one of ours that says the same."""
    if isinstance(error, CutileSimError):
        return error
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        advice = f"; see {context.command_path} --help" if context is not None else ""
        return UsageError(error.format_message().rstrip(".") + advice)
    cutile = sys.modules.get("cuda.tile")
    if cutile is not None and isinstance(error, cutile.TileError):
        finding = compile_finding(error)
        return VerifyError(finding.message, rule=finding.id, location=finding.location)
    if isinstance(error, MemoryError):
        return UsageError("there is not enough memory for these arguments")
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return InternalError(
        f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno}, in {frame.name})"
    )


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="cutile-sim")
def cli() -> None:
    """Run NVIDIA cuTile kernels exactly, on any CPU.

    Exit codes: 0 fine; 1 the kernel is at fault; 2 the command, a file or an argument is.

    \b
    Example:
      cutile-sim run examples/matmul.py
    """


for command in (run, exec_, check, debug_, trace_, view_, plot_, ir, ops):
    cli.add_command(command)


def main() -> None:
    """Entry point of the installed program."""
    cli(prog_name="cutile-sim")
