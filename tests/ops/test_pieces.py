"""Elementwise functions piece by piece, against the same functions on whole arrays."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim.ops.pieces import PIECE_ELEMS, in_pieces

RNG = np.random.default_rng(5)


def arrays(*shapes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(RNG.integers(0, 100, s).astype(np.float32) for s in shapes)


@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (3,)),
        ((1, 1, 7, 3000), (1, 1, 7, 3000)),
        ((5, 1, 40, 200), (1, 3, 40, 1)),
        ((1, 1, 1, 3 * PIECE_ELEMS + 5), (1, 1, 1, 1)),
        ((2, 2, 2, 2, PIECE_ELEMS), (1, 1, 2, 1, PIECE_ELEMS)),
        ((0, 4), (1, 4)),
        ((), ()),
    ],
)
def test_pieces_make_the_whole(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = arrays(*shapes)
    got = in_pieces(lambda x, y: x * 3 + y, (a, b), np.float64)
    assert got.dtype == np.float64
    np.testing.assert_array_equal(got, a * 3 + b)


def test_the_result_lies_in_memory_as_the_operand_does() -> None:
    (a,) = arrays((60, 40, 50))
    turned = a.transpose(2, 0, 1)
    got = in_pieces(lambda x: x + 1, (turned,), np.float32)
    np.testing.assert_array_equal(got, turned + 1)
    assert got.strides == turned.strides


def test_no_piece_is_larger_than_a_piece() -> None:
    (a,) = arrays((3, 5, 4000))
    sizes: list[int] = []

    def note(x: np.ndarray) -> np.ndarray:
        sizes.append(x.size)
        return x

    in_pieces(note, (a[:, ::2],), np.float32)
    assert sum(sizes) == a[:, ::2].size and max(sizes) <= PIECE_ELEMS
