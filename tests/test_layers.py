"""Who may import whom. The same arrows are in words in docs/internals.md."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# For each part of the packages, what it may import besides itself, errors and source. The longest prefix of a module's
# name decides which part it belongs to, and an entry on the right allows all that lies below it.
ARROWS: dict[str, tuple[str, ...]] = {
    "cutile_sim": ("cutile_sim.api", "cutile_sim.checker", "cutile_sim.launch"),
    "cutile_sim.cli": ("cutile_sim", "ir_passes"),
    "cutile_sim.__main__": ("cutile_sim.cli",),
    "cutile_sim.pytest_plugin": ("cutile_sim.standin", "cutile_sim.sanitize", "cutile_sim.traces"),
    # Stands in for ct.launch in other people's programs.
    "cutile_sim.standin": (
        "cutile_sim.api",
        "cutile_sim.launch",
        "cutile_sim.engine",
        "cutile_sim.memory",
        "cutile_sim.frontend",
        "cutile_sim.ops.mma_float8",
        "cutile_sim.dtypes",
        "cutile_sim.traces.active",
    ),
    "cutile_sim.api": (
        "cutile_sim.frontend",
        "cutile_sim.launch",
        "cutile_sim.shards",
        "cutile_sim.engine",
        "cutile_sim.tileir",
        "cutile_sim.sanitize",
        "cutile_sim.traces.active",
        "cutile_sim.debugger",
    ),
    # An observer that writes, and a reader that needs nothing of the engine.
    "cutile_sim.traces": (
        "cutile_sim.engine",
        "cutile_sim.ops",
        "cutile_sim.memory",
        "cutile_sim.sanitize",
        "cutile_sim.tileir",
        "cutile_sim.optable",
        "cutile_sim.dtypes",
        # A trace in a notebook is shown by what reads traces, loaded then.
        "cutile_sim.pictures.cards",
    ),
    # Reads traces; NumPy is all it needs.
    "cutile_sim.analysis": ("cutile_sim.traces", "cutile_sim.dtypes"),
    "cutile_sim.page": ("cutile_sim.analysis", "cutile_sim.traces"),
    "cutile_sim.pictures": ("cutile_sim.analysis", "cutile_sim.traces", "cutile_sim.html"),
    "cutile_sim.traces.run": ("cutile_sim.api", "cutile_sim.traces"),
    # Launches on several processes: cuts a launch up, watches each part, and puts its results together.
    "cutile_sim.shards": (
        "cutile_sim.launch",
        "cutile_sim.engine",
        "cutile_sim.ops",
        "cutile_sim.memory",
        "cutile_sim.frontend.arrays",
        "cutile_sim.frontend.params",
        "cutile_sim.tileir",
        "cutile_sim.optable",
        "cutile_sim.dtypes",
        "ir_passes",
    ),
    # Observers of the engine, not part of it.
    "cutile_sim.sanitize": (
        "cutile_sim.engine",
        "cutile_sim.ops",
        "cutile_sim.memory",
        "cutile_sim.tileir",
        "cutile_sim.optable",
        "cutile_sim.dtypes",
        "ir_passes",
    ),
    # Observers that follow one block through its source.
    "cutile_sim.debugger": (
        "cutile_sim.launch",
        "cutile_sim.engine",
        "cutile_sim.memory",
        "cutile_sim.frontend.arrays",
        "cutile_sim.frontend.params",
        "cutile_sim.tileir",
        "cutile_sim.dtypes",
    ),
    "cutile_sim.checker": (
        "cutile_sim.proofs",
        "cutile_sim.frontend",
        "cutile_sim.tileir",
        "cutile_sim.tileiras",
        "cutile_sim.engine.plan",
    ),
    # Proves without running, and runs the blocks of a counterexample.
    "cutile_sim.proofs": (
        "cutile_sim.api",
        "cutile_sim.replay",
        "cutile_sim.launch",
        "cutile_sim.overlap",
        "cutile_sim.frontend",
        "cutile_sim.tileir",
        "ir_passes",
    ),
    "cutile_sim.replay": (
        "cutile_sim.launch",
        "cutile_sim.sanitize.lanes",
        "cutile_sim.engine",
        "cutile_sim.memory",
        "cutile_sim.frontend.params",
        "cutile_sim.tileir",
        "ir_passes",
    ),
    "cutile_sim.launch": (
        "cutile_sim.engine",
        "cutile_sim.memory",
        "cutile_sim.overlap",
        "cutile_sim.html",
        "cutile_sim.frontend.arrays",
        "cutile_sim.frontend.params",
        "cutile_sim.tileir",
        "ir_passes",
    ),
    "cutile_sim.html": (),
    "cutile_sim.overlap": ("cutile_sim.frontend.arrays", "cutile_sim.memory"),
    "cutile_sim.frontend": ("cutile_sim.tileir", "cutile_sim.dtypes"),
    "cutile_sim.tileiras": ("cutile_sim.tileir",),
    "cutile_sim.engine": (
        "cutile_sim.engine",
        "cutile_sim.ops",
        "cutile_sim.memory",
        "cutile_sim.tileir",
        "cutile_sim.optable",
        "cutile_sim.dtypes",
        "cutile_sim.blas",
        "ir_passes",
    ),
    # What operations see of a running group lies below them.
    "cutile_sim.engine.context": (
        "cutile_sim.engine.group",
        "cutile_sim.engine.observer",
        "cutile_sim.memory",
        "cutile_sim.tileir",
        "cutile_sim.dtypes",
    ),
    "cutile_sim.engine.group": ("cutile_sim.engine.values", "cutile_sim.memory"),
    "cutile_sim.engine.values": ("cutile_sim.memory", "cutile_sim.tileir", "cutile_sim.dtypes"),
    "cutile_sim.ops": (
        "cutile_sim.engine.context",
        "cutile_sim.engine.values",
        "cutile_sim.memory",
        "cutile_sim.tileir",
        "cutile_sim.optable",
        "cutile_sim.dtypes",
        "cutile_sim.rounding",
        "cutile_sim.exact",
        "cutile_sim.blas",
    ),
    "cutile_sim.memory": ("cutile_sim.dtypes",),
    "cutile_sim.tileir": ("cutile_sim.optable", "cutile_sim.dtypes"),
    "cutile_sim.exact": ("cutile_sim.rounding", "cutile_sim.optable", "cutile_sim.dtypes"),
    "cutile_sim.rounding": ("cutile_sim.optable", "cutile_sim.dtypes"),
    "cutile_sim.optable": (),
    # A developer tool: writes docs/operations.md.
    "cutile_sim.optable.page": ("cutile_sim.optable", "cutile_sim.ops", "cutile_sim.engine.plan"),
    "cutile_sim.dtypes": (),
    "cutile_sim.blas": (),
    "cutile_sim.source": (),
    "cutile_sim.findings": (),
    "cutile_sim.errors": (),
    "cutile_sim.numerals": (),
    "cutile_sim.plain": (),
    "cutile_sim.version": (),
    "ir_passes": ("cutile_sim.tileir", "cutile_sim.optable", "cutile_sim.dtypes"),
}
EVERYWHERE = (
    "cutile_sim.errors",
    "cutile_sim.findings",
    "cutile_sim.numerals",
    "cutile_sim.plain",
    "cutile_sim.source",
    "cutile_sim.version",
)

# Packages from outside that only some parts may import.
OUTSIDE: dict[str, tuple[str, ...]] = {
    "cuda": ("cutile_sim.frontend", "cutile_sim.optable.generate"),
    "click": ("cutile_sim.cli",),
    "networkx": ("ir_passes",),
    "z3": ("ir_passes.symbolic.smt",),
    "torch": ("cutile_sim.standin",),
    "flask": ("cutile_sim.page.server",),
    "werkzeug": ("cutile_sim.page.server",),
    "matplotlib": ("cutile_sim.pictures.style",),
}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


FILES = {module_name(p): p for top in ("cutile_sim", "ir_passes") for p in sorted((ROOT / top).rglob("*.py"))}


def below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")


def part_of(module: str) -> str:
    return max((p for p in ARROWS if below(module, p)), key=len)


def imports_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """(module, line) of every import that is executed, at the top or inside a function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"line {node.lineno}: imports are absolute here"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield (full if full in FILES else node.module), node.lineno
        else:
            yield from imports_of(node)


def violations(module: str, source: str) -> list[str]:
    found = []
    part = part_of(module)
    for target, line in imports_of(ast.parse(source)):
        place = f"{module} line {line} imports {target}"
        top = target.partition(".")[0]
        if top in ("cutile_sim", "ir_passes"):
            allowed = any(below(target, a) for a in (*ARROWS[part], *EVERYWHERE))
            if part_of(target) != part and not allowed:
                found.append(f"{place}: {part} may import {', '.join(ARROWS[part]) or 'nothing'}")
        elif top in OUTSIDE and not any(below(module, p) for p in OUTSIDE[top]):
            found.append(f"{place}: only {', '.join(OUTSIDE[top]) or 'nobody'} may import {top}")
    return found


@pytest.mark.parametrize("module", FILES)
def test_arrows(module: str) -> None:
    assert violations(module, FILES[module].read_text(encoding="utf-8")) == []


def test_every_part_exists() -> None:
    names = {name for part, allowed in ARROWS.items() for name in (part, *allowed)}
    assert {name for name in names if not any(below(file, name) for file in FILES)} == set()


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("cutile_sim.engine.machine", "import cuda.tile"),
        ("cutile_sim.tileir.decode", "from cutile_sim.engine import plan"),
        ("cutile_sim.ops.math", "from cutile_sim.engine.machine import Machine"),
        ("cutile_sim.api", "import click"),
        ("ir_passes.dataflow", "def f():\n    from cutile_sim.launch import launch"),
    ],
)
def test_a_forbidden_import_is_found(module: str, line: str) -> None:
    assert len(violations(module, line)) == 1


def test_import_stays_light() -> None:
    """The front-end, the command line and other people's packages load when they are needed."""
    code = "import sys, cutile_sim; print(*sorted({'cuda.tile', 'click', 'torch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
