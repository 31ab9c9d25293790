"""What a launch moved and computed, in a few numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from cutile_sim.analysis.access_table import access_table
from cutile_sim.analysis.element_counts import touched_elements
from cutile_sim.analysis.footprints import ACCESS_KINDS
from cutile_sim.analysis.gpus import Roofline, roofline
from cutile_sim.analysis.graph import dataflow
from cutile_sim.analysis.tma import TmaRule, tma_rule
from cutile_sim.dtypes import element_type
from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.reader import LaunchTrace


@dataclass(frozen=True)
class ArrayTraffic:
    """What was moved to and from one array.

    Attributes:
        array, dtype, shape: The array.
        elements: Its number of elements.
        loaded_bytes, stored_bytes, updated_bytes: Summed over all lanes of all recorded blocks.
        distinct_loaded_bytes, distinct_written_bytes: Of elements that were loaded, and that were stored or updated,
            each counted once.
        reuse: How often a loaded element is loaded, on average; 0 where none is.
    """

    array: str
    dtype: str
    shape: tuple[int, ...]
    elements: int
    loaded_bytes: int
    stored_bytes: int
    updated_bytes: int
    distinct_loaded_bytes: int
    distinct_written_bytes: int
    reuse: float


@dataclass(frozen=True)
class EdgeWaste:
    """Lanes of an operation's tiles that touch nothing: outside the array, or masked off.

    Attributes:
        op: The operation's number.
        kind: "load", "store" or "atomic".
        file, line: Where the operation is in the source; "" and 0 where that is unknown.
        tile: The tile's shape.
        lanes: Of all tiles of all blocks.
        idle_lanes: Those that touch nothing.
        share: Their part of all lanes, 0 to 1.
    """

    op: int
    kind: str
    file: str
    line: int
    tile: tuple[int, ...]
    lanes: int
    idle_lanes: int
    share: float


@dataclass(frozen=True)
class Summary:
    """A launch in numbers.

    Attributes:
        blocks: Blocks of the grid.
        operations: Operations executed, summed over blocks.
        bytes_loaded, bytes_stored: Moved, summed over blocks, of the whole launch.
        flops: Floating-point operations.
        intensity: Floating-point operations for each byte moved; 0 where none is.
        distinct_intensity: The same for each distinct byte, as if a cache held everything.
        arrays: Traffic of each array, of what was recorded.
        is_partial: Whether the trace leaves out some blocks, lines, kinds or arrays, and with them their traffic.
        waste: Of each operation that moves tiles, of the whole launch.
        tma: Of each operation and array that it was recorded to touch.
        roofline: The estimate for a GPU, if one was named.
    """

    blocks: int
    operations: int
    bytes_loaded: int
    bytes_stored: int
    flops: int
    intensity: float
    distinct_intensity: float
    arrays: tuple[ArrayTraffic, ...]
    is_partial: bool
    waste: tuple[EdgeWaste, ...]
    tma: tuple[TmaRule, ...]
    roofline: Roofline | None


def summary(launch: LaunchTrace, gpu: str | None = None) -> Summary:
    """Sum a launch up: bytes of each array, reuse, arithmetic intensity, idle lanes, and what may use TMA.

    Args:
        gpu: A name out of `GPUS`, or its beginning, such as "h100", for a roofline estimate.

    Raises:
        UsageError: There are no rates of that GPU, or the file is damaged.
    """
    counts = launch.counts
    arrays = tuple(_traffic(launch, array) for array in launch.arrays)
    moved = int(counts["bytes_loaded"].sum() + counts["bytes_stored"].sum())
    distinct = sum(a.distinct_loaded_bytes + a.distinct_written_bytes for a in arrays)
    matrix, vector = _flops(launch)
    flops = sum(matrix.values()) + sum(vector.values())
    estimate = None
    if gpu is not None:
        estimate = roofline(gpu, distinct_bytes=distinct, moved_bytes=moved, matrix_flops=matrix, vector_flops=vector)
    return Summary(
        blocks=launch.block_count,
        operations=int(counts["blocks"].sum()),
        bytes_loaded=int(counts["bytes_loaded"].sum()),
        bytes_stored=int(counts["bytes_stored"].sum()),
        flops=flops,
        intensity=flops / moved if moved else 0.0,
        distinct_intensity=flops / distinct if distinct else 0.0,
        arrays=arrays,
        is_partial=_is_partial(launch),
        waste=tuple(_waste(launch)),
        tma=_tma(launch),
        roofline=estimate,
    )


def _traffic(launch: LaunchTrace, array: ArrayInfo) -> ArrayTraffic:
    lanes, distinct = touched_elements(launch, array.name)
    item = array.item_bytes
    return ArrayTraffic(
        array=array.name,
        dtype=array.dtype_name,
        shape=array.shape,
        elements=array.size,
        loaded_bytes=lanes["load"] * item,
        stored_bytes=lanes["store"] * item,
        updated_bytes=lanes["atomic"] * item,
        distinct_loaded_bytes=distinct["load"] * item,
        distinct_written_bytes=distinct["written"] * item,
        reuse=lanes["load"] / distinct["load"] if distinct["load"] else 0.0,
    )


def _is_partial(launch: LaunchTrace) -> bool:
    options = launch.options
    return bool(
        any(options[name] for name in ("blocks", "lines", "names"))
        or options["every"] > 1
        or not set(ACCESS_KINDS) <= set(options["kinds"])
    )


def _waste(launch: LaunchTrace) -> Iterator[EdgeWaste]:
    counts = launch.counts
    for op in launch.ops:
        blocks = int(counts["blocks"][op.number])
        if op.tile is None or not blocks:
            continue
        shape, element = op.tile
        lanes = prod(shape) * blocks
        moved = max(int(counts["bytes_loaded"][op.number]), int(counts["bytes_stored"][op.number]))
        idle = max(lanes - moved // element_type(element).size_bytes, 0)
        yield EdgeWaste(op.number, op.kind, *op.file_and_line, shape, lanes, idle, idle / lanes if lanes else 0.0)


def _tma(launch: LaunchTrace) -> tuple[TmaRule, ...]:
    table = access_table(launch)
    rows = table.rows(launch.chosen_ops(ACCESS_KINDS))
    pairs = np.column_stack([table.op[rows], table.array[rows]])
    first = np.sort(np.unique(pairs, axis=0, return_index=True)[1])
    rules = [tma_rule(launch.ops[int(table.op[row])], access) for row, access in table.accesses(rows[first])]
    return tuple(sorted(rules, key=lambda rule: (rule.op, launch.array(rule.array).number)))


def _flops(launch: LaunchTrace) -> tuple[dict[str, int], dict[str, int]]:
    """Floating-point operations of matrix products and of all else, by element type."""
    matrix: dict[str, int] = {}
    vector: dict[str, int] = {}
    operands = {(e.target, e.operand): e.type for e in dataflow(launch).edges}
    for op in launch.ops:
        flops = op.flops * int(launch.counts["blocks"][op.number])
        if not flops:
            continue
        is_product = op.kind == "product"
        kind = operands.get((op.number, "lhs"), "") if is_product else op.results[0][1] if op.results else ""
        element = kind.removeprefix("tile<").removesuffix(">").rpartition("x")[2]
        table = matrix if is_product else vector
        table[element] = table.get(element, 0) + flops
    return matrix, vector
