"""What each pure operation does to terms: the symbolic half of `cutile_sim.ops`, for integers, i1 and pointers.

An operation without a rule here yields an unknown, and all that depends on it is "not checked".
"""

from __future__ import annotations

from collections.abc import Sequence

from cutile_sim.tileir.core import Op
from ir_passes.symbolic.arithmetic import ARITHMETIC
from ir_passes.symbolic.layout import LAYOUT
from ir_passes.symbolic.numbers import NotFollowedError
from ir_passes.symbolic.terms import Poly
from ir_passes.symbolic.values import Followed

RULES = {**ARITHMETIC, **LAYOUT}


def apply_rule(op: Op, operands: Sequence[Followed], facts: Sequence[Poly]) -> Followed | None:
    """The only result of a pure operation, or None where there is no rule or it does not cover the case."""
    rule = RULES.get(op.name)
    if rule is None or len(op.results) != 1:
        return None
    try:
        return rule(op, operands, facts)
    except NotFollowedError:
        return None
