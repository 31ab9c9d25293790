"""Kernels with planted mistakes, and beside each the correct one. `# BUG: id` marks the line that must be found."""

import cuda.tile as ct

Const = ct.Constant[int]


@ct.kernel
def copy(x, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)))


@ct.kernel
def offset_as_index(x, y, T: Const):
    i = ct.bid(0) * T
    tile = ct.load(x, (i,), (T,))  # BUG: CTS705
    ct.store(y, (i,), tile)  # BUG: CTS703, CTS701


@ct.kernel
def rounded_down(x, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)))  # BUG: CTS701


@ct.kernel
def other_bound(x, y, T: Const):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    tile = ct.gather(x, i, mask=i < y.shape[0], check_bounds=False)  # BUG: CTS101
    ct.scatter(y, i, tile)


@ct.kernel
def own_bound(x, y, T: Const):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    tile = ct.gather(x, i, mask=i < x.shape[0], check_bounds=False, padding_value=0)
    ct.scatter(y, i, tile)


@ct.kernel
def base_length(x, y, n, T: Const):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    tile = ct.gather(x, i, mask=i < n, check_bounds=False, padding_value=0)  # BUG: CTS101
    ct.scatter(y, i, tile)


@ct.kernel
def shared_tile(x, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i // 2,), ct.load(x, (i,), (T,)))  # BUG: CTS201


@ct.kernel
def own_tile(x, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i // 2,), (T,)))


@ct.kernel
def unused_axis(x, y, T: Const):
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(1),), (T,)))  # BUG: CTS201


@ct.kernel
def overflow(x, y, T: Const):
    i = ct.bid(0) * x.shape[0] * 4096 + ct.arange(T, dtype=ct.int32)  # BUG: CTS404
    ct.scatter(y, i // 4096, ct.gather(x, i))  # BUG: CTS701


@ct.kernel
def wide(x, y, T: Const):
    i = ct.bid(0).astype(ct.int64) * x.shape[0] * 4096 + ct.arange(T, dtype=ct.int32)
    ct.atomic_add(y, i // 4096, ct.gather(x, i))


@ct.kernel
def unwritten(x, y, z, T: Const):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (T,))
    ct.store(y, (i,), tile)
    ct.store(z, (i * 2,), tile)  # BUG: CTS701


@ct.kernel
def both_halves(x, y, z, T: Const):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (T,))
    ct.store(y, (i,), tile)
    for half in range(2):
        ct.store(z, (i * 2 + half,), tile)


@ct.kernel
def slice_past_end(x, y, T: Const):
    i = ct.bid(0)
    part = x.slice(axis=0, start=i * T, stop=i * T + T)
    ct.store(y, (i,), ct.load(part, (0,), (T,)))  # BUG: CTS101


@ct.kernel
def slice_inside(x, y, T: Const):
    i = ct.bid(0)
    start = ct.minimum(i * T, x.shape[0] - T)
    part = x.slice(axis=0, start=start, stop=start + T)
    ct.store(y, (i,), ct.load(part, (0,), (T,)))


@ct.kernel
def unchecked(x, y, T: Const):
    i = ct.bid(0)
    tile = ct.load(x, (i,), (T,), check_bounds=False)  # BUG: CTS102
    ct.store(y, (i,), tile)


@ct.kernel
def divides(x, y, d, T: Const):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)) + i // (d - i))  # BUG: CTS501


@ct.kernel
def divides_safely(x, y, d, T: Const):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)) + i // ct.maximum(d - i, 1))


@ct.kernel
def shifts(x, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)) + (1 << (i + 27)))  # BUG: CTS503


@ct.kernel
def shifts_safely(x, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(x, (i,), (T,)) + (1 << ((i + 27) & 31)))


@ct.kernel
def promises(x, y, n, T: Const):
    i = ct.bid(0)
    m = ct.assume_divisible_by(n, 8)  # BUG: CTS401
    ct.store(y, (i,), ct.load(x, (i,), (T,)) + m)


@ct.kernel
def persistent(x, y, T: Const):
    for t in range(ct.bid(0), ct.num_tiles(x, 0, shape=(T,)), ct.num_blocks(0)):
        ct.store(y, (t,), ct.load(x, (t,), (T,)))


@ct.kernel
def while_guarded(x, y, T: Const):
    t = ct.bid(0)
    while t < ct.cdiv(x.shape[0], T):
        ct.store(y, (t,), ct.load(x, (t,), (T,)))
        t += ct.num_blocks(0)


