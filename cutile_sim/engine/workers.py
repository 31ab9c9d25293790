"""Several threads on the batches of one launch. NumPy lets go of the interpreter while it computes.

Each thread has a machine of its own over the same memory, and takes the next batch when it is through with one. Only
for kernels whose blocks may run in any order (`ir_passes.block_order`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from cutile_sim.blas import one_blas_thread
from cutile_sim.engine.group import Group
from cutile_sim.engine.machine import Machine
from cutile_sim.engine.plan import Number

MOST_THREADS = 64
"""In one process, of all launches together."""


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """Threads that wait for launches: to start one takes longer than many launches do. They do not outlive a fork."""
    return ThreadPoolExecutor(MOST_THREADS, "cutile_sim worker")


class _Queue:
    """The batches that are left, handed out in launch order."""

    def __init__(self, batches: Iterator[Group]) -> None:
        self.batches = batches
        self.lock = threading.Lock()
        self.taken = 0
        self.stopped = False


class _Worker:
    """An iterator over the batches that one machine gets, which remembers what came of each."""

    def __init__(self, queue: _Queue, machine: Machine) -> None:
        self.queue = queue
        self.machine = machine
        self.batch = -1
        self.printed_before: list[tuple[int, int]] = []
        self.error: BaseException | None = None

    def __iter__(self) -> _Worker:
        return self

    def __next__(self) -> Group:
        queue = self.queue
        with queue.lock:
            if queue.stopped:
                raise StopIteration
            group = next(queue.batches)
            self.batch = queue.taken
            queue.taken += 1
        self.printed_before.append((self.batch, len(self.machine.cx.printed)))
        return group

    def run(self, parameters: Sequence[Number], progress: Callable[[int], None]) -> None:
        try:
            self.machine.run(parameters, self, progress)
        except BaseException as error:
            self.error = error
            self.queue.stopped = True

    def forget_after(self, batch: int) -> None:
        """Drop what later batches have printed."""
        length = next((n for b, n in self.printed_before if b > batch), None)
        del self.machine.cx.printed[length if length is not None else len(self.machine.cx.printed) :]


_Job = tuple[_Worker, Sequence[Number], Callable[[int], None]]


def _take_up(job: list[_Job]) -> None:
    """Run a worker out of a list, so that nothing refers to its launch's arrays once it has ended."""
    worker, parameters, note = job.pop()
    worker.run(parameters, note)


def run_on_threads(
    machines: list[Machine],
    parameters: Sequence[Number],
    batches: Iterator[Group],
    progress: Callable[[int], None] | None = None,
) -> None:
    """Run all batches to their end on as many threads as there are machines, the caller's among them.

    Raises what `Machine.run` does: of several errors the one of the first batch, which is that of a run on one thread.
    `progress` is called by one thread at a time.
    """
    queue = _Queue(batches)
    workers = [_Worker(queue, machine) for machine in machines]

    def note(_: int) -> None:
        if progress is not None:
            with queue.lock:
                progress(sum(m.finished_blocks for m in machines))

    with one_blas_thread():
        jobs: list[list[_Job]] = [[(w, parameters, note)] for w in workers[1:]]
        others = [_threads(os.getpid()).submit(_take_up, job) for job in jobs]
        workers[0].run(parameters, note)
        for job, other in zip(jobs, others, strict=True):
            # One that no thread has begun with would find nothing left to do.
            if other.cancel():
                job.clear()
            else:
                other.result()
    failed = [w for w in workers if w.error is not None]
    if failed:
        first = min(failed, key=lambda w: w.batch)
        for worker in workers:
            worker.forget_after(first.batch)
        assert first.error is not None
        raise first.error
