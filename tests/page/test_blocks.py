"""What the page is told of blocks and records, against counting lane by lane."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from page_answers import touches, unpack
from synthetic_traces import Group, Row, Window, launch_of

from cutile_sim.errors import UsageError
from cutile_sim.page import blocks, records
from cutile_sim.traces import Trace

Ask = Callable[..., dict[str, Any]]


def covered(shape: tuple[int, ...], touch: dict[str, Any]) -> set[int]:
    """Numbers of the elements that an entry of an answer names."""
    if "lanes" in touch:
        return {int(n) for n in unpack(touch["lanes"])}
    whole = np.arange(int(np.prod(shape))).reshape(shape)
    return set(whole[tuple(slice(a, b) for a, b in touch["box"])].ravel().tolist())


def test_the_grid(synthetic: Trace, ask: Ask) -> None:
    launch = synthetic.launches[0]
    got = ask(synthetic, "blocks", launch=0, z=0)
    records: Counter[Any] = Counter()
    first: dict[Any, int] = {}
    for record in launch.records():
        for block in map(tuple, record.group.blocks.tolist()):
            records[block] += 1
            first.setdefault(block, record.number)
    moved = Counter(t[3] for name in "ab" for t in touches(launch, name))
    order = [(x, y, 0) for y in range(2) for x in range(3)]
    assert got["blocks"] == 6
    assert unpack(got["records"]["values"]).tolist() == [records[b] for b in order]
    assert unpack(got["first"]["values"]).tolist() == [first.get(b, -1) for b in order]
    assert unpack(got["bytes"]["values"]).tolist() == [4 * moved[b] for b in order]
    assert got["bytes"]["most"] == 4 * max(moved.values())


def test_layers_of_the_grid(ask: Ask) -> None:
    group = Group((2, 1, 2), [[0, 2], [1], [0, 1]])
    made = launch_of([((8,), (1,))], [Row("load", group, [Window((2, 1, 2, 2), (4, 0, 2, 1))])], (2, 2, 3)).trace
    for z, want in enumerate(([0, 0, 8, 8], [0, 0, 0, 0], [0, 0, 8, 8])):
        assert unpack(ask(made, "blocks", launch=0, z=z)["bytes"]["values"]).tolist() == want


def test_blocks_one_by_one(ask: Ask) -> None:
    """Some in a loop, some with a tile that is none of theirs, on two layers."""
    rows = []
    for x, y, z in ((0, 0, 0), (1, 0, 0), (1, 1, 1), (0, 1, 0)):
        one = Group((1, 1, 1), [[z], [y], [x]])
        rows += [Row("load", one, [Window((1, 1, 1, 2), (0, 0, 0, 1), offset=k)]) for k in range(1 + 2 * x)]
    mask = np.array([True, False, True]).reshape(1, 1, 1, 3)
    rows.append(Row("store", one, [Window(mask.shape, lanes=mask.astype(np.int32), mask=mask)]))
    made = launch_of([((18,), (1,))], rows, (2, 2, 2), chunk_rows=3).trace
    lower, upper = (ask(made, "blocks", launch=0, z=z) for z in (0, 1))
    assert unpack(lower["records"]["values"]).tolist() == [1, 3, 2, 0]
    assert unpack(lower["bytes"]["values"]).tolist() == [8, 24, 16, 0]
    assert unpack(lower["first"]["values"]).tolist() == [0, 1, 7, -1]
    assert unpack(upper["records"]["values"]).tolist() == [0, 0, 0, 3]
    assert unpack(upper["first"]["values"]).tolist() == [-1, -1, -1, 4]


def test_lanes_of_several_elements(ask: Ask) -> None:
    """All elements are named, not the first of each lane."""
    lanes = np.array([3, 0], np.int32).reshape(1, 1, 1, 2)
    one = Group((1, 1, 1), [[0], [0], [0]])
    made = launch_of([((8,), (1,))], [Row("load", one, [Window(lanes.shape, lanes=lanes, unit_bytes=8)])], (1, 1, 1))
    for found in (ask(made.trace, "block", launch=0, block=(0, 0, 0)), ask(made.trace, "record", launch=0, record=0)):
        (touch,) = found["touches"]
        assert covered((8,), touch) == {0, 1, 6, 7}


def test_a_grid_too_large_to_show(ask: Ask) -> None:
    made = launch_of([], [], (1 << 16, 1 << 10, 1)).trace
    with pytest.raises(UsageError, match="67,108,864 blocks is too large"):
        ask(made, "blocks", launch=0, z=0)


def test_each_block(synthetic: Trace, ask: Ask) -> None:
    launch = synthetic.launches[0]
    every = [(name, *t) for name in "ab" for t in touches(launch, name)]
    for x in range(3):
        for y in range(2):
            got = ask(synthetic, "block", launch=0, block=(x, y, 0))
            mine = [t for t in every if t[4] == (x, y, 0)]
            found = {
                (launch.arrays[t["array"]].name, t["record"], t["kind"], element)
                for t in got["touches"]
                for element in covered(launch.arrays[t["array"]].shape, t)
            }
            assert found == {(name, record, kind, element) for name, record, kind, _, _, element in mine}
            lanes = Counter(t[2] for t in mine)
            assert got["bytes_loaded"] == 4 * (lanes["load"] + lanes["atomic"])
            assert got["bytes_stored"] == 4 * (lanes["store"] + lanes["atomic"])


def test_a_block_with_very_many_accesses(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "TOUCHES", 3)
    one = Group((1, 1, 1), [[0], [0], [0]])
    made = launch_of([((8,), (1,))], [Row("load", one, [Window((1, 1, 1, 2), (0, 0, 0, 1))])] * 5, (1, 1, 1)).trace
    got = ask(made, "block", launch=0, block=(0, 0, 0))
    assert (len(got["touches"]), got["total"], got["is_cut"]) == (3, 3, True)


def test_each_record(synthetic: Trace, ask: Ask) -> None:
    launch = synthetic.launches[0]
    every = [(name, *t) for name in "ab" for t in touches(launch, name)]
    for record in launch.records():
        got = ask(synthetic, "record", launch=0, record=record.number)
        found = {
            (launch.arrays[t["array"]].name, element)
            for t in got["touches"]
            for element in covered(launch.arrays[t["array"]].shape, t)
        }
        assert found == {(name, element) for name, number, *_, element in every if number == record.number}
        assert (got["op"], got["blocks"]) == (record.op.number, record.group.size)
        assert (got["first"], got["last"]) == (record.group.blocks[0].tolist(), record.group.blocks[-1].tolist())
        assert got["tiles"] == []


def test_a_record_of_very_many_windows(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours share a box: nothing is missing."""
    monkeypatch.setattr(records, "TOUCHES", 4)
    group = Group((1, 1, 9), [[0], [0], list(range(9))])
    made = launch_of([((18,), (1,))], [Row("load", group, [Window((1, 1, 9, 2), (0, 0, 2, 1))])], (9, 1, 1)).trace
    got = ask(made, "record", launch=0, record=0)
    assert len(got["touches"]) == 4
    assert set().union(*(covered((18,), t) for t in got["touches"])) == set(range(18))


