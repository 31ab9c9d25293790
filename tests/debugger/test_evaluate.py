"""Expressions that a user may print."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutile_sim.debugger.evaluate import check, evaluate, truth
from cutile_sim.errors import UsageError

TILE = np.arange(12, dtype=np.float32).reshape(3, 4)
NAMES = {"t": TILE, "k": np.int32(3), "xs": (1, TILE), "%7": np.float32(0.5), "%12": TILE}


def lookup(name: str) -> Any:
    if name not in NAMES:
        raise UsageError(f"{name} is not available here")
    return NAMES[name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("t", TILE),
        ("t[1, 2]", 6.0),
        ("t[0:2, ::2]", TILE[0:2, ::2]),
        ("t[-1]", TILE[-1]),
        ("t[..., None].shape", (3, 4, 1)),
        ("xs[1][0]", TILE[0]),
        ("-t + 2 * k", -TILE + 6),
        ("t @ t.T", TILE @ TILE.T),
        ("k // 2 % 2 == 1", True),
        ("2 < k <= 3", True),
        ("k == 3 and not any(isnan(t))", True),
        ("k > 5 or all(t >= 0)", True),
        ("max(t) - min(t[1])", 7.0),
        ("sum(t, 0)", TILE.sum(0)),
        ("t.dtype == t.T.dtype", True),
        ("k %2", 1),
        ("%7 * 2", 1.0),
        ("max(%12) - %7", 10.5),
        ("  t.size ", 12),
        ("(k, 1.5)", (3, 1.5)),
        ("t.strides", (4, 1)),
        ("max(t, 5)", np.maximum(TILE, 5)),
        ("min(k, 2)", 2),
    ],
)
def test_values(text: str, expected: Any) -> None:
    found = evaluate(text, lookup)
    if isinstance(expected, tuple):
        assert tuple(found) == expected
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t +", "no expression"),
        ("", "no expression"),
        ("t; k", "no expression"),
        ("x", "x is not available here"),
        ("t[9]", "out of bounds"),
        ("k[0]", "scalar"),
        ("__import__('os')", "cannot be evaluated"),
        ("t.tofile", "cannot be evaluated"),
        ("t.__class__", "cannot be evaluated"),
        ("(lambda: 1)()", "cannot be evaluated"),
        ("[n for n in t]", "cannot be evaluated"),
        ("open(k)", "cannot be evaluated"),
        ("'a' * 3", "cannot be evaluated"),
        ("9 ** 9 ** 9", "cannot be evaluated"),
        ("1 << 10", "cannot be evaluated"),
        ("k in xs", "compare with"),
        ("t + t[0:2]", "broadcast"),
        ("sum(t, axis=0)", "cannot be evaluated"),
        ("(1, k) * 1000000000", "a tuple cannot be multiplied"),
        ("1000000000 * (1, k)", "a tuple cannot be multiplied"),
        ("(" * 240 + "k" + ")" * 240, "no expression"),
        ("-" * 5000 + "k", "longer than 500 characters"),
        ("-" * 490 + "k" + " +", "no expression"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(text, lookup)


def test_conditions() -> None:
    assert truth("k == 3", lookup) and not truth("k == 4", lookup) and truth("any(t > 10)", lookup)
    with pytest.raises(UsageError, match="any"):
        truth("t > 1", lookup)


def test_a_condition_is_checked_before_names_are_known() -> None:
    check("a == 1 and b[0] > 2")
    for text in ("a ==", "open(3)"):
        with pytest.raises(UsageError):
            check(text)
