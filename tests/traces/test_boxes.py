"""Boxes are around all that is touched, and around no more."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutile_sim.traces.boxes import box_of_elements, box_of_steps
from cutile_sim.traces.model import ArrayInfo


@st.composite
def arrays(draw: st.DrawFn) -> ArrayInfo:
    """Arrays whose axes nest in memory in any order, with gaps."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    strides, step = [0] * len(shape), draw(st.integers(1, 3))
    for axis in draw(st.permutations(range(len(shape)))):
        strides[axis] = step
        step *= shape[axis]
        step += draw(st.integers(0, 4))
    return ArrayInfo(0, "x", "float32", 4, tuple(shape), tuple(strides), True)


def wanted(array: ArrayInfo, touched: set[int]) -> tuple[tuple[int, int], ...] | None:
    indices = [
        index
        for index in product(*map(range, array.shape))
        if sum(i * s for i, s in zip(index, array.strides_elems, strict=True)) in touched
    ]
    if not indices:
        return None
    return tuple((min(axis), max(axis) + 1) for axis in zip(*indices, strict=True))


STEPS = st.lists(st.tuples(st.integers(1, 6), st.integers(-12, 20)), max_size=3)


@given(arrays(), st.lists(st.integers(-5, 120), max_size=4), STEPS)
def test_any_steps(array: ArrayInfo, firsts: list[int], steps: list[tuple[int, int]]) -> None:
    touched = {
        first + sum(at * stride for at, (_, stride) in zip(places, steps, strict=True))
        for first in firsts
        for places in product(*(range(count) for count, _ in steps))
    }
    assert box_of_steps(array, firsts, steps) == wanted(array, touched)
    assert box_of_elements(array, np.array(sorted(touched), np.int64)) == wanted(array, touched)


@given(arrays(), st.data())
def test_tiles(array: ArrayInfo, data: st.DataObject) -> None:
    """Steps along the array's own axes, as tiles make them."""
    spans = [sorted(data.draw(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)))) for n in array.shape]
    first = sum(low * s for (low, _), s in zip(spans, array.strides_elems, strict=True))
    steps = [(high - low + 1, s) for (low, high), s in zip(spans, array.strides_elems, strict=True)]
    assert box_of_steps(array, [first], steps) == tuple((low, high + 1) for low, high in spans)


def test_a_row_that_runs_into_the_next() -> None:
    array = ArrayInfo(0, "x", "float32", 4, (4, 8), (8, 1), True)
    assert box_of_steps(array, [4], [(16, 1)]) == ((0, 3), (0, 8))
    assert box_of_steps(array, [4], [(9, 1)]) == ((0, 2), (0, 8))
    assert box_of_steps(array, [4], [(3, 8)]) == ((0, 3), (4, 5))


@pytest.mark.cutile
def test_lanes_that_are_even_over_rows() -> None:
    ct = pytest.importorskip("cuda.tile")
    from cutile_sim.traces import trace

    @ct.kernel
    def flat(x, y):
        at = ct.arange(16, dtype=ct.int32) + 4
        ct.store(y, (0,), ct.gather(x, (at // 8, at % 8)))

    launch = trace(flat, 1, np.ones((4, 8), np.float32), np.zeros(16, np.float32)).launches[0]
    (record,) = launch.records(names=("x",))
    assert [box for _, _, box in record.boxes()] == [((0, 3), (0, 8))]
