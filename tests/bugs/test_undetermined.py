"""Undetermined values, and where they arrive."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim.sanitize import SanitizeOptions

ct = pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

PAD = ct.PaddingMode


def floats(n: int) -> np.ndarray:
    return np.arange(1, n + 1, dtype=np.float32)


@ct.kernel
def mean_over_padding(x, y):
    ct.store(y, (0,), ct.sum(ct.load(x, (0,), (32,))) / x.shape[0])  # BUG: CTS301


@ct.kernel
def mean_over_elements(x, y):
    ct.store(y, (0,), ct.sum(ct.load(x, (0,), (32,), padding_mode=PAD.ZERO)) / x.shape[0])


def test_mean(pair):
    pair("mean_over_padding", "mean_over_elements", (1,), lambda: (floats(20), floats(1)))


@ct.kernel
def masked_by_zero(x, y):
    """Garbage times zero is no zero: it may be NaN."""
    t = ct.load(x, (0,), (32,))
    inside = ct.arange(32, dtype=ct.int32) < x.shape[0]
    ct.store(y, (0,), t * inside.astype(ct.float32))  # BUG: CTS301


@ct.kernel
def masked_by_where(x, y):
    t = ct.load(x, (0,), (32,))
    inside = ct.arange(32, dtype=ct.int32) < x.shape[0]
    ct.store(y, (0,), ct.where(inside, t, 0.0))


def test_masked_lanes(pair):
    pair("masked_by_zero", "masked_by_where", (1,), lambda: (floats(20), floats(32)))


@ct.kernel
def branch_on_padding(x, y):
    if ct.max(ct.load(x, (ct.bid(0),), (16,))) > 100:  # BUG: CTS302
        ct.store(y, (ct.bid(0),), ct.full((16,), 1, ct.float32))
    else:
        ct.store(y, (ct.bid(0),), ct.full((16,), 2, ct.float32))


@ct.kernel
def branch_on_elements(x, y):
    if ct.max(ct.load(x, (ct.bid(0),), (16,), padding_mode=PAD.NEG_INF)) > 100:
        ct.store(y, (ct.bid(0),), ct.full((16,), 1, ct.float32))
    else:
        ct.store(y, (ct.bid(0),), ct.full((16,), 2, ct.float32))


def test_branch(pair):
    pair("branch_on_padding", "branch_on_elements", (3,), lambda: (floats(40), floats(48)))


@ct.kernel
def index_of_padding(index, x, y):
    i = ct.load(index, (0,), (32,))
    ct.store(y, (0,), ct.gather(x, i))  # BUG: CTS303


@ct.kernel
def index_of_elements(index, x, y):
    i = ct.load(index, (0,), (32,), padding_mode=PAD.ZERO)
    ct.store(y, (0,), ct.gather(x, i))


def test_index(pair):
    pair(
        "index_of_padding",
        "index_of_elements",
        (1,),
        lambda: (np.arange(20, dtype=np.int32), floats(32), floats(32)),
    )


@ct.kernel
def product_with_padding(a, b, c):
    t = ct.mma(ct.load(a, (0, 0), (16, 32)), ct.load(b, (0, 0), (32, 16)), ct.zeros((16, 16), ct.float32))
    ct.store(c, (0, 0), t)  # BUG: CTS301


@ct.kernel
def product_of_elements(a, b, c):
    x, y = ct.load(a, (0, 0), (16, 32), padding_mode=PAD.ZERO), ct.load(b, (0, 0), (32, 16), padding_mode=PAD.ZERO)
    ct.store(c, (0, 0), ct.mma(x, y, ct.zeros((16, 16), ct.float32)))


def test_matrix_product(pair):
    pair(
        "product_with_padding",
        "product_of_elements",
        (1,),
        lambda: (np.ones((16, 20), np.float32), np.ones((20, 16), np.float32), np.zeros((16, 16), "f")),
    )


@ct.kernel
def rows_of_padding(a, c):
    """Rows that no array has stay where they are: what is cut off at the store does not count."""
    t = ct.load(a, (ct.bid(0), 0), (16, 16))
    ct.store(c, (ct.bid(0), 0), t / ct.sum(t, axis=1, keepdims=True))


def test_what_is_cut_off_does_not_count(planted):
    planted("rows_of_padding", (2,), lambda: (np.ones((20, 16), np.float32), np.zeros((20, 16), np.float32)))


@ct.kernel
def adds_to_output(x, y):
    ct.store(y, (0,), ct.load(y, (0,), (16,)) + ct.load(x, (0,), (16,)))  # BUG: CTS301


@ct.kernel
def sets_output(x, y):
    ct.store(y, (0,), ct.load(x, (0,), (16,)))
    ct.store(y, (0,), ct.load(y, (0,), (16,)) + ct.load(x, (0,), (16,)))


def test_uninitialised_array(pair):
    pair(
        "adds_to_output",
        "sets_output",
        (1,),
        lambda: (floats(16), floats(16)),
        sanitize=SanitizeOptions(uninitialised=("y",)),
    )


@ct.kernel
def past_the_list(xs, y, n):
    acc = ct.zeros((16,), ct.float32)
    for i in range(n):
        acc += ct.load(xs[i], (0,), (16,))  # BUG: CTS303
    ct.store(y, (0,), acc)


@ct.kernel
def whole_list(xs, y, n):
    acc = ct.zeros((16,), ct.float32)
    for i in range(len(xs)):
        acc += ct.load(xs[i], (0,), (16,))
    ct.store(y, (0,), acc)


def test_item_of_a_list(pair):
    pair("past_the_list", "whole_list", (1,), lambda: ([floats(16), floats(16)], floats(16), 3))


@ct.kernel
def index_by_padding(index, x, y):
    """A tile's index taken from padding."""
    i = ct.max(ct.load(index, (0,), (8,)))
    ct.store(y, (0,), ct.load(x, (i,), (16,), padding_mode=PAD.ZERO))  # BUG: CTS303


