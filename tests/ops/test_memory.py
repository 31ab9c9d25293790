"""Loads and stores by pointer: what is outside, what may not be written, and what a fault says and leaves behind."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim import KernelError, OutOfBoundsError, ReadOnlyError, simulate

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")


@ct.kernel
def gather_all(x, where, y):
    b = ct.bid(0)
    ct.store(y, (b,), ct.gather(x, ct.load(where, (b,), (4,)), check_bounds=False))


@ct.kernel
def gather_pairs(x, rows, columns, y):
    at = (ct.load(rows, (0,), (4,)), ct.load(columns, (0,), (4,)))
    ct.store(y, (0,), ct.gather(x, at, check_bounds=False))


@ct.kernel
def scatter_all(y, where):
    b = ct.bid(0)
    ct.printf("block %d\n", b)
    ct.scatter(y, ct.load(where, (b,), (4,)), ct.full((4,), 5, y.dtype), check_bounds=False)


@ct.kernel
def load_whole(x, y, first):
    b = ct.bid(0)
    ct.store(y, (b,), ct.load(x, (b + first,), (4,), check_bounds=False))


@ct.kernel
def store_whole(y, first):
    ct.store(y, (ct.bid(0) + first,), ct.full((4,), 5, y.dtype), check_bounds=False)


@ct.kernel
def gather_from_list(arrays, y):
    b = ct.bid(0)
    ct.store(y, (b,), ct.gather(arrays[b], ct.arange(4, dtype=ct.int32), check_bounds=False))


@ct.kernel
def load_from_list(arrays, y, item):
    ct.store(y, (0,), ct.load(arrays[item], (0,), (4,)))


@ct.kernel
def add_to_all(y, where):
    ct.atomic_add(y, ct.load(where, (0,), (4,)), 1, check_bounds=False)


@ct.kernel
def checked(x, where, y, mask, z):
    b = ct.bid(0)
    at = ct.load(where, (b,), (8,))
    ct.store(y, (b,), ct.gather(x, at, padding_value=-5))
    ct.scatter(z, at, ct.load(y, (b,), (8,)) * 2, mask=ct.load(mask, (b,), (8,)))


def f32(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


@settings(max_examples=30)
@given(
    where=st.lists(st.integers(-3, 14), min_size=24, max_size=24, unique=False),
    mask=st.lists(st.booleans(), min_size=24, max_size=24),
    batch_blocks=st.sampled_from((None, 1, 2)),
)
def test_gather_and_scatter_check_bounds(where, mask, batch_blocks):
    x, y, z = np.arange(10, dtype=np.int32) + 1, np.zeros(24, np.int32), np.zeros(11, np.int32)
    expected = [int(x[i]) if 0 <= i < 10 else -5 for i in where]
    expected_z = [0] * 11
    for i, keep, value in zip(where, mask, expected, strict=True):
        if keep and 0 <= i < 11:
            expected_z[i] = 2 * value
    result = simulate(checked, 3, x, i32(*where), y, np.array(mask), z, batch_blocks=batch_blocks)
    assert y.tolist() == expected
    assert z.tolist() == expected_z
    inside = sum(0 <= i < 10 for i in where)
    assert result.bytes_loaded == 4 * inside + 24 * (4 + 4 + 1)


@pytest.mark.parametrize("batch_blocks", [None, 1])
@pytest.mark.parametrize(
    ("where", "lane", "text"),
    [
        ((0, 1, 2, 3, 4, 10, 11, 5), 1, r"'x' of shape 10, index \(10,\): 1 element past its last \(and 1 more lane\)"),
        ((0, 1, 2, 3, 4, 9, 5, 12), 3, r"array 'x' of shape 10, index \(12,\): 3 elements past its last \("),
        ((0, 1, 2, 3, 0, 0, -3, 0), 2, r"array 'x' of shape 10, index \(-3,\): 3 elements before its first"),
        ((0, 1, 2, 3, 2**31 - 1, 0, 0, 0), 0, r"array 'x' of shape 10, index \(2147483647,\)"),
        ((0, 1, 2, 3, -(2**31), 0, 0, 0), 0, r"array 'x' of shape 10, index \(-2147483648,\)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_view", [False, True])
def test_load_outside_an_array_names_array_index_block_lane_and_line(where, lane, text, is_view, batch_blocks):
    x = f32(40)[10:20] if is_view else f32(10)
    with pytest.raises(OutOfBoundsError, match=text) as caught:
        simulate(gather_all, 2, x, i32(*where), f32(8), batch_blocks=batch_blocks)
    error = caught.value
    assert (error.block, error.lane) == ((1, 0, 0), (lane,))
    assert error.location is not None and error.location.file.endswith("test_memory.py")
    assert "ct.gather(x, ct.load(where, (b,), (4,)), check_bounds=False)" in str(error)


def test_load_between_the_elements_of_a_view():
    base = f32(10, 10)
    view = base[2:5, 3:7]
    y = np.zeros(4, np.float32)
    simulate(gather_pairs, 1, view, i32(0, 1, 2, 2), i32(0, 3, 1, 3), y)
    assert y.tolist() == [23, 36, 44, 46]
    with pytest.raises(OutOfBoundsError, match=r"array 'x' of shape 3x4, element 6 .* between its elements") as caught:
        simulate(gather_pairs, 1, view, i32(0, 1, 2, 0), i32(0, 3, 1, 6), y)
    assert caught.value.lane == (3,)


def test_store_outside_leaves_everything_as_it_was():
    base = f32(40)
    view, before = base[10:20], base.copy()
    with pytest.raises(OutOfBoundsError, match=r"store outside memory: array 'y' .* index \(-1,\)") as caught:
        simulate(scatter_all, 1, view, i32(0, 1, 2, -1), echo=False)
    assert caught.value.lane == (3,)
    assert caught.value.printed == "block 0\n"
    np.testing.assert_array_equal(base, before)
    with pytest.raises(OutOfBoundsError):
        simulate(scatter_all, 2, view, i32(0, 1, 2, 3, 4, 5, 6, 10), batch_blocks=1, echo=False)
    assert base[10:14].tolist() == [5, 5, 5, 5], "the block before the fault has stored"
    np.testing.assert_array_equal(base[14:], before[14:])
    np.testing.assert_array_equal(base[:10], before[:10])


def test_atomic_update_outside():
    y = np.zeros(4, np.int32)
    with pytest.raises(OutOfBoundsError, match=r"atomic update outside memory: array 'y' of shape 4, index \(4,\)"):
        simulate(add_to_all, 1, y, i32(0, 1, 4, 2))
    assert not y.any()


@pytest.mark.parametrize("batch_blocks", [None, 1])
def test_tile_that_was_promised_to_lie_inside(batch_blocks):
    with pytest.raises(OutOfBoundsError, match="load at element 10 of dimension 0, which has 10 ") as caught:
        simulate(load_whole, 3, f32(10), f32(12), 0, batch_blocks=batch_blocks)
    assert (caught.value.block, caught.value.lane) == ((2, 0, 0), (2,))
    y = f32(10)
    with pytest.raises(OutOfBoundsError, match="store at element 10 of dimension 0, which has 10 "):
        simulate(store_whole, 2, y, 1, batch_blocks=batch_blocks)
    assert y[8:].tolist() == [8, 9]
    simulate(load_whole, 2, f32(10), y, 0, batch_blocks=batch_blocks)


def test_lists_of_arrays():
    base = f32(100)
    arrays = [base[10:20], f32(4), base[50:53]]
    y = np.zeros(12, np.float32)
    simulate(gather_from_list, 2, arrays, y)
    assert y[:8].tolist() == [10, 11, 12, 13, 0, 1, 2, 3]
    with pytest.raises(OutOfBoundsError, match=r"array 'arrays\[2\]' of shape 3, index \(3,\)") as caught:
        simulate(gather_from_list, 3, arrays, y)
    assert (caught.value.block, caught.value.lane) == ((2, 0, 0), (3,))
    for item in (3, -1):
        with pytest.raises(OutOfBoundsError, match="never set, such as that of an item outside a list"):
            simulate(load_from_list, 1, arrays, y, item)


@pytest.mark.parametrize("batch_blocks", [None, 1])
def test_store_into_a_read_only_array(batch_blocks):
    y = f32(8)
    y.flags.writeable = False
    with pytest.raises(ReadOnlyError, match="store into array 'y', which is read-only") as caught:
        simulate(scatter_all, 2, y, i32(*range(8)), echo=False, batch_blocks=batch_blocks)
    assert caught.value.block == (0, 0, 0)
    with pytest.raises(ReadOnlyError, match="store into array 'y'"):
        simulate(store_whole, 2, y, 0, batch_blocks=batch_blocks)
    with pytest.raises(ReadOnlyError, match="store into array 'y'"):
        simulate(add_to_all, 1, y, i32(0, 1, 2, 3))
    np.testing.assert_array_equal(y, f32(8))


@ct.kernel
def double_into(x, y):
    b = ct.bid(0)
    ct.scatter(y, b, ct.gather(x, b) * 2)
    ct.store(y, (b + 4,), ct.load(x, (b + 4,), (1,)) * 3)


def test_memory_passed_both_read_only_and_writeable_may_be_written_through_the_latter():
    y = f32(8)
    x = y.view()
    x.flags.writeable = False
    simulate(double_into, 4, x, y)
    assert y.tolist() == [0, 2, 4, 6, 12, 15, 18, 21]


@ct.kernel
def touch_none(x, y):
    at = ct.full((4,), 100, ct.int32) + ct.arange(4, dtype=ct.int32)
    ct.scatter(x, at, ct.gather(x, at))
    ct.store(y, (7,), ct.load(x, (5,), (4,)))


def test_lanes_that_are_masked_off_touch_nothing():
    x, y = f32(0), f32(4)
    x.flags.writeable = False
    result = simulate(touch_none, 2, x, y)
    assert (result.bytes_loaded, result.bytes_stored, result.written) == (0, 0, ())


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
     "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"],
)  # fmt: skip
def test_every_element_type_passes_through_memory_bit_by_bit(dtype):
    dt = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)
    rng = np.random.default_rng(1)
    raw = rng.integers(0, 2 if dtype == "bool" else 256, 64 * dt.itemsize, np.uint8)
    x = raw.view(dt)
    y, z = np.zeros(64, dt), np.zeros(64, dt)
    simulate(copy_both, 4, x, y, z)
    if dt.kind == "b" or dt.kind in "iu":
        assert y.tobytes() == z.tobytes() == x.tobytes()
    else:
        with np.errstate(all="ignore"):
            nan, also_nan = np.isnan(x.astype(np.float64)), np.isnan(y.astype(np.float64))
        np.testing.assert_array_equal(also_nan, nan)
        assert y[~nan].tobytes() == x[~nan].tobytes()
        assert y.tobytes() == z.tobytes()


@ct.kernel
def copy_both(x, y, z):
    b = ct.bid(0)
    ct.store(y, (b,), ct.load(x, (b,), (16,)))
    at = b * 16 + ct.arange(16, dtype=ct.int32)
    ct.scatter(z, at, ct.gather(x, at))


@ct.kernel
def by_offset(x, y, where, mask):
    m = ct.load(mask, (0,), (8,))
    at = ct.load(where, (0,), (8,))
    t = x.get_raw_memory().load_offset(at, mask=m, padding_value=-1)
    y.get_raw_memory().store_offset(ct.arange(8, dtype=ct.int32) * 2, t + 100, mask=m)


@ct.kernel
def update_by_offset(x, where, mask, old, swapped):
    m = ct.load(mask, (0,), (8,))
    at = ct.load(where, (0,), (8,))
    memory = x.get_raw_memory()
    ct.store(old, (0,), memory.atomic_add_offset(at, 10, mask=m))
    ct.store(swapped, (0,), memory.atomic_cas_offset(at, 12, 50, mask=m))


WHERE, MASK = i32(0, 1, 1, 9, 2, -5, 0, 3), np.array([1, 1, 1, 0, 1, 0, 1, 1], bool)


def test_raw_memory_with_a_mask():
    x, y = np.arange(5, dtype=np.int32), np.zeros(16, np.int32)
    simulate(by_offset, 1, x, y, WHERE, MASK)
    assert y[::2].tolist() == [100, 101, 101, 0, 102, 0, 100, 103]
    assert not y[1::2].any()
    old, swapped = np.full(8, 7, np.int32), np.full(8, 7, np.int32)
    simulate(update_by_offset, 1, x, WHERE, MASK, old, swapped)
    assert old.tolist() == [0, 1, 11, 0, 2, 0, 10, 3]
    assert swapped.tolist() == [20, 21, 21, 12, 12, 12, 20, 13]
    assert x.tolist() == [20, 21, 50, 13, 4]


def test_raw_memory_outside_the_view_it_came_from():
    base = np.arange(50, dtype=np.int32)
    everything = np.ones(8, bool)
    with pytest.raises(OutOfBoundsError, match=r"array 'x' of shape 5, index \(-5,\): 5 elements before"):
        simulate(by_offset, 1, base[20:25], np.zeros(16, np.int32), WHERE, MASK | (WHERE < 0))
    with pytest.raises(
        OutOfBoundsError, match=r"array 'x' of shape 10, element 1 from its start: between its elements"
    ):
        simulate(by_offset, 1, base[:20:2], np.zeros(16, np.int32), i32(*range(8)), everything)
    with pytest.raises(OutOfBoundsError, match=r"store outside memory: array 'y' of shape 5"):
        simulate(by_offset, 1, base.copy(), base[:5], i32(*range(8)), everything)
    np.testing.assert_array_equal(base, np.arange(50))
    simulate(by_offset, 1, base.copy(), base[:15], i32(*range(8)), everything)
    assert base[:16:2].tolist() == list(range(100, 108))


def test_faults_are_kernel_errors():
    assert issubclass(OutOfBoundsError, KernelError) and issubclass(OutOfBoundsError, IndexError)
