"""What comes out of reductions and scans: exact where lanes add up or order themselves, else bounds that hold.

A sum, a maximum and a minimum have rules of their own. Any other region is an induction: if it takes two numbers within
bounds to one within them, and all lanes and the identity are, then so is the result. That covers argmax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from cutile_sim.dtypes import ElementType
from cutile_sim.optable.encoding import Signedness
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import TileType
from ir_passes.symbolic.conditions import Condition, larger, smaller, symbols, unknowns
from ir_passes.symbolic.layout import relaid
from ir_passes.symbolic.numbers import fits, shape_of
from ir_passes.symbolic.solve import never_negative
from ir_passes.symbolic.terms import ZERO, Atom, Bound, Poly, Symbol
from ir_passes.symbolic.values import Followed, integer_range, lane, lane_term
from ir_passes.symbolic.words import in_words

Run = Callable[[Sequence[Followed]], Sequence[Followed]]
"""The region's results for its arguments."""
Anything = Callable[[Value], Followed]
"""A result of which nothing is known."""


@dataclass(frozen=True)
class _Dimension:
    """The dimension that is combined: `size` lanes along `at`. Results of a scan keep it."""

    at: int
    shape: tuple[int, ...]
    is_scan: bool
    reverse: bool

    @property
    def size(self) -> int:
        return self.shape[self.at]

    @property
    def lane(self) -> Poly:
        return lane_term(self.at, self.size)

    @property
    def count(self) -> Poly:
        """How many lanes go into a result."""
        if not self.is_scan:
            return Poly.of(self.size)
        return Poly.of(self.size) - self.lane if self.reverse else self.lane + 1

    def moved(self) -> dict[Atom, Poly]:
        """Where the other lanes of a reduction go: its result has a dimension less."""
        if self.is_scan:
            return {}
        return {lane(d, n): lane_term(d - 1, n) for d, n in enumerate(self.shape) if d > self.at and n > 1}


def combined(
    op: Op, operands: Sequence[Followed], run: Run, facts: Sequence[Poly], anything: Anything
) -> list[Followed]:
    """The results of a `reduce` or a `scan`. `run` is called at least once, the last time with the widest numbers."""
    scan = op.name == "scan"
    along = _Dimension(
        int(op.attributes["dim"]), shape_of(op.inputs[0]), scan, scan and bool(op.attributes.get("reverse", False))
    )
    body = op.regions[0]
    *_, end = body.ops
    found: list[Followed | None] = []
    spans = []
    for k, (operand, result) in enumerate(zip(operands, op.results, strict=True)):
        maker = next((o for o in body.ops if end.inputs[k] in o.results), None)
        plain = maker is not None and set(maker.inputs) == {body.arguments[2 * k], body.arguments[2 * k + 1]}
        special = _by_rule(maker, operand, result, along, facts) if plain and maker is not None else None
        found.append(special)
        lanes = along.size if special is not None and maker is not None and maker.name == "addi" else 1
        spans.append(_span(operand, result, op.attributes["identities"][k], lanes))
    general = _by_induction(op, spans, [value is not None for value in found], run, anything)
    return [_moved(other if special is None else special, along) for special, other in zip(found, general, strict=True)]


def _moved(value: Followed, along: _Dimension) -> Followed:
    """The value with its lanes where the result has them."""
    moved = relaid(value, along.moved())
    assert moved is not None
    return moved


def _by_rule(maker: Op, operand: Followed, result: Value, along: _Dimension, facts: Sequence[Poly]) -> Followed | None:
    """The result where the region is one known operation; None where there is no rule."""
    if isinstance(operand, Condition):
        if maker.name in ("andi", "muli", "ori") and not unknowns(operand) and not _varies(operand, along):
            return operand
        return None
    if not isinstance(operand, Poly) or not isinstance(result.type, TileType):
        return None
    element = result.type.element
    assert isinstance(element, ElementType)
    if maker.name == "addi":
        return _sum(operand, element, along, facts, maker)
    if maker.name in ("maxi", "mini"):
        return _extreme(operand, element, along, facts, maker)
    return None


def _varies(value: Poly | Condition, along: _Dimension) -> bool:
    return along.size > 1 and lane(along.at, along.size) in symbols(value)


def _sum(operand: Poly, element: ElementType, along: _Dimension, facts: Sequence[Poly], maker: Op) -> Followed | None:
    if not unknowns(operand) and (exact := _sum_of_line(operand, along)) is not None:
        return exact if fits(exact, element, facts) else None
    low, high = _ends(operand, along)
    if low is None or high is None:
        return None
    below, above = low * along.count, high * along.count
    if not (fits(below, element, facts) and fits(above, element, facts)):
        return None
    found = _between(below, above, operand, maker)
    if along.is_scan and low.bounds[0] >= 0:
        # A running sum of what is never negative is at least what its own lane adds.
        for atom in found.atoms if found not in (below, above) else ():
            atom.facts = (*atom.facts, found - operand)
    return found