@ct.kernel
def index_by_elements(index, x, y):
    i = ct.max(ct.load(index, (0,), (8,), padding_mode=PAD.ZERO))
    ct.store(y, (0,), ct.load(x, (i,), (16,), padding_mode=PAD.ZERO))


def test_index_of_a_tile(pair):
    pair("index_by_padding", "index_by_elements", (1,), lambda: (np.arange(3, dtype=np.int32), floats(64), floats(16)))


@ct.kernel
def turns_of_padding(lengths, x, y):
    """How often the loop turns comes from behind the end of the table."""
    b = ct.bid(0)
    n = ct.max(ct.load(lengths, (b,), (4,)))
    acc = ct.zeros((16,), ct.float32)
    for k in range(n):  # BUG: CTS302
        acc += ct.load(x, (k,), (16,), padding_mode=PAD.ZERO)
        if k > 3:
            break
    ct.store(y, (b,), acc)


@ct.kernel
def turns_of_elements(lengths, x, y):
    b = ct.bid(0)
    n = ct.max(ct.load(lengths, (b,), (4,), padding_mode=PAD.ZERO))
    acc = ct.zeros((16,), ct.float32)
    for k in range(n):
        acc += ct.load(x, (k,), (16,), padding_mode=PAD.ZERO)
        if k > 3:
            break
    ct.store(y, (b,), acc)


def test_turns_of_a_loop(pair):
    pair(
        "turns_of_padding",
        "turns_of_elements",
        (2,),
        lambda: (np.full(6, 2, np.int32), floats(64), floats(32)),
    )


@ct.kernel
def halve_until_small(x, y):
    """What lies behind the array keeps the loop going, or stops it."""
    t = ct.load(x, (0,), (16,))
    turns = 0
    while ct.max(t) > 1.0:  # BUG: CTS302
        t = t * 0.5
        turns += 1
    ct.store(y, (0,), ct.full((1,), turns, ct.int32))


@ct.kernel
def halve_until_all_small(x, y):
    t = ct.load(x, (0,), (16,), padding_mode=PAD.ZERO)
    turns = 0
    while ct.max(t) > 1.0:
        t = t * 0.5
        turns += 1
    ct.store(y, (0,), ct.full((1,), turns, ct.int32))


def test_end_of_a_loop(pair):
    pair("halve_until_small", "halve_until_all_small", (1,), lambda: (floats(9), np.zeros(1, np.int32)))


@ct.kernel
def print_padding(x):
    ct.printf("%f\n", ct.sum(ct.load(x, (0,), (32,))))  # BUG: CTS304


@ct.kernel
def print_elements(x):
    ct.printf("%f\n", ct.sum(ct.load(x, (0,), (32,), padding_mode=PAD.ZERO)))


def test_print(pair):
    pair("print_padding", "print_elements", (1,), lambda: (floats(20),))


@ct.kernel
def print_tile(x):
    """The whole last tile is shown, with what lies behind the array."""
    t = ct.load(x, (ct.bid(0),), (8,))
    print(t)  # BUG: CTS304


@ct.kernel
def print_whole_tiles(x):
    t = ct.load(x, (ct.bid(0),), (8,))
    if ct.bid(0) + 1 < ct.num_blocks(0):
        print(t)


def test_print_of_a_tile(pair):
    pair("print_tile", "print_whole_tiles", (3,), lambda: (floats(20),))


@ct.kernel
def assert_on_padding(x):
    t = ct.load(x, (ct.bid(0),), (16,))
    ct.assert_((t > 0.0) | (t != t), "negative")  # BUG: CTS304


@ct.kernel
def assert_on_elements(x):
    t = ct.load(x, (ct.bid(0),), (16,))
    i = ct.bid(0) * 16 + ct.arange(16, dtype=ct.int32)
    ct.assert_((i >= x.shape[0]) | (t > 0.0), "negative")


def test_assertion(pair):
    pair("assert_on_padding", "assert_on_elements", (2,), lambda: (floats(20),))


@ct.kernel
def product_of_two(x, w, y):
    """Either array may be too short: both are named."""
    ct.store(y, (0,), ct.load(x, (0,), (32,)) * ct.load(w, (0,), (32,)))  # BUG: CTS301


@ct.kernel
def product_of_two_padded(x, w, y):
    a, b = ct.load(x, (0,), (32,), padding_mode=PAD.ZERO), ct.load(w, (0,), (32,), padding_mode=PAD.ZERO)
    ct.store(y, (0,), a * b)


def test_two_origins(pair):
    (finding,) = pair("product_of_two", "product_of_two_padded", (1,), lambda: (floats(24), floats(20), floats(32)))
    assert finding.count == 12
    assert "lanes outside array 'x', loaded without a padding value, or from lanes outside array 'w'" in finding.message
    assert [word for word, _ in finding.related] == ["it comes from", "or from"]
