"""What loops carry from turn to turn, as terms."""

from __future__ import annotations

from collections.abc import Sequence

from cutile_sim.dtypes import ElementType
from cutile_sim.tileir.core import Op, Value
from cutile_sim.tileir.types import TileType
from ir_passes.symbolic.conditions import All, Condition, polys_of, symbols
from ir_passes.symbolic.numbers import fits, wrapped
from ir_passes.symbolic.terms import ZERO, Atom, Poly, Symbol
from ir_passes.symbolic.values import Followed, Pointers, integer_range, unknown
from ir_passes.symbolic.words import line_of


def lane_free(condition: Condition) -> list[Condition]:
    """The parts of an asserted condition that say something of the block, not of a lane."""
    parts = condition.parts if isinstance(condition, All) else (condition,)
    return [p for p in parts if not any(s.kind == "lane" or s.is_unknown for s in symbols(p))]


def symbols_of(value: Followed) -> frozenset[Symbol]:
    if isinstance(value, (Poly, Condition)):
        return symbols(value)
    return symbols(value.offset_bytes) if isinstance(value, Pointers) else frozenset()


def placeholder(op: Op, value: Value, first: Followed) -> Followed:
    why = f"a value carried round the loop at {line_of(op)}"
    if isinstance(first, Pointers):
        return Pointers(first.root, Poly.of(Symbol("carried", "unmodelled", -(2**62), 2**62, why=why)))
    return unknown(value.type, why, data=False, name="carried")


def _number(value: Followed) -> Poly | None:
    if isinstance(value, Pointers):
        return value.offset_bytes
    return value if isinstance(value, Poly) else None


def growth(value: Value, fresh: Followed, after: list[Followed], inside: set[Symbol], turn: Symbol) -> Poly | None:
    """By how much a carried number grows each turn, where it is the same in all; ZERO also for what stays as it is.

    `inside` are the symbols of what is carried.
    """
    start = _number(fresh)
    if start is None:
        return ZERO if after and all(a is fresh or a == fresh for a in after) else None
    found: Poly | None = None
    for item in after:
        number = _number(item)
        if number is None or (isinstance(item, Pointers) and item.root is not fresh.root):  # type: ignore[union-attr]
            return None
        step = without_wraps(number - start, value)
        if any(s in inside or _differs(s, turn) for s in symbols(step)) or (found is not None and found != step):
            return None
        found = step
    return found


def _differs(symbol: Symbol, turn: Symbol) -> bool:
    """Whether a symbol may be another number in another turn: an unknown, or the turn of a loop that stands inside."""
    return symbol.is_unknown or (symbol.kind == "turn" and symbol.number >= turn.number)


def without_wraps(poly: Poly, value: Value) -> Poly:
    """The polynomial without multiples of two to the width: what wrapping subtracted."""
    if not isinstance(value.type, TileType) or not isinstance(value.type.element, ElementType):
        return poly
    modulus = 1 << value.type.element.width_bits
    return Poly({m: c for m, c in poly.terms.items() if not m or c % modulus})


def unwrapped(first: Followed, step: Poly, turns: Poly | Atom) -> Followed:
    if isinstance(first, Pointers):
        return Pointers(first.root, first.offset_bytes + step * turns)
    return first + step * turns if isinstance(first, Poly) else first


def grown(first: Followed, step: Poly, turns: Poly, value: Value, facts: list[Poly]) -> Followed:
    exact = unwrapped(first, step, turns)
    if isinstance(exact, Poly) and step != ZERO:
        assert isinstance(value.type, TileType) and isinstance(value.type.element, ElementType)
        return wrapped(exact, value.type.element, facts)
    return exact


def in_range(value: Value, number: Poly) -> list[Poly]:
    assert isinstance(value.type, TileType) and isinstance(value.type.element, ElementType)
    low, high = integer_range(value.type.element)
    return [number - low, Poly.of(high) - number]


def stays_in_range(
    carried: tuple[Value, ...],
    growth: list[Poly | None],
    again: list[tuple[Condition, tuple[Followed, ...]]],
) -> bool:
    """Whether no carried number wraps on its way into the next turn: the step of an induction over turns."""
    for i, (value, step) in enumerate(zip(carried, growth, strict=True)):
        if step is None or step == ZERO or not isinstance(value.type, TileType):
            continue
        if not isinstance(element := value.type.element, ElementType):
            continue
        for path, values in again:
            number = values[i]
            # `wrapped` has left the sum as it is exactly where it fits.
            if not isinstance(number, Poly) or not fits(number, element, list(polys_of(path))):
                return False
            if without_wraps(number, value) != number:
                return False
    return True


def hull(op: Op, value: Value, options: Sequence[Followed]) -> Followed:
    """An unknown that may be any of the options."""
    found = unknown(value.type, f"a value carried round the loop at {line_of(op)}", data=False, name="carried")
    numbers = [o for o in options if isinstance(o, Poly)]
    if isinstance(found, Poly) and len(numbers) == len(options):
        (atom,) = found.atoms
        atom.low = max(atom.low, min(n.bounds[0] for n in numbers))
        atom.high = min(atom.high, max(n.bounds[1] for n in numbers))
    return found