def _sum_of_line(operand: Poly, along: _Dimension) -> Poly | None:
    """The sum over lanes of a number that grows by the same amount from lane to lane."""
    if not _varies(operand, along):
        return operand * along.count
    line = None if along.is_scan else _line(operand, along)
    if line is None:
        return None
    first, step = line
    return first * along.size + step * (along.size * (along.size - 1) // 2)


def _line(operand: Poly, along: _Dimension) -> tuple[Poly, Poly] | None:
    """What the first lane holds, and by how much it grows from lane to lane, where that is the same all along."""
    if not _varies(operand, along):
        return operand, ZERO
    here = lane(along.at, along.size)
    step = operand.coefficient(here)
    if step is None or _varies(step, along) or _varies(operand - step * here, along):
        return None
    return operand - step * here, step


def _extreme(
    operand: Poly, element: ElementType, along: _Dimension, facts: Sequence[Poly], maker: Op
) -> Followed | None:
    if maker.attributes["signedness"] is Signedness.UNSIGNED and not never_negative(operand, facts):
        return None
    line = None if unknowns(operand) or (along.is_scan and _varies(operand, along)) else _line(operand, along)
    if line is not None:
        first, step = line
        return (larger if maker.name == "maxi" else smaller)(first, first + step * (along.size - 1))
    low, high = _ends(operand, along)
    below, above = operand.bounds
    low = Poly.of(int(below)) if low is None and below > -inf else low
    high = Poly.of(int(above)) if high is None and above < inf else high
    if low is None or high is None:
        return None
    return _between(low, high, operand, maker)


def _between(low: Poly, high: Poly, operand: Poly, maker: Op) -> Poly:
    """A number that depends on all lanes, between two others."""
    if low == high:
        return low
    hidden = unknowns(operand)
    why = hidden[0].why if hidden else f"{in_words(maker)} over the lanes of a tile"
    symbol = Symbol("combined", hidden[0].kind if hidden else "unmodelled", low.bounds[0], high.bounds[1], why=why)
    symbol.facts = tuple(f for f in (Poly.of(symbol) - low, high - symbol) if len(f.atoms) > 1)
    return Poly.of(symbol)


def _ends(poly: Poly, along: _Dimension) -> tuple[Poly | None, Poly | None]:
    """Bounds of a number that hold for all lanes of the dimension and whatever unknowns are, as terms of the rest."""

    def goes(atom: Atom) -> bool:
        one = Poly.of(atom)
        return bool(unknowns(one)) or _varies(one, along)

    low: Poly | None = poly
    high: Poly | None = poly
    for atom in [a for a in poly.atoms if goes(a)]:
        factor = poly.coefficient(atom)
        if factor is None or any(goes(a) for a in factor.atoms):
            return None, None
        least, most = factor.bounds
        if least < 0 < most:
            return None, None
        ends = (atom.low, atom.high) if least >= 0 else (atom.high, atom.low)
        low = None if low is None or abs(ends[0]) == inf else low + factor * (Poly.of(int(ends[0])) - atom)
        high = None if high is None or abs(ends[1]) == inf else high + factor * (Poly.of(int(ends[1])) - atom)
    return low, high


# Any region, by induction


def _by_induction(
    op: Op, spans: list[tuple[Bound, Bound] | None], known: Sequence[bool], run: Run, anything: Anything
) -> list[Followed]:
    """Results within bounds, where the region stays within them; else within those of the type. `known`: no matter."""
    while True:
        results = [_within(anything(r), span) for r, span in zip(op.results, spans, strict=True)]
        pairs = [_within(anything(r), span) for r, span in zip(op.results, spans, strict=True) for _ in range(2)]
        yielded = run(pairs)
        loose = [k for k, (v, span) in enumerate(zip(yielded, spans, strict=True)) if span and not _stays(v, span)]
        if all(known[k] for k in loose):
            return results
        for k in loose:
            spans[k] = spans[k] if known[k] else None


def _span(operand: Followed, result: Value, identity: object, lanes: int) -> tuple[Bound, Bound] | None:
    """Bounds of the identity and of sums of up to so many lanes; None where only the type bounds them."""
    if not isinstance(operand, Poly):
        return None
    low, high = operand.bounds
    low, high = min(low, low * lanes), max(high, high * lanes)
    neutral = getattr(identity, "value", None)
    assert isinstance(result.type, TileType) and isinstance(result.type.element, ElementType)
    least, most = integer_range(result.type.element)
    if not isinstance(neutral, int) or low < least or high > most:
        return None
    signed = neutral if neutral <= most else neutral - 2 * (most + 1)
    return min(low, signed), max(high, signed)


def _within(found: Followed, span: tuple[Bound, Bound] | None) -> Followed:
    if span is not None and isinstance(found, Poly):
        (atom,) = found.atoms
        atom.low, atom.high = span
    return found


def _stays(value: Followed, span: tuple[Bound, Bound]) -> bool:
    return (
        isinstance(value, Poly)
        and never_negative(value - int(span[0]))
        and never_negative(Poly.of(int(span[1])) - value)
    )
