"""Outputs that are not written whole."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim.sanitize import SanitizeOptions

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def floats(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@ct.kernel
def element_as_tile(x, y):
    """An element's offset used as a tile's index."""
    i = ct.bid(0) * 16
    t = ct.load(x, (i,), (16,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (i,), t)  # BUG: CTS703


@ct.kernel
def tile_as_tile(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))


def test_element_as_tile_index(pair):
    pair("element_as_tile", "tile_as_tile", (8,), lambda: (floats(128), floats(128)))


@ct.kernel
def rounded_down(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))  # BUG: CTS701


@ct.kernel
def rounded_up(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))


def test_grid_rounded_down(pair):
    (finding,) = pair(
        "rounded_down", "rounded_up", (100 // 16,), lambda: (floats(100), floats(100)), twin_grid=(-(-100 // 16),)
    )
    assert "the first at index (96,)" in finding.message and "round it up" in finding.message


def test_grid_larger_than_needed(planted):
    planted("tile_as_tile", (9,), lambda: (floats(100), floats(100)))


@ct.kernel
def half_the_rows(x, y):
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (8, 16)))  # BUG: CTS701


@ct.kernel
def all_rows(x, y):
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (8, 16)))


def test_grid_smaller_than_the_tiles(pair):
    pair("half_the_rows", "all_rows", (4,), lambda: (floats(64, 16), floats(64, 16)), twin_grid=(8,))


def test_part_of_a_larger_output_is_meant(planted):
    """As when a cache of keys is filled: the input is read to its end."""
    planted("all_rows", (4,), lambda: (floats(32, 16), floats(64, 16)))


@ct.kernel
def even_tiles(x, y):
    if ct.bid(0) % 2 == 0:
        ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))  # BUG: CTS701


@ct.kernel
def tiles_by_table(table, x, y):
    """Where a table says so, tiles may be left out."""
    t = ct.load(table, (ct.bid(0),), (1,)).item()
    ct.store(y, (t,), ct.load(x, (ct.bid(0),), (16,)))


@ct.kernel
def even_and_odd_tiles(x, y):
    t = ct.load(x, (ct.bid(0),), (16,))
    if ct.bid(0) % 2 == 0:
        ct.store(y, (ct.bid(0),), t)
    else:
        ct.store(y, (ct.bid(0),), -t)


def test_tiles_left_out(pair):
    pair("even_tiles", "even_and_odd_tiles", (8,), lambda: (floats(128), floats(128)))


def test_tiles_left_out_by_a_table(planted):
    planted("tiles_by_table", (3,), lambda: (np.array([5, 1, 7], np.int32), floats(48), floats(128)))


@ct.kernel
def two_outputs(x, y, z):
    t = ct.load(x, (ct.bid(0),), (16,))
    ct.store(y, (ct.bid(0),), t + 1)


def test_declared_output():
    from cutile_sim import simulate

    options = SanitizeOptions(outputs=("y", "z"))
    (finding,) = simulate(two_outputs, 4, floats(64), floats(64), floats(64), sanitize=options).findings
    assert (finding.id, finding.array, finding.severity, finding.count) == ("CTS701", "z", "error", 64)
    assert simulate(two_outputs, 4, floats(64), floats(64), floats(64), sanitize=True).findings == ()


@ct.kernel
def clipped(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)  # BUG: CTS702


@ct.kernel
def clipped_padding(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) * 2)


def test_clipped_output(pair):
    def make(n):
        return lambda: (floats(n), floats(100))

    pair("clipped", "clipped_padding", (7,), make(112), twin_make=make(100))


@ct.kernel
def clipped_rows(x, w, y):
    t = ct.load(x, (ct.bid(0), 0), (8, 16), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, (ct.bid(0), 0), t * ct.load(w, (0,), (16,)) + 1)


def test_rows_of_padding_meet_data(planted):
    planted("clipped_rows", (2,), lambda: (floats(12, 16), floats(16), floats(12, 16)))


@ct.kernel
def tiles_with_gaps(x, y):
    """Tiles that are further apart than they are long leave gaps on purpose."""
    a, b = x.tiled_view((4,), traversal_steps=(8,)), y.tiled_view((4,), traversal_steps=(8,))
    b.store((ct.bid(0),), a.load((ct.bid(0),)))


def test_gaps_between_tiles(planted):
    planted("tiles_with_gaps", (4,), lambda: (floats(32), floats(32)))


@ct.kernel
def clipped_columns(x, y):
    """A row that is longer than the row it is stored to."""
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (1, 64)))  # BUG: CTS702


@ct.kernel
def whole_columns(x, y):
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (1, 64)))


def test_clipped_rows(pair):
    pair(
        "clipped_columns",
        "whole_columns",
        (4,),
        lambda: (floats(4, 64), floats(4, 60)),
        twin_make=lambda: (floats(4, 60), floats(4, 60)),
    )


@ct.kernel
def halves_side_by_side(x, y):
    """Two halves are put together to a row that has no room for them."""
    a, b = ct.load(x, (0,), (16,)), ct.load(x, (1,), (16,))
    ct.store(y, (0,), ct.cat((a, b), 0))  # BUG: CTS702


@ct.kernel
def halves_that_fit(x, y):
    a, b = ct.load(x, (0,), (16,)), ct.load(x, (1,), (16,))
    ct.store(y, (0,), ct.cat((a, b), 0))


def test_clipped_sum_of_parts(pair):
    pair(
        "halves_side_by_side",
        "halves_that_fit",
        (1,),
        lambda: (floats(32), floats(24)),
        twin_make=lambda: (floats(32), floats(32)),
    )


@ct.kernel
def row_offset_as_tile(x, y):
    """The first row of a tile used as the tile's index."""
    row = ct.bid(0) * 8
    ct.store(y, (row, ct.bid(1)), ct.load(x, (ct.bid(0), ct.bid(1)), (8, 16)))  # BUG: CTS703


