"""One launch: arguments into simulated memory, the grid through the engine, outcome into a result."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from cutile_sim.engine.batches import Box, batch_shape, batches
from cutile_sim.engine.context import Context, Counts, Fill
from cutile_sim.engine.machine import Limits, Machine
from cutile_sim.engine.observer import Observer
from cutile_sim.engine.plan import Number, Plan, make_plan
from cutile_sim.engine.workers import run_on_threads
from cutile_sim.errors import CutileSimError, UsageError, VerifyError
from cutile_sim.findings import Finding
from cutile_sim.frontend.arrays import ArrayArg
from cutile_sim.frontend.params import LaunchParam, ListBuffer, PointerParam, ScalarParam
from cutile_sim.html import result_card
from cutile_sim.memory.heap import keep_freed_memory
from cutile_sim.memory.space import AddressSpace, Allocation, Extent
from cutile_sim.overlap import check_outputs
from cutile_sim.tileir.core import Function, Global, Module, Op
from cutile_sim.tileir.verify import verify
from ir_passes.block_order import OrderReason, block_order
from ir_passes.memory_roots import writable_parameters, written_parameters

if TYPE_CHECKING:
    from cutile_sim.debugger import Stop

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""CUDA's largest grid along x, y, z."""


@dataclass
class LaunchResult:
    """What a launch did. The arrays themselves were written in place.

    Attributes:
        printed: What the kernel printed, block after block in launch order.
        blocks: Blocks run.
        operations: Tile IR operations executed, summed over blocks.
        bytes_loaded, bytes_stored: Bytes moved from and to global memory, summed over blocks.
        written: Names of the array parameters whose memory was stored to.
        warnings: What looks wrong about the launch though it ran.
        findings: What the sanitizer found, if it was asked.
        stops: What the kernel's variables held where the launch was to be stopped at, if it was.
    """

    printed: str = ""
    blocks: int = 0
    operations: int = 0
    bytes_loaded: int = 0
    bytes_stored: int = 0
    written: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    stops: tuple[Stop, ...] = ()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return result_card(self)


@dataclass
class Program:
    """A verified function with its plan, and the module's globals, which live as long as the program does.

    `watched` is the plan for launches that somebody watches, `in_order` that for observers who ask for all operations
    in order, each once there was such a launch. `written` are the positions of the parameters that it certainly stores
    through, `writable` those it may store through, None where it may be any. `order` is why its blocks must run in
    launch order, if they must.
    """

    name: str
    plan: Plan
    initial: Mapping[str, Global]
    written: frozenset[int]
    writable: frozenset[int] | None
    globals: dict[str, np.ndarray] = field(default_factory=dict)
    watched: Plan | None = None
    in_order: Plan | None = None
    order: OrderReason | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def alone(self) -> AbstractContextManager[None]:
        """One launch at a time where the module has globals: threads here do not see each other's updates as atomic."""
        return self._alone() if self.globals else nullcontext()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self.lock:
            try:
                yield
            except BaseException:
                self.reset_globals()
                raise

    def reset_globals(self) -> None:
        """Give the globals the values the module is loaded with: a GPU forgets a module whose launch has failed."""
        for item in self.initial.values():
            self.globals[item.name][...] = np.frombuffer(item.data, np.uint8)


# No program refers back to its function, or none would ever be freed.
_programs: weakref.WeakKeyDictionary[Function, Program] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def program_of(module: Module, function: Function, *, watched: bool = False, in_order: bool = False) -> Program:
    """The program of a function, made once, and if asked its plan for an observer, or for one that is `in_order`.

    Raises VerifyError where the real compiler would refuse the kernel.
    """
    with _lock:
        program = _programs.get(function)
        if program is None:
            problems = verify(module)
            if problems:
                raise problems[0]
            data = {g.name: np.frombuffer(g.data, np.uint8).copy() for g in module.globals.values()}
            program = _programs[function] = Program(
                function.name,
                make_plan(function),
                module.globals,
                written_parameters(function),
                writable_parameters(function),
                data,
                order=block_order(function),
            )
        if in_order and program.in_order is None:
            program.in_order = make_plan(function, observed=True, in_order=True)
        elif watched and program.watched is None:
            program.watched = make_plan(function, observed=True)
        return program


def check_grid(grid: Any) -> tuple[int, int, int]:
    """A grid as three numbers of blocks. Raises UsageError for what CUDA would refuse."""
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        grid = (grid,)
    try:
        parts = tuple(grid)
    except TypeError:
        raise UsageError(f"the grid must be a tuple of up to three integers, not {grid!r}") from None
    if not 1 <= len(parts) <= 3:
        raise UsageError(f"the grid has {len(parts)} dimensions, but a launch takes one to three: {parts}")
    for axis, n, limit in zip("xyz", parts, GRID_LIMITS, strict=False):
        if type(n) is not int and (isinstance(n, bool) or not isinstance(n, (int, np.integer))):
            raise UsageError(f"the grid's {axis} is {n!r}, not an integer")
        if not 1 <= n <= limit:
            if n < 1:
                raise UsageError(f"the grid's {axis} is {n}: a launch needs at least one block along each dimension")
            raise UsageError(f"the grid's {axis} is {n:,}, past CUDA's limit of {limit:,}")
    x, y, z = (*map(int, parts), 1, 1, 1)[:3]
    return x, y, z


