"""What recording costs: traced runs against plain ones, on the nine kernels."""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.problem import Problem
from cutile_sim import simulate, trace


@dataclass(frozen=True)
class TraceCost:
    """Milliseconds of processor time of a plain and of a traced run (least of all rounds), and the file's size."""

    name: str
    plain_ms: float
    traced_ms: float
    ratio: float
    file_bytes: int


def measure_trace(name: str, problem: Problem, rounds: int) -> TraceCost:
    """Time a problem with and without recording; they take turns. Raises AssertionError for a wrong result."""
    plain = traced = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ctrace"
        problem.reset()
        trace(problem.kernel, problem.grid, *problem.args, to=path).close()
        problem.check()
        for _ in range(rounds):
            start = time.process_time()
            simulate(problem.kernel, problem.grid, *problem.args)
            middle = time.process_time()
            trace(problem.kernel, problem.grid, *problem.args, to=path).close()
            plain, traced = min(plain, middle - start), min(traced, time.process_time() - middle)
        size = path.stat().st_size
    return TraceCost(name, 1e3 * plain, 1e3 * traced, traced / plain, size)
