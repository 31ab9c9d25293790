"""Where tiles lie in memory: the cheapest form that fits, and the same lanes in each."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import I32
from cutile_sim.engine.values import TensorView, TileView
from cutile_sim.errors import MisalignedError, OutOfBoundsError
from cutile_sim.memory.access import LaneFault
from cutile_sim.memory.space import AddressSpace, Extent
from cutile_sim.ops.locate import locate
from cutile_sim.ops.windows import Edge, Lanes, Window
from cutile_sim.tileir.types import PaddingValue, PartitionViewType, StridedViewType, TensorViewType


class Memory:
    """A two-dimensional array in simulated memory whose elements are 0, 1, 2, ..."""

    def __init__(self, rows: int, columns: int) -> None:
        self.space = AddressSpace()
        self.values = np.arange(rows * columns, dtype=np.int32)
        self.shape = (rows, columns)
        allocation = self.space.place(self.values.view(np.uint8), "x")
        allocation.extents.append(Extent("x", 0, self.values.nbytes, self.shape, (columns, 1), 4, writeable=True))
        self.base = allocation.address

    def view(self, tile: tuple[int, int], steps: tuple[int, int] | None = None, base: object = None) -> TileView:
        columns = self.shape[1]
        tensor = TensorView(self.base if base is None else base, self.shape, (columns, 1), I32)  # type: ignore[arg-type]
        kind = TensorViewType(I32, (None, None), (None, 1))
        if steps is None:
            return TileView(tensor, PartitionViewType(tile, kind, (0, 1), PaddingValue.ZERO))
        return TileView(tensor, StridedViewType(tile, steps, kind, (0, 1), PaddingValue.ZERO))

    def lanes_of(self, place: Window | Edge | Lanes, shape: tuple[int, ...]) -> np.ndarray:
        """The element that each lane names, -1 outside the array."""
        if isinstance(place, Window):
            return place.read().copy()
        if isinstance(place, Edge):
            out = np.full(place.shape, -1, np.int32)
            for target, part in place.parts:
                out[target] = part.read()
            return out
        elements = (place.addresses - self.base) // 4
        return elements if place.valid is None else np.where(place.valid, elements, -1)


def along(axis: int, *values: int) -> np.ndarray:
    """An index that depends on one batch axis."""
    shape = [1, 1, 1]
    shape[axis] = len(values)
    return np.array(values, np.int32).reshape(shape)


def naive(memory: Memory, tile: tuple[int, int], steps: tuple[int, int], index: tuple[np.ndarray, ...]) -> np.ndarray:
    batch = np.broadcast_shapes(*(i.shape for i in index))
    rows, columns = (np.broadcast_to(i, batch) for i in index)
    out = np.full((*batch, *tile), -1, np.int64)
    for block in np.ndindex(batch):
        for lane in itertools.product(range(tile[0]), range(tile[1])):
            r, c = rows[block] * steps[0] + lane[0], columns[block] * steps[1] + lane[1]
            if rows[block] >= 0 and columns[block] >= 0 and r < memory.shape[0] and c < memory.shape[1]:
                out[(*block, *lane)] = r * memory.shape[1] + c
    return out


X, Y = 2, 1


@pytest.mark.parametrize(
    ("index", "form"),
    [
        ((along(Y, 0, 1), along(X, 0, 1, 2)), Window),
        ((along(X, 1, 0), along(X, 2, 1)), Window),
        ((along(X, 1), along(X, 1)), Window),
        ((along(X, 0, 1), along(X, 0, 1)), Window),
        ((along(Y, 0, 1, 2), along(X, 0, 1, 2, 3)), Edge),
        ((along(X, 7, 8, 9), along(X, 0)), Edge),
        ((along(X, 0, 2, 1), along(X, 0)), Lanes),
        ((along(X, -1, 0), along(X, 0)), Lanes),
        ((along(X, 0, 1, 2, 3), along(X, 0, 1, 2, 3)), Lanes),
    ],
)
def test_cheapest_form(index, form):
    memory = Memory(11, 14)
    place = locate(memory.space, memory.view((4, 4)), index, (False, False), "load")
    assert type(place) is form
    expected = naive(memory, (4, 4), (4, 4), index)
    np.testing.assert_array_equal(np.broadcast_to(memory.lanes_of(place, expected.shape), expected.shape), expected)


@st.composite
def indices(draw):
    if draw(st.booleans()):
        first, step, n = draw(st.integers(-1, 3)), draw(st.integers(-1, 2)), draw(st.integers(1, 4))
        values = [first + step * i for i in range(n)]
    else:
        values = draw(st.lists(st.integers(-2, 5), min_size=1, max_size=4))
    return along(draw(st.integers(0, 2)), *values)


@settings(max_examples=150)
@given(
    rows=st.integers(1, 12),
    columns=st.integers(1, 12),
    tile=st.tuples(st.sampled_from((1, 2, 4)), st.sampled_from((1, 2, 8))),
    steps=st.one_of(st.none(), st.tuples(st.integers(1, 5), st.integers(1, 5))),
    index=st.tuples(indices(), indices()),
)
def test_same_lanes_as_counted_one_by_one(rows, columns, tile, steps, index):
    shapes = [i.shape for i in index]
    if any(len({s[a] for s in shapes} - {1}) > 1 for a in range(3)):
        return
    memory = Memory(rows, columns)
    place = locate(memory.space, memory.view(tile, steps), index, (False, False), "load")
    expected = naive(memory, tile, steps or tile, index)
    np.testing.assert_array_equal(np.broadcast_to(memory.lanes_of(place, expected.shape), expected.shape), expected)


def test_promise_to_stay_inside():
    memory = Memory(11, 14)
    index = (along(X, 0, 2), along(X, 1, 1))
    with pytest.raises(LaneFault, match="load at element 11 of dimension 0, which has 11") as caught:
        locate(memory.space, memory.view((4, 4)), index, (True, True), "load")
    assert (caught.value.error_class, caught.value.position[:3]) == (OutOfBoundsError, (0, 0, 1))
    assert caught.value.position[3] == 3
    place = locate(memory.space, memory.view((4, 4)), index, (False, True), "load")
    np.testing.assert_array_equal(memory.lanes_of(place, ()), naive(memory, (4, 4), (4, 4), index))


def test_view_beyond_its_memory_and_misaligned_view():
    memory = Memory(4, 4)
    long_view = memory.view((2, 4))
    tensor = long_view.tensor
    too_long = TileView(TensorView(tensor.base, (9, 4), tensor.strides_elems, I32), long_view.type)
    with pytest.raises(LaneFault, match=r"store outside memory: array 'x' of shape 4x4, index \(4, 0\)") as caught:
        locate(memory.space, too_long, (along(X, 1, 2), along(X, 0)), (False, False), "store")
    assert (caught.value.error_class, caught.value.position) == (OutOfBoundsError, (0, 0, 1, 0, 0))
    with pytest.raises(LaneFault, match="not aligned to 4 bytes") as caught:
        locate(memory.space, memory.view((2, 2), base=memory.base + 2), (along(X, 0), along(X, 0)), (), "load")
    assert caught.value.error_class is MisalignedError


def test_window_of_a_store_that_several_blocks_share_keeps_the_last():
    memory = Memory(4, 4)
    place = locate(
        memory.space, memory.view((2, 2)), (along(X, 1), along(X, 0)), (False, False), "store", batch=(1, 1, 3)
    )
    assert isinstance(place, Window) and place.shape == (1, 1, 3, 2, 2)
    stored = np.arange(100, 112, dtype=np.int32).reshape(1, 1, 3, 2, 2)
    assert place.write(stored) == 3 * 16
    assert memory.values.reshape(4, 4)[2:, :2].tolist() == [[108, 109], [110, 111]]
