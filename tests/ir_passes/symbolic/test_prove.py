"""Planted mistakes are found on their lines and confirmed by the engine; correct kernels are proved."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cutile_sim.errors import UsageError
from cutile_sim.frontend.export import prepare_launch
from cutile_sim.proofs import prove_launch
from cutile_sim.replay import replay
from ir_passes.symbolic import Witness

pytest.importorskip("cuda.tile")
pytestmark = pytest.mark.cutile

MARK = re.compile(r"# BUG: ([A-Z0-9, ]+)")
FILE = Path(__file__).with_name("kernels.py")


@pytest.fixture(scope="module")
def kernels(load: Callable[[str], ModuleType]) -> ModuleType:
    return load("kernels")


def marks(function: str) -> set[tuple[str, int]]:
    found, inside = set(), False
    for number, line in enumerate(FILE.read_text().splitlines(), 1):
        if line.startswith("def "):
            inside = line.startswith(f"def {function}(")
        if inside and (mark := MARK.search(line)):
            found.update((name.strip(), number) for name in mark[1].split(","))
    return found


def f(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def i(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


CASES: dict[str, tuple[Any, Callable[[], tuple[Any, ...]]]] = {
    "copy": (8, lambda: (f(128), f(128), 16)),
    "offset_as_index": (8, lambda: (f(128), f(128), 16)),
    "rounded_down": (7, lambda: (f(120), f(120), 16)),
    "other_bound": (8, lambda: (f(120), f(128), 16)),
    "own_bound": (8, lambda: (f(120), f(128), 16)),
    "base_length": (8, lambda: (f(256)[:240:2], f(128), 240, 16)),
    "shared_tile": (8, lambda: (f(128), f(64), 16)),
    "own_tile": (8, lambda: (f(64), f(128), 16)),
    "unused_axis": ((8, 2), lambda: (f(32), f(128), 16)),
    "overflow": (8192, lambda: (f(128), f(8192), 16)),
    "wide": (8192, lambda: (f(128), f(8192), 16)),
    "unwritten": (8, lambda: (f(128), f(128), f(256), 16)),
    "both_halves": (8, lambda: (f(128), f(128), f(256), 16)),
    "slice_past_end": (9, lambda: (f(128), f(144), 16)),
    "slice_inside": (9, lambda: (f(128), f(144), 16)),
    "unchecked": (8, lambda: (f(120), f(128), 16)),
    "divides": (8, lambda: (f(128), f(128), 5, 16)),
    "divides_safely": (8, lambda: (f(128), f(128), 5, 16)),
    "shifts": (8, lambda: (f(128), f(128), 16)),
    "shifts_safely": (8, lambda: (f(128), f(128), 16)),
    "promises": (8, lambda: (f(128), f(128), 12, 16)),
    "persistent": (3, lambda: (f(128), f(128), 16)),
    "while_guarded": (3, lambda: (f(128), f(128), 16)),
    "rotated_in_place": (8, lambda: (f(128), 16)),
    "rotated": (8, lambda: (f(128), f(128), 16)),
    "doubled_in_place": (8, lambda: (f(128), 16)),
    "next_element": (8, lambda: (f(128), 16)),
    "minus_first_column": ((4, 2), lambda: (f(64, 32), 16)),
    "minus_own_column": ((4, 2), lambda: (f(64, 32), 16)),
    "halves": (4, lambda: (f(64), f(128), 16)),
    "two_thirds": (4, lambda: (f(64), f(192), 16)),
    "either_end": (4, lambda: (f(64), f(64), 16)),
    "either_start": (4, lambda: (f(64), f(64), 16)),
    "persistent_rows": (4, lambda: (f(48, 80), f(48, 80), 16)),
    "persistent_short": (4, lambda: (f(48, 80), f(48, 80), 16)),
    "rows_of_another": (18, lambda: (f(48, 80), f(48, 96), 16)),
    "along_a_line": (15, lambda: (f(48, 20), f(48, 20), 64)),
    "row_sums": ((4, 2), lambda: (f(64, 32), f(64, 32), f(64), 16)),
    "stacked": (2, lambda: ([f(32), f(32), f(32)], f(3, 32), 16)),
    "unstacked": ((2, 3), lambda: (f(32), [f(32), f(32), f(32)], 16)),
    "unstacked_short": ((2, 2), lambda: (f(32), [f(32), f(32), f(32)], 16)),
    "unstacked_twice": ((2, 3), lambda: (f(32), [f(32), f(32), f(32)], 16)),
    "one_short": (2, lambda: ([f(32), f(31), f(32)], f(3, 32), 16)),
    "none_short": (2, lambda: ([f(32), f(31), f(32)], f(3, 32), 16)),
    "past_the_list": (4, lambda: ([f(16), f(16), f(16)], f(64), 16)),
    "next_of_list": (2, lambda: ([f(16), f(16)], 16)),
    "own_of_list": (2, lambda: ([f(16), f(16)], 16)),
    "matmul": ((4, 4), lambda: (f(250, 150), f(150, 200), f(250, 200), 64, 64, 32)),
}


@pytest.mark.parametrize("name", CASES)
def test_planted_or_proved(name: str, kernels: ModuleType) -> None:
    if name == "overflow":
        pytest.importorskip("z3")
    grid, make = CASES[name]
    report = prove_launch(getattr(kernels, name), grid, *make())
    found = {(f.id, f.location.line if f.location else 0) for f in report.findings}
    assert found == marks(name), "\n".join(map(str, report.verdicts))
    if not found and name not in ("while_guarded", "wide"):
        assert report.is_complete, "\n".join(map(str, report.of("not checked")))


@pytest.mark.parametrize("name", CASES)
def test_arrays_are_left_as_they_are(name: str, kernels: ModuleType) -> None:
    grid, make = CASES[name]
    args = make()
    arrays = [a for arg in args for a in (arg if isinstance(arg, list) else [arg]) if isinstance(a, np.ndarray)]
    for position, array in enumerate(arrays):
        array += position + 1
    before = [a.copy() for a in arrays]
    prove_launch(getattr(kernels, name), grid, *args)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, before, strict=True))


def test_swizzled_blocks(kernels: ModuleType) -> None:
    """Each block has a tile of its own, and there are as many as tiles: nothing is left out."""
    pytest.importorskip("z3")
    report = prove_launch(kernels.swizzled, 12, f(48, 64), f(48, 64), 16, 2)
    assert report.is_complete, "\n".join(map(str, report.of("not checked")))


def test_grid_does_not_matter(kernels: ModuleType) -> None:
    side = 65535 * 64
    small = (f(64, 64), f(64, 64), f(64, 64), 64, 64, 32)
    sizes = {"a": (side, 512), "b": (512, side), "c": (side, side)}
    prepare_launch(kernels.matmul, small)
    start = time.perf_counter()
    report = prove_launch(kernels.matmul, (65535, 65535), *small, sizes=sizes)
    assert time.perf_counter() - start < 1
    assert report.is_complete, "\n".join(map(str, report.of("not checked")))


OPEN = {"a": ("M", "K"), "b": ("K", "N"), "c": ("M", "N")}
SIXTEEN = {"M": 16, "N": 16, "K": 16}


def test_open_sizes_are_proved(kernels: ModuleType) -> None:
    small = (f(64, 64), f(64, 64), f(64, 64), 64, 64, 32)
    grid = ("cdiv(M, 64)", "cdiv(N, 64)")
    report = prove_launch(kernels.matmul, grid, *small, sizes=OPEN, multiples=SIXTEEN)
    assert report.is_complete, "\n".join(map(str, report.of("not checked")))


def test_open_sizes_that_fail(kernels: ModuleType) -> None:
    small = (f(64, 64), f(64, 64), f(64, 64), 64, 64, 32)
    report = prove_launch(kernels.matmul, ("M // 64", "N // 64"), *small, sizes=OPEN, multiples=SIXTEEN)
    (finding,) = report.findings
    assert finding.id == "CTS701"
    m, n = (finding.details["parameters"][name] for name in "MN")
    assert m >= 64 and n >= 64 and (m % 64 or n % 64)
    assert finding.details["condition"] == "64 * floor(M / 64) + 1 <= M or 64 * floor(N / 64) + 1 <= N"


def test_a_known_grid_for_an_open_size(kernels: ModuleType) -> None:
    report = prove_launch(kernels.copy, 3, f(64), f(64), 16, sizes={"x": "M", "y": "M"}, multiples={"M": 16})
    (verdict,) = [v for v in report.verdicts if v.check.name == "COVERAGE"]
    assert verdict.status == "violated" and verdict.witness.parameters["M"] > 48


def test_data_is_unknown(kernels: ModuleType) -> None:
    report = prove_launch(kernels.by_data, 8, f(128), i(128), f(128), 16)
    assert not report.findings and not report.is_complete
    reasons = {v.check.name: v.reason for v in report.of("not checked")}
    assert {"RANGE", "DISJOINT_STORES", "COVERAGE"} <= set(reasons)
    assert "depends on data read at line" in reasons["RANGE"]


def test_a_lock_may_order_stores(kernels: ModuleType) -> None:
    report = prove_launch(kernels.locked, 8, f(128), f(16), i(1), 16)
    (verdict,) = [v for v in report.verdicts if v.check.name == "DISJOINT_STORES"]
    assert verdict.status == "not checked" and "atomics may put them in order" in verdict.reason


def test_a_list_that_holds_an_array_twice(kernels: ModuleType) -> None:
    twice = f(32)
    report = prove_launch(kernels.unstacked, (2, 2), f(32), [twice, twice], 16)
    (verdict,) = [v for v in report.verdicts if v.check.name == "DISJOINT_STORES"]
    assert verdict.status == "not checked" and "ys shares memory with ys" in verdict.reason


def test_a_list_of_unlike_arrays(kernels: ModuleType) -> None:
    """Which of them is stored to is known, but whether all of each is written is not."""
    report = prove_launch(kernels.unstacked, (3, 2), f(48), [f(48), f(45)], 16)
    assert [v.reason for v in report.of("not checked")] == ["the arrays of ys have different shapes or strides"]


def test_many_unlike_arrays(kernels: ModuleType) -> None:
    report = prove_launch(kernels.stacked, 2, [f(32 + n) for n in range(20)], f(20, 32), 16)
    assert report.is_complete, "\n".join(map(str, report.of("not checked")))


def test_an_array_and_the_list_that_holds_it(kernels: ModuleType) -> None:
    x = f(32)
    report = prove_launch(kernels.unstacked, (2, 2), x, [x, f(32)], 16)
    (verdict,) = [v for v in report.verdicts if v.check.name == "DISJOINT_LOADS"]
    assert verdict.status == "not checked" and "x shares memory with ys" in verdict.reason


def test_an_array_passed_twice_is_one(kernels: ModuleType) -> None:
    x = f(128)
    (finding,) = prove_launch(kernels.rotated, 8, x, x, 16).findings
    assert finding.id == "CTS202"
    assert prove_launch(kernels.copy, 8, x, x, 16).is_complete


def test_a_flag_may_order_a_load(kernels: ModuleType) -> None:
    report = prove_launch(kernels.by_flag, 4, f(64), f(16), i(1), 16)
    loads = {v.array: v for v in report.verdicts if v.check.name == "DISJOINT_LOADS"}
    assert loads["y"].status == "not checked" and "atomics may put them in order" in loads["y"].reason
    assert loads["x"].status == "proved" and {f.id for f in report.findings} == {"CTS701"}


def test_a_load_of_what_is_counted_is_not_fine(kernels: ModuleType) -> None:
    report = prove_launch(kernels.counts_and_reads, 8, f(4), f(8), 16)
    (verdict,) = [v for v in report.verdicts if v.check.name == "DISJOINT_LOADS"]
    assert verdict.status == "not checked" and "update it atomically at line" in verdict.reason


def test_a_load_of_a_store_is_shown_with_both_blocks(kernels: ModuleType) -> None:
    (finding,) = prove_launch(kernels.rotated_in_place, 8, f(128), 16).findings
    (place,) = finding.related
    assert place[0] == "the store" and finding.block is not None and "the other block is" in finding.message
    compiled, params = prepare_launch(kernels.rotated_in_place, (f(128), 16))
    (wrong,) = prove_launch(kernels.rotated_in_place, 8, f(128), 16).of("violated")
    elsewhere = replace(wrong, witness=Witness((3, 0, 0), (5, 0, 0)))
    assert "mistake of cutile_sim" in replay(compiled.module, compiled.entry, params, (8, 1, 1), elsewhere)


@pytest.mark.parametrize(("name", "length"), [("by_argmax", 128), ("compacted", 128)])
def test_addresses_by_reductions(name: str, length: int, kernels: ModuleType) -> None:
    """In range whatever the data are, and one element less is not."""
    if name == "compacted":
        pytest.importorskip("z3")
    for size, status in ((length, "proved"), (length - 1, "not checked")):
        report = prove_launch(getattr(kernels, name), 8, f(128), f(size), 16)
        ranges = [v for v in report.verdicts if v.check.name in ("RANGE", "OVERFLOW") and v.array in (None, "y")]
        assert {v.status for v in ranges} == {"proved", status}, "\n".join(map(str, ranges))
        assert {v.status for v in report.verdicts if v.check.name == "DISJOINT_STORES"} == {"proved"}


def test_sums_and_maxima_of_lanes_are_exact(kernels: ModuleType) -> None:
    report = prove_launch(kernels.by_sum_of_lanes, 1, f(46), f(120), 16)
    (finding,) = [f for f in report.findings if f.id == "CTS101"]
    assert (finding.id, finding.location.line) in marks("by_sum_of_lanes")  # type: ignore[union-attr]
    assert "element of y is 120" in finding.message
    fewer = prove_launch(kernels.by_fewer_lanes, 1, f(46), f(120), 16)
    assert {v.status for v in fewer.verdicts if v.check.name == "RANGE"} == {"proved"}


def test_replay_sees_through_a_wrong_witness(kernels: ModuleType) -> None:
    args = (f(120), f(128), 16)
    compiled, params = prepare_launch(kernels.other_bound, args)
    (wrong,) = prove_launch(kernels.other_bound, 8, *args).of("violated")
    assert replay(compiled.module, compiled.entry, params, (8, 1, 1), wrong) == ""
    assert wrong.witness is not None and wrong.witness.block == (7, 0, 0)
    elsewhere = replace(wrong, witness=Witness((3, 0, 0)))
    assert "mistake of cutile_sim" in replay(compiled.module, compiled.entry, params, (8, 1, 1), elsewhere)


def test_replay_says_where_the_block_stops_first(kernels: ModuleType) -> None:
    args = (f(120), f(128), 16)
    compiled, params = prepare_launch(kernels.other_bound, args)
    (wrong,) = prove_launch(kernels.other_bound, 8, *args).of("violated")
    later = replace(wrong, op=next(o for o in compiled.entry.walk() if o.name == "store_ptr_tko"))
    assert "stops before" in replay(compiled.module, compiled.entry, params, (8, 1, 1), later)


def test_a_comment_suppresses(module_of: Callable[[str], ModuleType]) -> None:
    text = FILE.read_text().replace("# BUG: CTS201", "# cutile-sim: ignore[CTS201]")
    report = prove_launch(module_of(text).shared_tile, 8, f(128), f(64), 16)
    assert not report.findings and report.of("violated")


def test_arrays_in_one_memory(kernels: ModuleType) -> None:
    """What leaves one array into its neighbour is out of range; stores to two arrays that overlap may clash."""
    base = f(256)
    (finding,) = prove_launch(kernels.other_bound, 8, base[:120], base[120:248], 16).findings
    assert finding.id == "CTS101"
    report = prove_launch(kernels.both_halves, 8, f(128), base[:128], base, 16)
    shared = [v for v in report.verdicts if "shares memory" in v.reason]
    assert {v.check.name for v in shared} == {"DISJOINT_STORES"} and not report.is_complete


BENCHMARKS = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("group", ["basic", "library"])
def test_no_benchmark_is_accused(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name, (_, small) in importlib.import_module(f"benchmarks.{group}").PROBLEMS.items():
        problem = small()
        report = prove_launch(problem.kernel, problem.grid, *problem.args)
        assert not report.findings, name
        assert group == "library" or report.is_complete, name


@pytest.mark.parametrize(
    ("options", "grid", "words"),
    [
        ({"sizes": {"q": "N"}}, "N", "no array and no integer parameter is called 'q'"),
        ({"sizes": {"x": ("N", "N")}}, "N", "has 1 dimensions, but a shape of 2"),
        ({"sizes": {"x": "N ** 2"}}, "N", "more than names"),
        ({"sizes": {"x": "N +"}}, "N", "is no expression"),
        ({"sizes": {"x": "N"}, "multiples": {"M": 16}}, "N", "no size is called 'M'"),
        ({"sizes": {"x": "N"}, "multiples": {"N": 0}}, "N", "less than 1"),
        ({}, 0, "at least one block"),
    ],
)
def test_wrong_use(options: dict[str, Any], grid: Any, words: str, kernels: ModuleType) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        prove_launch(kernels.copy, grid, f(128), f(128), 16, **options)
