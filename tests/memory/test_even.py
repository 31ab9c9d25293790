"""Even lanes are told from uneven ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cutile_sim.memory.even import even_steps

SHAPES = st.lists(st.integers(1, 4), min_size=0, max_size=4)


def lattice(first: int, steps: list[int], shape: list[int]) -> np.ndarray:
    """Item numbers one by one, by the definition."""
    items = np.empty(shape, np.int64)
    for index in np.ndindex(*shape):
        items[index] = first + sum(i * s for i, s in zip(index, steps, strict=True))
    return items


@given(st.data(), SHAPES, st.integers(-50, 50))
def test_what_is_even_is_found(data: st.DataObject, shape: list[int], first: int) -> None:
    steps = [data.draw(st.integers(-9, 9)) for _ in shape]
    want = tuple(0 if n == 1 else s for n, s in zip(shape, steps, strict=True))
    assert even_steps(lattice(first, steps, shape)) == (first, want)


@given(st.data(), SHAPES.filter(lambda s: np.prod(s) > 2 and max(s) > 2))
def test_one_lane_out_of_line_is_uneven(data: st.DataObject, shape: list[int]) -> None:
    items = lattice(7, [5] * len(shape), shape)
    axis = int(np.argmax(shape))
    at = tuple(2 if a == axis else data.draw(st.integers(0, n - 1)) for a, n in enumerate(shape))
    items[at] += 1
    assert even_steps(items) is None


def test_nothing_lies_nowhere() -> None:
    assert even_steps(np.empty((3, 0), np.int64)) is None
