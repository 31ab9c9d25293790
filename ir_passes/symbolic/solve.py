"""Is a polynomial never negative? Can a condition hold?

First by adding up facts: `goal - c * fact` with c >= 0 is easier and proves the goal, until bounds alone decide. Then
by cases, for choices. Then by trying numbers, for a counterexample. Then by trying all, where those are few. Only then
by z3, if it is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import inf
from typing import Literal

from ir_passes.symbolic.conditions import Condition, alternatives, both, negate, unknowns
from ir_passes.symbolic.counted import counted_out, is_tangled, with_facts
from ir_passes.symbolic.evaluate import holds, replace, value_of
from ir_passes.symbolic.parts import nested_atoms, without_factors
from ir_passes.symbolic.smt import smt_answer
from ir_passes.symbolic.terms import Atom, Choice, Monomial, Poly, Symbol, UndeterminedError

MAX_STEPS = 300
MAX_EFFORT = 1000
"""Steps for one question, over all its cases."""
MAX_CASES = 24
MAX_TRIALS = 3000
FEW_CASES = 1 << 14
"""So many are counted out sooner than quotients of quotients are thought about."""


@dataclass(frozen=True)
class Answer:
    """`never`: the condition cannot hold. `found`: it does, for `numbers`. `open`: `reason` says why neither is known.

    `by` is how it was decided: "facts", "trial", "count", "z3".
    """

    kind: Literal["never", "found", "open"]
    numbers: Mapping[Symbol, int] | None = None
    reason: str = ""
    by: str = ""


def can_hold(condition: Condition, given: Condition, *, order: Sequence[Symbol] = ()) -> Answer:
    """Whether both conditions can hold at once. `order`: symbols that numbers are tried for first."""
    whole = both(given, condition)
    if is_tangled(whole):
        done, numbers = counted_out(whole, FEW_CASES)
        if done:
            return Answer("never", by="count") if numbers is None else Answer("found", numbers, by="count")
    if is_never(condition, given):
        return Answer("never", by="facts")
    numbers, missing = _try(whole, order)
    if numbers is not None:
        return Answer("found", numbers, by="trial")
    done, numbers = counted_out(whole)
    if done:
        return Answer("never", by="count") if numbers is None else Answer("found", numbers, by="count")
    kind, numbers, reason = smt_answer(whole)
    if kind == "never":
        return Answer("never", by="z3")
    if kind == "found":
        assert numbers is not None
        known = {s: n for s, n in numbers.items() if not s.is_unknown}
        try:
            if holds(whole, known):
                return Answer("found", known, by="z3")
            reason = "its counterexample does not hold up"
        except UndeterminedError as error:
            return Answer("open", reason=f"it depends on {error.reason}")
    if dependent := unknowns(condition) or unknowns(given):
        return Answer("open", reason=f"it depends on {dependent[0].why or dependent[0].name}")
    return Answer("open", reason=missing or reason)


@dataclass
class _Effort:
    """Steps that are left for one question."""

    left: int = MAX_EFFORT


def is_never(condition: Condition, given: Condition) -> bool:
    """Whether facts alone show that the two cannot both hold."""
    options = list(alternatives(condition))
    facts = list(islice(alternatives(given), MAX_CASES))
    effort = _Effort()
    return all(_contradict(option + known, effort) for option in options for known in facts)


def _contradict(facts: list[Poly], effort: _Effort) -> bool:
    """Whether polynomials cannot all be at least 0."""
    for fact in reversed(facts):
        others = [f for f in facts if f is not fact]
        if _never_negative(-fact - 1, others, MAX_STEPS, MAX_CASES, effort):
            return True
    return False


def never_negative(goal: Poly, facts: Sequence[Poly] = (), *, steps: int = MAX_STEPS, cases: int = MAX_CASES) -> bool:
    """Whether the polynomial is at least 0 wherever the facts are. False where that was not found."""
    return _never_negative(goal, facts, steps, cases, _Effort())


def _never_negative(goal: Poly, facts: Sequence[Poly], steps: int, cases: int, effort: _Effort) -> bool:
    if goal.bounds[0] >= 0:
        return True
    if not goal.atoms or effort.left <= 0:
        return False
    most = min(steps, effort.left)
    search = _Search([*facts, *_standing(goal, facts)], most)
    proved = search.proves(goal)
    effort.left -= most - search.steps
    if proved:
        return True
    if cases < 2:
        return False
    pick = _to_split(goal, facts)
    if pick is None:
        return False
    for condition, branch in ((pick.condition, pick.then), (negate(pick.condition), pick.otherwise)):
        by: dict[Atom, Poly] = {pick: branch}
        goal_here, known = replace(goal, by), [replace(f, by) for f in facts]
        for option in alternatives(condition):
            more = [replace(f, by) for f in option]
            if not _never_negative(goal_here, [*known, *more], steps, cases // 2, effort):
                return False
    return True


def _to_split(goal: Poly, facts: Sequence[Poly]) -> Choice | None:
    """The choice to look at case by case: an outermost one of the goal's own first."""
    for poly in (goal, *facts):
        found = [a for a in nested_atoms(poly) if isinstance(a, Choice)]
        if found:
            return max(found, key=lambda a: a.number)
    return None


