"""What the sanitizer costs, and that it finds nothing in kernels that are right."""

from __future__ import annotations

import time
from dataclasses import dataclass

from benchmarks.problem import Problem
from cutile_sim import simulate


@dataclass(frozen=True)
class SanitizerCost:
    """Milliseconds of processor time of a plain and of a sanitized run, least of all rounds."""

    name: str
    plain_ms: float
    sanitized_ms: float
    ratio: float


def measure_sanitizer(name: str, problem: Problem, rounds: int) -> SanitizerCost:
    """Time a problem with and without the sanitizer; they take turns. Raises AssertionError for a wrong result, and for
    anything that is found.
    """
    plain = sanitized = float("inf")
    problem.reset()
    result = simulate(problem.kernel, problem.grid, *problem.args, sanitize=True)
    assert result.findings == (), "\n".join(map(str, result.findings))
    problem.check()
    for _ in range(rounds):
        start = time.process_time()
        simulate(problem.kernel, problem.grid, *problem.args)
        middle = time.process_time()
        simulate(problem.kernel, problem.grid, *problem.args, sanitize=True)
        plain, sanitized = min(plain, middle - start), min(sanitized, time.process_time() - middle)
    return SanitizerCost(name, 1e3 * plain, 1e3 * sanitized, sanitized / plain)