def test_a_window_that_is_no_box(ask: Ask) -> None:
    """Five lanes in a row of memory that go over the end of a row of the array."""
    group = Group((1, 1, 2), [[0], [0], [0, 1]])
    made = launch_of(
        [((6, 8), (8, 1))], [Row("load", group, [Window((1, 1, 2, 5), (0, 0, 9, 1), offset=6)])], (2, 1, 1)
    ).trace
    (touch,) = ask(made, "record", launch=0, record=0)["touches"]
    assert covered((6, 8), touch) == {6, 7, 8, 9, 10, 15, 16, 17, 18, 19} and touch["box"] == []
    assert ask(made, "cuts", launch=0, array=0) == {"cuts": [[], []]}


def test_where_tiles_begin_and_end(synthetic: Trace, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = synthetic.launches[0]
    ends: list[set[int]] = [set(), set()]
    for record in launch.records(names=("a",)):
        for _, _, box in record.boxes():
            for axis, pair in enumerate(box):
                ends[axis].update(pair)
    assert ask(synthetic, "cuts", launch=0, array=0) == {"cuts": [sorted(e) for e in ends]}
    monkeypatch.setattr(records, "TOUCHES", 4)
    group = Group((1, 1, 9), [[0], [0], list(range(9))])
    rows = [Row("load", group, [Window((1, 1, 9, 2), (0, 0, 2, 1))])]
    many = launch_of([((18,), (1,))], rows, (9, 1, 1)).trace
    assert ask(many, "cuts", launch=0, array=0) == {"cuts": [{"first": 0, "step": 2, "count": 10}]}
    rows.append(Row("load", group, [Window((1, 1, 9, 1), (0, 0, 1, 1), offset=5)]))
    uneven = launch_of([((18,), (1,))], rows, (9, 1, 1)).trace
    assert ask(uneven, "cuts", launch=0, array=0) == {"cuts": [[]]}


def test_two_blocks_compared(synthetic: Trace, ask: Ask) -> None:
    launch = synthetic.launches[0]
    got = ask(synthetic, "compare", launch=0, a=(0, 0, 0), b=(0, 1, 0))
    for entry in got["arrays"]:
        one, other = (
            {t[4] for t in touches(launch, entry["array"]) if t[1] == entry["kind"] and t[3] == block}
            for block in ((0, 0, 0), (0, 1, 0))
        )
        assert (entry["only_a"], entry["only_b"], entry["both"]) == (
            len(one - other),
            len(other - one),
            len(one & other),
        )
    ran: list[Counter[int]] = [Counter(), Counter()]
    for record in launch.records():
        for count, block in zip(ran, ([0, 0, 0], [0, 1, 0]), strict=True):
            count[record.op.location.line] += block in record.group.blocks.tolist()
    want = [(line, ran[0][line], ran[1][line]) for line in (1, 2, 3) if ran[0][line] != ran[1][line]]
    assert [(at["line"], at["a"], at["b"]) for at in got["lines"]] == want
