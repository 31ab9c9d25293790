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


SCALE = 3
i = 77  # no variable of a function


def twice(a, by=2, *, more=0):
    i = a * by
    i += more
    return i


def early(a, n):
    if n > 2:
        return a + 1
    b = a * 5
    return b


def nested(a):
    lo, (mid, hi) = a - 1, (a, a + 1)
    return lo, (mid, hi)


@ct.kernel
def forms(x, y, n, N: ct.Constant[int]):
    b = ct.bid(0)
    i = b * 2
    a = c = ct.load(x, index=(b,), shape=(N,))
    a, c = c + 1, a - 1
    a, c = c, a
    p, (q, r) = nested(a)
    t = (p, q, r)
    u = t[1] + t[-1]
    d = twice(a, by=SCALE) if n > 3 else twice(c, more=4)
    e = early(d, n)
    f = early(early(e, i), b)
    a *= SCALE
    w = a + i
    a -= w
    g = w + u
    k = -1
    for k in range(n):
        if k == 2:
            continue
        i += k
        g = g + twice(g, more=k) * 0 + i
    v = g if i > 3 else f
    s = ct.sum(v, axis=0)
    v, s = v + s, s - i
    z = ct.where(v > 3, v, -v)
    z = -z
    z += a + c + d + e + f + g + s
    o = i < 3 and b > 0
    if o:
        z = z + 1
    ct.store(y, index=(b,), tile=z)


def inner(a, k):
    j = a + k
    if k > 1:
        j = j * 2
        return j
    for q in range(2):
        j = j + q
    return j


@ct.kernel
def calls(x, y, n, N: ct.Constant[int]):
    b = ct.bid(0)
    a = ct.load(x, index=(b,), shape=(N,))
    j = a
    for k in range(n):
        a = inner(a, k)
        j = j + inner(inner(j, b), k)
    if b == 1:
        ct.store(y, index=(b,), tile=a)
        return
    a = a + j
    while True:
        a = a - 1
        b = b + 1
        if b > 3:
            break
    ct.store(y, index=(ct.bid(0),), tile=a + j + b)
