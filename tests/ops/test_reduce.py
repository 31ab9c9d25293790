"""Reductions and scans against GPU recordings bit for bit, and against loops over exact integers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce as fold
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recordings import CASES, carried, recorded

from cutile_sim.dtypes import BF16, F16, F32, F64, I1, I8, I16, I32, I64, ElementType, from_bits, to_bits
from cutile_sim.ops.reduce import reduce, scan
from cutile_sim.ops.reduce_pick import Rule, rule_of
from cutile_sim.optable.encoding import RoundingMode, Signedness
from cutile_sim.tileir.types import TileType

ELEMENTS = {
    "float16": F16,
    "bfloat16": BF16,
    "float32": F32,
    "float64": F64,
    "int8": I8,
    "uint8": I8,
    "uint16": I16,
    "int32": I32,
    "int64": I64,
    "uint64": I64,
}
ROUNDED = {"rounding_mode": RoundingMode.NEAREST_EVEN, "flush_to_zero": False}


class Region:
    """An operation's region: one known operation, or any function of arrays."""

    def __init__(
        self,
        function: Callable[..., tuple[np.ndarray, ...]] | None = None,
        kind: str | None = None,
        attributes: Mapping[str, Any] | None = None,
        only_compares: bool = False,
    ) -> None:
        self._function, self._kind, self.body_attributes = function, kind, attributes or {}
        self._only_compares = only_compares
        self.calls = 0

    def body_kind(self) -> str | None:
        return self._kind

    def body_rule(self, values: np.dtype, indices: np.dtype) -> Rule | None:
        return rule_of(self.run_body, values, indices) if self._only_compares else None

    def run_body(self, *scalars: np.ndarray) -> tuple[np.ndarray, ...]:
        assert self._function is not None
        self.calls += 1
        return self._function(*scalars)


def types_of(*tiles: np.ndarray, element: ElementType) -> dict[str, tuple[TileType, ...]]:
    return {"operands": tuple(TileType(element, t.shape[3:]) for t in tiles)}


def index_of_best(greater: bool, unsigned: bool, propagate_nan: bool, only_compares: bool = True) -> Region:
    """The region cuTile writes for argmax and argmin."""

    def body(
        value: np.ndarray, other: np.ndarray, at: np.ndarray, other_at: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        a, b = (v.view(f"u{v.itemsize}") if unsigned else v for v in (value, other))
        wins = a > b if greater else a < b
        nan, other_nan = a != a, b != b
        wins = wins | (nan & ~other_nan if propagate_nan else ~nan & other_nan)
        wins = wins | (((a == b) | (nan & other_nan)) & (at < other_at))
        return np.where(wins, value, other), np.where(wins, at, other_at)

    return Region(body, only_compares=only_compares)


def region_for(operation: str, element: ElementType, element_name: str) -> Region:
    propagate_nan = operation.endswith(("_nan1", "_zeros1"))
    unsigned = element_name.startswith("u")
    name = operation.split("_")[0]
    if name in ("argmax", "argmin"):
        return index_of_best(name == "argmax", unsigned, propagate_nan)
    root = {"sum": "add", "cumsum": "add", "prod": "mul", "cumprod": "mul"}.get(name, name)
    if element.is_integer:
        signedness = Signedness.UNSIGNED if unsigned else Signedness.SIGNED
        return Region(kind=root + "i", attributes={"signedness": signedness})
    attributes = ROUNDED if root in ("add", "mul") else {"propagate_nan": propagate_nan, "flush_to_zero": False}
    return Region(kind=root + "f", attributes=attributes)


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if c.startswith(("sum", "prod", "max", "min", "argm", "cum")) and not c.startswith("mma")],
)
def test_bits_are_as_on_the_gpu(case: str) -> None:
    operation, element_name, dim_text = case.split(":")
    element, dim = ELEMENTS[element_name], int(dim_text)
    raw, want = recorded(case)
    tiles: tuple[np.ndarray, ...] = (carried(raw, element),)
    if operation == "sum_blocks":
        tiles = (tiles[0].swapaxes(2, 3).reshape(1, 1, *raw.shape),)
    region = region_for(operation, element, element_name)
    types = types_of(*tiles, element=element)
    with np.errstate(all="ignore"):
        if operation.startswith("cum"):
            got = scan(tiles, dim=dim, reverse="_reverse" in operation, operand_types=types, cx=region)[0]
        elif operation.startswith("arg"):
            at = np.arange(raw.shape[dim], dtype=np.int32).reshape([-1 if a == dim else 1 for a in range(raw.ndim)])
            tiles += (np.broadcast_to(at, tiles[0].shape),)
            got = reduce(tiles, dim=dim, operand_types=types_of(*tiles, element=element), cx=region)[1]
            element = I32
        else:
            got = reduce(tiles, dim=dim, operand_types=types, cx=region)[0]
    assert got.dtype == element.carrier
    got, want = got.reshape(want.shape), carried(want, element)[0, 0, 0]
    both_nan = (got != got) & (want != want)
    same = to_bits(np.ascontiguousarray(got), element) == to_bits(np.ascontiguousarray(want), element)
    assert (same | both_nan).all()


