"""Which kernels leave the order of their blocks free."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutile_sim.frontend.export import compile_kernel
from ir_passes import run

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")


@ct.kernel
def copies(x, y, n):
    for k in range(n):
        ct.store(y, (k,), ct.load(x, (ct.bid(0) + k,), (16,)))


@ct.kernel
def adds(x, y, n):
    ct.atomic_add(y, ct.bid(0) % n, 1)


@ct.kernel
def adds_and_looks(x, y, n):
    ct.scatter(x, ct.bid(0), ct.atomic_add(y, 0, 1))


@ct.kernel
def swaps(x, y, n):
    ct.atomic_xchg(y, 0, ct.bid(0))


@ct.kernel
def compares_and_swaps(x, y, n):
    ct.atomic_cas(y, 0, 0, ct.bid(0))


@ct.kernel
def waits(x, y, n):
    at = 0
    while ct.gather(y, at) == 0:
        at = (at + 1) % n
    ct.scatter(y, ct.bid(0), at)


@ct.kernel
def searches(x, y, n):
    at = 0
    while ct.gather(x, at) == 0:
        at += 1
    ct.scatter(y, ct.bid(0), at)


@ct.kernel
def searches_so_often(x, y, n):
    for k in range(n):
        if ct.gather(y, k) == 0:
            ct.scatter(y, ct.bid(0), k)
            break


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (copies, None),
        (adds, None),
        (searches, None),
        (adds_and_looks, "old value"),
        (swaps, "what this atomic update leaves"),
        (compares_and_swaps, "compare-and-swap"),
        (waits, "may wait"),
        (searches_so_often, "may wait"),
    ],
)
def test_reasons_for_an_order(kernel: Any, reason: str | None) -> None:
    ints = np.zeros(64, np.int32)
    found = run("block_order", compile_kernel(kernel, (ints, ints.copy(), 3)).entry)
    assert (found is None) == (reason is None)
    if reason is not None:
        assert reason in found.reason
        assert found.op.location.line > 1


def test_sums_of_floats_have_an_order() -> None:
    floats = np.zeros(64, np.float32)
    assert run("block_order", compile_kernel(adds, (floats, floats.copy(), 3)).entry) is not None