@ct.kernel
def row_as_tile(x, y):
    row = ct.bid(0)
    ct.store(y, (row, ct.bid(1)), ct.load(x, (ct.bid(0), ct.bid(1)), (8, 16)))


def test_row_offset_as_tile_index(pair):
    (finding,) = pair("row_offset_as_tile", "row_as_tile", (4, 2), lambda: (floats(32, 32), floats(32, 32)))
    assert "is an element's index used as a tile's?" in finding.message


@ct.kernel
def tiles_from_one(x, y):
    """Tiles counted from one."""
    ct.store(y, (ct.bid(0) + 1,), ct.load(x, (ct.bid(0),), (16,)))  # BUG: CTS703


@ct.kernel
def tiles_from_zero(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))


def test_tiles_counted_from_one(pair):
    (finding,) = pair("tiles_from_one", "tiles_from_zero", (4,), lambda: (floats(64), floats(64)))
    assert "tile 4 along dimension 0 lies outside array 'y', which has 4 tiles" in finding.message


@ct.kernel
def parts_of_a_sequence(lengths, x, y):
    """A block whose part lies past the end of its sequence returns, and its tile stays as it is."""
    b, part = ct.bid(0), ct.bid(1)
    n = ct.load(lengths, (b,), (1,)).item()
    if part * 16 >= n:
        return
    ct.store(y, (b, part), ct.load(x, (b, part), (1, 16)))


@ct.kernel
def parts_until_a_mark(marks, x, y):
    """A loop that ends where a table says so."""
    b = ct.bid(0)
    for part in range(4):
        if ct.load(marks, (b, part), (1, 1)).item() == 1:
            break
        ct.store(y, (b, part), ct.load(x, (b, part), (1, 16)))


def test_tiles_left_out_by_data(planted):
    x, y = floats(3, 64), floats(3, 64)
    planted("parts_of_a_sequence", (3, 4), lambda: (np.array([20, 64, 40], np.int32), x, y))
    planted("parts_of_a_sequence", (3, 4), lambda: (np.full(3, 40, np.int32), floats(3, 56), floats(3, 56)))
    marks = np.zeros((3, 4), np.int32)
    marks[[0, 2], [1, 3]] = 1
    planted("parts_until_a_mark", (3,), lambda: (marks, x, y))


@ct.kernel
def into_a_slice(x, y, first, end):
    """Who cuts a part out of the output means that part."""
    part = y.slice(axis=0, start=first, stop=end)
    ct.store(part, (ct.bid(0),), ct.load(x, (ct.bid(0),), (8,)))


def test_slice_of_an_output(planted):
    planted("into_a_slice", (2,), lambda: (floats(64), floats(64), 16, 32))
    planted("into_a_slice", (2,), lambda: (floats(64), floats(64), 0, 16))
    planted("into_a_slice", (4,), lambda: (floats(64), floats(64), 16, 28))
