"""Whether blocks may run in any order, or several at a time, and still give the same results bit for bit."""

from __future__ import annotations

from typing import NamedTuple

from cutile_sim.dtypes import ElementType
from cutile_sim.optable.encoding import AtomicRMWMode
from cutile_sim.tileir.core import Function, Op, Value
from ir_passes.memory_roots import memory_roots

COMMUTING = frozenset(
    {
        AtomicRMWMode.ADD,
        AtomicRMWMode.AND,
        AtomicRMWMode.OR,
        AtomicRMWMode.XOR,
        AtomicRMWMode.MAX,
        AtomicRMWMode.MIN,
        AtomicRMWMode.UMAX,
        AtomicRMWMode.UMIN,
    }
)
"""Atomic updates of integers that leave the same in memory whatever their order."""


class OrderReason(NamedTuple):
    """An operation because of which blocks must take turns in launch order, and why."""

    op: Op
    reason: str


def block_order(function: Function) -> OrderReason | None:
    """The first reason why blocks must run one after another, in launch order; None where there is none.

    Plain loads and stores are none: blocks that race through them have no one result on a GPU either.
    """
    accesses = memory_roots(function)
    written = {p for a in accesses if a.writes for p in a.parameters}
    anywhere = any(a.writes and not a.exact for a in accesses)
    may_see = {
        a.op for a in accesses if a.reads and (anywhere or not a.exact or not a.parameters or a.parameters & written)
    }
    used = {v for op in function.walk() for v in op.inputs}
    for op in function.walk():
        if op.name == "alloca":
            return OrderReason(op, "it allocates memory of its own")
        if op.name == "atomic_cas_tko":
            return OrderReason(op, "which block's compare-and-swap succeeds depends on their order")
        if op.name in ("atomic_rmw_tko", "atomic_red_view_tko"):
            if op.attributes["mode"] not in COMMUTING:
                return OrderReason(op, "what this atomic update leaves depends on the order of the blocks")
            if any(_is_value(v) and v in used for v in op.results):
                return OrderReason(op, "the old value of this atomic update depends on the order of the blocks")
        if _may_turn_until(op) and any(o in may_see for o in op.walk()):
            return OrderReason(op, "this loop may wait for what another block writes")
    return None


def _may_turn_until(op: Op) -> bool:
    """Whether a loop may turn until something happens: any but a counted one that makes all its turns."""
    if op.name == "for":
        *body, _ = op.regions[0].ops
        return any(o.name == "continue" for nested in body for o in nested.walk())
    return op.name == "loop"


def _is_value(value: Value) -> bool:
    return isinstance(getattr(value.type, "element", None), ElementType)
