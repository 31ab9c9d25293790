"""What is counted of kernels is what the definition of a tile says, element by element."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

from sample_launches import all_store_one, count, matmul, overrun, permute, row_sums, window_sums  # noqa: E402

from cutile_sim.analysis import compare_blocks, coverage, tiles_of, touches, who  # noqa: E402
from cutile_sim.errors import OutOfBoundsError  # noqa: E402
from cutile_sim.traces import load_trace, trace  # noqa: E402

sizes = st.integers(1, 40)
tiles = st.sampled_from([1, 2, 8, 16])


def laid_out(data: Any, shape: tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """A zero array of that shape: of any order of axes, or with gaps."""
    order = data.draw(st.permutations(range(len(shape))))
    gaps = [data.draw(st.sampled_from([1, 1, 2])) for _ in shape]
    memory = np.zeros([shape[a] * gaps[a] for a in order], dtype)
    part = memory[tuple(slice(None, None, gaps[a]) for a in order)]
    return part.transpose(np.argsort(order))


def cut(i: int, tile: int, size: int) -> range:
    return range(min(i * tile, size), min((i + 1) * tile, size))


def blocks(n: int, tile: int) -> int:
    return -(-n // tile)


@settings(max_examples=40)
@given(sizes, sizes, sizes, tiles, tiles, tiles, st.data())
def test_matrix_product(m: int, n: int, k: int, tm: int, tn: int, tk: int, data: Any) -> None:
    a, b, c = laid_out(data, (m, k)), laid_out(data, (k, n)), laid_out(data, (m, n))
    grid = blocks(m, tm), blocks(n, tn)
    launch = trace(matmul, grid, a, b, c, tm, tn, tk).launches[0]
    np.testing.assert_array_equal(touches(launch, "a").loads, np.full((m, k), grid[1]))
    np.testing.assert_array_equal(touches(launch, "b").loads, np.full((k, n), grid[0]))
    np.testing.assert_array_equal(touches(launch, "c").stores, np.full((m, n), 1))
    assert not coverage(launch, "c").unwritten.any() and not coverage(launch, "c").several.any()
    i, j = data.draw(st.integers(0, grid[0] - 1)), data.draw(st.integers(0, grid[1] - 1))
    want = np.zeros((m, k), int)
    want[np.ix_(cut(i, tm, m), range(k))] += 1
    np.testing.assert_array_equal(touches(launch, "a", blocks=((i, j),)).loads, want)
    boxes = [(t.array, t.kind, t.box) for t in tiles_of(launch, (i, j))]
    rows, cols = cut(i, tm, m), cut(j, tn, n)
    expected: list[Any] = []
    for step in range(blocks(k, tk)):
        inner = cut(step, tk, k)
        expected.append(("a", "load", ((rows[0], rows[-1] + 1), (inner[0], inner[-1] + 1))))
        expected.append(("b", "load", ((inner[0], inner[-1] + 1), (cols[0], cols[-1] + 1))))
    expected.append(("c", "store", ((rows[0], rows[-1] + 1), (cols[0], cols[-1] + 1))))
    assert boxes == expected


@settings(max_examples=30)
@given(st.tuples(*[st.integers(1, 12)] * 3), st.tuples(*[st.sampled_from([1, 2, 4, 8])] * 3), st.data())
def test_a_permuted_copy(shape: Any, tile: Any, data: Any) -> None:
    x = laid_out(data, shape)
    y = laid_out(data, (shape[2], shape[0], shape[1]))
    grid = tuple(map(blocks, shape, tile))
    launch = trace(permute, grid, x, y, *tile).launches[0]
    assert (touches(launch, "x").loads == 1).all() and (touches(launch, "y").stores == 1).all()
    index = tuple(data.draw(st.integers(0, n - 1)) for n in shape)
    (load,) = who(launch, "x", index).touches
    (store,) = who(launch, "y", (index[2], index[0], index[1])).touches
    block = tuple(i // t for i, t in zip(index, tile, strict=True))
    assert load.blocks == store.blocks == (block,)
    some = tuple(data.draw(st.integers(0, n - 1)) for n in grid)
    got = touches(launch, "y", blocks=(some,)).stores
    want = np.zeros(y.shape, int)
    for i, j, k in product(*(cut(b, t, n) for b, t, n in zip(some, tile, shape, strict=True))):
        want[k, i, j] += 1
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("every", [1, 3])
def test_windows_that_overlap(every: int) -> None:
    x, y = np.ones(70, np.float32), np.zeros(64, np.float32)
    launch = trace(window_sums, 8, x, y, 8, 5, every=every).launches[0]
    want = np.zeros(70, int)
    for block in range(0, 8, every):
        for lane in range(8):
            for i in range(5):
                want[block * 8 + lane + i] += 1
    np.testing.assert_array_equal(touches(launch, "x").loads, want)
    np.testing.assert_array_equal(touches(launch, "x", bins=(7,)).loads, want.reshape(7, 10).sum(axis=1))


def test_blocks_that_part() -> None:
    launch = trace(row_sums, 6, np.ones((6, 16), np.float32), np.zeros(6, np.float32), 16).launches[0]
    assert touches(launch, "y").stores.tolist() == [1, 0, 1, 0, 1, 0]
    assert coverage(launch, "y").unwritten.tolist() == [0, 1, 0, 1, 0, 1]
    compared = compare_blocks(launch, (0,), (1,))
    assert [(c.array, c.kind, c.only_a, c.only_b, c.both) for c in compared.arrays] == [
        ("x", "load", 16, 16, 0),
        ("y", "store", 1, 0, 0),
    ]
    assert [(c.operations_a, c.operations_b) for c in compared.lines] == [(2, 0)]  # the sum and its store


def test_updates() -> None:
    x = np.random.default_rng(2).integers(0, 8, 64).astype(np.int32)
    launch = trace(count, 4, x, np.zeros(8, np.int32), 16).launches[0]
    np.testing.assert_array_equal(touches(launch, "bins").updates, np.bincount(x, minlength=8))
    np.testing.assert_array_equal(coverage(launch, "bins").unwritten, np.bincount(x, minlength=8) == 0)
    assert not coverage(launch, "bins").several.any()


def test_an_element_stored_by_several_blocks() -> None:
    launch = trace(all_store_one, 5, np.zeros(16, np.float32), 4).launches[0]
    assert coverage(launch, "x").several.tolist() == [1] * 8 + [0] * 8
    assert coverage(launch, "x").unwritten.tolist() == [0] * 12 + [1] * 4
    assert coverage(launch, "x", blocks=((0,), (2,))).several.tolist() == [0] * 16
    assert touches(launch, "x").stores.tolist() == [2] * 8 + [1] * 4 + [0] * 4


def test_lanes_outside_the_array_are_no_elements(tmp_path: Path) -> None:
    with pytest.raises(OutOfBoundsError):
        trace(overrun, 4, np.zeros(16, np.float32), to=tmp_path / "x.ctrace")
    with load_trace(tmp_path / "x.ctrace") as found:
        (launch,) = found.launches
        _, store = tiles_of(launch, (3,))
        assert (store.kind, store.box, store.elements, store.is_box) == ("store", ((13, 16),), 3, True)
        assert coverage(launch, "x").unwritten.tolist() == [1] + [0] * 15


def test_the_time_that_is_asked_for() -> None:
    a, b, c = (np.ones((32, 32), np.float32) for _ in range(3))
    launch = trace(matmul, (2, 2), a, b, c, 16, 16, 16).launches[0]
    records = [r.number for r in launch.records(names=("a",))]
    late = touches(launch, "a", between=(records[1], records[1] + 1)).loads
    want = np.zeros((32, 32), int)
    want[:, 16:] = 2
    np.testing.assert_array_equal(late, want)
