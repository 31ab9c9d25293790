"""What a launch does in truth: each block is run alone, and what its operations compute and touch is noted.

`contradictions` compares a proof with that. Of what follows from data it holds for the data that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from cutile_sim.engine.context import Fill
from cutile_sim.engine.machine import Limits
from cutile_sim.engine.observer import Observer
from cutile_sim.errors import KernelError, OutOfBoundsError
from cutile_sim.frontend.export import prepare_launch
from cutile_sim.frontend.params import ListBuffer, PointerParam
from cutile_sim.launch import launch, map_array, program_of
from cutile_sim.memory.space import AddressSpace
from cutile_sim.replay import arrays_kept, happens, live_addresses
from cutile_sim.tileir.core import Op
from ir_passes.symbolic import Check

Block = tuple[int, int, int]
ACCESSES = (Check.RANGE, Check.PROMISED_BOUNDS)
CLASHES = (Check.DISJOINT_STORES, Check.DISJOINT_LOADS)
COMPUTED = tuple(c for c in Check if c not in (*ACCESSES, *CLASHES, Check.COVERAGE))


@dataclass
class Touched:
    """Who touches one byte of memory."""

    loads: set[tuple[Block, Op]] = field(default_factory=set)
    stores: set[tuple[Block, Op]] = field(default_factory=set)
    updates: set[tuple[Block, Op]] = field(default_factory=set)


class _Notes(Observer):
    """Notes what one block does."""

    in_order = True

    def __init__(self, block: Block, truth: Truth, asked: dict[Op, set[Check]]) -> None:
        self.block = block
        self.truth = truth
        self.asked = asked

    def before(self, op: Op, slots: list[Any], cx: Any) -> None:
        for check in self.asked.get(op, ()):
            # What lies wholly outside is not cut off as well.
            whole = check is Check.CLIPPED_STORE and happens(Check.STORED_TILE, op, slots)
            if not whole and happens(check, op, slots):
                self.truth.happened.setdefault((op, check), self.block)

    def loaded(self, place: Any, mask: Any, element: Any, cx: Any) -> None:
        effect = cx.op.spec.effect
        for address in np.unique(live_addresses(place, mask)).tolist():
            touched = self.truth.touched.setdefault(address, Touched())
            kind = {"read": touched.loads, "write": touched.stores}.get(effect, touched.updates)
            kind.add((self.block, cx.op))

    def storing(self, place: Any, mask: Any, element: Any, stored: Any, cx: Any) -> None:
        self.loaded(place, mask, element, cx)


@dataclass
class Truth:
    """All that happens: `happened` by operation and check, `faults` are lines at which blocks stop."""

    happened: dict[tuple[Op, Check], Block] = field(default_factory=dict)
    touched: dict[int, Touched] = field(default_factory=dict)
    faults: set[int] = field(default_factory=set)
    is_cut_short: bool = False
    unwritten: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def clash(self, op: Op) -> tuple[Block, Block] | None:
        """Two blocks of which one runs the operation, and the other writes the same. Pairs are seen from the first."""
        for touched in self.touched.values():
            others = [
                (b, o) for b, o in touched.stores if o.offset_bytes >= op.offset_bytes or op.spec.effect == "read"
            ]
            mine = [b for b, o in (*touched.loads, *touched.stores) if o is op]
            for block, (other, _) in product(mine, [*others, *touched.updates]):
                if block != other:
                    return block, other
        return None


def truth_of(kernel: Any, grid: Sequence[int], args: Sequence[Any], verdicts: Sequence[Any]) -> Truth:
    """Run every block of a launch alone. Operations are those of the verdicts."""
    compiled, params = prepare_launch(kernel, args)
    ops = {op.offset_bytes: op for op in compiled.entry.walk()}
    asked: dict[Op, set[Check]] = {}
    for verdict in verdicts:
        if verdict.check in COMPUTED:
            asked.setdefault(ops[verdict.op.offset_bytes], set()).add(verdict.check)
    blocks = (*grid, 1, 1)[:3]
    truth = Truth()
    program = program_of(compiled.module, compiled.entry, in_order=True)
    with arrays_kept(params):
        for block in product(*map(range, blocks)):
            notes = _Notes(block, truth, asked)
            box = tuple((b, b + 1) for b in block)
            try:
                launch(program, blocks, params, fill=Fill("zero"), limits=Limits(seconds=20), observer=notes, box=box)
            except OutOfBoundsError as error:
                truth.faults.add(error.location.line if error.location else 0)
                truth.is_cut_short = True
            except KernelError:
                truth.is_cut_short = True
    for name, index, address in _elements(params):
        if address not in truth.touched or not truth.touched[address].stores:
            truth.unwritten.setdefault(name, index)
    return truth


def _elements(params: Sequence[Any]) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Array, index and address of every element; a list is one array. Addresses are given out as in a launch."""
    space = AddressSpace()
    for param in params:
        arrays = [param.array] if isinstance(param, PointerParam) else getattr(param, "words", ())
        for array in arrays:
            if not isinstance(array, int):
                start = map_array(space, array, [])
                for index in product(*map(range, array.shape)):
                    at = sum(i * s for i, s in zip(index, array.strides_elems, strict=True))
                    yield array.name.partition("[")[0], index, start + at * array.element.size_bytes
        if isinstance(param, ListBuffer):
            space.place(np.zeros(8 * len(param.words), np.uint8), "list of arrays")


def contradictions(kernel: Any, grid: Sequence[int], args: Sequence[Any], report: Any) -> list[str]:
    """What a proof says and what is not so."""
    truth = truth_of(kernel, grid, args, report.verdicts)
    compiled, _ = prepare_launch(kernel, args)
    ops = {op.offset_bytes: op for op in compiled.entry.walk()}
    found = []
    doubted = {v.location.line for v in report.verdicts if v.check in ACCESSES and v.status != "proved"}
    if truth.faults - doubted:
        found.append(f"every access is proved, but blocks stop at lines {truth.faults - doubted}")
    for verdict in report.verdicts:
        seen = _seen(verdict, ops[verdict.op.offset_bytes], truth)
        if "mistake of cutile_sim" in verdict.reason:
            found.append(str(verdict))
        elif verdict.status == "proved" and seen:
            found.append(f"{verdict} at {verdict.location}, but {seen}")
        elif verdict.status == "violated" and not seen and verdict.check in (*COMPUTED, *_unless(truth.is_cut_short)):
            found.append(f"{verdict} at {verdict.location}, but it never happens")
    return found


def _unless(is_cut_short: bool) -> tuple[Check, ...]:
    """What was looked at whole, where no block was cut short."""
    return () if is_cut_short else (*CLASHES, Check.COVERAGE)


def _seen(verdict: Any, op: Op, truth: Truth) -> str:
    if verdict.check in COMPUTED:
        block = truth.happened.get((op, verdict.check))
        return "" if block is None else f"it happens in block {block}"
    if verdict.check in CLASHES:
        blocks = truth.clash(op)
        return "" if blocks is None else f"blocks {blocks} do"
    if verdict.check is Check.COVERAGE and not truth.is_cut_short:
        index = truth.unwritten.get(verdict.array)
        return "" if index is None else f"nothing is written to {index}"
    return ""
