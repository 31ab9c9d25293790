"""Reductions that pick one element, against loops over Python numbers in the order that a region would see them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutile_sim.ops.reduce_pick import Rule, pick, rule_of

INDICES = np.dtype(np.int32)


def region(left_wins: Callable[[Any, Any], Any]) -> Callable[..., tuple[np.ndarray, ...]]:
    """A region that picks its left argument, with its index, where a function of the two values says so."""

    def evaluate(a: np.ndarray, b: np.ndarray, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, ...]:
        wins = left_wins(a, b)
        return np.where(wins, a, b), np.where(wins, i, j)

    return evaluate


def unsigned(a: np.ndarray) -> np.ndarray:
    return a.view(f"u{a.itemsize}")


REGIONS: dict[str, tuple[type, Callable[[Any, Any], Any], Rule | None]] = {
    "largest": (np.float32, lambda a, b: (a >= b) | (b != b), Rule(True)),
    "smallest": (np.float32, lambda a, b: (a <= b) | (b != b), Rule(False)),
    "largest or NaN": (np.float32, lambda a, b: (a >= b) | (a != a), Rule(True, takes_nan=True)),
    "smallest or NaN": (np.float64, lambda a, b: (a <= b) | (a != a), Rule(False, takes_nan=True)),
    "largest signed": (np.int32, lambda a, b: a >= b, Rule(True)),
    "smallest unsigned": (np.int8, lambda a, b: unsigned(a) <= unsigned(b), Rule(False, unsigned=True)),
    "largest unsigned": (np.int64, lambda a, b: unsigned(a) >= unsigned(b), Rule(True, unsigned=True)),
    "last largest": (np.float32, lambda a, b: (a > b) | (b != b), None),
    "first": (np.int32, lambda a, b: a == a, None),
    "NaN loses left only": (np.float32, lambda a, b: a >= b, None),
}


@pytest.mark.parametrize("name", REGIONS)
def test_the_rule_of_a_region_is_told_by_trying_it(name: str) -> None:
    dtype, left_wins, rule = REGIONS[name]
    assert rule_of(region(left_wins), np.dtype(dtype), INDICES) == rule


def test_values_and_indices_of_different_sides_are_no_rule() -> None:
    def crossed(a: np.ndarray, b: np.ndarray, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, ...]:
        return np.where(a >= b, a, b), np.where(a >= b, j, i)

    assert rule_of(crossed, np.dtype(np.int32), INDICES) is None


@given(
    st.lists(
        st.lists(st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 1.0, math.nan]), min_size=4, max_size=4),
        min_size=1,
        max_size=3,
    ),
    st.sampled_from([name for name, (dtype, _, rule) in REGIONS.items() if rule is not None and dtype is np.float32]),
)
def test_picks_what_the_region_would_pick_one_after_another(rows: list[list[float]], name: str) -> None:
    _, left_wins, rule = REGIONS[name]
    assert rule is not None
    values = np.array(rows, np.float32).reshape(1, 1, len(rows), 4)
    indices = np.array([0, 2, 3, 9], np.int32).reshape(1, 1, 1, 4)
    picked = pick(values, indices, -1, rule)
    for n, row in enumerate(rows):
        best = 0
        for i in range(1, 4):
            if not left_wins(np.float32(row[best]), np.float32(row[i])):
                best = i
        if picked is None:
            assert any(math.isnan(r[0]) or any(map(math.isnan, r)) for r in rows)
        else:
            assert picked[0][0, 0, n].tobytes() == np.float32(row[best]).tobytes()
            assert picked[1][0, 0, n] == (0, 2, 3, 9)[best]


def test_indices_that_do_not_rise_are_left_to_the_region() -> None:
    values = np.zeros((1, 1, 1, 3), np.float32)
    for indices in ([0, 2, 1], [-1, 0, 1], [0, 0, 1]):
        assert pick(values, np.array(indices, np.int32).reshape(1, 1, 1, 3), -1, Rule(True)) is None


def test_indices_of_each_row_and_other_axes() -> None:
    values = np.array([[1, 5, 2], [7, 0, 3]], np.int32).reshape(1, 1, 1, 2, 3)
    indices = np.array([[0, 1, 2], [10, 11, 12]], np.int32).reshape(1, 1, 1, 2, 3)
    best, at = pick(values, indices, -1, Rule(True))  # type: ignore[misc]
    assert (best.tolist(), at.tolist()) == ([[[[5, 7]]]], [[[[1, 10]]]])
    best, at = pick(values, indices, -2, Rule(False))  # type: ignore[misc]
    assert (best.tolist(), at.tolist()) == ([[[[1, 0, 2]]]], [[[[0, 11, 2]]]])
