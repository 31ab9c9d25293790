"""The observer that follows one block: where it stands, and what the values hold that its variables are bound to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutile_sim.debugger.bindings import Held, Items, Names, settled
from cutile_sim.debugger.naming import Naming
from cutile_sim.debugger.positions import Entry, Positions
from cutile_sim.engine.context import Context, at_block
from cutile_sim.engine.group import UNSET, Group
from cutile_sim.engine.observer import Observer
from cutile_sim.engine.structure import stop_flag
from cutile_sim.memory.access import Places
from cutile_sim.tileir.core import Op, Value

Block = tuple[int, int, int]


@dataclass(frozen=True)
class Standing:
    """Where a block stands: about to run an operation.

    Attributes:
        op: That operation.
        entries: The statements it belongs to, outermost first; those of the operation before where its own are hidden.
        fresh: From which of them on the block has newly come there; None where it has been there already.
        in_turn: Whether a loop has its next turn there.
    """

    op: Op
    entries: tuple[Entry, ...]
    fresh: int | None
    in_turn: bool


class Program:
    """What is known of a kernel before it runs: places, and the variables of its source."""

    def __init__(self, positions: Positions, naming: Naming) -> None:
        self.positions = positions
        self.naming = naming
        self.coded = positions.coded()
        self.named: set[int] = set()
        for names in (*naming.before.values(), *naming.in_turn.values()):
            self.named |= _values_of(names)

    def names_at(self, standing: Standing, depth: int) -> Names:
        """The variables of a frame; `depth` counts from 0, outermost first."""
        frame, statement = standing.entries[depth]
        is_last = depth == len(standing.entries) - 1
        return self.naming.at(frame, statement.node, in_turn=standing.in_turn if is_last else _is_while(statement.node))


def _is_while(node: Any) -> bool:
    return type(node).__name__ == "While"


def _values_of(names: Names) -> set[int]:
    found: set[int] = set()
    pending = list(names.values())
    while pending:
        binding = settled(pending.pop())
        if isinstance(binding, Held):
            found.update(v.index for v in binding.values)
        elif isinstance(binding, Items):
            pending.extend(binding.items)
    return found


class Follower(Observer):
    """Follows a block. `reached` is called whenever it is about to run an operation or to branch."""

    in_order = True

    def __init__(self, program: Program, block: Block) -> None:
        self.program = program
        self.block = block
        self.standing: Standing | None = None
        self.kept: dict[int, np.ndarray] = {}
        self.clock = 0
        self.times: dict[int, int] = {}
        self._group: Group | None = None
        self._at: tuple[int, int, int] | None = None
        self._last: Op | None = None

    def reached(self, cx: Context) -> None:
        """The block has come to `standing`."""

    def follow(self, block: Block) -> None:
        """Follow another block from now on."""
        self.block = block
        self.kept.clear()
        self.times.clear()
        self._group = self._last = None

    def holds(self, value: Value) -> np.ndarray | None:
        """The block's tile of a value, in the engine's carrier form; None where it is not computed, or no tile."""
        known = self.kept.get(value.index)
        if known is not None or self._group is None:
            return known
        return self._tile(self._group.slots[value.index])

    # What the engine tells

    def before(self, op: Op, slots: list[Any], cx: Context) -> None:
        if self._follows(cx):
            self._come(op, cx)

    def after(self, op: Op, slots: list[Any], cx: Context) -> None:
        if self._follows(cx):
            self._keep((v.index for v in op.results), slots)

    def moved(self, sources: list[int], targets: list[int], slots: list[Any], cx: Context) -> None:
        if self._follows(cx):
            self._keep(targets, slots)

    def branched(self, op: Op, condition: np.ndarray, cx: Context) -> None:
        if not self._follows(cx):
            return
        if op.name == "for":
            flag = stop_flag(op.regions[0])
            if flag is not None and (condition is cx.group.slots[flag.index] or self._is_set(flag, cx)):
                return  # asks whether a `break` has set the flag, or will find that it has
            self._keep((op.regions[0].arguments[0].index,), cx.group.slots)
        self._come(op, cx)

    # Where

    def _follows(self, cx: Context) -> bool:
        if cx.group is not self._group:
            self._group = cx.group
            self._at = None if cx.group is None else position_in(cx.group, self.block)
        return self._at is not None

    def _come(self, op: Op, cx: Context) -> None:
        positions = self.program.positions
        place = positions.places[op]
        last, self._last = self._last, op
        entries, fresh = place.entries, None
        in_turn = op.name == "for" or (bool(entries) and _is_while(entries[-1].statement.node))
        if place.is_hidden or (op.name == "for" and not entries):
            before = self.standing
            entries = before.entries if before is not None else ()
            in_turn = before.in_turn if before is not None else False
        else:
            known = self.standing.entries if self.standing is not None else ()
            turn = self._turn(last, op)
            same = 0
            while same < min(len(known), len(entries), turn) and known[same] == entries[same]:
                same += 1
            fresh = same if same < len(entries) else None
        self.standing = Standing(op, entries, fresh, in_turn)
        self.reached(cx)

    def _is_set(self, flag: Value, cx: Context) -> bool:
        tile = self._tile(cx.group.slots[flag.index])
        return tile is not None and bool(tile)

    def _turn(self, last: Op | None, op: Op) -> int:
        """How many levels of the call chain stand where they stood: all, unless a loop has begun another turn."""
        positions = self.program.positions
        if last is None or positions.order[op] > positions.order[last]:
            return len(positions.places[op].entries)
        loop = positions.loop_of(last, op)
        return max(0, len(positions.places[loop].entries) - 1) if loop is not None else 0

    # What

    def _keep(self, indices: Any, slots: Sequence[Any]) -> None:
        for index in indices:
            if index in self.program.named:
                tile = self._tile(slots[index])
                if tile is not None:
                    self.clock += 1
                    self.kept[index] = tile
                    self.times[index] = self.clock

    def _tile(self, value: Any) -> np.ndarray | None:
        if value is UNSET or value is None or self._at is None:
            return None
        if isinstance(value, Places):
            value = value.addresses()
        # A copy: what is loaded may be a window of memory.
        return at_block(value, self._at).copy() if isinstance(value, np.ndarray) else None


def position_in(group: Group, block: Block) -> tuple[int, int, int] | None:
    """Where a block (x, y, z) is on a group's batch axes; None where it is not in the group."""
    wanted = block[::-1]
    if group.is_box:
        at = [np.flatnonzero(ids.ravel() == n) for ids, n in zip(group.ids, wanted, strict=True)]
        return None if any(a.size == 0 for a in at) else (int(at[0][0]), int(at[1][0]), int(at[2][0]))
    z, y, x = (ids.ravel() == n for ids, n in zip(group.ids, wanted, strict=True))
    found = np.flatnonzero(z & y & x)
    return (0, 0, int(found[0])) if found.size else None
