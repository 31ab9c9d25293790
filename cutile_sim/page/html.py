"""The page as one file: the same page, with the answers that it would ask a server for."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import islice, product
from typing import Any
from urllib.parse import urlencode

from cutile_sim.analysis import GPUS, lines
from cutile_sim.errors import UsageError
from cutile_sim.page.answers import answer
from cutile_sim.page.arrays import ACCESS_KINDS
from cutile_sim.page.assets import whole_page
from cutile_sim.page.blocks import MOST_BLOCKS
from cutile_sim.page.contents import has_values
from cutile_sim.page.launches import file_paths
from cutile_sim.page.planes import natural_wrap
from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.reader import LaunchTrace, Trace, load_trace

LIMIT_BYTES = 24 << 20
"""How large the answers in a file may be together. Those that do not fit are left out, and the page says so."""
MOST_RECORDS = 512
MOST_BLOCK_RECORDS = 200_000
"""Blocks times records up to which the accesses of every block are written."""
SLICES = 16
Request = tuple[str, dict[str, Any]]


def write_html(trace: Trace | str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Write the page of a trace as one file that needs neither a server nor the network.

    It holds what the page shows at first for every launch and array, and all accesses of blocks where they are not too
    many; closer views of large arrays need `view`.

    Raises:
        UsageError: The file cannot be written, or the trace is none.
    """
    page = whole_page(embedded(load_trace(trace) if not isinstance(trace, Trace) else trace))
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)
    except OSError as error:
        raise UsageError(f"cannot write {os.fspath(path)}: {error.strerror or error}") from None


def embedded(trace: Trace, limit_bytes: int = LIMIT_BYTES) -> dict[str, Any]:
    """Answers by question, as the page writes questions, and what was left out for want of space."""
    overview = answer(trace, "trace", {})
    answers: dict[str, Any] = {key("trace", {}): overview}
    left = limit_bytes
    for launch in trace.launches:
        for words, requests in _wanted(launch):
            for name, parameters in requests:
                found = answer(trace, name, {k: str(v) for k, v in parameters.items()})
                size = len(json.dumps(found))
                if size > left:
                    overview["left_out"].append(f"launch {launch.number}: {words}")
                    break
                left -= size
                answers[key(name, parameters)] = found
        if launch.block_count * len(launch.record_ops) > MOST_BLOCK_RECORDS:
            overview["left_out"].append(f"launch {launch.number}: accesses of single blocks and elements")
    return {"answers": answers}


def key(name: str, parameters: dict[str, Any]) -> str:
    """A question as the page writes it."""
    return f"{name}?{urlencode(sorted(parameters.items()), safe='*')}"


def _wanted(launch: LaunchTrace) -> Iterator[tuple[str, Iterator[Request]]]:
    """Questions in the order of their worth, in groups with a word for each."""
    own = {"launch": launch.number}
    records = len(launch.record_ops)
    yield "what it is", iter([("launch", own), ("graph", own), ("graph", {**own, "all": 1})])
    yield "sums", (("summary", {**own, **gpu}) for gpu in ({}, *({"gpu": name} for name in GPUS)))
    yield "arrays", (("plane", p) for p in _planes(launch))
    yield "edges of tiles", (("cuts", {**own, "array": a.number}) for a in launch.arrays)
    yield "coverage of arrays", (("coverage", p) for p in _planes(launch))
    yield (
        "values of arrays",
        (
            ("values", {**p, "when": when})
            for p in _planes(launch)
            for when in _whens(launch, launch.arrays[p["array"]])
        ),
    )
    if launch.grid[0] * launch.grid[1] <= MOST_BLOCKS:
        yield "the grid of blocks", (("blocks", {**own, "z": z}) for z in range(min(launch.grid[2], SLICES)))
    if launch.block_count * records <= MOST_BLOCK_RECORDS:
        yield "accesses of single blocks", (("block", {**own, "block": b}) for b in _blocks(launch))
    yield "times of first accesses", (("times", p) for p in _planes(launch))
    yield "records", (("record", {**own, "record": n}) for n in range(min(records, MOST_RECORDS)))
    yield "accesses of single lines", (("plane", {**p, "line": at}) for at in _lines(launch) for p in _planes(launch))


def _planes(launch: LaunchTrace) -> Iterator[dict[str, Any]]:
    """The planes that the page shows first, and the other slices of arrays that have a few."""
    for array in launch.arrays:
        own = {"launch": launch.number, "array": array.number}
        rank = len(array.shape)
        if rank == 0:
            yield own
        elif rank == 1:
            yield {**own, "wrap": natural_wrap(array.shape[0])}
        else:
            axes = {**own, "rows": rank - 2, "cols": rank - 1}
            if rank == 2:
                yield axes
                continue
            slices = product(*(range(max(n, 1)) for n in array.shape[:-2]))
            for fixed in islice(slices, SLICES):
                yield {**axes, "fixed": ",".join(map(str, (*fixed, 0, 0)))}


def _whens(launch: LaunchTrace, array: ArrayInfo) -> tuple[str, ...]:
    """Times of which an array's values are written."""
    if array.is_argument and launch.has_contents(array.name):
        return "after", "before"
    return (str(max(len(launch.record_ops) - 1, 0)),) if has_values(launch, array) else ()


def _blocks(launch: LaunchTrace) -> Iterator[str]:
    x, y, z = launch.grid
    for k, j, i in product(range(z), range(y), range(x)):
        yield f"{i},{j},{k}"


def _lines(launch: LaunchTrace) -> Iterator[str]:
    paths = file_paths(launch)
    for line in lines(launch):
        if line.file and any(launch.ops[n].kind in ACCESS_KINDS for n in line.ops):
            yield f"{paths.index(line.file)}:{line.line}"
