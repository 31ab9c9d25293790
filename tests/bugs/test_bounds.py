"""Accesses outside arrays."""

from __future__ import annotations

import numpy as np
import pytest

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

INDEX = np.arange(16, dtype=np.int32)


def floats(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32)


@ct.kernel
def gather_unchecked(x, index, y):
    i = ct.load(index, (ct.bid(0),), (16,))
    ct.store(y, (ct.bid(0),), ct.gather(x, i, check_bounds=False))  # BUG: CTS101


@ct.kernel
def gather_checked(x, index, y):
    i = ct.load(index, (ct.bid(0),), (16,))
    ct.store(y, (ct.bid(0),), ct.gather(x, i))


def test_gather(pair):
    pair("gather_unchecked", "gather_checked", (2,), lambda: (floats(20), np.arange(32, dtype=np.int32), floats(32)))


def test_says_array_index_and_how_far(planted):
    (finding,) = planted("gather_unchecked", (2,), lambda: (floats(20), np.arange(32, dtype=np.int32), floats(32)))
    assert finding.block == (1, 0, 0) and finding.lane == (4,) and finding.array == "x" and finding.count == 12
    assert "index (20,): 1 element past its last" in finding.message


@ct.kernel
def scatter_by_other_length(x, y, n):
    """The bound of another array."""
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(y, i, ct.gather(x, i), mask=i < n, check_bounds=False)  # BUG: CTS101


@ct.kernel
def scatter_by_own_length(x, y, n):
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(y, i, ct.gather(x, i), mask=i < min(n, y.shape[0]), check_bounds=False)


def test_bound_of_another_array(pair):
    pair("scatter_by_other_length", "scatter_by_own_length", (2,), lambda: (floats(32), floats(24), 32))


@ct.kernel
def strided_by_base_length(x, y, n):
    """A strided view with the length of what it is a view of."""
    i = ct.arange(32, dtype=ct.int32)
    ct.store(y, (0,), ct.gather(x, i, mask=i < n, check_bounds=False))  # BUG: CTS101


@ct.kernel
def strided_by_own_length(x, y, n):
    i = ct.arange(32, dtype=ct.int32)
    ct.store(y, (0,), ct.gather(x, i, mask=i < x.shape[0], check_bounds=False))


def test_strided_view(pair):
    pair("strided_by_base_length", "strided_by_own_length", (1,), lambda: (floats(32)[::2], floats(32), 32))


@ct.kernel
def tile_unchecked(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,), check_bounds=False))  # BUG: CTS102


@ct.kernel
def tile_checked(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,), padding_mode=ct.PaddingMode.ZERO))


def test_tile_without_its_bounds_check(pair):
    pair("tile_unchecked", "tile_checked", (2,), lambda: (floats(20), floats(32)))


@ct.kernel
def store_into_input(x, y):
    ct.store(x, (0,), ct.load(y, (0,), (16,)))  # BUG: CTS104


@ct.kernel
def store_into_output(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (16,)))


def test_read_only_array(pair):
    def make():
        x = floats(16)
        x.flags.writeable = False
        return x, floats(16)

    pair("store_into_input", "store_into_output", (1,), make)
