"""The page as one file holds what the page asks for, and nothing that could run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from synthetic_traces import launch_of

from cutile_sim.errors import UsageError
from cutile_sim.page import assets, html, write_html
from cutile_sim.page.html import embedded, key
from cutile_sim.traces import Trace

Ask = Callable[..., dict[str, Any]]


def data_of(page: str) -> Any:
    (found,) = re.findall(r'<script type="application/json" id="page-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def test_one_file_without_references(synthetic: Trace, tmp_path: Path, ask: Ask) -> None:
    write_html(synthetic, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!#)', page)
    assert "import {" not in page and page.count("<script") == 2
    answers = data_of(page)["answers"]
    assert answers[key("launch", {"launch": 0})] == ask(synthetic, "launch", launch=0)
    assert answers["plane?array=1&launch=0&wrap=37"] == ask(synthetic, "plane", launch=0, array=1, wrap=37)
    assert answers["plane?array=0&cols=1&launch=0&rows=0"] == ask(synthetic, "plane", launch=0, array=0, rows=0, cols=1)
    assert answers["block?block=2%2C1%2C0&launch=0"] == ask(synthetic, "block", launch=0, block=(2, 1, 0))
    assert {name.partition("?")[0] for name in answers} >= {"summary", "graph", "coverage", "times", "record", "cuts"}
    assert answers["trace?"]["left_out"] == []


def test_what_does_not_fit_is_left_out_and_named(synthetic: Trace) -> None:
    whole = embedded(synthetic)
    size = len(json.dumps(whole))
    for limit in (size // 2, size // 5):
        found = embedded(synthetic, limit)
        assert len(json.dumps(found)) < limit + 4000 and len(found["answers"]) < len(whole["answers"])
        assert any(words.startswith("launch 0: ") for words in found["answers"]["trace?"]["left_out"])
        assert "launch?launch=0" in found["answers"]


def test_accesses_of_too_many_blocks_are_left_out(synthetic: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MOST_BLOCK_RECORDS", 3)
    found = embedded(synthetic)["answers"]
    assert not any(name.startswith("block?") for name in found)
    assert found["trace?"]["left_out"] == ["launch 0: accesses of single blocks and elements"]


def test_slices(ask: Ask) -> None:
    made = launch_of([((3, 4, 5), (20, 5, 1)), ((), ())], [], (1, 1, 1)).trace
    found = embedded(made)["answers"]
    assert [f"plane?array=0&cols=2&fixed={i}%2C0%2C0&launch=0&rows=1" in found for i in range(4)] == [True] * 3 + [
        False
    ]
    assert "plane?array=1&launch=0" in found


@pytest.mark.parametrize(
    "words", ["</script><script>alert(1)</script>", "<!--", "<img src=x onerror=alert(1)>", "a & b", "<!-- data -->"]
)
def test_texts_stay_data(words: str) -> None:
    page = assets.whole_page({"answers": {"x": words}})
    assert data_of(page) == {"answers": {"x": words}}
    assert page.count("</script>") == 2 and words not in page.partition('id="page-data"')[2].partition("</script>")[0]


def test_the_policy_lets_only_its_own_script_run(synthetic: Trace) -> None:
    import base64
    import hashlib

    page = assets.whole_page({})
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]  # type: ignore[index]
    for kind, tag in (("script-src", 'script type="module"'), ("style-src", "style")):
        text = page.partition(f"<{tag}>")[2].partition(f"</{tag.split()[0]}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy and "unsafe" not in policy


def test_modules_become_one_script() -> None:
    bundle = assets.bundle()
    for name in (n for n in assets.names() if n.endswith(".js")):
        text = assets.read(name)
        assert f"const module_{name.removesuffix('.js')} = " in bundle
        # The other ways to write these are not known to the bundle.
        assert not re.search(r"\bexport (default|let|\{|\*)", text) and "import(" not in text, name
        assert all(
            re.match(r'import \{[^}]*\} from "\./\w+\.js";', line) for line in text.split("\n") if line[:7] == "import "
        ), name
        assert "innerHTML" not in text and "eval(" not in text and "document.write" not in text, name
    assert not re.search(r"^(import|export)\b", bundle, re.MULTILINE)


def test_a_place_that_cannot_be_written(synthetic: Trace, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        write_html(synthetic, tmp_path / "no" / "page.html")
