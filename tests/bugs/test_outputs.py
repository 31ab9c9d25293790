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


def test_grid_rounded_down(planted):
    (finding,) = planted("rounded_down", (100 // 16,), lambda: (floats(100), floats(100)))
    assert "the first at index (96,)" in finding.message and "round it up" in finding.message
    planted("tile_as_tile", (7,), lambda: (floats(100), floats(100)))


def test_grid_larger_than_needed(planted):
    planted("tile_as_tile", (9,), lambda: (floats(100), floats(100)))


@ct.kernel
def half_the_rows(x, y):
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (8, 16)))  # BUG: CTS701


@ct.kernel
def all_rows(x, y):
    ct.store(y, (ct.bid(0), 0), ct.load(x, (ct.bid(0), 0), (8, 16)))


@pytest.mark.parametrize(("name", "blocks"), [("half_the_rows", 4), ("all_rows", 8)])
def test_grid_smaller_than_the_tiles(planted, name, blocks):
    planted(name, (blocks,), lambda: (floats(64, 16), floats(64, 16)))


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


def test_tiles_left_out(planted):
    planted("even_tiles", (8,), lambda: (floats(128), floats(128)))
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


@pytest.mark.parametrize(("name", "n"), [("clipped", 112), ("clipped_padding", 100)])
def test_clipped_output(planted, name, n):
    planted(name, (7,), lambda: (floats(n), floats(100)))


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
