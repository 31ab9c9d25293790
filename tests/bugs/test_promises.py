"""Promises that do not hold."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim import load, simulate
from cutile_sim.sanitize import SanitizeOptions

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


@ct.kernel
def promised_stride(x, y, row, width):
    """Rows that are taken to be padded to 16 elements."""
    i = ct.assume_divisible_by(row * width, 16)  # BUG: CTS401
    ct.store(y, (0,), ct.gather(x, i + ct.arange(16, dtype=ct.int32)))


@ct.kernel
def padded_stride(x, y, row, width):
    i = ct.assume_divisible_by(row * (ct.cdiv(width, 16) * 16), 16)
    ct.store(y, (0,), ct.gather(x, i + ct.arange(16, dtype=ct.int32)))


def test_promised_stride(pair):
    pair("promised_stride", "padded_stride", (1,), lambda: (floats(64), floats(16), 3, 10))


@ct.kernel
def neighbours(x, y):
    """In and out overlap by all but one element."""
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    t = ct.gather(x, i)
    ct.scatter(y, i, t)  # BUG: CTS403


@ct.kernel
def neighbours_of_a_copy(x, y):
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    t = ct.gather(x, i)
    ct.scatter(y, i, t)


ONLY_PROMISES = SanitizeOptions(checks=("promises",))


def test_shifted_view(pair):
    def views():
        x = floats(33)
        return x[:-1], x[1:]

    def copies():
        x = floats(33)
        return x[:-1].copy(), x[1:]

    (finding,) = pair("neighbours", "neighbours_of_a_copy", (2,), views, twin_make=copies, sanitize=ONLY_PROMISES)
    assert "'x' shares memory with 'y'" in finding.message and finding.severity == "warning"
    assert [word for word, _ in finding.related] == ["'x' is accessed here"]


@ct.kernel
def transpose_in_place(x, y):
    """A matrix and its transpose are one memory."""
    b = ct.bid(0)
    ct.store(y, (b, 0), ct.load(x, (b, 0), (8, 16)))  # BUG: CTS403


@ct.kernel
def transpose_out_of_place(x, y):
    b = ct.bid(0)
    ct.store(y, (b, 0), ct.load(x, (b, 0), (8, 16)))


def test_matrix_and_its_transpose(pair):
    def square():
        x = floats(256).reshape(16, 16)
        return x.T, x

    pair(
        "transpose_in_place",
        "transpose_out_of_place",
        (2,),
        square,
        twin_make=lambda: (floats(256).reshape(16, 16).T, floats(256).reshape(16, 16)),
        sanitize=ONLY_PROMISES,
    )


@ct.kernel
def total_beside_data(x, total):
    """The total lies in the last element of the data."""
    ct.atomic_add(total, 0, ct.sum(ct.load(x, (ct.bid(0),), (16,))))  # BUG: CTS403


@ct.kernel
def total_apart(x, total):
    ct.atomic_add(total, 0, ct.sum(ct.load(x, (ct.bid(0),), (16,))))


def test_result_within_the_data(pair):
    def within():
        x = floats(64)
        return x, x[-1:]

    pair(
        "total_beside_data",
        "total_apart",
        (4,),
        within,
        twin_make=lambda: (floats(64), floats(1)),
        sanitize=ONLY_PROMISES,
    )


@ct.kernel
def the_same_array(x, y):
    """One array for in and out: each block reads what it then writes itself."""
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0),), (16,)) + 1)


def test_one_array_for_in_and_out(planted):
    def make():
        x = floats(64)
        return x, x

    planted("the_same_array", (4,), make)


@ct.kernel
def tile_of_32_bits(x, y, batch, size):
    """The offset of a batch, as a tile's index."""
    first = batch * size  # BUG: CTS404
    ct.store(y, (0,), ct.load(x, (first // 16,), (16,), padding_mode=ct.PaddingMode.ZERO))


@ct.kernel
def tile_of_64_bits(x, y, batch, size):
    first = batch.astype(ct.int64) * size
    ct.store(y, (0,), ct.load(x, (first // 16,), (16,), padding_mode=ct.PaddingMode.ZERO))


def test_tile_index(pair):
    pair("tile_of_32_bits", "tile_of_64_bits", (1,), lambda: (floats(64), floats(16), 70_000, 70_000))


@ct.kernel
def step_of_32_bits(x, y, step, n):
    """The offset grows until it wraps."""
    at = 0
    for _ in range(n):
        ct.scatter(y, 0, ct.gather(x, at))
        at = at + step  # BUG: CTS404


@ct.kernel
def step_of_64_bits(x, y, step, n):
    at = ct.astype(0, ct.int64)
    for _ in range(n):
        ct.scatter(y, 0, ct.gather(x, at))
        at = at + step


def test_offset_in_a_loop(pair):
    pair("step_of_32_bits", "step_of_64_bits", (1,), lambda: (floats(64), floats(1), 2**30, 4))