@pytest.mark.parametrize(
    "case", ["reduce_a:int32:0", "reduce_b:int32:0", "scan_a:int32:0", "scan_b:int32:0", "scan_sub:int32:0"]
)
def test_the_earlier_element_is_the_left_argument(case: str) -> None:
    source, want = recorded(case)
    tiles = (source[None, None, None],)
    functions = {"a": lambda a, b: (a,), "b": lambda a, b: (b,), "sub": lambda a, b: (a - b,)}
    operation, function = case.split(":")[0].split("_")
    region, types = Region(functions[function]), types_of(*tiles, element=I32)
    if operation == "reduce":
        got = reduce(tiles, dim=0, operand_types=types, cx=region)[0]
    else:
        got = scan(tiles, dim=0, reverse=False, operand_types=types, cx=region)[0]
    np.testing.assert_array_equal(got.reshape(want.shape), want)


INTEGER_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "addi": operator.add,
    "muli": operator.mul,
    "maxi": max,
    "mini": min,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
}


@settings(max_examples=60)
@given(st.data())
def test_integers_against_loops(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(INTEGER_FUNCTIONS)))
    signedness = data.draw(st.sampled_from(list(Signedness)))
    element = data.draw(st.sampled_from([I1, I8, I32, I64]))
    shape = tuple(data.draw(st.sampled_from([1, 2, 4, 8])) for _ in range(data.draw(st.integers(1, 3))))
    dim = data.draw(st.integers(0, len(shape) - 1))
    reverse = data.draw(st.booleans())
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    bits = rng.integers(0, 2**64, (1, 2, 3, *shape), np.uint64)
    top = 1 << element.width_bits
    values = from_bits(bits.astype(f"u{element.carrier.itemsize}"), element)
    region = Region(kind=kind, attributes={"signedness": signedness})
    types = types_of(values, element=element)
    if kind in ("maxi", "mini"):
        # A scan of these is left to the region.
        def best(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray]:
            views = [v.view(f"u{v.itemsize}") if signedness is Signedness.UNSIGNED else v for v in (a, b)]
            if element is I1:
                views = [-v.view(np.int8) if signedness is Signedness.SIGNED else v for v in views]
            return (np.where((views[0] > views[1]) == (kind == "maxi"), a, b),)

        scan_region = Region(best)
    else:
        scan_region = region
    reduced = reduce((values,), dim=dim, operand_types=types, cx=region)[0]
    scanned = scan((values,), dim=dim, reverse=reverse, operand_types=types, cx=scan_region)[0]
    assert reduced.dtype == scanned.dtype == element.carrier
    assert scanned.shape == values.shape

    def read(value: int) -> int:
        return value - top if signedness is Signedness.SIGNED and value >> (element.width_bits - 1) else value

    columns = np.moveaxis(to_bits(values, element), 3 + dim, -1)
    prefixes = np.moveaxis(to_bits(np.ascontiguousarray(scanned), element), 3 + dim, -1)
    for place in np.ndindex(*columns.shape[:-1]):
        column = [read(int(v)) for v in columns[place]]
        function = INTEGER_FUNCTIONS[kind]
        assert int(to_bits(reduced[place].reshape(1), element)[0]) == fold(function, column) % top
        ordered = column[::-1] if reverse else column
        running = [v % top for v in accumulate(ordered, function)]
        assert prefixes[place].tolist() == (running[::-1] if reverse else running)


