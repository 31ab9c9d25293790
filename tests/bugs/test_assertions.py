"""Assertions of the kernel that fail."""

from __future__ import annotations

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def ints(*values: int) -> np.ndarray:
    return np.resize(np.array(values, np.int32), 16)


@ct.kernel
def assert_small(x):
    ct.assert_(ct.load(x, (0,), (16,)) < 9, "too large")  # BUG: CTS901


@ct.kernel
def assert_at_most(x):
    ct.assert_(ct.load(x, (0,), (16,)) <= 9, "too large")


def test_one_lane(pair):
    (finding,) = pair("assert_small", "assert_at_most", (1,), lambda: (ints(1, 2, 9),))
    assert finding.lane == (2,) and "too large" in finding.message


@ct.kernel
def assert_index(table, x, y):
    """An index that the table should never hold."""
    i = ct.load(table, (0,), (16,))
    ct.assert_((i >= 0) & (i < x.shape[0]), "no such row")  # BUG: CTS901
    ct.store(y, (0,), ct.gather(x, i))


@ct.kernel
def assert_clamped_index(table, x, y):
    i = ct.minimum(ct.maximum(ct.load(table, (0,), (16,)), 0), x.shape[0] - 1)
    ct.assert_((i >= 0) & (i < x.shape[0]), "no such row")
    ct.store(y, (0,), ct.gather(x, i))


def test_index_of_a_table(pair):
    pair("assert_index", "assert_clamped_index", (1,), lambda: (ints(3, -1, 20), ints(1), ints(0)))


@ct.kernel
def assert_one_block(x):
    """Written for one block, launched with several."""
    ct.assert_(ct.bid(0) == 0, "one block only")  # BUG: CTS901
    ct.store(x, (0,), ct.zeros((16,), ct.int32))


@ct.kernel
def assert_any_block(x):
    ct.assert_(ct.bid(0) < ct.num_blocks(0), "no such block")
    ct.store(x, (ct.bid(0),), ct.zeros((16,), ct.int32))


def test_block(pair):
    (finding,) = pair("assert_one_block", "assert_any_block", (3,), lambda: (np.zeros(48, np.int32),))
    assert finding.block == (1, 0, 0)
