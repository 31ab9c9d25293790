"""Asks z3, an optional solver (`pip install 'cutile-sim[symbolic]'`). The only file that knows it."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from types import ModuleType
from typing import Any as Anything
from typing import Literal

from ir_passes.symbolic.conditions import All, Any, AtLeastZero, Condition, Truth, Unknown
from ir_passes.symbolic.terms import Atom, Choice, Poly, Quotient, Symbol

WORK = 6_000_000
"""How much z3 does before it gives up, in its own measure: a second or two. Unlike a time it is the same every time."""
MAX_HARD = 3
"""After so many questions that it gave up, it is given a tenth of that for each of the others."""
TIMEOUT_MS = 60_000


@lru_cache(maxsize=1)
def _z3() -> ModuleType | None:
    try:
        import z3
    except ImportError:
        return None
    module: ModuleType = z3
    return module


class _Patience:
    """How many questions were too hard since the last proof began."""

    hard = 0


def be_patient() -> None:
    """Start counting hard questions anew."""
    _Patience.hard = 0


def available() -> bool:
    """Whether z3 is installed."""
    return _z3() is not None


def smt_answer(condition: Condition) -> tuple[Literal["never", "found", "open"], dict[Symbol, int] | None, str]:
    """Whether the condition can hold: "found" with numbers for all symbols, unknowns included; else why not known."""
    z3 = _z3()
    if z3 is None:
        return "open", None, "bounds do not decide it, and z3 is not installed (pip install 'cutile-sim[symbolic]')"
    writer = _Writer(z3)
    formula = writer.condition(condition)
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS, "rlimit", WORK if _Patience.hard < MAX_HARD else WORK // 10)
    solver.add(formula)
    # Facts of atoms met while facts are written come along.
    while writer.pending:
        solver.add(writer.pending.pop())
    outcome = solver.check()
    if outcome == z3.unsat:
        return "never", None, ""
    if outcome != z3.sat:
        _Patience.hard += 1
        return "open", None, "z3 could not decide it"
    model = solver.model()
    numbers = {
        symbol: model.eval(variable, model_completion=True).as_long()
        for symbol, variable in writer.variables.items()
        if isinstance(symbol, Symbol)
    }
    return "found", numbers, ""


class _Writer:
    """Terms as z3 expressions: every atom a whole variable, what is known of it a constraint in `pending`."""

    def __init__(self, z3: ModuleType) -> None:
        self.z3 = z3
        self.variables: dict[Atom, Anything] = {}
        self.pending: list[Anything] = []

    def poly(self, poly: Poly) -> Anything:
        total: Anything = self.z3.IntVal(0)
        for monomial, coefficient in poly.terms.items():
            product: Anything = self.z3.IntVal(coefficient)
            for atom in monomial:
                product = product * self.atom(atom)
            total = total + product
        return total

    def atom(self, atom: Atom) -> Anything:
        found = self.variables.get(atom)
        if found is not None:
            return found
        variable = self.variables[atom] = self.z3.Int(f"a{atom.number}")
        if atom.low > -inf:
            self.pending.append(variable >= int(atom.low))
        if atom.high < inf:
            self.pending.append(variable <= int(atom.high))
        if isinstance(atom, Choice):
            chosen = self.z3.If(self.condition(atom.condition), self.poly(atom.then), self.poly(atom.otherwise))
            self.pending.append(variable == chosen)
        elif isinstance(atom, Quotient):
            bottom = self.poly(atom.bottom)
            rest = self.poly(atom.top) - bottom * variable
            divided = self.z3.And(rest >= 0, rest < bottom)
            # In a choice that is not made, the divisor may be anything.
            self.pending.append(divided if atom.bottom.bounds[0] >= 1 else self.z3.Implies(bottom >= 1, divided))
        else:
            self.pending += [self.poly(fact) >= 0 for fact in atom.facts]
        return variable

    def condition(self, condition: Condition) -> Anything:
        if isinstance(condition, Truth):
            return self.z3.BoolVal(condition.holds)
        if isinstance(condition, AtLeastZero):
            return self.poly(condition.poly) >= 0
        if isinstance(condition, Unknown):
            formula = self.atom(condition.symbol) != 0
            return self.z3.Not(formula) if condition.negated else formula
        assert isinstance(condition, (All, Any))
        parts = [self.condition(part) for part in condition.parts]
        return self.z3.And(parts) if isinstance(condition, All) else self.z3.Or(parts)
