"""Terms and their solver against plain arithmetic over small ranges."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir_passes.symbolic import smt
from ir_passes.symbolic.conditions import (
    ALWAYS,
    Condition,
    Unknown,
    at_least,
    both,
    choice,
    either,
    equal,
    larger,
    less,
    negate,
    smaller,
)
from ir_passes.symbolic.evaluate import holds, replace, value_of
from ir_passes.symbolic.solve import can_hold, never_negative
from ir_passes.symbolic.terms import Poly, Symbol, UndeterminedError, quotient, remainder

A = Symbol("a", "block", 0, 5)
B = Symbol("b", "turn", -3, 4)
NUMBERS = [{A: a, B: b} for a, b in product(range(6), range(-3, 5))]


def combined(children: st.SearchStrategy[Poly]) -> st.SearchStrategy[Poly]:
    pair = st.tuples(children, children)
    by = st.integers(1, 7).map(Poly.of)
    return st.one_of(
        pair.map(lambda p: p[0] + p[1]),
        pair.map(lambda p: p[0] - p[1]),
        pair.map(lambda p: p[0] * p[1]),
        pair.map(lambda p: smaller(*p)),
        pair.map(lambda p: larger(*p)),
        st.tuples(children, by).map(lambda p: quotient(*p)),
        st.tuples(children, by).map(lambda p: remainder(*p)),
        st.tuples(children, children, children).map(lambda p: choice(less(p[0], p[1]), p[1], p[2])),
    )


polys = st.recursive(
    st.one_of(st.integers(-9, 9).map(Poly.of), st.sampled_from([Poly.of(A), Poly.of(B)])), combined, max_leaves=6
)


@settings(max_examples=150)
@given(polys)
def test_bounds_hold(poly: Poly) -> None:
    low, high = poly.bounds
    assert all(low <= value_of(poly, n) <= high for n in NUMBERS)


@settings(max_examples=150)
@given(polys, polys)
def test_never_negative_is_true(goal: Poly, fact: Poly) -> None:
    if never_negative(goal, [fact]):
        assert all(value_of(goal, n) >= 0 for n in NUMBERS if value_of(fact, n) >= 0)


@settings(max_examples=60)
@given(polys, polys, polys)
def test_answers_are_true(a: Poly, b: Poly, c: Poly) -> None:
    condition = either(less(a, b), equal(b, c))
    given_ = at_least(a + c, 0)
    happens = any(holds(condition, n) and holds(given_, n) for n in NUMBERS)
    answer = can_hold(condition, given_)
    if answer.kind == "found":
        assert answer.numbers is not None and holds(both(condition, given_), {A: 0, B: 0} | dict(answer.numbers))
    assert happens or answer.kind != "found"
    assert not happens or answer.kind != "never"


@settings(max_examples=60)
@given(polys, polys)
def test_replacing_is_composing(poly: Poly, by: Poly) -> None:
    replaced = replace(poly, {B: by})
    assert all(value_of(replaced, n) == value_of(poly, {A: n[A], B: value_of(by, n)}) for n in NUMBERS)


@settings(max_examples=60)
@given(polys, polys)
def test_negation(a: Poly, b: Poly) -> None:
    condition = both(less(a, b), either(equal(a, 3), at_least(b, a * a)))
    assert all(holds(condition, n) is not holds(negate(condition), n) for n in NUMBERS)


def test_a_choice_that_is_settled_bounds_nothing_else() -> None:
    least = smaller(Poly.of(A), Poly.of(1))
    assert larger(least + 1, Poly.of(0)) == least + 1 and least.bounds == (0, 1)


def test_remainder_and_quotient_add_up() -> None:
    i = Poly.of(Symbol("i", "block", 0, 10**9))
    assert quotient(i, Poly.of(7)) * 7 + remainder(i, Poly.of(7)) == i
    assert never_negative(Poly.of(6) - remainder(i, Poly.of(7)))
    assert quotient(i * 64 + 63, Poly.of(64)) == i


def test_products_of_open_lengths() -> None:
    rows, stride = (Symbol(n, "parameter", 1, 2**31 - 1) for n in "ns")
    i = Symbol("i", "block", 0, 2**31 - 1)
    i.facts = (Poly.of(rows) - 1 - i,)
    assert never_negative((Poly.of(rows) - 1) * stride - Poly.of(i) * stride)
    assert not never_negative((Poly.of(rows) - 2) * stride - Poly.of(i) * stride)


def test_an_unknown_is_no_counterexample() -> None:
    data = Symbol("data", "data", -5, 5, why="data read at line 3")
    answer = can_hold(less(Poly.of(data), 0), ALWAYS)
    assert answer.kind == "open" and "data read at line 3" in answer.reason
    with pytest.raises(UndeterminedError):
        holds(Unknown(data), {})
    assert can_hold(less(Poly.of(data), -5), ALWAYS).kind == "never"


def test_without_z3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "_z3", lambda: None)
    assert not smt.available()
    x, y, z = (Poly.of(Symbol(n, "block", 0, 9999)) for n in "xyz")
    hard: Condition = equal(x * x * x + y * y * y * 5 + 7, z * z * 11 + x * y * 3 + 2)
    answer = can_hold(both(hard, less(x * y, 90), less(9, y)), less(17, x))
    assert answer.kind == "open" and "z3 is not installed" in answer.reason
    assert can_hold(less(x + y, 0), ALWAYS).kind == "never"


def test_z3_decides_what_bounds_do_not() -> None:
    pytest.importorskip("z3")
    x = Symbol("x", "block", 0, 99)
    doubled = Poly.of(x) * x * 2
    assert can_hold(equal(doubled, 7), ALWAYS).kind == "never"
    answer = can_hold(equal(doubled, 2 * 61 * 61), ALWAYS)
    assert answer.kind == "found" and answer.numbers == {x: 61}


def test_words() -> None:
    m = Symbol("M", "parameter", 1, 100, unit=16)
    assert str(quotient(Poly.of(m) * 16, Poly.of(64)) * 64 + 1) == "64 * floor(M / 64) + 1"
    assert str(less(Poly.of(A), Poly.of(B))) == "a + 1 <= b"


def test_a_divisor_of_an_arm_that_is_never_taken() -> None:
    """That a divisor is positive is said of the arm alone: also to z3, and where symbols are replaced."""
    n = Symbol("n", "data", -100, 100)
    k = choice(at_least(Poly.of(n), 1), quotient(Poly.of(10), Poly.of(n)), Poly.of(7))
    assert can_hold(equal(k, 7), both()).kind != "never"
    assert replace(k, {n: Poly.of(0)}) == Poly.of(7) == replace(k, {n: Poly.of(B) - 5})


def test_bounds_of_many_remainders() -> None:
    """Each is bounded though its parts are not, and the work does not grow with the orders they can be looked at in."""
    free = [Symbol(f"s{n}", "turn", 0, float("inf")) for n in range(9)]
    some, all_ = (sum((remainder(Poly.of(s) + 1, Poly.of(3)) for s in part), Poly.of(0)) for part in (free[:6], free))
    assert some.bounds == (0, 12) and all_.bounds[0] <= 0 and all_.bounds[1] >= 18
