"""What the README and the pages of docs/ show is what happens."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))

FILES = {block.split()[1]: block for block in re.findall(r"```python\n(# \w+\.py\n.*?)```", TEXT, re.S)}
SHOWN = re.findall(r"```console\n\$ ([^\n]*)\n(.*?)```", TEXT, re.S)
# Where the reader of the README has the files.
HOME = "/home/ada"
PROGRAM = "from cutile_sim.cli.main import main; main()"


def words_of(command: str) -> list[str]:
    program, *rest = shlex.split(command)
    return [sys.executable, *{"python": (), "cutile-sim": ("-c", PROGRAM)}[program], *rest]


def without_times(text: str) -> str:
    return re.sub(r"\b[\d.e-]+ s$", "TIME s", text, flags=re.M)


def test_blocks_are_found() -> None:
    """A block that the patterns miss would not be tested."""
    assert TEXT.count("```python") == len(FILES) >= 3
    assert TEXT.count("```console") == len(SHOWN) >= 3


@pytest.mark.cutile
@pytest.mark.parametrize(("command", "expected"), SHOWN, ids=[command for command, _ in SHOWN])
def test_shown_output(command: str, expected: str, tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile")
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    done = subprocess.run(
        words_of(command), cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert without_times(done.stdout.replace(str(tmp_path), HOME)) == without_times(expected)


@pytest.mark.cutile
def test_traces_and_debugging(tmp_path: Path) -> None:
    """The indented commands of the clone, in their order."""
    pytest.importorskip("cuda.tile")
    commands = re.findall(r"^    \.venv/bin/(cutile-sim .*)$", TEXT, re.M)
    assert [c.split()[1] for c in commands] == ["debug", "trace", "view"]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for command in commands:
        done = subprocess.run(
            words_of(command), cwd=tmp_path, text=True, input="next\nprint i\nquit\n", capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
        if " debug " in command:
            assert "(cutile-sim) print i\n1\n" in done.stdout
    assert "matmul" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_all_commands_are_named() -> None:
    from cutile_sim.cli.main import cli

    assert re.findall(r"^    cutile-sim (\w+)", TEXT, re.M) == [*cli.commands]


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(there), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_named_files_exist(page: Path) -> None:
    found = re.findall(r"`((?:cutile_sim|ir_passes|tests|examples)/[\w/.]+\.py)`", page.read_text(encoding="utf-8"))
    assert [name for name in found if not (ROOT / name).is_file()] == []


def test_every_error_is_explained() -> None:
    import cutile_sim

    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    errors = {name for name in cutile_sim.__all__ if name.endswith("Error")}
    assert {name for name in errors if f"`{name}`" not in text} == set()
