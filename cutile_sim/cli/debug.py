"""`cutile-sim debug`: run a kernel step by step, at a prompt."""

from __future__ import annotations

import io
import sys
from typing import IO

import click

from cutile_sim.api import debug
from cutile_sim.cli.launching import Launching, launch_options
from cutile_sim.cli.output import FINDINGS, USAGE
from cutile_sim.cli.prompt import Prompt, parse_block
from cutile_sim.errors import UsageError


@click.command("debug")
@launch_options
@click.option("--block", "block_text", metavar="X[,Y[,Z]]", default="0", help="The block to look at.  [default: 0]")
@click.option("--sanitize", is_flag=True, help="Look for mistakes that a GPU hides, to stop at: continue finding.")
@click.option("-x", "script", metavar="FILE", help="Take the commands from a file; - is standard input.")
def debug_(launching: Launching, block_text: str, sanitize: bool, script: str | None) -> None:
    """Run a kernel step by step, at a prompt.

    The launch stops at the first line of one block. All blocks run. `help` lists the commands, which are those of pdb
    and gdb. Arguments and grid are those of cutile-sim run.

    \b
    Example:
      cutile-sim debug examples/matmul.py --block 1,2
    """
    commands = _commands(script)
    session = debug(*launching.call, block=parse_block(block_text), sanitize=sanitize, **launching.keywords)
    prompt = Prompt(session, commands, is_interactive=script is None and commands.isatty())
    prompt.begin()
    try:
        prompt.cmdloop()
    finally:
        session.abort()
    if prompt.kernel_has_failed or session.findings:
        raise click.exceptions.Exit(FINDINGS)
    if prompt.command_has_failed and not prompt.is_interactive:
        raise click.exceptions.Exit(USAGE)


def _commands(script: str | None) -> IO[str]:
    """Where commands come from."""
    if script is None or script == "-":
        return sys.stdin
    try:
        with open(script, encoding="utf-8") as file:
            return io.StringIO(file.read())
    except OSError as error:
        raise UsageError(f"cannot read {script}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{script} is no text file") from None
