"""Every id has its section in docs/findings.md, and is planted somewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
IDS = re.compile(r"CTS\d{3}")


def ids_in(folder: str) -> set[str]:
    return {i for path in (ROOT / folder).rglob("*.py") for i in IDS.findall(path.read_text(encoding="utf-8"))}


def test_every_id_has_a_section() -> None:
    sections = re.findall(r"^### (CTS\d{3})$", (ROOT / "docs" / "findings.md").read_text(encoding="utf-8"), re.M)
    assert len(sections) == len(set(sections))
    assert set(sections) == ids_in("cutile_sim/sanitize")


def test_every_kind_is_planted() -> None:
    kinds = {i[:4] for i in ids_in("cutile_sim/sanitize")} - {"CTS9"}
    assert kinds <= {i[:4] for i in ids_in("tests/bugs")}
