"""Groups of blocks: splitting keeps every block's values, merging restores launch order, boxes stay boxes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutile_sim.dtypes import F32
from cutile_sim.engine.batches import batch_shape, batches
from cutile_sim.engine.group import UNSET, Group, merge
from cutile_sim.engine.values import TensorView, TileView, batch_of
from ir_passes.grid_axes import ALL, X, Y

sizes = st.integers(1, 4)
grids = st.tuples(sizes, sizes, sizes)


def slots_for(shape: tuple[int, int, int], rng: np.random.Generator) -> list:
    """Values of every kind: tiles that depend on each choice of batch axes, a token, a hole, views."""

    def different(*batch: int) -> np.ndarray:
        """No two blocks alike, or what differs in a part of them might be the same for all others."""
        return rng.permutation(math.prod(batch)).reshape(batch)

    slots: list = []
    for kept in range(8):
        batch = tuple(n if kept >> a & 1 else 1 for a, n in enumerate(shape))
        slots.append(different(*batch, 2))
    view = TensorView(different(1, 1, shape[2]), (7, different(*shape)), (1, 16), F32)
    shared = TensorView(np.zeros((1, 1, 1), np.int64), (7, 9), (different(1, shape[1], 1), 1), F32)
    return [*slots, None, UNSET, view, TileView(view, None), shared]  # type: ignore[arg-type]


def of_block(value, group: Group, position) -> object:
    """What a block sees in a slot."""
    if isinstance(value, np.ndarray):
        return value[tuple(min(p, n - 1) for p, n in zip(position, value.shape[:3], strict=True))].tolist()
    if isinstance(value, TileView):
        return of_block(value.tensor, group, position)
    if isinstance(value, TensorView):
        return tuple(of_block(p, group, position) for p in (value.base, *value.shape, *value.strides_elems))
    return value


def table(group: Group) -> dict:
    """What every block of the group sees in every slot, by block id."""
    return {
        group.block_at(position): [of_block(v, group, position) for v in group.slots]
        for position in np.ndindex(group.shape)
    }


def whole(grid: tuple[int, int, int], seed: int) -> Group:
    (group,) = batches(grid, grid)
    group.slots = slots_for(group.shape, np.random.default_rng(seed))
    return group


@settings(max_examples=80)
@given(grid=grids, axes=st.integers(1, 7), seed=st.integers(0, 99), in_order=st.booleans())
def test_split_and_merge_give_the_group_back(grid, axes, seed, in_order):
    group, rng = whole(grid, seed), np.random.default_rng(seed)
    before = table(group)
    condition = rng.random(tuple(n if axes >> a & 1 else 1 for a, n in enumerate(group.shape))) < 0.5
    if condition.all() or not condition.any():
        return
    yes, no = group.split(condition, in_order=in_order)
    held = {group.block_at(p): bool(np.broadcast_to(condition, group.shape)[p]) for p in np.ndindex(group.shape)}
    for parts, truth in ((yes, True), (no, False)):
        rows = {block: row for part in parts for block, row in table(part).items()}
        assert rows == {block: row for block, row in before.items() if held[block] is truth}
        assert sum(part.size for part in parts) == sum(v is truth for v in held.values())
        assert len(parts) == 1 or not in_order
    again = merge([*no, *yes])
    assert table(again) == before
    numbers = again.linear_ids(grid).ravel().tolist()
    assert numbers == sorted(numbers), "launch order"
    varying = sum(n > 1 for n in condition.shape)
    if varying == 1:
        assert again.is_box and again.shape == group.shape
        for old, new in zip(group.slots, again.slots, strict=True):
            if old is not UNSET:
                assert all(n <= m for n, m in zip(batch_of(new), batch_of(old), strict=True)), "shared values stay so"


@settings(max_examples=60)
@given(grid=grids, seed=st.integers(0, 99), fails=st.booleans())
def test_a_condition_on_each_axis_leaves_boxes(grid, seed, fails):
    group, rng = whole(grid, seed), np.random.default_rng(seed)
    before = table(group)
    z, y, x = (rng.random(n) < 0.6 for n in group.shape)
    condition = (z[:, None, None] & y[:, None] & x) ^ fails
    if condition.all() or not condition.any():
        return
    yes, no = group.split(condition)
    assert all(part.is_box for part in (*yes, *no))
    assert len(no if fails else yes) == 1 and len(yes if fails else no) <= 3
    parts = [*yes, *no]
    rng.shuffle(parts)
    again = merge(parts)
    assert table(again) == before
    assert again.is_box and again.shape == group.shape
    for old, new in zip(group.slots, again.slots, strict=True):
        if old is not UNSET:
            assert all(n <= m for n, m in zip(batch_of(new), batch_of(old), strict=True)), "shared values stay so"


@settings(max_examples=30)
@given(grid=grids, seed=st.integers(0, 99))
def test_merge_of_many_parts_in_any_order(grid, seed):
    group, rng = whole(grid, seed), np.random.default_rng(seed)
    before, parts = table(group), [group]
    for _ in range(4):
        part = parts.pop(int(rng.integers(len(parts))))
        condition = rng.random(part.shape) < 0.5
        parts += [part] if condition.all() or not condition.any() else itertools.chain(*part.split(condition))
    rng.shuffle(parts)
    again = merge(parts) if len(parts) > 1 else parts[0]
    assert table(again) == before
    numbers = again.linear_ids(grid).ravel().tolist()
    assert numbers == sorted(numbers)


def test_merge_keeps_launch_order_on_the_largest_grids():
    def row(x: int, y: int, z: int) -> Group:
        ids = tuple(np.full((1, 1, 1), i, np.int32) for i in (z, y, x))
        return Group(ids, False, [], 0, [])  # type: ignore[arg-type]

    far = merge([row(0, 1, 0), row(2**31 - 2, 0, 0), row(0, 0, 65534), row(5, 65534, 0)])
    assert [far.block_at((0, 0, i)) for i in range(4)] == [(2**31 - 2, 0, 0), (0, 1, 0), (5, 65534, 0), (0, 0, 65534)]


@given(
    grid=grids,
    blocks=st.one_of(st.none(), st.integers(1, 70)),
    tile_bytes=st.sampled_from((0, 4096, 1 << 22)),
    workers=st.integers(1, 5),
)
def test_batches_cover_the_grid_once_in_launch_order(grid, blocks, tile_bytes, workers):
    shape = batch_shape(grid, {ALL: tile_bytes}, blocks, workers=workers)
    if blocks is not None:
        assert np.prod(shape) <= blocks
    groups = list(batches(grid, shape))
    seen = [group.block_at(p) for group in groups for p in np.ndindex(group.shape)]
    assert len(seen) == len(set(seen)) == np.prod(grid)
    if shape[0] == grid[0] and (shape[1] == grid[1] or shape[2] == 1):
        assert seen == sorted(seen, key=lambda b: b[::-1])


@pytest.mark.parametrize(
    ("grid", "live_bytes", "workers", "shape"),
    [
        ((48, 1, 1), {ALL: 200_000}, 1, (32, 1, 1)),
        ((48, 1, 1), {ALL: 150_000}, 2, (24, 1, 1)),
        ((48, 1, 1), {ALL: 150_000}, 3, (16, 1, 1)),
        ((8, 8, 1), {ALL: 64, Y: 70_000}, 2, (8, 4, 1)),
        ((8, 8, 1), {ALL: 64, X: 70_000}, 2, (4, 8, 1)),
        ((5, 1, 1), {ALL: 64}, 2, (3, 1, 1)),
        ((3, 1, 1), {ALL: 64}, 8, (1, 1, 1)),
        ((1 << 20, 1, 1), {ALL: 3 << 20}, 1, (2, 1, 1)),
        ((1 << 20, 1, 1), {ALL: 3 << 20}, 3, (4, 1, 1)),
    ],
)
def test_workers_get_equal_shares_cut_where_blocks_have_least_in_common(grid, live_bytes, workers, shape):
    assert batch_shape(grid, live_bytes, workers=workers) == shape
