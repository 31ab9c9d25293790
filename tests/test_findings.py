from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutile_sim.errors import UsageError
from cutile_sim.findings import (
    Finding,
    is_suppressed,
    read_baseline,
    sarif,
    without_suppressed,
    write_baseline,
)
from cutile_sim.tileir.core import Location


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "k.py"
    path.write_text(
        "def k(x):\n"
        "    a = load(x)\n"
        "    b = load(x)  # cutile-sim: ignore[CTS101, CTS301]\n"
        "    c = load(x)  # cutile-sim: ignore\n"
    )
    return path


def at(source: Path, line: int, id: str = "CTS101", caller: Location | None = None) -> Finding:
    location = Location(str(source), line, 9, "k", caller)
    return Finding(id, "error", "load outside memory", location, (1, 0, 0), (4,), "x", (20,))


def test_text_has_place_line_and_caret(source: Path) -> None:
    assert str(at(source, 2)).splitlines() == [
        "error: load outside memory (block (1, 0, 0), lane (4,)) [CTS101]",
        f"  {source}:2:9, in k",
        "    a = load(x)",
        "        ^",
    ]


def test_text_has_related_places(source: Path) -> None:
    finding = Finding("CTS202", "error", "read and written", related=(("written here", Location(str(source), 3)),))
    assert str(finding).splitlines()[:3] == [
        "error: read and written [CTS202]",
        "  written here:",
        f"  {source}:3",
    ]


def test_json_names_every_field(source: Path) -> None:
    fields = json.loads(json.dumps(at(source, 2).to_json()))
    assert fields["line"] == 2 and fields["block"] == [1, 0, 0] and fields["array"] == "x" and fields["index"] == [20]
    assert json.loads(json.dumps(Finding("compile", "error", "no").to_json()))["file"] is None


def test_comments_suppress(source: Path) -> None:
    assert not is_suppressed(at(source, 2))
    assert is_suppressed(at(source, 3)) and is_suppressed(at(source, 3, "CTS301"))
    assert not is_suppressed(at(source, 3, "CTS201"))
    assert is_suppressed(at(source, 4, "CTS999"))
    assert is_suppressed(at(source, 2, caller=Location(str(source), 3)))
    assert not is_suppressed(Finding("CTS101", "error", "nowhere"))
    assert without_suppressed([at(source, 2), at(source, 3)]) == (at(source, 2),)


def test_baseline_survives_moved_lines(source: Path, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    write_baseline(path, [at(source, 2)])
    moved = tmp_path / "other" / "k.py"
    moved.parent.mkdir()
    moved.write_text("# a new line\n" + source.read_text())
    known = read_baseline(path)
    assert at(moved, 3).fingerprint in known
    assert at(moved, 3, "CTS201").fingerprint not in known and at(moved, 4).fingerprint not in known


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 9, "findings": {}}', '{"version": 1, "findings": 3}'])
def test_what_is_no_baseline(tmp_path: Path, text: str) -> None:
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(UsageError, match="baseline"):
        read_baseline(path)
    with pytest.raises(UsageError, match="cannot read"):
        read_baseline(tmp_path / "none.json")
    with pytest.raises(UsageError, match="cannot write"):
        write_baseline(tmp_path / "none" / "b.json", [])


def test_sarif(source: Path) -> None:
    related = Finding(
        "CTS202", "warning", "race", Location(str(source), 2, 5), related=(("here", Location("a.py", 3)),)
    )
    log = sarif([at(source, 2), related, Finding("CTS701", "note", "never written")], "1.2")
    assert log["version"] == "2.1.0" and len(log["runs"]) == 1
    run = log["runs"][0]
    assert [r["id"] for r in run["tool"]["driver"]["rules"]] == ["CTS101", "CTS202", "CTS701"]
    first, second, third = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("CTS101", 0, "error")
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 2, "startColumn": 9}
    assert second["relatedLocations"][0]["message"] == {"text": "here"}
    assert "locations" not in third and third["level"] == "note"
    json.dumps(log)
