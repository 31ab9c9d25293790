"""Typed access to memory: alignment, bounds over several allocations and views, words for addresses."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim.dtypes import F32, F64, I8, I32
from cutile_sim.errors import MisalignedError, OutOfBoundsError, ReadOnlyError
from cutile_sim.memory.access import (
    NEVER_SET,
    LaneFault,
    check_range,
    check_writeable,
    describe_address,
    gather,
    scatter,
    window,
)
from cutile_sim.memory.space import AddressSpace, Extent


@pytest.fixture
def space() -> AddressSpace:
    return AddressSpace()


def place(space: AddressSpace, values: np.ndarray, *extents: Extent, name: str = "memory"):
    allocation = space.place(values.view(np.uint8).reshape(-1), name)
    allocation.extents.extend(extents)
    return allocation


def lanes(*addresses: int) -> np.ndarray:
    return np.array(addresses, np.int64).reshape(1, 1, 1, -1)


def test_gather_over_several_allocations(space):
    a, b = place(space, np.arange(4, dtype=np.int32)), place(space, np.arange(10, 14, dtype=np.int32))
    addresses = lanes(b.address + 8, a.address, a.address + 12, b.address)
    assert gather(space, addresses, I32, None).ravel().tolist() == [12, 0, 3, 10]
    mask = np.array([True, False, True, False]).reshape(1, 1, 1, 4)
    assert gather(space, addresses, I32, mask).ravel().tolist() == [12, 0, 3, 0]
    assert not gather(space, lanes(0, 1, 2, 3), I32, np.zeros((1, 1, 1, 4), bool)).any()


def test_scatter_over_several_allocations_is_all_or_nothing(space):
    x, y = np.zeros(4, np.int32), np.zeros(4, np.int32)
    a, b = place(space, x), place(space, y)
    values = np.arange(1, 4, dtype=np.int32).reshape(1, 1, 1, 3)
    assert scatter(space, lanes(b.address, a.address + 4, b.address), values, I32, None) == 3
    assert x.tolist() == [0, 2, 0, 0] and y.tolist() == [3, 0, 0, 0]
    with pytest.raises(LaneFault) as caught:
        scatter(space, lanes(a.address, a.address + 8, b.address + 16), values, I32, None)
    assert (caught.value.error_class, caught.value.position) == (OutOfBoundsError, (0, 0, 0, 2))
    assert x.tolist() == [0, 2, 0, 0] and y.tolist() == [3, 0, 0, 0]


def test_misaligned_lane(space):
    a = place(space, np.zeros(4, np.int32), name="spare memory")
    with pytest.raises(LaneFault, match="load of f32 at spare memory at byte 6 is not aligned to 4 bytes") as caught:
        gather(space, lanes(a.address, a.address + 6), F32, None)
    assert (caught.value.error_class, caught.value.position) == (MisalignedError, (0, 0, 0, 1))
    assert gather(space, lanes(a.address + 3), I8, None).ravel().tolist() == [0]
    with pytest.raises(LaneFault, match=r"f64 .* is not aligned to 8 bytes"):
        gather(space, lanes(a.address + 4), F64, None)
    mask = np.array([True, False]).reshape(1, 1, 1, 2)
    assert gather(space, lanes(a.address, a.address + 6), F32, mask).ravel().tolist() == [0, 0]


def test_what_is_no_address_at_all_is_out_of_bounds_however_it_is_aligned(space):
    for address, text in ((5, "address 0x5, where nothing"), (NEVER_SET, "never set"), (-4, "address -0x4")):
        with pytest.raises(LaneFault, match=text) as caught:
            gather(space, lanes(address), F32, None)
        assert caught.value.error_class is OutOfBoundsError


def test_words_for_an_address(space):
    x = Extent("x", 16, 64, (3, 4), (4, 1), 4, True)
    a = place(space, np.zeros(100, np.uint8), x)
    b = place(space, np.zeros(8, np.uint8), name="list of arrays")

    def words(offset: int, allocation=a) -> str:
        return describe_address(space, allocation.address + offset, 4)

    assert words(16) == "array 'x' of shape 3x4, index (0, 0)"
    assert words(60) == "array 'x' of shape 3x4, index (2, 3)"
    assert words(64) == "array 'x' of shape 3x4, index (3, 0): 1 element past its last"
    assert words(12).endswith("1 element before its first")
    assert words(18) == "array 'x' of shape 3x4, byte 2"
    assert words(8, b) == "list of arrays, 4 bytes past its end"
    assert words(-3, b) == "list of arrays, 3 bytes before its start"
    assert words(4, b) == "list of arrays at byte 4"


def test_range_over_views_that_touch(space):
    extents = [Extent("x", 0, 40, (10,), (1,), 4, True), Extent("y", 40, 60, (5,), (1,), 4, True)]
    a = place(space, np.zeros(100, np.uint8), *extents)
    for first, end, inside in ((0, 40, True), (20, 60, True), (20, 61, False), (-1, 4, False), (60, 64, False)):
        assert check_range(a, first, end) is inside
    free = place(space, np.zeros(100, np.uint8))
    assert check_range(free, 0, 100) and not check_range(free, 0, 101)


def test_writing_is_refused_where_no_writeable_argument_lies(space):
    closed, opened = Extent("x", 0, 40, (10,), (1,), 4, False), Extent("y", 20, 60, (10,), (1,), 4, True)
    a = place(space, np.zeros(60, np.uint8), closed, opened)
    check_writeable(a, 20, (0,))
    with pytest.raises(LaneFault, match="store into array 'x', which is read-only") as caught:
        check_writeable(a, 16, (0, 0, 0))
    assert caught.value.error_class is ReadOnlyError
    scatter(space, lanes(a.address + 40, a.address + 20), np.ones((1, 1, 1, 2), np.int32), I32, None)
    with pytest.raises(LaneFault, match="array 'x'") as caught:
        scatter(space, lanes(a.address + 40, a.address + 16), np.ones((1, 1, 1, 2), np.int32), I32, None)
    assert caught.value.position == (0, 0, 0, 1)
    fixed = np.zeros(8, np.uint8)
    fixed.flags.writeable = False
    with pytest.raises(LaneFault, match="store into constants"):
        b = place(space, fixed, name="constants")
        scatter(space, lanes(b.address), np.ones((1, 1, 1, 1), np.int8), I8, None)


def test_window_is_the_memory_itself(space):
    x = np.arange(12, dtype=np.int32)
    a = place(space, x)
    w = window(a, 4, (2, 3), (4, 1), I32)
    assert w.tolist() == [[1, 2, 3], [5, 6, 7]]
    w[1, 0] = 99
    assert x[5] == 99