@settings(max_examples=30)
@given(st.sampled_from([(8,), (64,), (4, 16), (16, 4), (2, 4, 8)]), st.data())
def test_any_associative_region_of_several_operands(shape: tuple[int, ...], data: st.DataObject) -> None:
    """Composing maps x -> a * x + b modulo 2**32: associative, and not commutative, which a scan may rely on."""
    dim = data.draw(st.integers(0, len(shape) - 1))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    slopes = rng.integers(-9, 9, (1, 2, 1, *shape)).astype(np.int32)
    offsets = rng.integers(-9, 9, (1, 1, 3, *shape)).astype(np.int32)

    def compose(a: np.ndarray, c: np.ndarray, b: np.ndarray, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return a * c, c * b + d

    tiles, types = (slopes, offsets), types_of(slopes, offsets, element=I32)
    region = Region(compose)
    got = scan(tiles, dim=dim, reverse=False, operand_types=types, cx=region)
    a, b = (np.moveaxis(np.broadcast_to(t, (1, 2, 3, *shape)), 3 + dim, 0) for t in tiles)
    slope, offset = a[0], b[0]
    for i in range(shape[dim]):
        if i:
            slope, offset = slope * a[i], a[i] * offset + b[i]
        for result, want in zip(got, (slope, offset), strict=True):
            assert (np.moveaxis(result, 3 + dim, 0)[i] == want).all()
    assert region.calls < 2 * shape[dim]


def test_a_captured_scalar_may_bring_a_grid_axis_and_a_result_may_depend_on_nothing() -> None:
    captured = np.arange(3, dtype=np.int32).reshape(1, 3, 1, 1)
    tiles = (np.ones((1, 1, 1, 8), np.int32),)
    types = types_of(*tiles, element=I32)

    def biased(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray]:
        return (a + b + captured.reshape(1, 3, 1, *(1,) * (a.ndim - 3)),)

    got = reduce(tiles, dim=0, operand_types=types, cx=Region(biased))[0]
    assert got.ravel().tolist() == [8, 15, 22]
    scanned = scan(tiles, dim=0, reverse=False, operand_types=types, cx=Region(biased))[0]
    assert scanned[0, 2, 0].tolist() == [1, 4, 7, 10, 13, 16, 19, 22]
    constant = reduce(tiles, dim=0, operand_types=types, cx=Region(lambda a, b: (np.full((1, 1, 1), 5, np.int32),)))[0]
    assert constant.ravel().tolist() == [5]


@pytest.mark.parametrize(
    "attributes", [{**ROUNDED, "flush_to_zero": True}, {**ROUNDED, "rounding_mode": RoundingMode.ZERO}]
)
def test_a_sum_rounded_otherwise_is_left_to_its_region(attributes: dict[str, Any]) -> None:
    values = np.ones((1, 1, 1, 16), np.float32)
    region = Region(lambda a, b: (a + b,), "addf", attributes)
    assert reduce((values,), dim=0, operand_types=types_of(values, element=F32), cx=region)[0].item() == 16
    assert region.calls == 4


def test_a_maximum_that_flushes_is_left_to_its_region() -> None:
    values = np.full((1, 1, 1, 4), 1e-40, np.float32)
    region = Region(lambda a, b: (np.zeros_like(a),), "maxf", {"propagate_nan": False, "flush_to_zero": True})
    assert reduce((values,), dim=0, operand_types=types_of(values, element=F32), cx=region)[0].item() == 0
