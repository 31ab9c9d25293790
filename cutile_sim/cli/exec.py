"""`cutile-sim exec`: run a Python script with launches simulated."""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click

from cutile_sim.errors import UsageError
from cutile_sim.standin.runner import run_script
from cutile_sim.traces import TraceOptions
from cutile_sim.traces.active import tracing_everywhere


@click.command("exec", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--arch", metavar="GPU", help="The GPU to stand in for. Default: sm_90.")
@click.option("--force", is_flag=True, help="Simulate also where a real GPU is present.")
@click.option("--trace", "trace_path", metavar="OUT.ctrace", help="Record the launches; see cutile-sim trace.")
@click.option("--trace-values", is_flag=True, help="Record the tiles and the arrays' contents, too.")
@click.argument("script", metavar="SCRIPT.py")
@click.argument("args", metavar="[ARGS]...", nargs=-1, type=click.UNPROCESSED)
def exec_(
    script: str, args: tuple[str, ...], arch: str | None, force: bool, trace_path: str | None, trace_values: bool
) -> None:
    """Run a script, with launches simulated.

    ct.launch runs kernels on the CPU, and torch and CuPy do without a GPU. The script is not changed; what it prints,
    its errors and its exit code are its own.

    \b
    Example:
      cutile-sim exec examples/vector_add.py
    """
    if trace_values and trace_path is None:
        raise UsageError("--trace-values needs --trace")
    # Past click, so that no handler of ours sees what the script raises; its exit handlers run as usual.
    with (
        nullcontext()
        if trace_path is None
        else tracing_everywhere(trace_path, TraceOptions(values=trace_values, contents=trace_values))
    ):
        code = run_script(script, args, arch=arch, force=force)
    sys.exit(code)
