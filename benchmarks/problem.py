"""What a benchmark is: a launch, the same arithmetic in NumPy on whole arrays, and how near the two must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Outputs = dict[int, np.ndarray]


@dataclass(frozen=True)
class Problem:
    """One launch of a kernel.

    Attributes:
        args: Arguments of the launch; outputs are arrays among them, poisoned at first.
        numpy: The same arithmetic on whole arrays: a copy of what each output should hold, by position in `args`.
        tolerance: (relative, absolute) error allowed; None where the result must be the same.
        accumulates: Positions of the outputs that a launch adds to: they start from zero.
    """

    kernel: Any
    grid: tuple[int, ...]
    args: tuple[Any, ...]
    numpy: Callable[[], Outputs]
    tolerance: tuple[float, float] | None = None
    accumulates: tuple[int, ...] = ()

    def reset(self) -> None:
        """Set the outputs that the kernel adds to back to zero."""
        for position in self.accumulates:
            self.args[position][...] = 0

    def check(self) -> None:
        """Compare the outputs with NumPy's. Raises AssertionError where they differ."""
        for position, want in self.numpy().items():
            got = np.asarray(self.args[position])
            if self.tolerance is None:
                np.testing.assert_array_equal(got, want)
            else:
                rtol, atol = self.tolerance
                np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=rtol, atol=atol)


def poisoned(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """An output that no kernel could have written."""
    dtype = np.dtype(dtype)
    return np.full(shape, -99 if dtype.kind in "iu" else np.nan, dtype)


def normal(seed: int, shape: int | tuple[int, ...], dtype: Any = np.float32) -> np.ndarray:
    """Standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32).astype(dtype)