def launch(
    program: Program,
    grid: tuple[int, int, int],
    params: Sequence[LaunchParam],
    *,
    fill: Fill,
    limits: Limits,
    batch_blocks: int | None = None,
    progress: Callable[[int], None] | None = None,
    observer: Observer | None = None,
    workers: int = 1,
    box: Box | None = None,
) -> LaunchResult:
    """Run a program over a grid, or a box of it. With an observer, the program must have been made `watched`, or
    `in_order` for one that is, and there is one worker.

    More `workers` take effect where blocks may run in any order; else a warning says why they do not.

    Raises KernelError subclasses for what the kernel does wrong; `printed` of the error holds what it had printed.
    """
    keep_freed_memory()
    pointers = [(i, p) for i, p in enumerate(params) if not isinstance(p, ScalarParam)]
    overlaps = check_outputs([(p.array, i in program.written) for i, p in pointers if isinstance(p, PointerParam)])
    space = AddressSpace()
    named: list[tuple[str, Allocation, Extent]] = []
    values: list[Number] = [p.value if isinstance(p, ScalarParam) else 0 for p in params]
    may_be_written: set[str] = set()
    arrays: dict[int, Extent] = {}
    for position, param in pointers:
        known = len(named)
        values[position] = _address(space, param, named)
        if isinstance(param, PointerParam):
            arrays[position] = named[known][2]
        if program.writable is None or position in program.writable:
            may_be_written.update([name for name, _, _ in named[known:]])
    if len(values) != len(program.plan.parameters):
        raise UsageError(
            f"kernel {program.name} takes {len(program.plan.parameters)} launch parameters, not {len(values)}"
        )
    plan = program.plan
    if observer is not None:
        watched = program.in_order if observer.in_order else program.watched
        assert watched is not None
        plan = watched
    warnings = [str(overlap) for overlap in overlaps]
    assert observer is None or workers == 1
    if workers > 1 and program.order is not None:
        warnings.append(f"workers={workers} has no effect: {program.order.reason} ({_line(program.order.op)})")
        workers = 1
    first = Context(space, grid, fill, observer=observer, arrays=arrays, overlaps=tuple(overlaps))
    for name, data in program.globals.items():
        first.globals[name] = space.place(data, f"global {name}")
    contexts = [first, *[Context(space, grid, fill, globals=first.globals) for _ in range(workers - 1)]]
    machines = [Machine(plan, cx, limits, in_order=program.order is not None) for cx in contexts]
    shape = batch_shape(
        grid,
        plan.live_bytes,
        batch_blocks,
        in_order=program.order is not None,
        workers=workers,
    )
    most = observer.most_waiting if observer is not None and plan.may_wait else None
    if most is not None and math.prod(shape) > most:
        shape = batch_shape(grid, plan.live_bytes, most)
    try:
        with program.alone():
            if workers == 1:
                machines[0].run(values, batches(grid, shape, box), progress)
            else:
                space.several_threads = True
                _share_what_is_written(space, None if program.writable is None else may_be_written, named)
                run_on_threads(machines, values, batches(grid, shape, box), progress)
    except CutileSimError as error:
        error.printed = _text(contexts)
        raise
    finally:
        for cx in contexts:
            cx.end()
    counts = Counts()
    for cx in contexts:
        counts.add(cx.counts)
    return LaunchResult(
        printed=_text(contexts),
        blocks=sum([m.finished_blocks for m in machines]),
        operations=counts.operations,
        bytes_loaded=counts.bytes_loaded,
        bytes_stored=counts.bytes_stored,
        written=tuple(dict.fromkeys([n for n, a, _ in named if a.written and n in may_be_written])),
        warnings=tuple(warnings),
    )


def _line(op: Op) -> str:
    return op.name if op.location is None else f"{op.name} in line {op.location.line}"


def _share_what_is_written(
    space: AddressSpace, may_be_written: set[str] | None, named: list[tuple[str, Allocation, Extent]]
) -> None:
    """Let no thread hold a value that is a window of memory which another may write; None means any memory."""
    unwritten = {a.address for n, a, _ in named if may_be_written is not None}
    unwritten -= {a.address for n, a, _ in named if may_be_written is not None and n in may_be_written}
    for allocation in space.allocations.values():
        allocation.shared = allocation.shared or allocation.address not in unwritten


def _text(contexts: Sequence[Context]) -> str:
    printed = [item for cx in contexts for item in cx.printed]
    if not printed:
        return ""
    return "".join(text for _, text in sorted(printed, key=lambda item: item[0]))


def _address(space: AddressSpace, param: PointerParam | ListBuffer, named: list[tuple[str, Allocation, Extent]]) -> int:
    """Map what a pointer parameter points to; returns its virtual address."""
    if isinstance(param, PointerParam):
        return map_array(space, param.array, named)
    words = [w if isinstance(w, int) else map_array(space, w, named) for w in param.words]
    buffer = np.array(words, np.int64)
    buffer.flags.writeable = False
    return space.place(buffer.view(np.uint8), "list of arrays").address


def map_array(space: AddressSpace, array: ArrayArg, named: list[tuple[str, Allocation, Extent]]) -> int:
    """Map an array argument; returns the virtual address of its element 0."""
    allocation = space.map_host(
        array.base_address, array.base_bytes, array.name, writeable=array.writeable, owner=array.keepalive
    )
    offset = array.address - array.base_address
    extent = Extent(
        array.name,
        offset,
        offset + array.span_bytes,
        array.shape,
        array.strides_elems,
        array.element.size_bytes,
        array.writeable,
        array.dtype_name,
    )
    if extent not in allocation.extents:
        allocation.extents.append(extent)
    named.append((array.name, allocation, extent))
    return allocation.address + offset


__all__ = ["Counts", "LaunchResult", "Program", "VerifyError", "check_grid", "launch", "program_of"]