def _standing(goal: Poly, facts: Iterable[Poly]) -> list[Poly]:
    """Facts that come with the atoms of the goal and of the facts."""
    found: dict[Poly, None] = {}
    seen: set[Atom] = set()
    open_ends = [goal, *facts]
    while open_ends:
        for atom in open_ends.pop().atoms - seen:
            seen.add(atom)
            for fact in atom.facts:
                found[fact] = None
                open_ends.append(fact)
    return list(found)


class _Search:
    """Subtracts facts from a goal until its bounds decide."""

    def __init__(self, facts: list[Poly], steps: int) -> None:
        self.steps = steps
        self.seen: set[Poly] = set()
        self.by_monomial: dict[tuple[Atom, bool], list[tuple[Monomial, int, Poly]]] = {}
        for fact in facts:
            for m, c in fact.terms.items():
                if m:
                    self.by_monomial.setdefault((m[-1], c > 0), []).append((m, c, fact))

    def proves(self, goal: Poly, depth: int = 8, scale: int = 1) -> bool:
        """Whether the original goal, of which this is `scale` times less facts, is at least 0: it is whole."""
        if goal.bounds[0] > -scale:
            return True
        if depth == 0 or self.steps <= 0 or goal in self.seen:
            return False
        self.seen.add(goal)
        for m, c in sorted(goal.terms.items(), key=lambda item: _weight(item[0]), reverse=True):
            if not m or not _hurts(m, c):
                continue
            for atom in m[::-1]:
                for part, coefficient, fact in self.by_monomial.get((atom, c > 0), ()):
                    rest = without_factors(m, part)
                    if rest is None or any(a.low < 0 for a in rest):
                        continue
                    self.steps -= 1
                    scaled = goal * abs(coefficient) - fact * Poly({rest: abs(c)})
                    if self.proves(scaled, depth - 1, scale * abs(coefficient)):
                        return True
                    if self.steps <= 0:
                        return False
        return False


def _weight(m: Monomial) -> tuple[int, int]:
    return (m[-1].number, len(m)) if m else (-1, 0)


def _hurts(m: Monomial, c: int) -> bool:
    """Whether the monomial can take anything off the polynomial's value."""
    return Poly({m: c}).bounds[0] < 0


# Trying numbers


def _try(condition: Condition, order: Sequence[Symbol]) -> tuple[dict[Symbol, int] | None, str]:
    """Numbers for which the condition holds, if a short search finds some; else what stood in the way, if anything."""
    missing = ""
    free = sorted((s for s in with_facts(condition) if not s.is_unknown), key=lambda s: (s not in order, s.number))
    bounds = [p for option in alternatives(condition, 4) for p in option]
    for numbers in islice(_trials(free, bounds), MAX_TRIALS):
        try:
            if all(_within(s, numbers) for s in free) and holds(condition, numbers):
                return numbers, ""
        except UndeterminedError as error:
            missing = f"it depends on {error.reason}"
    return None, missing


def _within(symbol: Symbol, numbers: Mapping[Symbol, int]) -> bool:
    return symbol.low <= numbers[symbol] <= symbol.high and all(value_of(f, numbers) >= 0 for f in symbol.facts)


def _trials(free: list[Symbol], bounds: list[Poly]) -> Iterator[dict[Symbol, int]]:
    ends = [_ends(s) for s in free]
    yield from (dict(zip(free, chosen, strict=True)) for chosen in islice(product(*ends), MAX_TRIALS // 3))
    # Then one symbol at a time where a condition turns, the others at their ends.
    for at, symbol in enumerate(free):
        others = [e if i != at else (0,) for i, e in enumerate(ends)]
        for chosen in islice(product(*others), 64):
            numbers = dict(zip(free, chosen, strict=True))
            for bound in bounds:
                for number in _turning(bound, symbol, numbers):
                    yield {**numbers, symbol: number}
    yield from _scattered(free)


def _ends(symbol: Symbol) -> tuple[int, ...]:
    low = int(symbol.low) if symbol.low > -inf else 0
    high = int(symbol.high) if symbol.high < inf else low + 4096
    picked = dict.fromkeys(
        (low, high, min(low + 1, high), low + (high - low) // 2)
        if symbol.kind != "parameter"
        else (min(high, max(low, n)) for n in (low, 1, 3, 8, 17, 64, 100, 1000, high))
    )
    return tuple(picked)


def _turning(bound: Poly, symbol: Symbol, numbers: Mapping[Symbol, int]) -> Iterator[int]:
    coefficient = bound.coefficient(symbol)
    if coefficient is None or not coefficient.terms:
        return
    try:
        slope = value_of(coefficient, numbers)
        rest = value_of(bound, {**numbers, symbol: 0})
    except UndeterminedError:
        return
    if slope:
        turn = -rest // slope
        yield from (turn - 1, turn, turn + 1)


def _scattered(free: list[Symbol]) -> Iterator[dict[Symbol, int]]:
    """Numbers that look random, the same every time."""
    state = 12345
    for _ in range(400):
        numbers = {}
        for symbol in free:
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            low = int(symbol.low) if symbol.low > -inf else -100
            high = int(symbol.high) if symbol.high < inf else low + 1000
            numbers[symbol] = low + (state >> 16) % (high - low + 1)
        yield numbers
