"""Promises that do not hold."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim import load, simulate

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile


def floats(n: int) -> np.ndarray:
    return np.arange(n, dtype=np.float32)


@ct.kernel
def promised_multiple(x, y, start):
    i = ct.assume_divisible_by(start, 8)  # BUG: CTS401
    ct.store(y, (0,), ct.gather(x, i + ct.arange(16, dtype=ct.int32)))


@ct.kernel
def kept_multiple(x, y, start):
    i = ct.assume_divisible_by(start, 4)
    ct.store(y, (0,), ct.gather(x, i + ct.arange(16, dtype=ct.int32)))


def test_divisible(pair):
    pair("promised_multiple", "kept_multiple", (1,), lambda: (floats(64), floats(16), 12))


@ct.kernel
def promised_in_loop(x, y, n):
    for k in range(n):
        i = ct.assume_divisible_by(k * 8 + ct.bid(0), 8)  # BUG: CTS401
        ct.scatter(y, i, ct.gather(x, i))


@ct.kernel
def kept_in_loop(x, y, n):
    for k in range(n):
        i = ct.assume_divisible_by(k * 8 + ct.bid(0) * 32, 8)
        ct.scatter(y, i, ct.gather(x, i))


def test_divisible_in_a_loop(pair):
    pair("promised_in_loop", "kept_in_loop", (2,), lambda: (floats(64), floats(64), 4))


@ct.kernel
def offset_of_32_bits(x, y, row, length):
    """A row's offset in 32 bits."""
    i = row * length + ct.arange(16, dtype=ct.int32)  # BUG: CTS404
    ct.store(y, (0,), ct.gather(x, i))


@ct.kernel
def offset_of_64_bits(x, y, row, length):
    i = row.astype(ct.int64) * length + ct.arange(16, dtype=ct.int32)
    ct.store(y, (0,), ct.gather(x, i))


def test_offset(pair):
    pair("offset_of_32_bits", "offset_of_64_bits", (1,), lambda: (floats(64), floats(16), 70_000, 70_000))


@ct.kernel
def hash_of_32_bits(x, y):
    """A hash wraps on purpose."""
    i = ct.load(x, (0,), (16,)) * 1103515245 + 12345
    ct.store(y, (0,), ct.gather(x, i & 15))


def test_hash(planted):
    planted("hash_of_32_bits", (1,), lambda: (np.arange(16, dtype=np.int32) * 77, np.zeros(16, np.int32)))


@ct.kernel
def aligned(x, y):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)))


def test_file_compiled_for_aligned_arrays(tmp_path):
    """A file promises what held of the arrays that it was compiled for."""
    from cutile_sim.frontend.export import compile_kernel

    path = tmp_path / "k.tileirbc"
    path.write_bytes(compile_kernel(aligned, (floats(64), floats(64))).bytecode)
    module = load(path)
    shifted = simulate(module, 4, floats(65)[1:], floats(64), sanitize=True).findings
    assert [f.id for f in shifted] == ["CTS401"] and "multiple of 16" in shifted[0].message
    assert simulate(module, 4, floats(64), floats(64), sanitize=True).findings == ()
