"""What the tiles of a view are in memory, for all blocks of a group at once: windows of it where they can be, else an
address a lane. `ops.locate` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.values import Deferred
from cutile_sim.memory.access import check_writeable, window
from cutile_sim.memory.even import even_items
from cutile_sim.memory.space import Allocation


@dataclass(slots=True)
class Window:
    """Tiles as one strided window: shape (z, y, x, *tile), strides in elements. Only to be read."""

    allocation: Allocation
    offset_bytes: int
    shape: tuple[int, ...]
    strides_elems: tuple[int, ...]
    element: ElementType

    def read(self) -> np.ndarray:
        """The window's memory itself, in storage form: copy what must outlive later stores."""
        return window(self.allocation, self.offset_bytes, self.shape, self.strides_elems, self.element)

    def addresses(self) -> np.ndarray:
        """A byte address a lane (int64, of the window's shape). Not to be written to."""
        size = self.element.size_bytes
        first = self.allocation.address + self.offset_bytes
        return even_items(first, self.shape, [s * size for s in self.strides_elems])

    def compute(self, value: Deferred) -> int:
        """Compute a value of the window's shape right into it. Returns bytes written."""
        check_writeable(self.allocation, self.offset_bytes, (0,) * len(self.shape))
        memory = self.read()
        result = value.value(out=memory)
        if result is not memory:
            memory[...] = result
        return memory.nbytes

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether each block has a tile of its own here, and a value of that shape fills them all."""
        if shape != self.shape:
            return False
        return 0 not in [s for n, s in zip(shape, self.strides_elems, strict=True) if n > 1]

    def write(self, stored: np.ndarray) -> int:
        """Store into the window; where several blocks share a tile, the last one's stays. Returns bytes written."""
        check_writeable(self.allocation, self.offset_bytes, (0,) * len(self.shape))
        shape, offset, strides = list(self.shape), self.offset_bytes, list(self.strides_elems)
        written = self.element.size_bytes
        for n in shape:
            written *= n
        for axis in range(3):
            if strides[axis] == 0 and shape[axis] > 1:
                shape[axis] = 1
                if stored.shape[axis] > 1:
                    stored = stored[(slice(None),) * axis + (slice(-1, None),)]
        window(self.allocation, offset, tuple(shape), tuple(strides), self.element)[...] = stored
        return written


@dataclass(frozen=True)
class Edge:
    """Windows over the parts of the tiles that lie inside the tensor; `shape` is that of all tiles."""

    shape: tuple[int, ...]
    parts: tuple[tuple[tuple[slice, ...], Window], ...]

    def addresses(self) -> np.ndarray:
        """A byte address a lane (int64, of `shape`), 0 where it is cut off."""
        addresses = np.zeros(self.shape, np.int64)
        for target, part in self.parts:
            addresses[target] = part.addresses()
        return addresses

    def valid(self) -> np.ndarray:
        """Which lanes lie inside the tensor."""
        valid = np.zeros(self.shape, bool)
        for target, _ in self.parts:
            valid[target] = True
        return valid


@dataclass(frozen=True)
class Lanes:
    """One byte address a lane (int64, full shape); `valid` marks the lanes inside the tensor, None if all are."""

    addresses: np.ndarray
    valid: np.ndarray | None
