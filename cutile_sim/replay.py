"""Confirms what a proof says goes wrong: the engine runs the blocks it names and looks whether that happens.

Arrays are put back as they were afterwards. What is looked at is computed here in Python integers, not by the prover.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from cutile_sim.engine.context import Context, Fill
from cutile_sim.engine.machine import Limits
from cutile_sim.engine.observer import Observer
from cutile_sim.engine.values import TileView
from cutile_sim.errors import CutileSimError, KernelError, OutOfBoundsError
from cutile_sim.frontend.params import LaunchParam, ListBuffer, PointerParam
from cutile_sim.launch import launch, map_array, program_of
from cutile_sim.memory.space import AddressSpace
from cutile_sim.sanitize.lanes import counting, lane_addresses
from cutile_sim.tileir.attributes import Bounded, DivBy
from cutile_sim.tileir.core import Function, Module, Op, Value
from cutile_sim.tileir.types import GatherScatterViewType
from ir_passes.symbolic import Check, Verdict

MAX_BLOCKS = 1 << 14
"""Blocks that a replay runs at most: all of a grid, to see that an element is never written."""
_FAULTS = (Check.RANGE, Check.PROMISED_BOUNDS)


class _SeenError(CutileSimError):
    """What was looked for has happened: there is no need to go on. The engine passes on errors of this kind alone."""


def replay(
    module: Module,
    function: Function,
    params: Sequence[LaunchParam],
    grid: tuple[int, int, int],
    verdict: Verdict,
) -> str:
    """Run the blocks that a violated verdict names. "" where what it says happens, else why it is not confirmed."""
    witness = verdict.witness
    assert witness is not None
    with arrays_kept(params):
        if verdict.check in (Check.DISJOINT_STORES, Check.DISJOINT_LOADS):
            assert witness.other_block is not None
            touched = []
            for block, op in ((witness.block, verdict.op), (witness.other_block, verdict.other or verdict.op)):
                watch = _Touched(op)
                doubt = _run(module, function, params, grid, block, watch)
                if doubt:
                    return doubt
                touched.append(watch.bytes)
            return "" if touched[0] & touched[1] else _unconfirmed(verdict)
        if verdict.check is Check.COVERAGE:
            return _never_written(module, function, params, grid, verdict)
        seen = _Computed(verdict)
        doubt = _run(module, function, params, grid, witness.block, seen, wanted=verdict)
        return "" if seen.happened else doubt or _unconfirmed(verdict)


def _unconfirmed(verdict: Verdict) -> str:
    return (
        f"its counterexample ({verdict.witness}) was not confirmed by running it: this is a mistake of cutile_sim, "
        "please report it with the kernel"
    )


@contextmanager
def arrays_kept(params: Sequence[LaunchParam]) -> Iterator[None]:
    """Put all that the arrays hold back at the end."""
    arrays = [p.array for p in params if isinstance(p, PointerParam)]
    arrays += [w for p in params if isinstance(p, ListBuffer) for w in p.words if not isinstance(w, int)]
    blocks = {(a.base_address, a.base_bytes) for a in arrays if a.writeable and a.base_bytes}
    saved = [(address, ctypes.string_at(address, size)) for address, size in blocks]
    try:
        yield
    finally:
        for address, data in saved:
            ctypes.memmove(address, data, len(data))


class _Watch(Observer):
    """Operations run where the program has them: not ahead of all blocks, and not where no block comes to them."""

    in_order = True
    happened = False


def _run(
    module: Module,
    function: Function,
    params: Sequence[LaunchParam],
    grid: tuple[int, int, int],
    block: tuple[int, int, int] | None,
    watch: _Watch,
    *,
    wanted: Verdict | None = None,
) -> str:
    """Run one block, or all. "" where it ends, or stops by what is wanted; else why it stops."""
    box = None if block is None else tuple((b, b + 1) for b in block)
    try:
        launch(
            program_of(module, function, in_order=True),
            grid,
            params,
            fill=Fill("zero"),
            limits=Limits(seconds=20),
            observer=watch,
            box=box,  # type: ignore[arg-type]
        )
    except _SeenError:
        watch.happened = True
    except OutOfBoundsError as error:
        if wanted is not None and wanted.check in _FAULTS and error.location == wanted.location:
            watch.happened = True
        else:
            return f"the block stops before it gets there: {error.reason}"
    except KernelError as error:
        return f"the block stops before it gets there: {error.reason}"
    except CutileSimError as error:
        return f"it cannot be replayed: {error.reason}"
    return ""


def live_addresses(place: Any, mask: Any) -> np.ndarray:
    """The addresses of the lanes that are accessed."""
    addresses, lanes = lane_addresses(place), counting(place, mask)
    return addresses if lanes is None else np.broadcast_to(addresses, lanes.shape)[lanes]


class _Touched(_Watch):
    """Which bytes of memory one operation loads or stores."""

    def __init__(self, op: Op | None) -> None:
        self.op = op
        self.bytes: set[int] = set()

    def loaded(self, place: Any, mask: Any, element: Any, cx: Context) -> None:
        if cx.op is self.op:
            first = np.unique(live_addresses(place, mask))
            self.bytes.update((first[:, None] + np.arange(element.size_bytes)).ravel().tolist())

    def storing(self, place: Any, mask: Any, element: Any, stored: Any, cx: Context) -> None:
        self.loaded(place, mask, element, cx)


class _StoresTo(_Watch):
    """Whether one address is stored to, by offset from where an array lies."""

    def __init__(self, address: int) -> None:
        self.address = address

    def storing(self, place: Any, mask: Any, element: Any, stored: Any, cx: Context) -> None:
        if (live_addresses(place, mask) == self.address).any():
            raise _SeenError("seen")


def _never_written(
    module: Module, function: Function, params: Sequence[LaunchParam], grid: tuple[int, int, int], verdict: Verdict
) -> str:
    if grid[0] * grid[1] * grid[2] > MAX_BLOCKS:
        return f"it takes a run of more than {MAX_BLOCKS:,} blocks to confirm that no block writes {verdict.index}"
    assert verdict.index is not None
    address = _address_of(params, verdict)
    if address is None:
        return _unconfirmed(verdict)
    watch = _StoresTo(address)
    doubt = _run(module, function, params, grid, None, watch)
    return doubt or (_unconfirmed(verdict) if watch.happened else "")


def _address_of(params: Sequence[LaunchParam], verdict: Verdict) -> int | None:
    """Where the element lies that a verdict names: addresses are given out in the same order every time."""
    space = AddressSpace()
    address = None
    for param in params:
        words = [param.array] if isinstance(param, PointerParam) else getattr(param, "words", ())
        for word in words:
            if isinstance(word, int):
                continue
            start = map_array(space, word, [])
            index = _index_in(word.name, verdict)
            if index is not None:
                steps = zip(index, word.strides_elems, strict=True)
                address = start + sum(i * s for i, s in steps) * word.element.size_bytes
        if isinstance(param, ListBuffer):
            space.place(np.zeros(8 * len(param.words), np.uint8), "list of arrays")
    return address


def _index_in(array: str, verdict: Verdict) -> tuple[int, ...] | None:
    """The index that a verdict names, if it is one in that array; in a list the first is that of the array."""
    assert verdict.index is not None
    if array == verdict.array:
        return verdict.index
    if array == f"{verdict.array}[{verdict.index[0]}]":
        return verdict.index[1:]
    return None


def _is_of(array: str, name: str | None) -> bool:
    """Whether an array is the one of that name, or one in the list of that name."""
    return array == name or array.rpartition("[")[0] == name


class _Computed(_Watch):
    """Looks at the operands of one operation before it runs, and at the elements it accesses.

    The engine itself lets an access into any array that shares the memory; here it must be the array that is named.
    """

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def before(self, op: Op, slots: list[Any], cx: Context) -> None:
        if op is self.verdict.op and happens(self.verdict.check, op, slots):
            raise _SeenError("seen")

    def loaded(self, place: Any, mask: Any, element: Any, cx: Context) -> None:
        if cx.op is self.verdict.op and self.verdict.check is Check.RANGE and self._leaves(place, mask, cx):
            raise _SeenError("seen")

    def storing(self, place: Any, mask: Any, element: Any, stored: Any, cx: Context) -> None:
        self.loaded(place, mask, element, cx)

    def _leaves(self, place: Any, mask: Any, cx: Context) -> bool:
        for address in np.unique(live_addresses(place, mask)):
            allocation = cx.space.find(int(address))
            own = (
                [e for e in allocation.extents if _is_of(e.name, self.verdict.array)] if allocation is not None else []
            )
            if own and allocation is not None and not any(e.holds(np.array(address - allocation.address)) for e in own):
                return True
        return False


def happens(check: Check, op: Op, slots: list[Any]) -> bool:
    """Whether an operation that is about to run does what a check forbids, for any of the blocks that run."""
    if check in (Check.STORED_TILE, Check.LOADED_TILE, Check.CLIPPED_STORE):
        return _tile_leaves(op, slots, wholly=check is not Check.CLIPPED_STORE)
    operands = [slots[v.index] for v in op.inputs]
    if check is Check.DIVISION:
        return bool((operands[1] == 0).any())
    if check is Check.LEAST_BY_MINUS_ONE:
        return bool(((operands[0] == np.iinfo(operands[0].dtype).min) & (operands[1] == -1)).any())
    if check is Check.SHIFT:
        return any(not 0 <= int(n) < operands[1].dtype.itemsize * 8 for n in np.unique(operands[1]))
    if check is Check.OVERFLOW:
        return _overflows(op, operands)
    if check is Check.ASSERTION:
        return not bool(operands[0].all())
    if check is Check.ASSUMPTION:
        return _is_broken(op.attributes["predicate"], operands[0])
    return False


def _tile_leaves(op: Op, slots: list[Any], *, wholly: bool) -> bool:
    target, indices = op.operands["view"], op.operands["index"]
    assert isinstance(target, Value) and isinstance(indices, tuple)
    view: TileView = slots[target.index]
    kind = view.type
    for i, value in enumerate(indices):
        if isinstance(kind, GatherScatterViewType):
            if i == kind.sparse_dim:
                continue
            step, along = 1, i
        else:
            step, along = kind.pitches[i], kind.dim_map[i]
        index = slots[value.index]
        first = index.astype(object) % (1 << index.dtype.itemsize * 8) * step
        last = first if wholly else first + (kind.tile_shape[i] - 1)
        if (last >= view.tensor.shape[along]).any():
            return True
    return False


def _overflows(op: Op, operands: list[Any]) -> bool:
    half = 1 << (operands[0].dtype.itemsize * 8 - 1)
    a, b = operands[0].astype(object), operands[-1].astype(object)
    exact = {
        "addi": lambda: a + b,
        "subi": lambda: a - b,
        "muli": lambda: a * b,
        "shli": lambda: a * 2**b,
        "negi": lambda: -a,
    }[op.name]()
    return bool(((exact < -half) | (exact >= half)).any())


def _is_broken(promise: object, value: np.ndarray) -> bool:
    if isinstance(promise, DivBy):
        return bool((value.astype(np.int64) % promise.divisor != 0).any())
    if isinstance(promise, Bounded):
        low = promise.lower is not None and bool((value < promise.lower).any())
        return low or (promise.upper is not None and bool((value > promise.upper).any()))
    return False
