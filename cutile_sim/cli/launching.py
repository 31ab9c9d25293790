"""What commands that launch a kernel share: its options, and what they make of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any

import click

from cutile_sim.api import FILLS
from cutile_sim.cli.targets import Arguments, Target, argument_options, open_one
from cutile_sim.engine.machine import Limits
from cutile_sim.errors import UsageError
from cutile_sim.launch import check_grid


def parse_grid(text: str) -> tuple[int, int, int]:
    """A grid as it stands on the command line: `64`, `4,4` or `4,4,2`. Raises UsageError for any other text."""
    try:
        parts = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--grid {text}: write one to three whole numbers, such as 64 or 4,4") from None
    return check_grid(parts)


@dataclass(frozen=True)
class Launching:
    """A launch as the command line describes it. Its properties raise UsageError where that makes no sense."""

    file: str
    grid_text: str | None
    specs: tuple[str, ...]
    seed: int
    arch: str | None
    undetermined: str
    step_limit: int
    time_limit: float | None
    batch_blocks: int | None

    @cached_property
    def target(self) -> Target:
        """The kernel."""
        return open_one(self.file)

    @cached_property
    def arguments(self) -> Arguments:
        """What it is called with."""
        return self.target.arguments(self.specs, self.seed)

    @cached_property
    def grid(self) -> tuple[int, int, int]:
        """Blocks along x, y, z."""
        if self.grid_text is not None:
            return parse_grid(self.grid_text)
        if self.arguments.grid is None:
            raise UsageError("how many blocks? Give --grid, such as --grid 4,4, or a grid in the dict of inputs()")
        return check_grid(self.arguments.grid)

    @property
    def call(self) -> tuple[Any, ...]:
        """The positional arguments of `simulate`."""
        return (self.target.kernel, self.grid, *self.arguments.values.values())

    @property
    def keywords(self) -> dict[str, Any]:
        """The keyword arguments of `simulate`."""
        return {
            "arch": self.arch,
            "undetermined": self.undetermined,
            "step_limit": self.step_limit,
            "time_limit": self.time_limit,
            "batch_blocks": self.batch_blocks,
        }


_OPTIONS = (
    click.argument("file", metavar="FILE[::KERNEL]"),
    click.option("--grid", "grid_text", metavar="X[,Y[,Z]]", help="Blocks along x, y and z."),
    argument_options,
    click.option("--arch", metavar="GPU", help="Compile for this GPU, such as sm_90."),
    click.option(
        "--undetermined",
        type=click.Choice(FILLS),
        default="sentinel",
        show_default=True,
        help="What undetermined lanes hold: NaN and 0x5a bytes, zeros, or NaN and ones.",
    ),
    click.option(
        "--step-limit", type=click.IntRange(1), default=Limits.steps, help="Instructions until a launch is stopped."
    ),
    click.option("--time-limit", type=click.FloatRange(0, min_open=True), help="Seconds until the launch is stopped."),
    click.option("--batch", "batch_blocks", type=click.IntRange(1), help="About how many blocks run in step."),
)


def launch_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that describe a launch: the command gets them as one `launching`."""

    @wraps(command)
    def with_launch(**given: Any) -> Any:
        own = {name: given.pop(name) for name in Launching.__dataclass_fields__}
        return command(launching=Launching(**own), **given)

    decorated: Callable[..., Any] = with_launch
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated
