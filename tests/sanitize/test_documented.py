"""Every id has its section in docs/findings.md, and three planted bugs, each beside its correct twin."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IDS = re.compile(r"CTS\d{3}")
MARK = re.compile(r"#\s*BUG:\s*([A-Z0-9, ]+)")
PLANTED_OF_EACH = 3

PATTERNS = {
    "element offset used as tile index": "element_as_tile",
    "grid rounded down": "rounded_down",
    "clipped output": "clipped",
    "masked lanes times NaN": "masked_by_zero",
    "mean over padded lanes": "mean_over_padding",
    "bound of another array": "scatter_by_other_length",
    "strided view with the base's length": "strided_by_base_length",
    "two blocks storing one tile": "one_tile_for_two",
    "load of what another block stores": "shift_in_place",
    "32-bit offset overflow": "offset_of_32_bits",
    "cast out of range": "cast",
    "unwritten output": "half_the_rows",
    "unfair spin wait": "wait_for_the_next",
    "missing acquire": "hand_off_relaxed",
}
"""Mistakes that people really make, and the planted bug that is one."""


def sections() -> list[str]:
    return re.findall(r"^### (CTS\d{3})$", (ROOT / "docs" / "findings.md").read_text(encoding="utf-8"), re.M)


def ids_in(folder: str) -> set[str]:
    return {i for path in (ROOT / folder).rglob("*.py") for i in IDS.findall(path.read_text(encoding="utf-8"))}


def pairs() -> Iterator[tuple[str, set[str], str, set[str]]]:
    """(bug, its ids, twin, its ids) of every call of the fixture `pair` with two names."""
    for path in sorted((ROOT / "tests" / "bugs").glob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        tree, lines = ast.parse(text), text.splitlines()
        marked = {
            node.name: {i for line in lines[node.lineno - 1 : node.end_lineno] for i in _marks(line)}
            for node in tree.body
            if isinstance(node, ast.FunctionDef)
        }
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "pair":
                bug, twin = (a.value for a in call.args[:2] if isinstance(a, ast.Constant))
                yield str(bug), marked[str(bug)], str(twin), marked[str(twin)]


def _marks(line: str) -> list[str]:
    mark = MARK.search(line)
    return IDS.findall(mark[1]) if mark else []


def test_every_id_has_a_section() -> None:
    assert len(sections()) == len(set(sections()))
    assert set(sections()) == ids_in("cutile_sim/sanitize")


def test_every_id_has_three_planted_bugs() -> None:
    planted: dict[str, set[str]] = defaultdict(set)
    for bug, ids, twin, its_ids in pairs():
        assert bug != twin and ids and not its_ids, (bug, twin)
        for id in ids:
            planted[id].add(bug)
    counts = {id: len(planted[id]) for id in sections()}
    assert min(counts.values()) >= PLANTED_OF_EACH, counts


def test_every_pattern_is_planted() -> None:
    assert set(PATTERNS.values()) <= {bug for bug, _, _, _ in pairs()}
