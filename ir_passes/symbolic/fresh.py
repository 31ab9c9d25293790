"""What is remembered from one proof to the next, and how to forget it."""

from __future__ import annotations

from ir_passes.symbolic.conditions import forget_choices
from ir_passes.symbolic.smt import be_patient
from ir_passes.symbolic.terms import forget_quotients
from ir_passes.symbolic.values import lane


def forget() -> None:
    """Start anew, so that what is found does not depend on what was looked at before: atoms are tried by age."""
    lane.cache_clear()
    forget_choices()
    forget_quotients()
    be_patient()
