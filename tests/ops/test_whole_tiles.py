"""Tiles at places of each block's own, against NumPy's slices."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim import simulate
from cutile_sim.errors import ReadOnlyError
from cutile_sim.ops import whole_tiles
from cutile_sim.ops.whole_tiles import WholeTiles

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")
Int = ct.Constant[int]


@ct.kernel
def move(x, y, sources, targets, m: Int, n: Int):
    b = ct.bid(0)
    at, to = ct.gather(sources, b), ct.gather(targets, b)
    ct.store(y, (to, 1), ct.load(x, (at, at), (m, n)))


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[WholeTiles]:
    """The whole tiles that were read."""
    seen: list[WholeTiles] = []
    read = WholeTiles.read

    def note(tiles: WholeTiles) -> np.ndarray:
        seen.append(tiles)
        return read(tiles)

    monkeypatch.setattr(whole_tiles.WholeTiles, "read", note)
    return seen


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8])
def test_each_block_moves_a_tile_of_its_own(dtype: type, turned: bool, taken: list[WholeTiles]) -> None:
    x = np.arange(40 * 64).reshape(40, 64).astype(dtype)
    if turned:
        x = np.asfortranarray(x)
    wide = np.zeros((45, 50), dtype)
    y = wide[3:, 5:]
    sources, targets = np.array([3, 0, 2, 0, 1], np.int32), np.array([1, 4, 0, 3, 2], np.int32)
    simulate(move, 5, x, y, sources, targets, 8, 16)
    want = np.zeros_like(y)
    for source, target in zip(sources, targets, strict=True):
        want[8 * target : 8 * target + 8, 16:32] = x[8 * source : 8 * source + 8, 16 * source : 16 * source + 16]
    np.testing.assert_array_equal(y, want)
    assert not wide[:3].any() and not wide[:, :5].any()
    assert taken


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_blocks_that_load_the_same_tile(dtype: type, taken: list[WholeTiles]) -> None:
    x = np.random.default_rng(3).standard_normal((40, 64)).astype(dtype)
    x[20, 40] = np.nan
    y = np.zeros((64, 64), dtype)
    sources = np.array([3, 0, 3, 0, 2, 2, 3, 0], np.int32)
    simulate(move, 8, x, y, sources, np.arange(8, dtype=np.int32), 8, 16)
    for target, source in enumerate(sources):
        want = x[8 * source : 8 * source + 8, 16 * source : 16 * source + 16]
        np.testing.assert_array_equal(y[8 * target : 8 * target + 8, 16:32], want)
    assert taken


def test_the_last_block_stays_where_several_store_one_tile(taken: list[WholeTiles]) -> None:
    x = np.repeat(np.arange(4, dtype=np.float32), 8)[:, None] * np.ones(64, np.float32)
    y = np.zeros((32, 64), np.float32)
    simulate(move, 4, x, y, np.array([3, 1, 0, 2], np.int32), np.array([2, 0, 2, 0], np.int32), 8, 16)
    assert (y[16:24, 16:32] == 0).all() and (y[:8, 16:32] == 2).all() and taken


def test_tiles_over_the_edge_are_padded_lane_by_lane(taken: list[WholeTiles]) -> None:
    x, y = np.ones((20, 40), np.float32), np.full((32, 40), 7, np.float32)
    simulate(move, 3, x, y, np.array([0, 2, 1], np.int32), np.array([0, 2, 3], np.int32), 8, 16, undetermined="zero")
    assert not taken
    np.testing.assert_array_equal(y[16:24, 16:32], np.pad(np.ones((4, 8), np.float32), ((0, 4), (0, 8))))


def test_arrays_that_may_not_be_written() -> None:
    y = np.zeros((32, 64), np.float32)
    y.flags.writeable = False
    numbers = np.array([0, 2, 1], np.int32)
    with pytest.raises(ReadOnlyError, match="read-only"):
        simulate(move, 3, np.ones((32, 64), np.float32), y, numbers, numbers, 8, 16)
