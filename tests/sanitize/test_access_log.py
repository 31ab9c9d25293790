"""Which accesses meet. The oracle keeps a set of readers and writers for each element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cutile_sim import simulate
from cutile_sim.sanitize import SanitizeOptions, access_log

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

ONLY_RACES = SanitizeOptions(checks=("races",))


@ct.kernel
def moves(source, target, where_from, where_to):
    i = ct.load(where_from, (ct.bid(0),), (4,))
    o = ct.load(where_to, (ct.bid(0),), (4,))
    ct.scatter(target, o, ct.gather(source, i) + 1 + ct.bid(0))


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 31), min_size=16, max_size=16),
    st.lists(st.integers(0, 31), min_size=16, max_size=16),
    st.booleans(),
    st.sampled_from([None, 1, 2]),
)
@example([0] * 8 + [1] * 8, [1] * 4 + [0] * 4 + [3] * 4 + [2] * 4, True, None)  # read by two blocks in one access
def test_scattered_accesses(frm: list[int], to: list[int], in_place: bool, blocks: int | None) -> None:
    source = np.arange(100, 132, dtype=np.int32)
    target = source if in_place else np.zeros(32, np.int32)
    i, o = np.array(frm, np.int32), np.array(to, np.int32)
    found = {
        f.id
        for f in simulate(moves, 4, source, target, i, o, sanitize=ONLY_RACES, batch_blocks=blocks).findings
        if f.id.startswith("CTS2")
    }
    read = {b: set(i[4 * b : 4 * b + 4].tolist()) for b in range(4)}
    written = {b: set(o[4 * b : 4 * b + 4].tolist()) for b in range(4)}
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    # Values differ by block and place, so two writers differ but by chance: then either answer is right.
    may_write_write = any(written[a] & written[b] for a, b in pairs)
    read_write = in_place and any(read[a] & written[b] for a, b in pairs)
    assert not ("CTS201" in found and not may_write_write)
    assert not ("CTS202" in found and not read_write)
    if read_write or (may_write_write and not in_place and len(set(frm)) == 16):
        assert found


@ct.kernel
def overlapping_tiles(x, y):
    v = y.tiled_view((8,), traversal_steps=(4,))
    v.store((ct.bid(0),), ct.load(x, (ct.bid(0),), (8,)))


@ct.kernel
def touching_tiles(x, y):
    v = y.tiled_view((8,), traversal_steps=(8,))
    v.store((ct.bid(0),), ct.load(x, (ct.bid(0),), (8,)))


@pytest.mark.parametrize("blocks", [None, 1])
def test_overlapping_tiles(blocks: int | None) -> None:
    def found(kernel, n):
        x, y = np.arange(32, dtype=np.float32), np.zeros(n, np.float32)
        return [f.id for f in simulate(kernel, 4, x, y, sanitize=ONLY_RACES, batch_blocks=blocks).findings]

    assert found(overlapping_tiles, 20) == ["CTS201"]
    assert found(touching_tiles, 32) == []


@ct.kernel
def columns(x, y):
    """Blocks in two directions, whose tiles interleave in memory."""
    i = (ct.bid(0), ct.bid(1))
    ct.store(y, i, ct.load(x, i, (4, 8)) + ct.load(y, i, (4, 8)))


@pytest.mark.parametrize("blocks", [None, 1, 2, 3])
def test_interleaved_tiles(blocks: int | None) -> None:
    x, y = np.ones((12, 24), np.float32), np.zeros((12, 24), np.float32)
    assert simulate(columns, (3, 3), x, y, sanitize=True, batch_blocks=blocks).findings == ()


@ct.kernel
def updated_past_the_end(x, index):
    i = ct.load(index, (ct.bid(0),), (8,))
    ct.scatter(x, i, ct.gather(x, i, check_bounds=False) + 1, check_bounds=False)
    ct.scatter(x, i, ct.gather(x, i, check_bounds=False) + 1, check_bounds=False)


@pytest.mark.parametrize("blocks", [None, 1])
def test_lanes_outside_do_not_meet(blocks: int | None) -> None:
    index = np.arange(40, dtype=np.int32)[::-1].copy() - 4
    x = np.zeros(24, np.float32)
    found = simulate(updated_past_the_end, 5, x, index, sanitize=True, batch_blocks=blocks).findings
    assert {f.id for f in found} == {"CTS101"}
    np.testing.assert_array_equal(x, 2)


@ct.kernel
def shuffled(x, index, y):
    ct.scatter(y, ct.load(index, (ct.bid(0),), (16,)), ct.gather(x, ct.load(index, (ct.bid(0),), (16,))))


@pytest.mark.parametrize("blocks", [None, 1, 3])
def test_little_room(monkeypatch: pytest.MonkeyPatch, blocks: int | None) -> None:
    """Lanes that nobody writes are let go where there are many of them."""
    monkeypatch.setattr(access_log, "KEPT_BYTES", 64)
    index = np.random.default_rng(0).permutation(64).astype(np.int32)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    assert simulate(shuffled, 4, x, index, y, sanitize=True, batch_blocks=blocks).findings == ()
    np.testing.assert_array_equal(x, y)


@ct.kernel
def lanes_of_two_widths(wide, narrow, wide_at, narrow_at, y):
    b = ct.bid(0)
    value = (b + 1).astype(ct.int64) * 4294967297
    ct.scatter(wide, ct.load(wide_at, (b,), (2,)), ct.full((2,), value, ct.int64))
    ct.store(y, (b,), ct.gather(narrow, ct.load(narrow_at, (b,), (2,))))


@ct.kernel
def tiles_of_two_widths(wide, narrow, wide_at, narrow_at, y):
    b = ct.bid(0)
    value = (b + 1).astype(ct.int64) * 4294967297
    for i in range(2):
        ct.store(wide, (ct.gather(wide_at, 2 * b + i),), ct.full((1,), value, ct.int64))
    for i in range(2):
        ct.store(y, (2 * b + i,), ct.load(narrow, (ct.gather(narrow_at, 2 * b + i),), (1,)))


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 7), min_size=8, max_size=8),
    st.lists(st.integers(0, 15), min_size=8, max_size=8),
    st.sampled_from([lanes_of_two_widths, tiles_of_two_widths]),
    st.sampled_from([None, 1, 2]),
)
@example([0, 1, 2, 3, 4, 5, 6, 7], [3, 3, 4, 5, 8, 9, 12, 13], tiles_of_two_widths, 1)  # only an upper half is shared
@example([0, 1, 2, 3, 4, 5, 6, 7], [3, 3, 4, 5, 8, 9, 12, 13], lanes_of_two_widths, None)
@example([0] * 8, [2, 2, 2, 2, 2, 2, 0, 0], lanes_of_two_widths, None)
def test_elements_of_two_widths(wide_at: list[int], narrow_at: list[int], kernel, blocks: int | None) -> None:
    """One array as int64 and as int32: a wide element meets both of the narrow ones in its place."""
    narrow = np.zeros(16, np.int32)
    w, n, y = np.array(wide_at, np.int32), np.array(narrow_at, np.int32), np.zeros(8, np.int32)
    result = simulate(
        kernel, 4, narrow.view(np.int64), narrow, w, n, y, sanitize=ONLY_RACES, batch_blocks=blocks
    )  # fmt: skip
    found = {f.id for f in result.findings if f.id.startswith("CTS2")}
    written = {b: {2 * i + half for i in w[2 * b : 2 * b + 2].tolist() for half in (0, 1)} for b in range(4)}
    read = {b: set(n[2 * b : 2 * b + 2].tolist()) for b in range(4)}
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    assert ("CTS201" in found) == any(written[a] & written[b] for a, b in pairs)
    # Of several writers the last is known: who reads its own value may not hear of the one before, but CTS201 does.
    by_one = {i for b in range(4) for i in written[b] if sum(i in written[c] for c in range(4)) == 1}
    assert "CTS202" in found or not any(written[a] & read[b] & by_one for a, b in pairs)
    assert "CTS202" not in found or any(written[a] & read[b] for a, b in pairs)
