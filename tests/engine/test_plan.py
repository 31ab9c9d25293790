"""Plans: what runs once a launch, when values are let go, how much lives at once, what cannot run at all."""

from __future__ import annotations

import numpy as np
import pytest

from cutile_sim.engine.group import UNSET
from cutile_sim.engine.machine import Machine
from cutile_sim.engine.plan import Branch, Halt, Join, Jump, make_plan
from cutile_sim.frontend.export import compile_kernel

pytestmark = pytest.mark.cutile

ct = pytest.importorskip("cuda.tile")

TILE_BYTES = 1024 * 4


@ct.kernel
def chain(x, y):
    t = ct.load(x, (ct.bid(0),), (1024,))
    for _ in ct.static_iter(range(12)):
        t = t * 0.5 + 1.0
    ct.store(y, (ct.bid(0),), t)


@ct.kernel
def looped(x, y, n):
    kept = ct.load(x, (ct.bid(0),), (1024,))
    t = ct.zeros((1024,), ct.float32)
    for k in range(n):
        t = t + kept * k
    ct.store(y, (ct.bid(0),), t)


@ct.kernel
def divergent(x, y, n):
    b = ct.bid(0)
    t = ct.load(x, (b,), (8,))
    if b > n:
        u = t + 1
        t = u * u
    for k in range(b):
        v = t * 2
        if k > n:
            continue
        t = v - 1
    while ct.sum(t) > 100:
        t = t * 0.5
    ct.store(y, (b,), t)


@ct.kernel
def constants(x, y, n):
    a = (n * 3 + 1) * n
    ct.scatter(y, ct.bid(0), a + ct.num_blocks(0))


def f32(n: int = 4096) -> np.ndarray:
    return np.ones(n, np.float32)


def plan_of(kernel, *args):
    return make_plan(compile_kernel(kernel, args).entry)


def test_values_are_let_go_after_their_last_use():
    plan = plan_of(chain, f32(), f32())
    assert 2 * TILE_BYTES <= sum(plan.live_bytes.values()) <= 4 * TILE_BYTES
    plan = plan_of(looped, f32(), f32(), 3)
    # The kept tile, the sum, the product and the new sum.
    assert 3 * TILE_BYTES <= sum(plan.live_bytes.values()) <= 5 * TILE_BYTES


def test_nothing_is_left_at_the_end_but_what_the_launch_shares(monkeypatch):
    from cutile_sim import simulate

    ends: list = []
    advance = Machine._advance

    def watched(self, group, ready, waiting):
        going_on = advance(self, group, ready, waiting)
        if not going_on:
            shared = {i for i, v in enumerate(self.slots) if v is not UNSET}
            tiles = [
                v
                for i, v in enumerate(self.cx.group.slots)
                if i not in shared and isinstance(v, np.ndarray) and v.ndim > 3
            ]
            ends.append(tiles)
        return going_on

    monkeypatch.setattr(Machine, "_advance", watched)
    y = np.zeros(80, np.float32)
    simulate(divergent, 10, np.arange(80, dtype=np.float32), y, 3)
    assert ends == [[]]


def test_what_no_block_changes_runs_once():
    plan = plan_of(constants, np.zeros(4, np.int32), np.zeros(4, np.int32), 3)
    names = [op.name for op in plan.prologue.ops if op is not None]
    assert names.count("muli") >= 2 and "get_tile_block_id" not in names
    later = [op.name for step in plan.code if hasattr(step, "ops") for op in step.ops if op is not None]
    assert "get_tile_block_id" in later and "store_ptr_tko" in later


def test_jumps_lead_to_instructions():
    plan = plan_of(divergent, f32(), f32(), 3)
    assert isinstance(plan.code[-1], Halt)
    for instruction in plan.code:
        if isinstance(instruction, (Jump, Branch)):
            assert 0 <= instruction.target < len(plan.code)
        if isinstance(instruction, Jump) and not instruction.is_back:
            assert isinstance(plan.code[instruction.target], Join), "parted groups meet where forward jumps lead"
    assert {j.may_wait for j in plan.code if isinstance(j, Jump) and j.is_back} == {False}


def test_only_loops_that_read_memory_may_wait():
    from cutile_sim.engine.plan import Plan

    @ct.kernel
    def waits(flag, x):
        while ct.atomic_add(flag, 0, 0) == 0:
            pass
        ct.scatter(x, 0, 1)

    plan: Plan = plan_of(waits, np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert [j.may_wait for j in plan.code if isinstance(j, Jump) and j.is_back] == [True]
