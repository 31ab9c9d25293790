"""What operations that touch the world see of a launch: memory, grid, output, and the group of blocks that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.group import Group
from cutile_sim.engine.observer import Observer
from cutile_sim.memory.access import Places
from cutile_sim.memory.space import AddressSpace, Allocation, Extent, Overlap
from cutile_sim.tileir.core import Op
from cutile_sim.tileir.types import PointerType

INTEGER_SENTINEL = 0x5A
"""Every byte of an undetermined integer: wrong at a glance, odd, positive, and far from small numbers."""


@dataclass(frozen=True)
class Fill:
    """What lanes hold whose value the program leaves undetermined.

    `pattern` is "sentinel" (NaN; for integers the byte 0x5a repeated; false), "zero", or "ones" (all bits set).
    """

    pattern: str = "sentinel"

    def value(self, element: ElementType | PointerType) -> Any:
        """The filler of one element type, in the engine's carrier form."""
        if not isinstance(element, ElementType):
            return np.int64(0)
        if self.pattern == "zero":
            return element.carrier.type(0)
        if element.is_float:
            return element.carrier.type(np.nan)
        if element.width_bits == 1:
            return np.bool_(self.pattern == "ones")
        if self.pattern == "ones":
            return element.carrier.type(-1)
        pattern = np.full(element.carrier.itemsize, INTEGER_SENTINEL, np.uint8).view(element.carrier)[0]
        return pattern if element.width_bits >= 8 else element.carrier.type(5)


@dataclass
class Counts:
    """What a launch did, summed over its blocks."""

    operations: int = 0
    bytes_loaded: int = 0
    bytes_stored: int = 0

    def add(self, other: Counts) -> None:
        """Count what another part of the launch did."""
        self.operations += other.operations
        self.bytes_loaded += other.bytes_loaded
        self.bytes_stored += other.bytes_stored


@dataclass
class Context:
    """One launch, as its operations see it.

    Attributes:
        grid: Blocks along x, y, z.
        group: The blocks that run now, in step.
        op: The operation that runs now, kept by those that can fail.
        printed: (launch-order number of the block, text), in the order of execution.
        globals: Allocation of each of the module's globals.
        arrays: The array that each pointer parameter points to, by the parameter's position.
        overlaps: Array arguments that share memory.
        live: The slots of all groups that hold values.
        observer: Who watches this launch, if anybody does.
    """

    space: AddressSpace
    grid: tuple[int, int, int]
    fill: Fill
    globals: dict[str, Allocation] = field(default_factory=dict)
    arrays: Mapping[int, Extent] = field(default_factory=dict)
    overlaps: tuple[Overlap, ...] = ()
    group: Group = None  # type: ignore[assignment]
    op: Op | None = None
    live: Callable[[], list[list[Any]]] = list
    printed: list[tuple[int, str]] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    observer: Observer | None = None

    def lend(self, allocation: Allocation, memory: np.ndarray) -> np.ndarray:
        """A value that is a window of an allocation's memory for as long as that is not written, or a copy at once."""
        if allocation.shared:
            return memory.copy()
        if allocation.on_write is None:
            allocation.on_write = partial(self._take_back, allocation)
        return memory

    def end(self) -> None:
        """Let go of what refers back to here, or the launch's arrays would live until the next garbage collection."""
        self.live = list
        for allocation in self.space.allocations.values():
            allocation.on_write = None

    def _take_back(self, allocation: Allocation) -> None:
        allocation.on_write = None
        memory = allocation.data
        for slots in self.live():
            for i, value in enumerate(slots):
                if type(value) is np.ndarray and value.base is memory:
                    slots[i] = value.copy()
                elif type(value) is Places and value.items.base is memory:
                    slots[i] = value.map(np.copy)

    def repeats(self, shape: Sequence[int]) -> int:
        """How many of the group's blocks each entry on the batch axes of an array of this shape stands for."""
        return self.group.size // (shape[0] * shape[1] * shape[2])

    def each_block(self) -> list[tuple[int, tuple[int, int, int]]]:
        """(launch-order number, position on the batch axes) of the group's blocks, in launch order."""
        numbers = self.group.linear_ids(self.grid)
        positions = np.indices(self.group.shape).reshape(3, -1).T
        flat = numbers.ravel()
        order = np.argsort(flat, kind="stable")
        return [(int(flat[i]), (int(z), int(y), int(x))) for i, (z, y, x) in zip(order, positions[order], strict=True)]


def at_block(value: np.ndarray, position: tuple[int, int, int]) -> np.ndarray:
    """One block's tile of a batched value."""
    z, y, x = (min(p, n - 1) for p, n in zip(position, value.shape[:3], strict=True))
    return value[z, y, x]
