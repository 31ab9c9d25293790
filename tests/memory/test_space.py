"""The address space: allocations far apart, host memory in place, which bytes belong to an argument."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutile_sim.memory.space import HALF_SLOT_BYTES, SLOT_BYTES, AddressSpace, Extent


def map_whole(space: AddressSpace, array: np.ndarray, writeable: bool = True):
    return space.map_host(array.__array_interface__["data"][0], array.nbytes, "x", writeable=writeable, owner=array)


def test_allocations_are_aligned_and_far_apart():
    space = AddressSpace()
    made = [space.allocate(n, f"a{n}") for n in (0, 1, 1000, 7)]
    for a in made:
        assert a.address % 256 == 0
        for reach in (0, -HALF_SLOT_BYTES + 1, HALF_SLOT_BYTES - 1):
            assert space.find(a.address + reach) is a
    assert space.find(0) is None and space.find(made[-1].address + 2 * SLOT_BYTES) is None


def test_an_allocation_of_more_than_half_a_slot_takes_several():
    space = AddressSpace()
    big = np.broadcast_to(np.zeros(1, np.uint8), (SLOT_BYTES + 5,))
    first, second = space.place(big, "big"), space.allocate(4, "small")
    assert space.find(first.address + SLOT_BYTES + 4) is first
    assert space.find(first.address + SLOT_BYTES + HALF_SLOT_BYTES - 1) is first
    assert space.find(second.address) is second
    space.free(first)
    assert space.find(first.address) is None and space.find(first.address + SLOT_BYTES) is None
    assert space.find(second.address) is second


def test_host_memory_is_mapped_in_place_and_once():
    space, x = AddressSpace(), np.arange(6, dtype=np.int32)
    allocation = map_whole(space, x)
    assert map_whole(space, x) is allocation
    allocation.typed(np.dtype(np.int32))[2] = 77
    assert x.tolist() == [0, 1, 77, 3, 4, 5]
    assert allocation.typed(np.dtype(np.float64)).size == 3


def test_host_memory_mapped_read_only_first_becomes_writeable_later():
    space, x = AddressSpace(), np.arange(6, dtype=np.int32)
    allocation = map_whole(space, x, writeable=False)
    with pytest.raises(ValueError, match="read-only"):
        allocation.typed(np.dtype(np.int32))[0] = 1
    assert map_whole(space, x) is allocation
    allocation.typed(np.dtype(np.int32))[0] = 9
    assert x[0] == 9


@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    gaps=st.lists(st.integers(1, 3), min_size=3, max_size=3),
    offset_elems=st.integers(0, 3),
    order=st.permutations(range(3)),
)
def test_holds_exactly_the_elements_of_a_strided_view(shape, gaps, offset_elems, order):
    strides, step = [0] * len(shape), 1
    for d in sorted(range(len(shape)), key=lambda d: order[d]):
        strides[d] = step * gaps[d]
        step = strides[d] * shape[d]
    elements = {
        offset_elems + sum(i * s for i, s in zip(index, strides, strict=True))
        for index in itertools.product(*map(range, shape))
    }
    item = 4
    extent = Extent("x", 4 * min(elements), 4 * max(elements) + item, tuple(shape), tuple(strides), item, True)
    offsets = np.arange(-8, 4 * max(elements) + 12, item)
    assert {int(o) // 4 for o in offsets[extent.holds(offsets)]} == elements


def test_holds_all_between_the_ends_where_strides_do_not_nest():
    extent = Extent("x", 0, 20, (3, 3), (1, 1), 4, True)
    assert extent.holds(np.array([-4, 0, 16, 20])).tolist() == [False, True, True, False]
