"""What does not depend on a kernel's arithmetic: launching, importing, and growing with the grid."""

from __future__ import annotations

import ast
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

import cuda.tile as ct
import numpy as np

from benchmarks.basic import Int, vector_add
from cutile_sim import simulate

BLOCKS = (1000, 10_000, 100_000, 1_000_000)


@ct.kernel
def touch(x, n: Int):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), (n,)) + 1)


class Launches:
    """Launches of one block that is already compiled: `best_ms` of processor time, the least of all. They are measured
    now and then, as a machine may be slow for minutes, and one by one, as all kernels are.
    """

    def __init__(self) -> None:
        self.problem = vector_add(1024, 1024)
        simulate(self.problem.kernel, self.problem.grid, *self.problem.args)
        self.problem.check()
        self.best_ms = float("inf")

    def measure(self, launches: int) -> None:
        """Time some more."""
        for _ in range(launches):
            start = time.process_time()
            simulate(self.problem.kernel, self.problem.grid, *self.problem.args)
            self.best_ms = min(self.best_ms, 1e3 * (time.process_time() - start))


def in_fresh_process(code: str) -> str:
    """What a program prints that runs in a new interpreter."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def import_s(rounds: int, statement: str = "import cutile_sim") -> float:
    """Seconds of processor time that a statement takes after importing cuda.tile and NumPy; least of all rounds."""
    code = f"import time, numpy, cuda.tile; t = time.process_time(); {statement}; print(time.process_time() - t)"
    return min(float(in_fresh_process(code)) for _ in range(rounds))


@dataclass(frozen=True)
class Scaling:
    """A launch of `blocks` blocks: nanoseconds of processor time a block, and how many bytes the process grew by."""

    blocks: int
    ns_a_block: float
    extra_bytes: int


def scale(blocks: int, rounds: int) -> Scaling:
    """A kernel with small tiles over a grid of so many blocks. Raises AssertionError for a wrong result."""
    x = np.zeros(4 * blocks, np.float32)
    simulate(touch, 1, x, 4)
    x[...] = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        simulate(touch, blocks, x, 4)
        best = min(best, time.process_time() - start)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert (x == rounds).all()
    return Scaling(blocks, 1e9 * best / blocks, 1024 * grown)


def scaling(rounds: int, most: int) -> list[Scaling]:
    """`scale` for larger and larger grids, each in a process of its own, whose memory grows for nothing else."""
    found = []
    for blocks in (b for b in BLOCKS if b <= most):
        code = f"from benchmarks.costs import scale; print(vars(scale({blocks}, {rounds})))"
        found.append(Scaling(**ast.literal_eval(in_fresh_process(code))))
    return found
