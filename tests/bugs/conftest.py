"""Planted bugs. A comment `# BUG: CTS301` marks the line that must be found; what has none must not be reported."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from by_hand import bytecode

from cutile_sim import CutileSimError, simulate
from cutile_sim.findings import Finding
from cutile_sim.tileir.decode import decode

MARK = re.compile(r"#\s*BUG:\s*([A-Z0-9, ]+)")


def marks(test_file: Path, function: str) -> set[tuple[str, int]]:
    """(id, line) of every mark in a function of a file."""
    found, inside = set(), False
    for number, line in enumerate(test_file.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("def "):
            inside = line.startswith(f"def {function}(")
        if inside and (mark := MARK.search(line)):
            found.update((name.strip(), number) for name in mark[1].split(","))
    return found


def findings_of(kernel: Any, grid: Any, *args: Any, **options: Any) -> tuple[Finding, ...]:
    try:
        return simulate(kernel, grid, *args, echo=False, **{"sanitize": True, **options}).findings
    except CutileSimError as error:
        if not error.findings:
            raise
        return error.findings


def kernel_of(function: Any, parameters: tuple[str, ...]) -> Any:
    """A kernel: what `@ct.kernel` made, or what a function writes with `by_hand.Builder` for those parameters."""
    return function if not parameters else decode(bytecode(function, parameters, lines=True))


@pytest.fixture
def planted(request: pytest.FixtureRequest) -> Callable[..., tuple[Finding, ...]]:
    """Run a kernel with the sanitizer, whole and block by block: what is found is what is marked in it."""
    module = request.module
    file = Path(str(module.__file__))

    def check(
        name: str, grid: Any, make: Callable[[], tuple[Any, ...]], parameters: tuple[str, ...] = (), **options: Any
    ) -> tuple[Finding, ...]:
        kernel = kernel_of(getattr(module, name), parameters)
        wanted = marks(file, name)
        for blocks in (None, 1):
            found = findings_of(kernel, grid, *make(), batch_blocks=blocks, **options)
            seen = {(f.id, f.location.line if f.location else 0) for f in found}
            assert seen == wanted, "\n".join(map(str, found)) or "nothing was found"
        return found

    return check


@pytest.fixture
def pair(planted: Callable[..., tuple[Finding, ...]]) -> Callable[..., tuple[Finding, ...]]:
    """Run a planted bug and, beside it, its correct twin, in which nothing may be found. Gives what is wrong with the
    bug. The twin has the same grid, arguments and options unless it is given its own.
    """

    def check(
        bug: str,
        twin: str,
        grid: Any,
        make: Callable[[], tuple[Any, ...]],
        *,
        twin_grid: Any = None,
        twin_make: Callable[[], tuple[Any, ...]] | None = None,
        **options: Any,
    ) -> tuple[Finding, ...]:
        found = planted(bug, grid, make, **options)
        assert found, f"no bug is marked in {bug}"
        assert planted(twin, twin_grid or grid, twin_make or make, **options) == ()
        return found

    return check
