"""Proves things about all blocks of a launch at once, without running any: see docs/proofs.md.

    from ir_passes.symbolic import Launch, prove
    proofs = prove(function, launch)

Terms (`terms`, `evaluate`), deciding about them (`solve`, `smt`), following code (`values`, `rules`, `results`,
`execute`), and what is checked (`places`, `judge`, `accesses`, `computations`, `overlap`, `coverage`) are files of
their own.
"""

from __future__ import annotations

from ir_passes.symbolic.events import Launch
from ir_passes.symbolic.fresh import forget
from ir_passes.symbolic.prove import prove
from ir_passes.symbolic.report import Check, Proofs, Verdict, Witness
from ir_passes.symbolic.terms import Poly, Symbol, quotient
from ir_passes.symbolic.values import NOTHING, Pointers, Root

__all__ = [
    "NOTHING",
    "Check",
    "Launch",
    "Pointers",
    "Poly",
    "Proofs",
    "Root",
    "Symbol",
    "Verdict",
    "Witness",
    "forget",
    "prove",
    "quotient",
]
