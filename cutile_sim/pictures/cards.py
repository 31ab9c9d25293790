"""What a notebook shows of a trace: its launches, and of each array what was touched, as a small map."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutile_sim.analysis import tile_map, touches
from cutile_sim.errors import UsageError
from cutile_sim.html import Raw, card, lines, table, text, verbatim
from cutile_sim.pictures.png import data_url
from cutile_sim.pictures.words import grid_text
from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.reader import LaunchTrace, Trace

MOST_LAUNCHES = 20
MOST_ARRAYS = 12
MOST_RECORDS = 100_000
"""Larger launches are shown without maps, which would take seconds."""
MAP_CELLS = 64
MAP_PIXELS = 128
MOST_TILES = 32
"""Along an axis: more are not told apart."""
_COLORS = {"load": (0, 114, 178), "store": (213, 94, 0), "atomic": (204, 121, 167)}
_FIELDS = {"load": "loads", "store": "stores", "atomic": "updates"}
_NOTHING = (128, 128, 128, 64)


def trace_card(trace: Trace) -> str:
    """A trace as HTML: its only launch, or a table of several."""
    if len(trace.launches) == 1:
        return launch_card(trace.launches[0])
    shown = trace.launches[:MOST_LAUNCHES]
    rows = [(n.number, n.kernel, grid_text(n), *_moved(n), _arrays_in_words(n), _ending(n)) for n in shown]
    more = len(trace.launches) - len(shown)
    return card(
        f"Trace {trace.name}",
        f"{len(trace.launches):,} launches, by {trace.producer}",
        table(("launch", "kernel", "grid", "loaded", "stored", "arrays", "ended"), rows),
        text(f"and {more:,} more") if more else Raw(""),
    )


def launch_card(launch: LaunchTrace) -> str:
    """A launch as HTML: what it moved, and a map of each array."""
    counts = launch.counts
    flops = sum(op.flops * int(n) for op, n in zip(launch.ops, counts["blocks"], strict=True))
    loaded, stored = _moved(launch)
    has_maps = len(launch.record_ops) <= MOST_RECORDS
    rows = [_row(launch, array, has_maps) for array in launch.arrays[:MOST_ARRAYS]]
    more = len(launch.arrays) - len(rows)
    return card(
        f"{launch.kernel} over {grid_text(launch)} blocks",
        f"{loaded} loaded, {stored} stored, {flops:,} floating-point operations, {_ending(launch)}",
        table(("array", "type", "touched"), rows),
        text(f"and {more:,} more arrays") if more else Raw(""),
        lines("Findings", [f"{f.get('message', '')} [{f.get('id', '')}]" for f in launch.findings]),
        verbatim("Printed", launch.printed),
    )


def _row(launch: LaunchTrace, array: ArrayInfo, has_maps: bool) -> tuple[object, ...]:
    kind = f"{array.dtype_name.rstrip('_')}{list(array.shape)}"
    if not has_maps or not array.size:
        return array.name, kind, ""
    bins = [1 if axis < len(array.shape) - 2 else MAP_CELLS for axis in range(len(array.shape))]
    try:
        found = touches(launch, array.name, bins=bins)
    except UsageError:  # elements with several indices, and too many of them
        return array.name, kind, ""
    maps = []
    for access, color in _COLORS.items():
        sums = getattr(found, _FIELDS[access])
        if sums.any():
            values = (sums / found.sizes) * _shades(launch, array.name, access, found.edges)
            maps.append(_map(array, _FIELDS[access], int(sums.sum()), values, color))
    return array.name, kind, Raw("".join(maps)) if maps else "nothing"


def _shades(launch: LaunchTrace, array: str, access: str, edges: Sequence[np.ndarray]) -> np.ndarray:
    """Every other tile a little lighter, for each cell between edges (float64)."""
    try:
        tiles = tile_map(launch, array, kinds=(access,)).edges
    except UsageError:  # more tiles than fit into memory
        return np.ones(())
    number = np.zeros((), np.int64)
    for cells, ends in zip(edges, tiles, strict=True):
        along = np.searchsorted(ends, cells[:-1], "right") if len(ends) <= MOST_TILES + 1 and len(cells) > 2 else None
        number = np.add.outer(number, np.zeros(len(cells) - 1, np.int64) if along is None else along)
    return np.where(number % 2 == number.reshape(-1)[0] % 2, 1.0, 0.75)


def _map(array: ArrayInfo, name: str, count: int, values: np.ndarray, color: tuple[int, int, int]) -> Raw:
    """One small picture with its caption."""
    cells = values.reshape((-1, *values.shape[-2:])[-2:] if values.ndim > 1 else (1, -1))
    pixels = np.empty((*cells.shape, 4), np.uint8)
    pixels[:] = _NOTHING
    used = cells > 0
    pixels[used, :3] = color
    pixels[used, 3] = 80 + 175 * cells[used] / cells.max()
    tall, wide = ((1, *array.shape)[-2:]) if array.shape else (1, 1)
    longest = max(tall, wide)
    height = max(round(MAP_PIXELS * tall / longest), 10)
    width = max(round(MAP_PIXELS * wide / longest), 10)
    words = f"{count * array.item_bytes:,} bytes in {count:,} {name}"
    label = text(f"map of {name} of {array.name}")
    return Raw(
        '<span style="display:inline-block;margin:2px 12px 2px 0;vertical-align:top">'
        f'<img alt="{label}" src="{data_url(pixels)}" width="{width}" height="{height}"'
        ' style="image-rendering:pixelated;display:block;max-width:none">'
        f'<span style="font-size:11px;opacity:.75">{text(words)}</span></span>'
    )


def _moved(launch: LaunchTrace) -> tuple[str, str]:
    return tuple(f"{int(launch.counts[c].sum()):,} bytes" for c in ("bytes_loaded", "bytes_stored"))  # type: ignore[return-value]


def _arrays_in_words(launch: LaunchTrace) -> str:
    names = [a.name for a in launch.arrays[:MOST_ARRAYS]]
    return ", ".join(names) + (", ..." if len(launch.arrays) > len(names) else "")


def _ending(launch: LaunchTrace) -> str:
    error = launch.error
    return "complete" if error is None else f"stopped: {error.get('message', '')}"
