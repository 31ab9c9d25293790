"""Counts are what enumerating every lane of every block gives."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_traces import Group, Row, Window, launch_of, touched

from cutile_sim.analysis import compare_blocks, coverage, tile_map, touches, who
from cutile_sim.analysis.spaces import nested_axes
from cutile_sim.errors import UsageError
from cutile_sim.traces import LaunchTrace

GRID = (6, 5, 4)
NAMES = {"load": "loads", "store": "stores", "atomic": "updates"}
small = st.integers(1, 4)


@st.composite
def array(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides: axes in any order with gaps between them, or strides that overlap or are 0."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=0, max_size=3)))
    if draw(st.booleans()):
        return shape, tuple(draw(st.integers(0, 7)) for _ in shape)
    strides, reach = [0] * len(shape), 1
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = reach + draw(st.integers(0, 2))
        reach = strides[axis] * shape[axis]
    return shape, tuple(strides)


@st.composite
def group(draw: Any) -> Group:
    if draw(st.booleans()):
        ids = [sorted(draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=3))) for n in reversed(GRID)]
        shape = tuple(map(len, ids))
        found = Group(shape, ids)
    else:
        blocks = draw(st.sets(st.tuples(*(st.integers(0, n - 1) for n in GRID)), min_size=1, max_size=5))
        found = Group((1, 1, len(blocks)), sorted(blocks), is_box=False)
    size = int(np.prod(found.shape))
    if draw(st.integers(0, 3)) == 0:
        found.chosen = sorted(draw(st.sets(st.integers(0, size - 1), min_size=1)))
    return found


@st.composite
def access(draw: Any, blocks: Group, item_bytes: int) -> Window:
    tile = tuple(draw(st.lists(small, min_size=0, max_size=3)))
    unit = draw(st.sampled_from([item_bytes, item_bytes, 2 * item_bytes, max(item_bytes // 2, 1)]))
    offset = draw(st.integers(-4, 30))
    if draw(st.booleans()):
        begin, end = [], []
        for n in blocks.shape:
            first = draw(st.integers(0, n - 1))
            begin.append(first)
            end.append(draw(st.integers(first + 1, n)))
        batch = tuple(draw(st.sampled_from([1, e - b])) for b, e in zip(begin, end, strict=True))
        steps = st.one_of(st.integers(0, 8), st.sampled_from([-3, 12, 24]))
        strides = tuple(draw(steps) for _ in (*batch, *tile))
        return Window((*batch, *tile), strides, offset, tuple(begin), tuple(end), unit)
    if blocks.chosen is None:
        batch = tuple(draw(st.sampled_from([1, n])) for n in blocks.shape)
    else:
        batch = (1, 1, draw(st.sampled_from([1, len(blocks.chosen)])))
    shape = (*batch, *tile)
    seed = draw(st.integers(0, 2**20))
    rng = np.random.default_rng(seed)
    lanes = rng.integers(-3, 40, shape).astype(draw(st.sampled_from([np.int32, np.int64])))
    mask = rng.random(shape) < 0.6 if draw(st.booleans()) else None
    return Window(shape, (), offset, unit_bytes=unit, lanes=lanes, mask=mask)


@st.composite
def launch(draw: Any) -> tuple[Any, list[Row], int, LaunchTrace]:
    shape_strides = draw(array())
    item = draw(st.sampled_from([1, 2, 4]))
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        blocks = draw(group())
        kind = draw(st.sampled_from(list(NAMES)))
        rows.append(Row(kind, blocks, draw(st.lists(access(blocks, item), min_size=1, max_size=2))))
    made = launch_of([shape_strides], rows, GRID, item, chunk_rows=draw(st.sampled_from([1, 2, 100])))
    return shape_strides, rows, item, made


def enumerated(
    rows: list[Row], item: int, wanted: Any = lambda number, block: True
) -> dict[str, Counter[tuple[tuple[int, int, int], int]]]:
    """How often each (block, place) was touched, by kind."""
    found: dict[str, Counter[Any]] = {kind: Counter() for kind in NAMES}
    for number, row in enumerate(rows):
        for one in row.accesses:
            for block, place in touched(row, one, item):
                if wanted(number, block):
                    found[row.kind][block, place] += 1
    return found


def over_elements(shape: tuple[int, ...], strides: tuple[int, ...], of_place: Any, dtype: Any = np.int64) -> np.ndarray:
    values = np.zeros(shape, dtype)
    for index in product(*map(range, shape)):
        values[index] = of_place(sum(i * s for i, s in zip(index, strides, strict=True)))
    return values


def place_counts(found: Counter[Any]) -> Counter[int]:
    total: Counter[int] = Counter()
    for (_, place), n in found.items():
        total[place] += n
    return total


@settings(max_examples=100)
@given(launch())
def test_every_lane_is_counted(case: Any) -> None:
    (shape, strides), rows, item, made = case
    got = touches(made, "a")
    for kind, found in enumerated(rows, item).items():
        counts = place_counts(found)
        np.testing.assert_array_equal(getattr(got, NAMES[kind]), over_elements(shape, strides, counts.__getitem__))


@settings(max_examples=60)
@given(launch(), st.data())
def test_in_bins_of_a_region_between_records_of_some_blocks(case: Any, data: Any) -> None:
    (shape, strides), rows, item, made = case
    region = []
    for n in shape:
        first = data.draw(st.integers(0, n))
        region.append((first, data.draw(st.integers(first, n))))
    bins = tuple(data.draw(st.integers(1, 4)) for _ in shape)
    between = (data.draw(st.integers(0, 3)), data.draw(st.integers(0, 4)))
    x, y = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 2))
    blocks = (f"{x}:{x + 2},{y}", (1, 1, 1))
    lines = data.draw(st.sampled_from([(), (1,), ("k.py:2-3",)]))  # loads; stores and updates
    got = touches(made, "a", region=region, bins=bins, between=between, blocks=blocks, lines=lines)

    def wanted(number: int, block: tuple[int, int, int]) -> bool:
        inside = (x <= block[0] < x + 2 and block[1] == y) or block == (1, 1, 1)
        kinds = {(): tuple(NAMES), (1,): ("load",)}.get(lines, ("store", "atomic"))
        return between[0] <= number < between[1] and inside and rows[number].kind in kinds

    for kind, found in enumerated(rows, item, wanted).items():
        counts = place_counts(found)
        whole = over_elements(shape, strides, counts.__getitem__)
        cells = getattr(got, NAMES[kind])
        for at in np.ndindex(cells.shape):
            part = tuple(slice(e[i], e[i + 1]) for e, i in zip(got.edges, at, strict=True))
            assert cells[at] == whole[part].sum()
    assert all(len(e) - 1 == min(b, end - first) for e, b, (first, end) in zip(got.edges, bins, region, strict=True))
    assert int(got.sizes.sum()) == int(np.prod([end - first for first, end in region]))
    for edges, (first, end) in zip(got.edges, region, strict=True):
        assert edges[0] == first and edges[-1] == (end if len(edges) > 1 else first)


@settings(max_examples=20)
@given(launch(), st.sampled_from(list(NAMES)))
def test_of_one_line(case: Any, kind: str) -> None:
    (shape, strides), rows, item, made = case
    got = touches(made, "a", lines=(f"k.py:{1 + list(NAMES).index(kind)}",))  # one line for each kind
    counts = place_counts(enumerated(rows, item)[kind])
    for name in NAMES.values():
        want = over_elements(shape, strides, counts.__getitem__) if name == NAMES[kind] else np.zeros(shape)
        np.testing.assert_array_equal(getattr(got, name), want)


@settings(max_examples=60)
@given(launch(), st.booleans())
def test_who_wrote_what(case: Any, in_slabs: bool) -> None:
    (shape, strides), rows, item, made = case
    with pytest.MonkeyPatch.context() as patch:
        if in_slabs:
            patch.setattr("cutile_sim.analysis.element_counts.CELLS_AT_ONCE", 3)
        single = coverage(made, "a")
        bins = tuple(2 for _ in shape)
        binned = coverage(made, "a", bins=bins)
        read = coverage(made, "a", kinds=("load",))
    found = enumerated(rows, item)
    read_places = place_counts(found["load"])
    np.testing.assert_array_equal(read.unwritten, over_elements(shape, strides, lambda place: not read_places[place]))
    writers: dict[int, set[Any]] = {}
    stored: dict[int, set[Any]] = {}
    for block, place in (*found["store"], *found["atomic"]):
        writers.setdefault(place, set()).add(block)
    for block, place in found["store"]:
        stored.setdefault(place, set()).add(block)
    readers: dict[int, set[Any]] = {}
    for block, place in found["load"]:
        readers.setdefault(place, set()).add(block)
    read = coverage(made, "a", kinds=("load",))
    np.testing.assert_array_equal(read.unwritten, over_elements(shape, strides, lambda place: place not in readers))
    np.testing.assert_array_equal(
        read.several, over_elements(shape, strides, lambda place: len(readers.get(place, ())) > 1)
    )
    numbers = {p: [x + GRID[0] * (y + GRID[1] * z) for x, y, z in blocks] for p, blocks in writers.items()}
    owners = tile_map(made, "a", kinds=("store", "atomic"))
    for got, pick in ((owners.first, min), (owners.last, max)):
        for axis, edges in enumerate(owners.edges):
            got = np.repeat(got, np.diff(edges), axis=axis)
        np.testing.assert_array_equal(
            got, over_elements(shape, strides, lambda p, pick=pick: pick(numbers.get(p, [-1])))
        )
    unwritten = over_elements(shape, strides, lambda place: place not in writers)
    several = over_elements(shape, strides, lambda place: len(stored.get(place, ())) > 1)
    np.testing.assert_array_equal(single.unwritten, unwritten)
    np.testing.assert_array_equal(single.several, several)
    assert int(binned.unwritten.sum()) == int(unwritten.sum())
    for at in np.ndindex(binned.several.shape):
        part = tuple(slice(e[i], e[i + 1]) for e, i in zip(binned.edges, at, strict=True))
        assert binned.several[at] == several[part].sum() and binned.unwritten[at] == unwritten[part].sum()


@settings(max_examples=60)
@given(launch(), st.data())
def test_who_touched_an_element(case: Any, data: Any) -> None:
    (shape, strides), rows, item, made = case
    index = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    place = sum(i * s for i, s in zip(index, strides, strict=True))
    want = []
    for number, row in enumerate(rows):
        blocks = {b for one in row.accesses for b, p in touched(row, one, item) if p == place}
        if blocks:
            want.append((number, row.kind, blocks))
    got = who(made, "a", index)
    assert [(t.record, t.kind, set(t.blocks)) for t in got.touches] == want
    assert not got.is_cut
    first = who(made, "a", index, at_most=1)
    assert len(first.touches) == min(len(want), 1)
    assert first.is_cut == (sum(len(w[2]) for w in want) > 1)


@settings(max_examples=60)
@given(launch(), st.data())
def test_elements_of_single_blocks(case: Any, data: Any) -> None:
    (shape, strides), rows, item, made = case
    places = set(over_elements(shape, strides, lambda place: place).reshape(-1).tolist())
    span = range(max(places) + 1) if nested_axes(made.arrays[0]) is None else places
    of_blocks = enumerated(rows, item)
    seen = sorted({block for found in of_blocks.values() for block, _ in found})
    a, b = (data.draw(st.sampled_from(seen)) if seen else (0, 0, 0) for _ in range(2))
    want = {}
    for kind, found in of_blocks.items():
        one, other = ({p for block, p in found if block == which and p in span} for which in (a, b))
        if any(block in (a, b) for block, _ in found) and (one or other):
            want[kind] = len(one - other), len(other - one), len(one & other)
    got = {c.kind: (c.only_a, c.only_b, c.both) for c in compare_blocks(made, a, b).arrays}
    # An access that is wholly outside the array is an access, of no element.
    assert {kind: n for kind, n in got.items() if any(n)} == want


def test_an_element_that_nothing_touches() -> None:
    row = Row("load", Group((1, 1, 2), [[0], [0], [0, 1]]), [Window((1, 1, 2, 2), (0, 0, 2, 1))])
    made = launch_of([((6,), (1,)), ((2,), (1,))], [row], (2, 1, 1))
    assert touches(made, "a").loads.tolist() == [1, 1, 1, 1, 0, 0]
    assert touches(made, "b").loads.tolist() == [0, 0]
    assert who(made, "a", (5,)).touches == ()


def test_an_empty_array() -> None:
    made = launch_of([((0, 3), (3, 1))], [], (1, 1, 1))
    assert touches(made, "a").loads.shape == (0, 3)
    assert coverage(made, "a", bins=(4, 2)).unwritten.shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m: touches(m, "z"), "there is no array 'z'; there are a"),
        (lambda m: touches(m, "a", region=[(0, 9)]), r"region \[\(0, 9\)\] is no part of array a of shape 6"),
        (lambda m: touches(m, "a", region=[(0, 1), (0, 1)]), r"give \(first, end\) for each axis"),
        (lambda m: touches(m, "a", bins=(2, 2)), "bins: array a has 1 axes"),
        (lambda m: coverage(m, "a", bins=(0,)), "bins: array a has 1 axes; give a number of at least 1 for each"),
        (lambda m: touches(m, "a", blocks=("x",)), "blocks 'x'"),
        (lambda m: who(m, "a", (6,)), r"array a of shape 6 has no element \(6,\)"),
        (lambda m: who(m, "a", (1, 2)), "has no element"),
    ],
)
def test_what_makes_no_sense(call: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        call(launch_of([((6,), (1,))], [], (1, 1, 1)))


def test_a_huge_array_wants_bins() -> None:
    made = launch_of([((1 << 20, 1 << 12), (1 << 12, 1))], [], (1, 1, 1))
    with pytest.raises(UsageError, match="ask for a smaller region, or for bins"):
        touches(made, "a")
    assert touches(made, "a", bins=(4, 4)).sizes.tolist() == [[1 << 28] * 4] * 4
