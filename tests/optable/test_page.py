from __future__ import annotations

from pathlib import Path

import pytest

from cutile_sim.optable import OPS, page


def test_the_page_is_up_to_date() -> None:
    if not page.TARGET.parent.is_dir():
        pytest.skip("the package is installed without its docs")
    assert page.TARGET.read_text(encoding="utf-8") == page.render(), "run python -m cutile_sim.optable.page"


def test_every_operation_has_its_section() -> None:
    lines = page.render().splitlines()
    titles = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
    assert sorted(titles) == sorted(OPS)
    for spec in OPS.values():
        section = lines[lines.index(f"### {spec.mnemonic}") :]
        assert section[2] == spec.meaning.summary
        end = next((n for n, line in enumerate(section) if n and line.startswith("#")), len(section))
        text = "\n".join(section[:end])
        assert all(f"`{name}`" in text for name in (*spec.operand_names, *spec.attribute_names, *spec.encoding.results))


def test_nothing_is_missing() -> None:
    assert {page.status(spec).partition(":")[0] for spec in OPS.values()} == {"evaluated", "structural", "unsupported"}


def test_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(page, "TARGET", tmp_path / "docs" / "operations.md")
    assert page.main(["--check"]) == 1 and "is out of date" in capsys.readouterr().err
    assert page.main([]) == 0 and page.main(["--check"]) == 0
    page.TARGET.write_text(page.TARGET.read_text() + "more\n")
    assert page.main(["--check"]) == 1
