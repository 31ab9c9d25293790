"""Source lines with carets, whatever the line is made of."""

from __future__ import annotations

import pytest

from cutile_sim.errors import UsageError
from cutile_sim.source import caret, describe, users_line
from cutile_sim.tileir.core import Location


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.py"
    path.write_text("first = 1\n\tif x:\ty = z\n    é = 'ü' + w\n変数 = q\n\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("line", "column", "text"),
    [
        (1, 1, "    first = 1\n    ^"),
        (1, 9, "    first = 1\n            ^"),
        (1, 0, "    first = 1"),
        (2, 8, "    if x:\ty = z\n         \t^"),  # the tab is kept, whatever its width
        (3, 17, "    é = 'ü' + w\n              ^"),  # columns count bytes
        (4, 10, "    変数 = q\n           ^"),  # wide characters take two places
        (5, 1, ""),
        (9, 1, ""),
    ],
)
def test_caret(source, line, column, text):
    assert caret(source, line, column) == text


def test_column_past_the_end(source):
    assert caret(source, 1, 99).endswith("\n    " + " " * 9 + "^")


def test_unreadable_file():
    assert caret("no/such/file.py", 3, 1) == ""
    assert describe(Location("no/such/file.py", 3, 1, "f")) == "  no/such/file.py:3:1, in f"


def test_describe_follows_the_callers(source):
    location = Location(source, 1, 9, "helper", Location(source, 3, 0, "kernel", Location(source, 4)))
    assert describe(location).splitlines() == [
        f"  {source}:1:9, in helper",
        "    first = 1",
        "            ^",
        f"  called from {source}:3, in kernel",
        "    é = 'ü' + w",
        f"  called from {source}:4",
        "    変数 = q",
    ]


def test_describe_nothing():
    assert describe(None) == ""


def test_errors_end_with_their_place(source):
    assert str(UsageError("wrong", location=Location(source, 1))) == f"wrong\n  {source}:1\n    first = 1"
    assert str(UsageError("wrong")) == "wrong"


def test_the_users_line_is_the_innermost_outside_the_library() -> None:
    user = Location("k.py", 7)
    inside = Location("/site-packages/cuda/tile/_lib.py", 90, caller=user)
    assert users_line(inside) is user
    assert users_line(user) is user
    alone = Location("/site-packages/cuda/tile/_lib.py", 90)
    assert users_line(alone) is alone
    assert users_line(None) is None
