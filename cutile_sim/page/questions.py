"""What the page may ask, with its parameters taken from text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cutile_sim.errors import UsageError
from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.reader import LaunchTrace, Trace

Block = tuple[int, int, int]


@dataclass(frozen=True)
class Question:
    """Parameters of a question about a trace. Whatever makes no sense raises UsageError."""

    trace: Trace
    parameters: Mapping[str, str]

    def has(self, name: str) -> bool:
        """Whether a parameter is given."""
        return name in self.parameters

    def text(self, name: str) -> str:
        """A parameter as it is."""
        if name not in self.parameters:
            raise UsageError(f"the question lacks {name!r}")
        return self.parameters[name]

    def number(self, name: str, low: int, high: int) -> int:
        """A whole number from `low` up to but without `high`."""
        found = self.numbers(name)
        if len(found) != 1 or not low <= found[0] < high:
            raise UsageError(f"{name} must be a number from {low} to {high - 1}, not {self.text(name)!r}")
        return found[0]

    def numbers(self, name: str) -> tuple[int, ...]:
        """Whole numbers with commas between them; none for an empty text."""
        text = self.text(name)
        try:
            return tuple(int(part) for part in text.split(",")) if text else ()
        except ValueError:
            raise UsageError(f"{name} must be whole numbers, not {text!r}") from None

    @property
    def launch(self) -> LaunchTrace:
        """The launch that is asked about."""
        number = self.number("launch", 0, 1 << 31)
        for launch in self.trace.launches:
            if launch.number == number:
                return launch
        raise UsageError(f"the trace has no launch {number}")

    @property
    def array(self) -> ArrayInfo:
        """The array that is asked about."""
        arrays = self.launch.arrays
        return arrays[self.number("array", 0, len(arrays))]

    def block(self, name: str = "block") -> Block:
        """A block of the grid (x, y, z)."""
        found = self.numbers(name)
        grid = self.launch.grid
        if len(found) != 3 or any(not 0 <= i < n for i, n in zip(found, grid, strict=True)):
            raise UsageError(f"the grid of {'x'.join(map(str, grid))} blocks has no block {self.text(name)!r}")
        return found[0], found[1], found[2]
