"""What a trace records, and what it leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import PurePath
from typing import Any

import numpy as np

from cutile_sim.errors import UsageError
from cutile_sim.tileir.core import Location, Op

KINDS = ("load", "store", "atomic", "product", "reduce", "scan", "print", "assert", "compute")
"""Kinds of operations that can be recorded; `compute` is every other one."""
DEFAULT_KINDS = KINDS[:-1]

_EFFECTS = {"read": "load", "write": "store", "read_write": "atomic"}
_NAMES = {"reduce": "reduce", "scan": "scan", "print_tko": "print", "assert": "assert"}
_AXES = "xyz"
_RANGE = re.compile(r"(\d*)(:(\d*))?")


def kind_of(op: Op) -> str:
    """The kind of an operation, one of `KINDS`."""
    if op.spec.meaning.family == "mma":
        return "product"
    return _NAMES.get(op.name) or _EFFECTS.get(op.spec.effect, "compute")


@dataclass(frozen=True)
class BlockBox:
    """Blocks from `first` up to but without `end`, along x, y, z."""

    first: tuple[int, int, int]
    end: tuple[int, int, int]

    @classmethod
    def parse(cls, text: str) -> BlockBox:
        """A box such as `3`, `0:4,2` or `:,1,0:2` along x, y, z; an axis that is left out is taken whole.

        Raises UsageError for any other text.
        """
        parts = text.split(",")
        first, end = [0, 0, 0], [2**31, 2**31, 2**31]
        if len(parts) > len(_AXES):
            raise UsageError(f"blocks {text!r}: a grid has at most three axes")
        for axis, part in enumerate(parts):
            match = _RANGE.fullmatch(part.strip())
            if match is None or not part.strip():
                raise UsageError(f"blocks {text!r}: write a block along each axis, or a range such as 0:4")
            low, colon, high = match.groups()
            first[axis] = int(low or 0)
            if colon is None:
                end[axis] = first[axis] + 1
            elif high:
                end[axis] = int(high)
            if end[axis] <= first[axis]:
                raise UsageError(f"blocks {text!r}: there are no blocks from {first[axis]} to {end[axis]}")
        return cls((first[0], first[1], first[2]), (end[0], end[1], end[2]))

    @classmethod
    def of(cls, given: Any) -> BlockBox:
        """From a block id, such as 3 or (1, 2), or a text. Raises UsageError for anything else."""
        if isinstance(given, BlockBox):
            return given
        if isinstance(given, str):
            return cls.parse(given)
        ids = (given,) if isinstance(given, int) else given
        try:
            return cls.parse(",".join(str(int(i)) for i in ids))
        except (TypeError, ValueError):
            raise UsageError(f"blocks: {given!r} is no block; write (1, 2) or '0:4,2'") from None

    def holds(self, ids: tuple[np.ndarray, np.ndarray, np.ndarray]) -> np.ndarray:
        """Whether blocks of these ids (z, y, x, that broadcast together) are in the box."""
        z, y, x = ids
        inside = [(i >= low) & (i < high) for i, low, high in zip((x, y, z), self.first, self.end, strict=True)]
        return inside[0] & inside[1] & inside[2]


@dataclass(frozen=True)
class LineRange:
    """Lines `first` to `last` of files whose path ends in `file` ("" for any file)."""

    file: str
    first: int
    last: int

    @classmethod
    def parse(cls, given: Any) -> LineRange:
        """From 12, (10, 20), "12", "10-20", "k.py:12" or "k.py:10-20". Raises UsageError for anything else."""
        if isinstance(given, tuple) and len(given) == 2 and all(isinstance(n, int) for n in given):
            return cls("", *given)
        match = re.fullmatch(r"(?:(.+):)?(\d+)(?:-(\d+))?", str(given))
        if match is None:
            raise UsageError(f"line {given!r}: write 12, 10-20, k.py:12 or k.py:10-20")
        file, first, last = match.groups()
        return cls(file or "", int(first), int(last or first))

    def holds(self, chain: Iterable[Location]) -> bool:
        """Whether a place, or one it was called from, is in one of these lines."""
        wanted = PurePath(self.file).parts
        for at in chain:
            parts = PurePath(at.file).parts
            if self.first <= at.line <= self.last and (not wanted or parts[-len(wanted) :] == wanted):
                return True
        return False


@dataclass(frozen=True)
class TraceOptions:
    """What to record of a launch.

    Attributes:
        values: Also the tiles that are loaded, stored, multiplied and reduced.
        contents: Also the contents of all arrays, before and after: then the cost depends on their size.
        kinds: Which operations, out of `KINDS`.
        blocks: Only these: block ids, or texts such as "0:4,2" (x, y, z). Empty: all.
        lines: Only operations of these lines: 12, (10, 20), "k.py:12". Empty: all.
        names: Only accesses to these arrays. Empty: all.
        every: Only every so many-th block, in launch order.
        sanitize: Run the sanitizer too, and keep what it finds.

    Raises:
        UsageError: An option makes no sense.
    """

    values: bool = False
    contents: bool = False
    kinds: Sequence[str] = DEFAULT_KINDS
    blocks: Sequence[Any] = ()
    lines: Sequence[Any] = ()
    names: Sequence[str] = ()
    every: int = 1
    sanitize: bool = False
    boxes: tuple[BlockBox, ...] = field(init=False, default=(), repr=False)
    ranges: tuple[LineRange, ...] = field(init=False, default=(), repr=False)

    def __post_init__(self) -> None:
        if unknown := [k for k in self.kinds if k not in KINDS]:
            raise UsageError(f"there is no kind of operation {unknown[0]!r}; there are {', '.join(KINDS)}")
        if isinstance(self.every, bool) or not isinstance(self.every, int) or self.every < 1:
            raise UsageError(f"every must be a whole number of at least 1, not {self.every!r}")
        object.__setattr__(self, "boxes", tuple(BlockBox.of(b) for b in self.blocks))
        object.__setattr__(self, "ranges", tuple(LineRange.parse(line) for line in self.lines))

    def takes(self, op: Op) -> bool:
        """Whether executions of an operation are recorded at all."""
        chain = () if op.location is None else tuple(op.location.chain())
        return kind_of(op) in self.kinds and (not self.ranges or any(r.holds(chain) for r in self.ranges))

    @property
    def takes_every_block(self) -> bool:
        """Whether no block is left out."""
        return not self.boxes and self.every == 1

    def chosen(self, ids: tuple[np.ndarray, np.ndarray, np.ndarray], numbers: np.ndarray) -> np.ndarray | None:
        """Which blocks of a group are recorded, over its batch shape; None for all.

        `ids` are the blocks' ids along z, y, x, `numbers` their places in launch order.
        """
        wanted = np.ones(numbers.shape, bool)
        if self.boxes:
            wanted = np.zeros(numbers.shape, bool)
            for box in self.boxes:
                wanted |= box.holds(ids)
        if self.every > 1:
            wanted &= numbers % self.every == 0
        return None if wanted.all() else wanted

    def to_json(self) -> dict[str, Any]:
        """What was asked for, to be kept in the file."""
        return {
            "values": self.values,
            "contents": self.contents,
            "kinds": list(self.kinds),
            "blocks": [list(b) if isinstance(b, (tuple, list)) else str(b) for b in self.blocks],
            "lines": [list(n) if isinstance(n, tuple) else n for n in self.lines],
            "names": list(self.names),
            "every": self.every,
        }


OPTION_NAMES = tuple(f.name for f in fields(TraceOptions) if f.init)
