"""Launches: arguments of every layout in place, grids, shared memory, counts, what a result says, threads."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from cutile_sim import UsageError, simulate
from cutile_sim.launch import check_grid

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")


@ct.kernel
def add_one(x, y):
    b = ct.bid(0)
    ct.store(y, (b,), ct.load(x, (b,), (4,)) + 1)


@ct.kernel
def inverse(y, number: float):
    ct.store(y, (0,), ct.full((4,), 1.0, ct.float32) / number)


@ct.kernel
def add_one_at(x, y, at):
    i = ct.load(at, (0,), (1,)).item()
    ct.store(y, (i,), ct.load(x, (i,), (4,)) + 1)


@ct.kernel
def add_one_2d(x, y):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (i, j), ct.load(x, (i, j), (2, 4)) + 1)


@ct.kernel
def write_both(x, y):
    ct.store(x, (0,), ct.zeros((4,), x.dtype))
    ct.store(y, (0,), ct.zeros((4,), y.dtype))


@ct.kernel
def write_2d(x):
    ct.store(x, (0, 0), ct.zeros((4, 2), x.dtype))


@ct.kernel
def block_ids(y):
    i, j, k = ct.bid(0), ct.bid(1), ct.bid(2)
    sizes = ct.num_blocks(0) * 10000 + ct.num_blocks(1) * 1000 + ct.num_blocks(2) * 100000
    ct.scatter(y, (k, j, i), i * 100 + j * 10 + k + sizes)


@ct.kernel
def mixed(pair, arrays, scale: ct.Constant[float], n, flag, y):
    t = ct.load(pair[0], (0,), (4,)) * scale + ct.load(pair[1][0], (0,), (4,))
    for i in range(n):
        t = t + ct.load(arrays[i], (0,), (4,))
    if flag:
        t = -t
    ct.store(y, (0,), t)


@ct.kernel
def store_in_list(arrays, item):
    ct.store(arrays[item], (0,), ct.full((4,), 3, ct.float32))


@ct.kernel
def shout(x, y):
    b = ct.bid(0)
    ct.printf("%d of thread %d\n", b, ct.gather(x, 0))
    acc = 0
    for i in range(20 + b):
        acc += i * ct.gather(x, 0)
    ct.scatter(y, b, acc)


def f32(*shape: int) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


LAYOUTS = {
    "contiguous": lambda: f32(6, 10),
    "fortran": lambda: np.asfortranarray(f32(6, 10)),
    "transposed": lambda: f32(10, 6).T,
    "strided": lambda: f32(12, 30)[::2, ::3],
    "offset": lambda: f32(20, 20)[3:9, 7:17],
    "middle axis dropped": lambda: f32(6, 3, 10)[:, 1],
    "one row": lambda: f32(1, 10),
    "empty": lambda: f32(0, 10),
}


@pytest.mark.parametrize("name_in", [*LAYOUTS, "zero stride"])
@pytest.mark.parametrize("name_out", LAYOUTS)
def test_layouts_are_read_and_written_in_place(name_in, name_out):
    x = np.broadcast_to(f32(10), (6, 10)) if name_in == "zero stride" else LAYOUTS[name_in]()
    y = LAYOUTS[name_out]()
    base = y if y.base is None else y.base
    expected_base = base.copy("K")
    expected = y.copy()
    rows = min(len(x), len(y))
    expected[:rows] = x[:rows] + 1
    if len(x) < len(y):
        expected[len(x) :] = np.nan
    kept, address = x.copy(), y.__array_interface__["data"]
    simulate(add_one_2d, (3, 3), x, y, batch_blocks=4)
    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(x, kept)
    assert y.__array_interface__["data"] == address
    y[...] = 0
    outside = base != 0
    np.testing.assert_array_equal(base[outside], expected_base[outside], err_msg="around the view")


def test_one_array_as_input_and_output():
    x = f32(16)
    result = simulate(add_one, 4, x, x)
    np.testing.assert_array_equal(x, f32(16) + 1)
    assert result.warnings == () and result.written == ("y",)


def test_output_that_shares_memory_with_a_different_input_is_a_warning():
    x = f32(20)
    result = simulate(add_one, 4, x[1:17], x[:16])
    assert len(result.warnings) == 1 and "'x' shares memory with 'y'" in result.warnings[0]
    interleaved = f32(32)
    assert simulate(add_one, 4, interleaved[::2], interleaved[1::2]).warnings == ()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda x: (x[1:], x[:-1]), "outputs 'x' and 'y' share memory"),
        (lambda x: (x, x), "outputs 'x' and 'y' share memory"),
        (lambda x: (x[::3], x[::2]), "outputs 'x' and 'y' share memory"),
        (lambda x: (as_strided(x, (4,), (0,)), x[4:]), "output 'x' has several elements in one place"),
    ],
)
def test_outputs_that_share_memory_are_refused(make, text):
    x = f32(12)
    with pytest.raises(UsageError, match=text):
        simulate(write_both, 1, *make(x))
    np.testing.assert_array_equal(x, f32(12))


def test_output_whose_windows_overlap_is_refused():
    with pytest.raises(UsageError, match="several elements in one place of memory"):
        simulate(write_2d, 1, as_strided(f32(10), (4, 2), (4, 4)))
    x = f32(10)
    simulate(write_2d, 1, as_strided(x, (4, 2), (4, 16)))
    assert x.tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 8, 9]
    x = f32(11)
    simulate(write_2d, 1, as_strided(x, (4, 2), (8, 12)))
    assert np.flatnonzero(x).tolist() == [1, 8, 10], "0, 2, 4, 6 and 3, 5, 7, 9: interleaved but apart"


def test_outputs_between_one_another_are_fine():
    x = f32(12)
    result = simulate(write_both, 1, x[::2], x[1::2])
    assert result.written == ("x", "y") and x[:8].tolist() == [0.0] * 8


def test_tuples_lists_constants_and_scalars():
    pair = (f32(4), (f32(8)[::2],))
    base = f32(40)
    arrays = [base[10:14], base[20:30]]
    for flag in (False, True):
        y = np.zeros(4, np.float32)
        simulate(mixed, 1, pair, arrays, 2.5, 2, flag, y)
        expected = f32(4) * 2.5 + f32(4) * 2 + base[10:14] + base[20:24]
        np.testing.assert_array_equal(y, -expected if flag else expected)


def test_a_launch_after_one_of_equal_numbers_has_its_own():
    got = []
    for number in (0.0, -0.0, 2.0, 0.0):
        y = np.zeros(4, np.float32)
        simulate(inverse, 1, y, number)
        got.append(float(y[0]))
    assert got == [np.inf, -np.inf, 0.5, np.inf]


def test_a_launch_after_one_over_another_grid_has_its_own():
    for grid in ((3, 1, 1), (3, 2, 1), (3, 1, 1)):
        y = np.zeros((1, 2, 3), np.int32)
        simulate(block_ids, grid, y)
        assert int(y[0, 0, 0]) == grid[0] * 10000 + grid[1] * 1000 + grid[2] * 100000


def test_a_launch_after_one_with_arrays_elsewhere_has_its_own():
    room = np.arange(32, dtype=np.float32)
    for first in (0, 8, 4, 0):
        y = np.zeros(16, np.float32)
        simulate(add_one, 4, room[first : first + 16], y)
        assert np.array_equal(y, room[first : first + 16] + 1)


def test_names_of_what_was_written():
    base = f32(40)
    result = simulate(add_one, 2, base[:8], base[10:18])
    assert result.written == ("y",), "not every view of the memory"
    result = simulate(add_one, 2, f32(8), f32(0))
    assert result.written == ()
    arrays = [f32(4), f32(4)]
    result = simulate(store_in_list, 1, arrays, 1)
    assert result.written == ("arrays[1]",)
    assert arrays[1].tolist() == [3] * 4 and arrays[0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("grid", [(4,), (4, 3), (4, 3, 2), (1, 1, 5)])
@pytest.mark.parametrize("batch_blocks", [None, 1, 5])
def test_grid_ids(grid, batch_blocks):
    nx, ny, nz = (*grid, 1, 1)[:3]
    y = np.zeros((nz, ny, nx), np.int32)
    finished: list[int] = []
    result = simulate(block_ids, grid, y, batch_blocks=batch_blocks, progress=finished.append)
    sizes = nx * 10000 + ny * 1000 + nz * 100000
    expected = [[[i * 100 + j * 10 + k + sizes for i in range(nx)] for j in range(ny)] for k in range(nz)]
    assert y.tolist() == expected
    assert result.blocks == nx * ny * nz == finished[-1] and finished == sorted(finished)


@pytest.mark.parametrize(
    ("grid", "text"),
    [
        (0, "the grid's x is 0"),
        ((2, -1), "the grid's y is -1"),
        ((1, 2, 3, 4), "has 4 dimensions"),
        ((), "has 0 dimensions"),
        ((1, 65536), "past CUDA's limit of 65,535"),
        ((2**31,), "past CUDA's limit of 2,147,483,647"),
        ((1.0,), "the grid's x is 1.0, not an integer"),
        ((True,), "not an integer"),
        (None, "a tuple of up to three integers, not None"),
        ("4", "the grid's x is '4'"),
    ],
)
def test_wrong_grids(grid, text):
    with pytest.raises(UsageError, match=text):
        check_grid(grid)


def test_right_grids():
    assert check_grid(5) == (5, 1, 1)
    assert check_grid([2, np.int64(3)]) == (2, 3, 1)
    assert check_grid(np.array([1, 2, 3])) == (1, 2, 3)


@pytest.mark.parametrize("batch_blocks", [None, 1, 3])
def test_counts_do_not_depend_on_the_batches(batch_blocks):
    result = simulate(uniform_load, 6, f32(4), f32(24), f32(4), batch_blocks=batch_blocks)
    assert result.bytes_loaded == 6 * 16
    assert result.bytes_stored == 6 * (16 + 16)
    assert (result.blocks, result.written) == (6, ("y", "z"))


@ct.kernel
def uniform_load(x, y, z):
    t = ct.load(x, (0,), (4,))
    ct.store(y, (ct.bid(0),), t)
    ct.store(z, (0,), t)


def test_threads_do_not_mix():
    results: dict[int, tuple] = {}

    def work(number: int) -> None:
        for _ in range(5):
            y = np.zeros(12, np.int32)
            result = simulate(
                shout, 12, np.array([number], np.int32), y, echo=False, bytecode_version="13.1", batch_blocks=5
            )
            results.setdefault(number, ())
            results[number] += ((result.printed, y.tolist()),)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3]
    for number, runs in results.items():
        printed = "".join(f"{b} of thread {number}\n" for b in range(12))
        sums = [sum(range(20 + b)) * number for b in range(12)]
        assert runs == ((printed, sums),) * 5


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kernel", [add_one, add_one_at])
def test_arrays_are_let_go_with_the_launch(kernel, workers):
    arrays = [np.arange(8, dtype=np.float32), np.zeros(8, np.float32)]
    arrays += [np.ones(1, np.int32)] if kernel is add_one_at else []
    simulate(kernel, 2, *arrays, workers=workers, batch_blocks=1)
    left = [weakref.ref(a) for a in arrays]
    gc.disable()
    try:
        simulate(kernel, 2, *arrays, workers=workers, batch_blocks=1)
        del arrays
        assert [ref() for ref in left] == [None] * len(left)
    finally:
        gc.enable()


def test_an_index_out_of_memory_is_read_anew_each_time():
    x, at = np.arange(16, dtype=np.float32), np.zeros(1, np.int32)
    for i in (1, 3, 1, 0):
        y = np.zeros(16, np.float32)
        at[0] = i
        simulate(add_one_at, 1, x, y, at)
        assert y.tolist() == [v + 1 if v // 4 == i else 0 for v in x.tolist()]
