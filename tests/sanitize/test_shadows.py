"""How doubt spreads through tiles. The oracle changes what doubtful lanes hold and looks which results change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutile_sim import simulate

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

PAD = ct.PaddingMode


@ct.kernel
def shapes(x, y):
    t = ct.load(x, (0, 0), (8, 16))
    t = ct.transpose(ct.reshape(t, (16, 8)))
    ct.store(y, (0, 0), t)


@ct.kernel
def prefix(x, y):
    ct.store(y, (0, 0), ct.cumsum(ct.load(x, (0, 0), (8, 16)), axis=1))


@ct.kernel
def rows(x, y):
    ct.store(y, (0, 0), ct.sum(ct.load(x, (0, 0), (8, 16)), axis=1, keepdims=True) + ct.zeros((8, 16), ct.int32))


@ct.kernel
def extremes(x, y):
    t = ct.load(x, (0, 0), (8, 16))
    ct.store(y, (0, 0), ct.maximum(t, 3) + ct.where(t < 0, 1, 2))


@ct.kernel
def chosen(x, y):
    t = ct.load(x, (0, 0), (8, 16))
    inside = ct.arange(16, dtype=ct.int32)[None, :] < x.shape[1]
    ct.store(y, (0, 0), ct.where(inside, t, 0))


def doubtful(kernel: Any, x: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Lanes that differ between what undetermined integers may hold."""
    results = []
    for fill in ("sentinel", "zero", "ones"):
        y = np.zeros(shape, np.int32)
        simulate(kernel, 1, x, y, undetermined=fill)
        results.append(y)
    return (results[0] != results[1]) | (results[1] != results[2])


@pytest.mark.parametrize(
    ("kernel", "shape"),
    [(shapes, (8, 16)), (prefix, (8, 16)), (rows, (8, 16)), (extremes, (8, 16)), (chosen, (8, 16))],
    ids=["shapes", "prefix", "rows", "extremes", "chosen"],
)
def test_found_where_results_differ(kernel: Any, shape: tuple[int, int]) -> None:
    x = np.arange(1, 8 * 11 + 1, dtype=np.int32).reshape(8, 11)
    differing = doubtful(kernel, x, shape)
    found = [f for f in simulate(kernel, 1, x, np.zeros(shape, np.int32), sanitize=True).findings if f.id == "CTS301"]
    if not differing.any():
        assert found == []
        return
    (finding,) = found
    assert finding.count == np.count_nonzero(differing)
    assert finding.lane == tuple(np.argwhere(differing)[0])


@ct.kernel
def split_and_merged(x, y, n):
    """Blocks part, and meet again with and without doubt."""
    t = ct.load(x, (ct.bid(0),), (16,), padding_mode=PAD.ZERO)
    if ct.bid(0) % 2 == 0:
        t = t + ct.load(x, (ct.bid(0),), (16,))
    for _ in range(ct.bid(0)):
        t = t * 2
    ct.store(y, (ct.bid(0),), t)


@pytest.mark.parametrize("blocks", [None, 1, 2])
def test_doubt_survives_parting_and_meeting(blocks: int | None) -> None:
    def found(n: int) -> list[tuple[Any, ...]]:
        x, y = np.ones(n, np.int32), np.zeros(80, np.int32)
        result = simulate(split_and_merged, 5, x, y, 0, sanitize=True, batch_blocks=blocks)
        return [(f.id, f.block, f.lane) for f in result.findings if f.id == "CTS301"]

    assert found(80) == []
    assert found(60) == [("CTS301", (4, 0, 0), (0,))]
    assert found(64 - 5) == [("CTS301", (4, 0, 0), (0,))]
