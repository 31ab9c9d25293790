"""How long things take, on a machine that may be busy with other work too.

Processor time of this process (`time.process_time`) hardly changes when other programs take their share of the machine,
as wall time does; with BLAS held to one thread it is what the work costs. NumPy and the simulator take turns, round by
round, so that caches and clock rates are alike for both. The least of several rounds has the least noise in it, and the
median of the rounds' ratios shows how much there is.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from statistics import median

from benchmarks.problem import Problem
from cutile_sim import simulate


@dataclass(frozen=True)
class Timing:
    """Milliseconds of processor time (`numpy_ms`, `simulated_ms`), least of all rounds; wall time of the latter.

    `ratio` is simulated to NumPy by those; `median_ratio` is the median of the rounds' own ratios.
    """

    name: str
    numpy_ms: float
    simulated_ms: float
    wall_ms: float
    ratio: float
    median_ratio: float


def measure(name: str, problem: Problem, rounds: int) -> Timing:
    """Check a problem's result, then time it. Raises AssertionError where the result is wrong."""
    problem.reset()
    simulate(problem.kernel, problem.grid, *problem.args)
    problem.check()
    pairs, wall = [], []
    for _ in range(rounds):
        start = time.process_time()
        problem.numpy()
        middle, begun = time.process_time(), time.perf_counter()
        simulate(problem.kernel, problem.grid, *problem.args)
        pairs.append((middle - start, time.process_time() - middle))
        wall.append(time.perf_counter() - begun)
    numpy_s, simulated_s = min(a for a, _ in pairs), min(b for _, b in pairs)
    return Timing(
        name,
        numpy_ms=1e3 * numpy_s,
        simulated_ms=1e3 * simulated_s,
        wall_ms=1e3 * min(wall),
        ratio=simulated_s / numpy_s,
        median_ratio=median(b / a for a, b in pairs),
    )


@dataclass(frozen=True)
class Speedup:
    """How many times as fast a launch is on several threads: as seen, by wall time; and with a free core for each, if
    none waits for another, by the processor time of all threads, which grows by what sharing costs.
    """

    wall: float
    at_best: float


def speedup(problem: Problem, workers: int, rounds: int) -> Speedup:
    """Compare launches on one thread and on several, by the least times; they take turns, too."""
    wall = {1: math.inf, workers: math.inf}
    busy = dict(wall)
    for _ in range(rounds + 1):  # the first round compiles
        for count in wall:
            start, begun = time.process_time(), time.perf_counter()
            simulate(problem.kernel, problem.grid, *problem.args, workers=count)
            wall[count] = min(wall[count], time.perf_counter() - begun)
            busy[count] = min(busy[count], time.process_time() - start)
    return Speedup(wall[1] / wall[workers], workers * busy[1] / busy[workers])
