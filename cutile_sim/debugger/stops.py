"""Stops of a launch: what is known where a block has come to a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutile_sim.debugger.bindings import ArrayArgument, settled
from cutile_sim.debugger.breakpoints import Breakpoint, Line, make_breakpoint
from cutile_sim.debugger.contents import Contents
from cutile_sim.debugger.follower import Block, Follower, Program
from cutile_sim.debugger.subject import Subject
from cutile_sim.engine.context import Context
from cutile_sim.errors import UsageError


@dataclass(frozen=True)
class Stop:
    """A block that is about to run a line.

    Attributes:
        block: The block (x, y, z).
        file, line, function: The place in the source.
        tiles: By the name of the Python variable, what the variables of that function hold that are tiles or numbers
            of the kernel: NumPy arrays of the tile's shape, () for a number, in the kernel's own dtype.
    """

    block: Block
    file: str
    line: int
    function: str
    tiles: Mapping[str, np.ndarray]


class StopRecorder(Follower):
    """Notes what one block's variables hold whenever it comes to one of some lines."""

    def __init__(
        self,
        program: Program,
        block: Block,
        contents: Contents,
        breakpoints: Sequence[Breakpoint],
        stops: list[Stop],
    ) -> None:
        super().__init__(program, block)
        self.contents = contents
        self.breakpoints = breakpoints
        self.stops = stops

    def reached(self, cx: Context) -> None:
        standing = self.standing
        if standing is None or standing.fresh is None:
            return
        for depth in range(standing.fresh, len(standing.entries)):
            entry = standing.entries[depth]
            if any(b.is_at(entry) for b in self.breakpoints):
                names = self.program.names_at(standing, depth)
                tiles = tiles_of(names, self.contents, self)
                self.stops.append(Stop(self.block, entry.frame.file, entry.statement.line, entry.frame.function, tiles))


def recorders(
    subject: Subject, break_at: Line | Sequence[Line], break_blocks: Any, stops: list[Stop]
) -> list[StopRecorder]:
    """Observers that note stops of blocks at lines in `stops`, one a block.

    Args:
        break_at: A line, or a list of lines.
        break_blocks: A block (a tuple of up to three numbers), or a list of blocks.

    Raises UsageError for lines without code, and for blocks outside the grid.
    """
    lines = [break_at] if isinstance(break_at, (int, str)) else list(break_at)
    blocks = break_blocks if isinstance(break_blocks, list) else [break_blocks]
    chosen = list(dict.fromkeys(subject.expect_block(block) for block in blocks))
    places = [make_breakpoint(subject.program, line) for line in lines]
    return [StopRecorder(subject.program, block, subject.contents, places, stops) for block in chosen]


def tiles_of(names: Mapping[str, Any], contents: Contents, follower: Follower) -> dict[str, np.ndarray]:
    """Variables that hold tiles or numbers of the kernel, as arrays; those that are not available are left out."""
    found: dict[str, np.ndarray] = {}
    for name, binding in names.items():
        if isinstance(settled(binding), ArrayArgument):
            continue
        try:
            value = contents.of(name, binding, follower)
        except UsageError:
            continue
        if isinstance(value, (np.ndarray, np.generic)):
            found[name] = np.asarray(value)
    return found
