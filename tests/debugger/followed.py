"""Kernels whose variables are followed. Their numbers are small and whole, so that any order of operations is exact."""

import cuda.tile as ct


def plus(a, b):
    s = a + b
    return s * 2


def pair(a):
    up = a + 1
    return up, a - 1


@ct.kernel
def straight(x, y, n, N: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(N,))
    same = a
    b = a * 3
    b += a
    c, d = pair(b)
    M = N * 2
    e = plus(plus(a, d), c)
    f = ct.sum(e)
    g = e - f
    h = g[None, :]
    k = h.reshape((N,))
    ct.store(y, index=(i,), tile=k + c + same + b * d + M)


@ct.kernel
def loops(x, y, n, N: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(N,))
    total = ct.zeros((N,), dtype=ct.int32)
    other = ct.zeros((N,), dtype=ct.int32)
    last = a
    for k in range(n):
        step = a + k
        total = total + step
        for j in range(k):
            other = other + j
            total += other
        first = last
        last = step
        a = plus(a, first)
    ct.store(y, index=(i,), tile=a + total + other + last)


@ct.kernel
def branches(x, y, n, N: ct.Constant[int], FLAG: ct.Constant[bool]):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(N,))
    b = a
    if FLAG:
        z = a + 3
    else:
        z = a + 4
    for k in range(n):
        if k == 1:
            a = a - z
        elif i == 1:
            a = a + 7
            b = a
        else:
            b = b + z
        if k == 3:
            break
        if i + k == 2:
            continue
        b = b + 1
    c = 0
    while c < n:
        c += 1
        a = a + c
        if c == 2:
            break
    r = a if n > 3 else b
    ct.store(y, index=(i,), tile=a + b + r + c)


@ct.kernel
def unrolled(x, y, n, N: ct.Constant[int]):
    i = ct.bid(0)
    a = ct.load(x, index=(i,), shape=(N,))
    b = a
    for s in ct.static_iter(range(3)):
        before = b
        b = b + s
        a = a + before
    ct.store(y, index=(i,), tile=a + b)


@ct.kernel
def products(x, y, z, n, N: ct.Constant[int]):
    i = ct.bid(0)
    acc = ct.zeros((N, N), dtype=ct.float32)
    top = ct.zeros((N,), dtype=ct.float32)
    for k in range(n):
        p = ct.load(x, index=(i, k), shape=(N, N))
        q = ct.load(y, index=(k, i), shape=(N, N))
        acc = ct.mma(p, ct.transpose(q), acc)
        top = ct.max(acc, axis=1) + top
    half = acc.astype(ct.float16)
    ct.store(z, index=(i, 0), tile=half.astype(ct.float32) + acc + top[None, :])
