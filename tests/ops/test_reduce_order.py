"""The order of combination: a permutation of all index bits for every shape, and that of a few recorded tiles."""

from __future__ import annotations

import itertools

import pytest

from cutile_sim.ops.reduce_order import reduction_order, scan_segment

SIZES = (1, 2, 8, 64, 1024)


@pytest.mark.parametrize("size_bytes", [1, 2, 4, 8])
def test_every_element_is_combined_once(size_bytes: int) -> None:
    for shape in itertools.chain.from_iterable(itertools.product(SIZES, repeat=rank) for rank in (1, 2, 3)):
        for dim, n in enumerate(shape):
            length, bits = reduction_order(shape, dim, size_bytes)
            assert sorted(bits) == list(range(len(bits)))
            assert length << len(bits) == n
            assert n % scan_segment(shape, dim) == 0


def test_recorded_orders() -> None:
    assert reduction_order((8, 64), 0, 4) == (1, (0, 2, 1))
    assert reduction_order((8, 64), 1, 8) == (1, (0, 5, 4, 3, 2, 1))
    assert reduction_order((8, 64), 0, 8) == (2, (1, 0))
    assert reduction_order((4096,), 0, 4) == (2, (0, 1, 9, 10, 6, 5, 4, 3, 2, 8, 7))
    assert [scan_segment((16, 256), d) for d in (0, 1)] == [16, 2]
    assert [scan_segment((8, 8, 8), d) for d in (0, 1, 2)] == [8, 4, 1]
