"""One launch on several processes or machines: the grid is cut into shards, and what each has written is merged.

A shard gets a copy of the arrays and runs its part of the grid. An observer notes which bytes it stores to. Bytes that
one shard alone has stored to are copied back; integers that shards have updated atomically are combined, if the update
commutes. Anything else has no one result, and is refused before any array is changed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from cutile_sim.dtypes import ElementType
from cutile_sim.engine.batches import Box
from cutile_sim.engine.context import Context, Fill
from cutile_sim.engine.machine import Limits
from cutile_sim.engine.observer import Observer
from cutile_sim.errors import CutileSimError, UsageError
from cutile_sim.frontend.arrays import ArrayArg
from cutile_sim.frontend.params import LaunchParam, ListBuffer, PointerParam
from cutile_sim.launch import LaunchResult, launch, program_of
from cutile_sim.memory.access import Places, parts
from cutile_sim.memory.space import HostMemory
from cutile_sim.ops.memory import pointee
from cutile_sim.ops.windows import Edge, Lanes, Window
from cutile_sim.optable.encoding import AtomicRMWMode
from cutile_sim.tileir.core import Function, Module
from ir_passes.block_order import block_order
from ir_passes.memory_roots import writable_parameters

STORED, UPDATED = 1, 2


class _Update(NamedTuple):
    """The one kind of atomic update a kernel makes: how, and of what storage type."""

    mode: AtomicRMWMode
    dtype: np.dtype


@dataclass(frozen=True)
class Shard:
    """A part of a launch, to be sent. `module` is a pickled one, by which a process knows it again; `memory` holds the
    bytes at each host address that arrays are views of.
    """

    module: bytes
    entry: str
    grid: tuple[int, int, int]
    box: Box
    params: tuple[LaunchParam, ...]
    memory: dict[int, np.ndarray]
    fill: Fill
    limits: Limits
    batch_blocks: int | None


@dataclass
class Written:
    """What a shard did to the memory at one host address: runs of bytes [starts, ends), laid end to end in `data`."""

    kind: int
    starts: np.ndarray
    ends: np.ndarray
    data: np.ndarray


@dataclass
class Outcome:
    """What a shard sends back."""

    result: LaunchResult = field(default_factory=LaunchResult)
    written: dict[int, list[Written]] = field(default_factory=dict)
    error: CutileSimError | None = None


def launch_on(
    executor: Any,
    shards: int,
    module: Module,
    function: Function,
    grid: tuple[int, int, int],
    params: Sequence[LaunchParam],
    *,
    fill: Fill,
    limits: Limits,
    batch_blocks: int | None = None,
) -> LaunchResult:
    """Run a launch on an executor: anything whose `submit(function, argument)` gives something with a `result()`.

    Raises UsageError for a kernel whose blocks depend on their order, or whose shards write the same memory; else what
    `launch` raises, that of the first shard. The arrays are then as they were.
    """
    program_of(module, function)
    update = _check(module, function)
    arrays = _arrays(params)
    memory = {a.base_address: np.asarray(HostMemory(a.base_address, a.base_bytes, False, a.keepalive)) for a in arrays}
    sent = tuple(_change(p, lambda a: replace(a, keepalive=None)) for p in params)
    jobs = [
        executor.submit(
            run_shard, Shard(_sent(module), function.name, grid, box, sent, memory, fill, limits, batch_blocks)
        )
        for box in cut(grid, shards)
    ]
    outcomes = [job.result() for job in jobs]
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    _merge(outcomes, {a.base_address: a for a in arrays if a.writeable}, update)
    results = [o.result for o in outcomes]
    return LaunchResult(
        printed="".join(r.printed for r in results),
        blocks=sum(r.blocks for r in results),
        operations=sum(r.operations for r in results),
        bytes_loaded=sum(r.bytes_loaded for r in results),
        bytes_stored=sum(r.bytes_stored for r in results),
        written=tuple(dict.fromkeys(name for r in results for name in r.written)),
        warnings=tuple(dict.fromkeys(text for r in results for text in r.warnings)),
    )


_sent_modules: WeakKeyDictionary[Module, bytes] = WeakKeyDictionary()


def _sent(module: Module) -> bytes:
    """A module as it is sent, made once."""
    data = _sent_modules.get(module)
    if data is None:
        data = _sent_modules[module] = pickle.dumps(module)
    return data


_receiving = Lock()


def _received(data: bytes) -> Module:
    """A module that was sent, the same one each time, so that its plan is made once a process."""
    with _receiving:
        return _unpickled(data)


@lru_cache(maxsize=32)
def _unpickled(data: bytes) -> Module:
    module: Module = pickle.loads(data)
    return module


def cut(grid: tuple[int, int, int], shards: int) -> list[Box]:
    """The grid in about so many boxes along its outermost axis that is longer than one, in launch order."""
    axis = next((a for a in (2, 1, 0) if grid[a] > 1), 0)
    count = min(shards, grid[axis])
    edges = [grid[axis] * i // count for i in range(count + 1)]
    boxes = []
    for part in pairwise(edges):
        x, y, z = (part if a == axis else (0, n) for a, n in enumerate(grid))
        boxes.append((x, y, z))
    return boxes


def _check(module: Module, function: Function) -> _Update | None:
    order = block_order(function)
    where = f" (line {order.op.location.line})" if order is not None and order.op.location is not None else ""
    if order is not None:
        raise UsageError(f"kernel {function.name} cannot run in shards: {order.reason}{where}")
    if module.globals:
        raise UsageError(f"kernel {function.name} cannot run in shards: its module has globals, which they would share")
    if writable_parameters(function) is None:
        raise UsageError(f"kernel {function.name} cannot run in shards: it may write through pointers it computes")
    updates = {_Update(op.attributes["mode"], _updated(op)) for op in function.walk() if op.name.startswith("atomic_")}
    if len(updates) > 1:
        raise UsageError(f"kernel {function.name} cannot run in shards: it makes several kinds of atomic updates")
    return next(iter(updates), None)


def _updated(op: Any) -> np.dtype:
    """The storage type of what an atomic operation updates."""
    if op.name == "atomic_rmw_tko":
        return pointee(op.operands["pointers"].type).storage
    return op.operands["view"].type.tensor.element.storage


def _change(param: LaunchParam, change: Callable[[ArrayArg], ArrayArg]) -> LaunchParam:
    """A parameter with all its arrays changed."""
    if isinstance(param, PointerParam):
        return PointerParam(change(param.array))
    if isinstance(param, ListBuffer):
        return ListBuffer(tuple(change(w) if isinstance(w, ArrayArg) else w for w in param.words))
    return param


def _arrays(params: Sequence[LaunchParam]) -> list[ArrayArg]:
    found: list[ArrayArg] = []

    def note(array: ArrayArg) -> ArrayArg:
        found.append(array)
        return array

    for param in params:
        _change(param, note)
    return found


def run_shard(shard: Shard) -> Outcome:
    """Run a shard on copies of its memory, in whatever process this is."""
    copies = {address: np.array(data) for address, data in shard.memory.items()}

    def here(array: ArrayArg) -> ArrayArg:
        data = copies[array.base_address]
        base = data.ctypes.data
        return replace(array, base_address=base, address=base + array.offset_bytes, keepalive=data)

    params = [_change(p, here) for p in shard.params]
    module = _received(shard.module)
    function = next(f for f in module.functions if f.name == shard.entry)
    notes = WriteNotes()
    outcome = Outcome()
    try:
        outcome.result = launch(
            program_of(module, function, watched=True),
            shard.grid,
            params,
            fill=shard.fill,
            limits=shard.limits,
            batch_blocks=shard.batch_blocks,
            observer=notes,
            box=shard.box,
        )
    except CutileSimError as error:
        outcome.error = error
        return outcome
    at = {data.ctypes.data: address for address, data in copies.items()}
    for begin, noted in notes.maps.items():
        address = at[begin]
        outcome.written[address] = [_written(kind, noted, copies[address]) for kind in (STORED, UPDATED)]
    return outcome


def _written(kind: int, noted: np.ndarray, data: np.ndarray) -> Written:
    mask = noted == kind
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    return Written(kind, edges[0::2], edges[1::2], data[mask])


class WriteNotes(Observer):
    """Notes which bytes a launch writes: `maps` holds, by host address, `STORED` or `UPDATED` for each byte, or 0."""

    def __init__(self) -> None:
        self.maps: dict[int, np.ndarray] = {}

    def _map(self, allocation: Any) -> np.ndarray:
        begin = allocation.data.ctypes.data
        if begin not in self.maps:
            self.maps[begin] = np.zeros(allocation.size_bytes, np.uint8)
        return self.maps[begin]

    def storing(
        self, place: Any, mask: np.ndarray | None, element: ElementType, stored: np.ndarray, cx: Context
    ) -> None:
        for noted in self._windows(place):
            noted[...] = STORED
        for noted, items in self._lanes(place, mask, element, cx):
            noted[items] = STORED

    def updating(self, place: Any, mask: np.ndarray | None, element: ElementType, arg: np.ndarray, cx: Context) -> None:
        for noted in self._windows(place):
            noted[...] = np.where(noted == STORED, STORED, UPDATED)
        for noted, items in self._lanes(place, mask, element, cx):
            noted[items] = np.where(noted[items] == STORED, STORED, UPDATED)

    def _windows(self, place: Any) -> list[np.ndarray]:
        """The notes on each byte of strided windows."""
        windows = [place] if isinstance(place, Window) else []
        if isinstance(place, Edge):
            windows = [window for _, window in place.parts]
        found = []
        for window in windows:
            size = window.element.size_bytes
            noted = self._map(window.allocation)
            strides = (*(s * size for s in window.strides_elems), 1)
            shape = (*window.shape, size)
            found.append(np.ndarray(shape, np.uint8, noted, window.offset_bytes, strides))  # type: ignore[arg-type]
        return found

    def _lanes(
        self, place: Any, mask: np.ndarray | None, element: ElementType, cx: Context
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        if isinstance(place, Lanes):
            place, mask = place.addresses, place.valid
        if not isinstance(place, (Places, np.ndarray)):
            return []
        size = element.size_bytes
        found = []
        for allocation, _, items in parts(cx.space, place, mask, element, "store"):
            noted = self._map(allocation)
            found.append((noted[: noted.size // size * size].reshape(-1, size), items.ravel()))
        return found


def _merge(outcomes: list[Outcome], arrays: dict[int, ArrayArg], update: _Update | None) -> None:
    """Put what all shards have written into the caller's memory, once it is known that it fits together."""
    for address, array in arrays.items():
        noted = np.zeros(array.base_bytes, np.uint8)
        for outcome in outcomes:
            for written in outcome.written.get(address, ()):
                for begin, end in zip(written.starts, written.ends, strict=True):
                    before = noted[begin:end]
                    if (before == STORED).any() or (written.kind == STORED and before.any()):
                        raise UsageError(
                            f"array '{array.name}' cannot be put together: two shards have written the same element of "
                            "it, and which of them is the last depends on their order"
                        )
                    before[...] = written.kind
    for address, array in arrays.items():
        pieces = [w for o in outcomes for w in o.written.get(address, ()) if w.data.size]
        if not pieces:
            continue
        memory = np.asarray(HostMemory(address, array.base_bytes, True, array.keepalive))
        before = memory.copy() if update is not None else memory
        for written in pieces:
            at = 0
            for begin, end in zip(written.starts, written.ends, strict=True):
                data = written.data[at : at + end - begin]
                at += end - begin
                if written.kind == STORED:
                    memory[begin:end] = data
                else:
                    assert update is not None
                    target, initial, new = (x.view(update.dtype) for x in (memory[begin:end], before[begin:end], data))
                    target[...] = _COMBINE[update.mode](target, new, initial)


def _unsigned(function: np.ufunc) -> Callable[..., np.ndarray]:
    def combine(old: np.ndarray, new: np.ndarray, initial: np.ndarray) -> np.ndarray:
        kind = f"u{old.dtype.itemsize}"
        return function(old.view(kind), new.view(kind)).view(old.dtype)

    return combine


_COMBINE: dict[AtomicRMWMode, Callable[..., np.ndarray]] = {
    AtomicRMWMode.ADD: lambda old, new, initial: old + (new - initial),
    AtomicRMWMode.XOR: lambda old, new, initial: old ^ new ^ initial,
    AtomicRMWMode.AND: lambda old, new, initial: old & new,
    AtomicRMWMode.OR: lambda old, new, initial: old | new,
    AtomicRMWMode.MAX: lambda old, new, initial: np.maximum(old, new),
    AtomicRMWMode.MIN: lambda old, new, initial: np.minimum(old, new),
    AtomicRMWMode.UMAX: _unsigned(np.maximum),
    AtomicRMWMode.UMIN: _unsigned(np.minimum),
}
"""What memory holds after the updates of one more shard: of what it held, what the shard ended and began with."""