@ct.kernel
def matmul(a, b, c, TM: Const, TN: Const, TK: Const):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TN), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        x = ct.load(a, index=(i, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO)
        y = ct.load(b, index=(k, j), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(i, j), tile=acc.astype(c.dtype))


@ct.kernel
def swizzled(x, y, T: Const, G: Const):
    i = ct.bid(0)
    rows, columns = ct.cdiv(x.shape[0], T), ct.cdiv(x.shape[1], T)
    group = i // (G * columns)
    size = ct.minimum(rows - group * G, G)
    row, column = group * G + i % size, (i % (G * columns)) // size
    ct.store(y, (row, column), ct.load(x, (row, column), (T, T)))


@ct.kernel
def by_data(x, where, y, T: Const):
    i = ct.bid(0)
    target = ct.load(where, (i,), (T,))
    ct.scatter(y, target, ct.load(x, (i,), (T,)), check_bounds=False)


@ct.kernel
def locked(x, y, lock, T: Const):
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    ct.store(y, (0,), ct.load(x, (ct.bid(0),), (T,)) + ct.load(y, (0,), (T,)))
    ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)


@ct.kernel
def rotated_in_place(x, T: Const):
    i, n = ct.bid(0), ct.num_blocks(0)
    ct.store(x, ((i + 1) % n,), ct.load(x, (i,), (T,)))  # BUG: CTS202


@ct.kernel
def rotated(x, y, T: Const):
    i, n = ct.bid(0), ct.num_blocks(0)
    ct.store(y, ((i + 1) % n,), ct.load(x, (i,), (T,)))


@ct.kernel
def doubled_in_place(x, T: Const):
    i = ct.bid(0)
    ct.store(x, (i,), ct.load(x, (i,), (T,)) * 2)


@ct.kernel
def next_element(x, T: Const):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    ct.scatter(x, i, ct.gather(x, i + 1, padding_value=0))  # BUG: CTS202


@ct.kernel
def minus_first_column(x, T: Const):
    i, j = ct.bid(0), ct.bid(1)
    first = ct.load(x, (i, 0), (T, 1))  # BUG: CTS202
    ct.store(x, (i, j), ct.load(x, (i, j), (T, T)) - first)


@ct.kernel
def minus_own_column(x, T: Const):
    i, j = ct.bid(0), ct.bid(1)
    first = ct.load(x, (i, j * T), (T, 1))
    ct.store(x, (i, j), ct.load(x, (i, j), (T, T)) - first)


