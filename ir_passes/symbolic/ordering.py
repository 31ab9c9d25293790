"""Which operations of different blocks an atomic may put in order: what stands before a release happens before what
stands behind the acquire that sees it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutile_sim.optable.encoding import MemoryOrderingSemantics
from cutile_sim.tileir.core import Function, Op, Region

_RELEASES = (MemoryOrderingSemantics.RELEASE, MemoryOrderingSemantics.ACQ_REL)
_ACQUIRES = (MemoryOrderingSemantics.ACQUIRE, MemoryOrderingSemantics.ACQ_REL)


class Ordering:
    """Where a function releases and acquires. A loop with either holds both what is before and what is behind it."""

    def __init__(self, function: Function) -> None:
        self.released: set[Op] = set()
        self.acquired: set[Op] = set()
        steps = [list(step) for step in _steps(function.body)]
        if (first := next((i for i, step in enumerate(steps) if any(map(_acquires, step))), None)) is not None:
            self.acquired.update(op for step in steps[first:] for op in step)
        if (last := next((i for i in reversed(range(len(steps))) if any(map(_releases, steps[i]))), None)) is not None:
            self.released.update(op for step in steps[: last + 1] for op in step)

    def may_order(self, a: Op, b: Op) -> bool:
        """Whether one of two operations of different blocks may always come first."""
        return (a in self.released and b in self.acquired) or (b in self.released and a in self.acquired)


def _steps(region: Region) -> Iterator[Iterator[Op]]:
    """The operations in program order, those of an outermost loop together."""
    for op in region.ops:
        if op.name in ("for", "loop"):
            yield op.walk()
            continue
        yield iter((op,))
        for inner in op.regions:
            yield from _steps(inner)


def _acquires(op: Op) -> bool:
    return op.attributes.get("memory_ordering_semantics") in _ACQUIRES


def _releases(op: Op) -> bool:
    return op.attributes.get("memory_ordering_semantics") in _RELEASES


def is_weak(op: Op) -> bool:
    """Whether an access is no atomic one."""
    return op.attributes.get("memory_ordering_semantics") is MemoryOrderingSemantics.WEAK
