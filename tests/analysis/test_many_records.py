"""Records that differ only in where they begin are counted together, as if each were looked at."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_traces import Group, Row, Window, launch_of, touched

from cutile_sim.analysis import NEVER, compare_blocks, coverage, first_touches, tiles_of, touches, who
from cutile_sim.analysis.launch_footprints import found_footprints
from cutile_sim.traces import LaunchTrace, reader

SHAPE, STRIDES, GRID = (12, 20), (20, 1), (4, 3, 1)
Made = tuple[LaunchTrace, list[Row]]


def single(x: int, y: int) -> Group:
    return Group((1, 1, 1), [[0], [y], [x]])


def product_of_tiles(turns: int = 5) -> Made:
    """Blocks one by one, each in a loop along the rows of tiles; then stores of all of them, in two groups."""
    rows = []
    for y in range(3):
        for x in range(4):
            for k in range(turns):
                rows.append(Row("load", single(x, y), [Window((1, 1, 1, 4, 4), (0, 0, 0, 20, 1), 80 * y + 4 * k)]))
    for first in (0, 2):
        group = Group((1, 3, 2), [[0], [0, 1, 2], [first, first + 1]])
        rows.append(Row("store", group, [Window((1, 3, 2, 4, 4), (0, 80, 4, 20, 1), 4 * first)]))
    return launch_of([(SHAPE, STRIDES)], rows, GRID, chunk_rows=16), rows


@st.composite
def uneven(draw: Any) -> Made:
    """Tiles on a lattice with holes, some again; by single blocks, by boxes and by lists of them; and single lanes."""
    rows = []
    for _ in range(draw(st.integers(4, 30))):
        x, y = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        groups = single(x, y), Group((1, 1, 2), [[0], [y], [x, x + 1]]), Group((1, 1, 2), [(x, y, 0), (3, 1, 0)], False)
        group = draw(st.sampled_from(groups))
        kind = draw(st.sampled_from(["load", "store", "atomic"]))
        offset = 40 * draw(st.integers(0, 4)) + 3 * draw(st.integers(0, 4))
        if draw(st.integers(0, 3)):
            access = Window((*group.shape, 2, 3), (0, 0, 20, 20, 1), offset)
        else:
            lanes = np.array([0, 5, draw(st.integers(0, 260))], np.int32).reshape(1, 1, 1, 3)
            mask = np.array([True, True, False]).reshape(lanes.shape) if draw(st.booleans()) else None
            access = Window(lanes.shape, lanes=lanes, mask=mask, offset=offset)
        rows.append(Row(kind, group, [access]))
    return launch_of([(SHAPE, STRIDES)], rows, GRID, chunk_rows=draw(st.sampled_from([3, 100]))), rows


def check(made: LaunchTrace, rows: list[Row]) -> None:
    size = int(np.prod(SHAPE))
    counts = {kind: np.zeros(size, int) for kind in ("load", "store", "atomic")}
    writers: dict[int, set[Any]] = defaultdict(set)
    first = np.full(size, NEVER)
    visits: list[Counter[Any]] = []
    for number, row in enumerate(rows):
        lanes = [(block, e) for one in row.accesses for block, e in touched(row, one, 4) if 0 <= e < size]
        visits.append(Counter(lanes))
        for block, element in lanes:
            counts[row.kind][element] += 1
            first[element] = min(first[element], number)
            if row.kind == "store":
                writers[element].add(block)
    got = touches(made, "a")
    for kind, found in (("load", got.loads), ("store", got.stores), ("atomic", got.updates)):
        np.testing.assert_array_equal(found.reshape(-1), counts[kind])
    covered = coverage(made, "a")
    np.testing.assert_array_equal(covered.unwritten.reshape(-1), counts["store"] + counts["atomic"] == 0)
    np.testing.assert_array_equal(covered.several.reshape(-1), [len(writers[e]) > 1 for e in range(size)])
    np.testing.assert_array_equal(first_touches(made, "a").reshape(-1), first)
    cells = first.reshape(3, 4, 4, 5).min(axis=(1, 3))
    np.testing.assert_array_equal(first_touches(made, "a", bins=(3, 4)), cells)
    for element in (0, 45, 130):
        by_record = [(t.record, set(t.blocks)) for t in who(made, "a", divmod(element, 20), at_most=1000).touches]
        want = [(n, {b for b, e in visit if e == element}) for n, visit in enumerate(visits)]
        assert by_record == [(n, blocks) for n, blocks in want if blocks]
    for block in ((0, 0, 0), (1, 1, 0), (3, 1, 0)):
        lanes_of = [(n, sum(c for (b, _), c in visit.items() if b == block)) for n, visit in enumerate(visits)]
        assert [(t.record, t.elements) for t in tiles_of(made, block)] == [(n, c) for n, c in lanes_of if c]
    compared = compare_blocks(made, (1, 1), (3, 1))
    for entry in compared.arrays:
        a, b = (
            {e for n, visit in enumerate(visits) if rows[n].kind == entry.kind for at, e in visit if at == block}
            for block in ((1, 1, 0), (3, 1, 0))
        )
        assert (entry.only_a, entry.only_b, entry.both) == (len(a - b), len(b - a), len(a & b))


def test_a_product_of_tiles() -> None:
    made, rows = product_of_tiles()
    check(made, rows)
    for numbered, most in (("", 3), ("blocks", 3), ("records", 5)):
        assert len(list(found_footprints(made, "a", ("load", "store"), numbered=numbered))) <= most


@settings(max_examples=40)
@given(uneven())
def test_uneven_tiles(case: Made) -> None:
    check(*case)


def test_chunks_that_do_not_all_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "KEPT_BYTES", 1)
    made, rows = product_of_tiles()
    check(made, rows)
    last = len(rows) - 1
    assert [record.number for record in made.records_at([last, 3])] == [last, 3]
