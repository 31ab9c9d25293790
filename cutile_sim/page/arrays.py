"""Answers about the elements of arrays: how often they were touched, first when, by whom, and what they hold."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from cutile_sim.analysis import NEVER, coverage, first_touches, touches, who
from cutile_sim.errors import UsageError
from cutile_sim.numerals import whole_number
from cutile_sim.page.contents import contents
from cutile_sim.page.launches import file_paths
from cutile_sim.page.packing import pack, words_of
from cutile_sim.page.planes import Bins, Plane, Region
from cutile_sim.page.questions import Question
from cutile_sim.traces.reader import LaunchTrace

ACCESS_KINDS = ("load", "store", "atomic")
BARS = 64
KEPT_SPREADS = 64
NAMED = 200
"""How many accesses to an element are named."""
NAN, NO_VALUE, POSITIVE, NEGATIVE = 1, 2, 3, 4
"""What is odd about a cell's values; 0 for nothing."""


def plane(question: Question) -> dict[str, Any]:
    """How often elements were touched: for each kind that occurs, the mean of each cell; `most` over all cells."""
    launch, at = question.launch, Plane.asked(question)
    lines = (_line(question),) if question.has("line") else ()

    def count(region: Region, bins: Bins) -> list[np.ndarray]:
        found = touches(launch, at.array.name, region=region, bins=bins, lines=lines)
        return [found.loads, found.stores, found.updates]

    answer: dict[str, Any] = {**at.frame(), "most": {}}
    sizes = np.maximum(at.sizes, 1)
    for kind, sums in zip(ACCESS_KINDS, at.sums(count), strict=True):
        if sums.any():
            means = sums / sizes
            answer[kind] = pack(means, "f4")
            answer["most"][kind] = float(means.max())
    return answer


def _line(question: Question) -> tuple[str, int] | str:
    file, line = (whole_number(part) for part in question.text("line").rpartition(":")[::2])
    files = file_paths(question.launch)
    if file is None or line is None or file >= len(files):
        raise UsageError(f"line must be the number of a file and of a line, not {question.text('line')!r}")
    return f"{files[file]}:{line}"


def times(question: Question) -> dict[str, Any]:
    """The first record that touched an element of each cell (-1: none)."""
    launch, at = question.launch, Plane.asked(question)

    def count(region: Region, bins: Bins) -> list[np.ndarray]:
        return [first_touches(launch, at.array.name, region=region, bins=bins)]

    first = at.sums(count, np.minimum)[0]
    return {**at.frame(), "first": pack(np.where(first == NEVER, -1, first), "i4")}


def cover(question: Question) -> dict[str, Any]:
    """Which elements were never written, by one block, by several; of an array that nothing writes, which were read.

    Bits of a cell: 1 some never, 2 some by one block, 4 some by several. Atomic updates may be by any number of blocks.
    The counts are of the whole array.
    """
    launch, at = question.launch, Plane.asked(question)
    kinds = covering_kinds(launch, at.array.name)
    has_updates = "atomic" in kinds and any(launch.records(kinds=("atomic",), names=(at.array.name,)))

    def count(region: Region, bins: Bins) -> list[np.ndarray]:
        found = coverage(launch, at.array.name, region=region, bins=bins, kinds=kinds)
        return [found.unwritten, found.several]

    never, several = at.sums(count)
    once = at.sizes - never - several
    bits = 1 * (never > 0) + 2 * (once > 0) + 4 * (several > 0)
    size = at.array.size
    never_all, several_all = int(never.sum()), int(several.sum())
    if int(at.sizes.sum()) != size:
        whole = coverage(launch, at.array.name, bins=(1,) * len(at.array.shape), kinds=kinds)
        never_all, several_all = int(whole.unwritten.sum()), int(whole.several.sum())
    return {
        **at.frame(),
        "covers": "read" if kinds == ("load",) else "written",
        "has_updates": has_updates,
        "coverage": pack(bits.astype(np.uint8), "u1"),
        "never": never_all,
        "once": size - never_all - several_all,
        "several": several_all,
    }