@ct.kernel
def by_flag(x, y, flag, T: Const):
    if ct.bid(0) == 0:
        ct.store(y, (0,), ct.load(x, (0,), (T,)))
        ct.atomic_xchg(flag, 0, 1, memory_order=ct.MemoryOrder.RELEASE)
    else:
        while ct.atomic_cas(flag, 0, 1, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 0:
            pass
        ct.store(x, (ct.bid(0),), ct.load(y, (0,), (T,)))


@ct.kernel
def counts_and_reads(x, y, T: Const):
    ct.atomic_add(x, ct.bid(0) // 2, 1.0, memory_order=ct.MemoryOrder.RELAXED)
    ct.store(y, (ct.bid(0),), ct.load(x, (ct.bid(0) // 2,), (1,)))


@ct.kernel
def halves(x, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i * 2,), ct.load(x, (i,), (T,)))
    ct.store(y, (i * 2 + 1,), ct.load(x, (i,), (T,)))


@ct.kernel
def two_thirds(x, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i * 3,), ct.load(x, (i,), (T,)))  # BUG: CTS701
    ct.store(y, (i * 3 + 2,), ct.load(x, (i,), (T,)))


@ct.kernel
def either_end(x, y, T: Const):
    i = ct.bid(0)
    if i < 2:
        ct.store(y, (i,), ct.load(x, (i,), (T,)))
    else:
        ct.store(y, (5 - i,), ct.load(x, (i,), (T,)))


@ct.kernel
def either_start(x, y, T: Const):
    i = ct.bid(0)
    if i < 2:
        ct.store(y, (i,), ct.load(x, (i,), (T,)))  # BUG: CTS201, CTS701
    else:
        ct.store(y, (i - 1,), ct.load(x, (i,), (T,)))


@ct.kernel
def persistent_rows(x, y, T: Const):
    rows, columns = ct.cdiv(x.shape[0], T), ct.cdiv(x.shape[1], T)
    for t in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        ct.store(y, (t // columns, t % columns), ct.load(x, (t // columns, t % columns), (T, T)))


@ct.kernel
def persistent_short(x, y, T: Const):
    rows, columns = ct.cdiv(x.shape[0], T), ct.cdiv(x.shape[1], T)
    for t in range(ct.bid(0), rows * columns - 1, ct.num_blocks(0)):
        tile = ct.load(x, (t // columns, t % columns), (T, T))
        ct.store(y, (t // columns, t % columns), tile)  # BUG: CTS701


@ct.kernel
def rows_of_another(x, y, T: Const):
    i, columns = ct.bid(0), ct.cdiv(x.shape[1], T)
    tile = ct.load(x, (i // columns, i % columns), (T, T))  # BUG: CTS705
    ct.store(y, (i // columns, i % columns), tile)  # BUG: CTS703, CTS701


@ct.kernel
def along_a_line(x, y, T: Const):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    row, column = i // x.shape[1], i % x.shape[1]
    ct.scatter(y, (row, column), ct.gather(x, (row, column)))


@ct.kernel
def row_sums(x, y, sums, T: Const):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(y, (i, j), ct.load(x, (i, j), (T, T)))
    if j == 0:
        ct.store(sums, (i,), ct.sum(ct.load(x, (i, 0), (T, T)), axis=1))


@ct.kernel
def by_argmax(x, y, T: Const):
    i = ct.bid(0) * T
    tile = ct.load(x, (ct.bid(0),), (T,))
    ct.scatter(y, i + ct.argmax(tile, axis=0), 1.0, check_bounds=False)


@ct.kernel
def compacted(x, y, T: Const):
    i = ct.bid(0) * T
    tile = ct.load(x, (ct.bid(0),), (T,))
    kept = tile > 0
    place = i + ct.cumsum(ct.where(kept, 1, 0), axis=0) - 1
    ct.scatter(y, place, tile, mask=kept, check_bounds=False)


@ct.kernel
def by_sum_of_lanes(x, y, T: Const):
    lanes = ct.arange(T, dtype=ct.int32)
    total = ct.sum(lanes, axis=0)
    last = ct.max(lanes[:, None] + 2 * lanes[None, :], axis=1)
    ct.scatter(y, total, 1.0, check_bounds=False)  # BUG: CTS101
    ct.scatter(x, last, 1.0, check_bounds=False)


@ct.kernel
def by_fewer_lanes(x, y, T: Const):
    lanes = ct.arange(T, dtype=ct.int32)
    ct.scatter(y, ct.sum(lanes, axis=0) - 1, 1.0, check_bounds=False)


@ct.kernel
def stacked(xs, y, T: Const):
    i = ct.bid(0)
    for j in range(len(xs)):
        ct.store(y, (j, i), ct.load(xs[j], (i,), (T,)).reshape((1, T)))


@ct.kernel
def unstacked(x, ys, T: Const):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(ys[j], (i,), ct.load(x, (i,), (T,)))


@ct.kernel
def unstacked_short(x, ys, T: Const):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(ys[j], (i,), ct.load(x, (i,), (T,)))  # BUG: CTS701


@ct.kernel
def unstacked_twice(x, ys, T: Const):
    i, j = ct.bid(0), ct.bid(1)
    ct.store(ys[j // 2], (i,), ct.load(x, (i,), (T,)))  # BUG: CTS201, CTS701


@ct.kernel
def one_short(xs, y, T: Const):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    for j in range(len(xs)):
        ct.scatter(y, (j, i), ct.gather(xs[j], i, check_bounds=False))  # BUG: CTS101


@ct.kernel
def none_short(xs, y, T: Const):
    i = ct.bid(0) * T + ct.arange(T, dtype=ct.int32)
    for j in range(len(xs)):
        inside = i < xs[j].shape[0]
        ct.scatter(y, (j, i), ct.gather(xs[j], i, mask=inside, check_bounds=False, padding_value=0))


@ct.kernel
def past_the_list(xs, y, T: Const):
    i = ct.bid(0)
    ct.store(y, (i,), ct.load(xs[i], (0,), (T,)))  # BUG: CTS705


@ct.kernel
def next_of_list(xs, T: Const):
    i, n = ct.bid(0), ct.num_blocks(0)
    ct.store(xs[(i + 1) % n], (0,), ct.load(xs[i], (0,), (T,)))  # BUG: CTS202


@ct.kernel
def own_of_list(xs, T: Const):
    i = ct.bid(0)
    ct.store(xs[i], (0,), ct.load(xs[i], (0,), (T,)) * 2)
