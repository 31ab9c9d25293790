"""Accesses outside arrays."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim import simulate
from cutile_sim.sanitize import SanitizeOptions

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
def part_by_its_whole(whole, part, y):
    """A view read as far as the array that it is a view of, which is an argument as well."""
    i = ct.arange(16, dtype=ct.int32)
    t = ct.gather(part, i, mask=i < whole.shape[0], check_bounds=False)  # BUG: CTS101
    ct.store(y, (0,), t + ct.gather(whole, i))


@ct.kernel
def part_by_itself(whole, part, y):
    i = ct.arange(16, dtype=ct.int32)
    t = ct.gather(part, i, mask=i < part.shape[0], check_bounds=False)
    ct.store(y, (0,), ct.where(i < part.shape[0], t, 0.0) + ct.gather(whole, i))


def test_view_and_what_it_is_a_view_of(pair):
    def make():
        whole = floats(32)
        return whole, whole[4:12], floats(16)

    (finding,) = pair("part_by_its_whole", "part_by_itself", (1,), make)
    assert "index (8,): 1 element past its last, in memory of 'whole'" in finding.message
    assert (finding.array, finding.lane, finding.count) == ("part", (8,), 8)


@ct.kernel
def column_by_its_matrix(matrix, column):
    """A store through a column that reaches its neighbours."""
    i = ct.arange(8, dtype=ct.int32)
    column.get_raw_memory().store_offset(i, ct.gather(matrix, (i, i)))  # BUG: CTS101


@ct.kernel
def column_by_its_stride(matrix, column):
    i = ct.arange(8, dtype=ct.int32)
    column.get_raw_memory().store_offset(i * column.strides[0], ct.gather(matrix, (i, i)))


def test_column_of_a_matrix():
    def found(kernel):
        matrix = np.eye(8, dtype=np.float32)
        return simulate(kernel, 1, matrix, matrix[:, 3], sanitize=SanitizeOptions(checks=("bounds",))).findings

    (finding,) = found(column_by_its_matrix)
    assert finding.id == "CTS101" and finding.count == 7 and "between its elements" in finding.message
    assert found(column_by_its_stride) == ()


@ct.kernel
def tile_unchecked(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,), check_bounds=False))  # BUG: CTS102


@ct.kernel
def tile_checked(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,), padding_mode=ct.PaddingMode.ZERO))


def test_tile_without_its_bounds_check(pair):
    pair("tile_unchecked", "tile_checked", (2,), lambda: (floats(20), floats(32)))


@ct.kernel
def stored_unchecked(x, y):
    t = ct.load(x, (ct.bid(0),), (16,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (ct.bid(0),), t, check_bounds=False)  # BUG: CTS102


@ct.kernel
def stored_checked(x, y):
    t = ct.load(x, (ct.bid(0),), (16,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (ct.bid(0),), t)


def test_store_without_its_bounds_check(pair):
    pair("stored_unchecked", "stored_checked", (2,), lambda: (floats(20), floats(20)))


@ct.kernel
def next_rows(x, y):
    """The halo below the last rows."""
    row = ct.bid(0)
    below = ct.load(x, (row + 1, 0), (8, 16), check_bounds=False)  # BUG: CTS102
    ct.store(y, (row, 0), below)


@ct.kernel
def next_rows_if_any(x, y):
    row = ct.bid(0)
    if row + 1 < ct.num_blocks(0):
        ct.store(y, (row, 0), ct.load(x, (row + 1, 0), (8, 16), check_bounds=False))
    else:
        ct.store(y, (row, 0), ct.zeros((8, 16), ct.float32))


def test_rows_below_the_last(pair):
    pair("next_rows", "next_rows_if_any", (4,), lambda: (floats(512).reshape(32, 16), floats(512).reshape(32, 16)))


@ct.kernel
def store_into_input(x, y):
    ct.store(x, (0,), ct.load(y, (0,), (16,)))  # BUG: CTS104


@ct.kernel
def store_into_output(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (16,)))


def read_only_input():
    x = floats(16)
    x.flags.writeable = False
    return x, floats(16)


def test_read_only_array(pair):
    pair("store_into_input", "store_into_output", (1,), read_only_input)


@ct.kernel
def count_in_input(x, y):
    ct.atomic_add(x, ct.arange(16, dtype=ct.int32), ct.load(y, (0,), (16,)))  # BUG: CTS104


@ct.kernel
def count_in_output(x, y):
    ct.atomic_add(y, ct.arange(16, dtype=ct.int32), ct.load(x, (0,), (16,)))


@ct.kernel
def scatter_into_input(x, y):
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(x, i, ct.gather(y, i))  # BUG: CTS104


@ct.kernel
def scatter_into_output(x, y):
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(y, i, ct.gather(x, i))


def test_update_of_a_read_only_array(pair):
    pair("count_in_input", "count_in_output", (1,), read_only_input)


def test_scatter_into_a_read_only_array(pair):
    pair("scatter_into_input", "scatter_into_output", (1,), read_only_input)