def covering_kinds(launch: LaunchTrace, array: str) -> tuple[str, ...]:
    """Kinds of accesses whose coverage says most about an array: writes, or reads where nothing writes it."""
    writes = ("store", "atomic")
    return writes if next(iter(launch.records(kinds=writes, names=(array,))), None) is not None else ("load",)


def values(question: Question) -> dict[str, Any]:
    """What an array holds: the mean of each cell, lowest and highest of the whole array, and a histogram."""
    launch, at, when = question.launch, Plane.asked(question), question.text("when")
    held, known = contents(launch, at.array.name, when)
    shown = None if known is None else at.slice_of(known)
    return {**at.frame(), **cell_values(at.slice_of(held), shown, at), **_spread(launch, at.array.name, when)}


@lru_cache(KEPT_SPREADS)
def _spread(launch: LaunchTrace, array: str, when: str) -> dict[str, Any]:
    held, known = contents(launch, array, when)
    share = 1.0 if known is None or not known.size else float(known.mean())
    return {**spread(held if known is None else held[known]), "known": share}


def cell_values(held: np.ndarray, known: np.ndarray | None, at: Plane) -> dict[str, Any]:
    """Means of finite known values over cells, and what is odd about them."""
    numbers = as_numbers(held)
    good = np.isfinite(numbers)
    if known is not None:
        good &= known
    is_whole = bool(good.all())
    count = at.sizes if is_whole else at.binned(good)
    with np.errstate(over="ignore"):
        mean = at.binned(numbers if is_whole else np.where(good, numbers, 0)) / np.maximum(count, 1)
    odd = np.zeros(at.cells, np.uint8)
    if not is_whole:
        odd[count == 0] = NO_VALUE
        for code, where in ((NEGATIVE, np.isneginf), (POSITIVE, np.isposinf), (NAN, np.isnan)):
            odd[at.binned(where(numbers) if known is None else where(numbers) & known) > 0] = code
    return {
        "mean": pack(mean, "f8" if numbers.dtype == np.float64 else "f4"),
        "odd": pack(odd, "u1"),
        "words": {str(NAN): "NaN", str(POSITIVE): "inf", str(NEGATIVE): "-inf"},
    }


def as_numbers(values: np.ndarray) -> np.ndarray:
    """Values of any element type as float64, or float32 where that holds them."""
    exact = values.dtype.itemsize <= 2 or values.dtype == np.float32
    return values.astype(np.float32 if exact else np.float64, copy=False)


def spread(held: np.ndarray) -> dict[str, Any]:
    """Lowest and highest finite value, how many are not finite, and how many lie in each of equal steps between."""
    numbers = as_numbers(held).reshape(-1)
    good = np.isfinite(numbers)
    kept = numbers if good.all() else numbers[good]
    nan = int(np.isnan(numbers).sum()) if kept is not numbers else 0
    answer: dict[str, Any] = {"low": None, "high": None, "nan": nan, "infinite": numbers.size - kept.size - nan}
    counts, edges = np.zeros(0, np.int64), np.zeros(0)
    if kept.size:
        low, high = float(kept.min()), float(kept.max())
        answer |= {"low": low, "high": high}
        whole = held.dtype.kind in "biu"
        bars = min(BARS, int(high - low) + 1) if whole else BARS
        end = high + 1 if whole else high if high > low else low + 1
        # The span between the largest doubles is none itself: then of halves.
        half = 1 if math.isfinite(end - low) else 2
        counts, edges = np.histogram(kept.astype(np.float64) / half, bins=bars, range=(low / half, end / half))
        edges *= half
    return answer | {"histogram": {"edges": edges.tolist(), "counts": counts.tolist()}}


def element(question: Question) -> dict[str, Any]:
    """Who touched an element, in time order, and what it held before and after."""
    launch, array = question.launch, question.array
    index = question.numbers("index")
    found = who(launch, array.name, index, at_most=NAMED)
    held = {when: launch.contents(array.name, when) for when in ("before", "after")} if array.is_argument else {}
    return {
        "total": sum(t.block_count for t in found.touches),
        "is_cut": found.is_cut,
        "touches": [
            {"record": t.record, "op": t.op, "kind": t.kind, "block": list(block)}
            for t in found.touches
            for block in t.blocks
        ],
        **{when: None if h is None else words_of(h[index]) for when, h in held.items()},
    }
