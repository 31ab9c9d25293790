"""Kernels of which a hasty proof would say something false. Each is small: one thing to trip over."""

import cuda.tile as ct


def one(value=1):
    return ct.full((1,), value, dtype=ct.float32)


@ct.kernel
def divides_in_one_arm(y, x):
    """Where x is not positive there is no quotient, and k stays 7."""
    j = ct.gather(x, ct.bid(0)).item()
    k = 7
    if j > 0:
        k = 10 // j
    ct.store(y, (ct.bid(0),), one(5 // (k - 7)))


@ct.kernel
def adds_up_turns(y):
    """What an inner loop counts differs from turn to turn of the outer one."""
    x = 0
    for k in range(2):
        j = 0
        while j < k + ct.bid(0):
            j += 1
        x += j
    ct.store(y, (ct.bid(0),), one(100 // (x - 1)))


@ct.kernel
def line_up_or_down(y):
    """The largest lane is the last one in some blocks and the first one in others."""
    top = ct.max(ct.arange(16, dtype=ct.int32) * (ct.bid(0) - 1), axis=0)
    ct.scatter(y, top - 15 + ct.arange(1, dtype=ct.int32), 1.0, check_bounds=False)


@ct.kernel
def asserts_either(y):
    """Of two things that are asserted only one need hold."""
    b = ct.bid(0)
    ct.assert_((b < 2) | (b > 5))
    ct.scatter(y, b + ct.arange(1, dtype=ct.int32), 1.0, check_bounds=False)


@ct.kernel
def bounded_by_own_turns(y, out):
    """The inner loop of the block that stores has more turns than that of the block that loads."""
    b = ct.bid(0)
    s = one(0)
    for i in range(4):
        for j in range(i + 1):
            if i < 2:
                s = s + ct.load(y, (2 * b + j,), (1,))
            ct.store(y, (2 * b + j,), s)
    ct.store(out, (b,), s)


@ct.kernel
def squares(y):
    """The rows that are stored reach from 0 to 225, with gaps."""
    i = ct.arange(16, dtype=ct.int32)
    ct.store_advanced_indexing(y, (i * i, ct.Slice(0, 4)), ct.full((16, 4), 1, dtype=ct.float32))


@ct.kernel
def first_or_last(y):
    i = ct.arange(16, dtype=ct.int32)
    tile = ct.full((16, 4), 1, dtype=ct.float32)
    ct.store_advanced_indexing(y, (ct.where(i < 8, 0, 15), ct.Slice(ct.bid(0) * 4, 4)), tile)


@ct.kernel
def takes_a_part(x, y):
    """The tile has two parts, the grid four blocks."""
    ct.store(y, (ct.bid(0),), ct.extract(ct.load(x, (0,), (8,)), (ct.bid(0),), (4,)))


@ct.kernel
def puts_a_part(x, y):
    tile = ct.load(x, (0,), (8,))
    ct.store(y, (ct.bid(0),), ct.insert(tile, (ct.bid(0) - 1,), ct.full((4,), 1, dtype=ct.float32)))


@ct.kernel
def never_stores(y):
    """What is never reached is found so only by counting out."""
    b = ct.bid(0)
    if (b * 3 % 7) * (b % 2) % 5 == 4:
        ct.store(y, (b // 2 % 3,), one())


@ct.kernel
def asks_for_one_more(xs):
    ct.store(xs[ct.bid(0)], (0,), ct.full((4,), 1, dtype=ct.float32))


@ct.kernel
def fails_in_the_last(y, n):
    ct.assert_(ct.bid(0) < n)
    ct.store(y, (ct.bid(0),), one())


@ct.kernel
def fails_in_a_lane(y):
    i = ct.bid(0) * 4 + ct.arange(4, dtype=ct.int32)
    ct.assert_(i < 14)
    ct.scatter(y, i, 1.0)


@ct.kernel
def divides_nowhere(y):
    """Where the divisor is not positive, what is divided is never asked for: not even when symbols are replaced."""
    b = ct.bid(0)
    k = 3
    if b > 1:
        k = 12 // (b - 1)
    ct.store(y, (k % 3 + b * 3,), one())


@ct.kernel
def bits(y):
    ct.scatter(y, (ct.bid(0) | 4) + ct.arange(1, dtype=ct.int32), 1.0)


@ct.kernel
def fails_first(y, n):
    """What every block does alike is worked out ahead of all blocks, but no block comes to it."""
    for _ in range(ct.num_blocks(0)):
        ct.assert_(ct.bid(0) > 7)
    k = 0
    while k < 3:
        ct.store(y, (ct.bid(0),), one(6 % (n + 1)))
        k += 1
