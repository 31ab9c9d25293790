"""Launches with more accesses than are kept to look for races. The limits are lowered here."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim.sanitize import access_log, ordering

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def ints(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.int32)


@ct.kernel
def reads_then_writes(index, x):
    """Every block gathers, and the last one writes what the others read from."""
    t = ct.gather(x, ct.load(index, (ct.bid(0),), (16,)))
    if ct.bid(0) + 1 == ct.num_blocks(0):
        ct.scatter(x, ct.arange(16, dtype=ct.int32), t)  # BUG: CTS204


@ct.kernel
def reads_then_writes_elsewhere(index, x, y):
    t = ct.gather(x, ct.load(index, (ct.bid(0),), (16,)))
    if ct.bid(0) + 1 == ct.num_blocks(0):
        ct.scatter(y, ct.arange(16, dtype=ct.int32), t)


def test_reads(pair, monkeypatch):
    monkeypatch.setattr(access_log, "KEPT_BYTES", 100)
    index = np.random.default_rng(0).permutation(64).astype(np.int32)
    pair(
        "reads_then_writes",
        "reads_then_writes_elsewhere",
        (4,),
        lambda: (index, ints(64)),
        twin_make=lambda: (index, ints(64), ints(16)),
    )


@ct.kernel
def many_releases(count, x):
    for _ in range(8):
        ct.atomic_add(count, 0, 1, memory_order=ct.MemoryOrder.RELEASE)  # BUG: CTS204
    ct.store(x, (ct.bid(0),), ct.full((16,), 1, ct.int32))


@ct.kernel
def relaxed_updates(count, x):
    for _ in range(8):
        ct.atomic_add(count, 0, 1, memory_order=ct.MemoryOrder.RELAXED)
    ct.store(x, (ct.bid(0),), ct.full((16,), 1, ct.int32))


def test_releases(pair, monkeypatch):
    monkeypatch.setattr(ordering, "MOST_EVENTS", 7)
    pair("many_releases", "relaxed_updates", (4,), lambda: (ints(1), ints(64)))


@ct.kernel
def wide_acquires(flags, x):
    """An acquire for each of many elements, where one would do."""
    ct.atomic_or(flags, ct.arange(1024, dtype=ct.int32), 1, memory_order=ct.MemoryOrder.ACQUIRE)  # BUG: CTS204
    ct.store(x, (ct.bid(0),), ct.full((16,), 1, ct.int32))


@ct.kernel
def narrow_acquires(flags, x):
    ct.atomic_or(flags, ct.arange(1, dtype=ct.int32), 1, memory_order=ct.MemoryOrder.ACQUIRE)
    ct.store(x, (ct.bid(0),), ct.full((16,), 1, ct.int32))


def test_lanes_of_acquires(pair, monkeypatch):
    monkeypatch.setattr(ordering, "KEPT_BYTES", 4096)
    (finding,) = pair("wide_acquires", "narrow_acquires", (2,), lambda: (ints(1024), ints(32)))
    assert finding.severity == "note" and "releases and acquires" in finding.message
