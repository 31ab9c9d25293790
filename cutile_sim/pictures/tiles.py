"""Panels of tiles: which blocks touch which part of an array, or what single blocks touch."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from cutile_sim.analysis import tile_map, tiles_of, touches
from cutile_sim.pictures.counts import MOST_STRETCHED, show_image
from cutile_sim.pictures.panels import Panel
from cutile_sim.pictures.style import INK, NOTHING, OF_BLOCKS, matplotlib, patch
from cutile_sim.pictures.words import block_text, ids_text
from cutile_sim.traces.reader import LaunchTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LABELS = 64
MOST_OUTLINES = 400
_FIELDS = {"load": "loads", "store": "stores", "atomic": "updates"}


def draw_owners(axes: Axes, launch: LaunchTrace, array: str, kind: str, panel: Panel, how: dict[str, Any]) -> list[Any]:
    """Every tile in the colour of the first block that touches it, with the ids of its blocks where there is room.

    Returns the entries of the legend.
    """
    mpl = matplotlib()
    found = tile_map(launch, array, kinds=(kind,), region=panel.region, **how)
    first, last = panel.drawn(found.first), panel.drawn(found.last)
    edges = panel.edges(found.edges)
    if first.ndim == 1:
        first, last, edges = first[None], last[None], (np.arange(2), *edges)
        axes.set_yticks([])
    x, y, z = ids_of(launch, first)
    colors = mpl.colors.ListedColormap([NOTHING, *(_tint(c) for c in OF_BLOCKS)])
    number = np.where(first < 0, 0, 1 + (x + 3 * y + 5 * z) % len(OF_BLOCKS))
    axes.pcolormesh(
        edges[1], edges[0], number, cmap=colors, vmin=-0.5, vmax=len(OF_BLOCKS) + 0.5,
        edgecolors=INK if number.size <= MOST_OUTLINES else "none", linewidth=0.4,
    )  # fmt: skip
    axes.set_ylim(edges[0][-1], edges[0][0])
    axes.set_xlim(edges[1][0], edges[1][-1])
    tall, wide = edges[0][-1] - edges[0][0], edges[1][-1] - edges[1][0]
    if panel.drawn(found.first).ndim == 2 and max(tall, wide) <= MOST_STRETCHED * min(tall, wide):
        axes.set_aspect("equal")
    spans = _alike(first, last) if number.size <= MOST_OUTLINES else []
    for rows, columns in spans if len(spans) <= MOST_LABELS else ():
        at = rows.start, columns.start
        box = [(e[s.start], e[s.stop]) for e, s in zip(edges, (rows, columns), strict=True)]
        _label(axes, launch, box, int(first[at]), int(last[at]))
    patches = [patch(NOTHING, "no block")] if (first < 0).any() else []
    patches.append(patch(_tint(OF_BLOCKS[0]), "a block's tile, coloured by the first block that touches it"))
    return patches


def draw_blocks(
    axes: Axes, launch: LaunchTrace, array: str, kind: str, panel: Panel, blocks: list[Any], how: dict[str, Any]
) -> list[Any]:
    """What some blocks touch, each in a colour of its own, and their tiles as outlines.

    Returns the entries of the legend.
    """
    mpl = matplotlib()
    patches = []
    drawn = None
    for n, block in enumerate(blocks):
        color = OF_BLOCKS[n % len(OF_BLOCKS)]
        found = touches(launch, array, region=panel.region, bins=panel.bins, blocks=(block,), between=how["between"])
        used = panel.drawn(getattr(found, _FIELDS[kind])) > 0
        if used.ndim == 1:
            used = used[None]
        if drawn is None:
            drawn = np.empty((*used.shape, 4))
            drawn[:] = mpl.colors.to_rgba(NOTHING)
            taken = np.zeros(used.shape, bool)
        drawn[used & ~taken] = mpl.colors.to_rgba(color)
        drawn[used & taken] = (drawn[used & taken] + mpl.colors.to_rgba(color)) / 2
        taken |= used
        boxes = block_boxes(launch, array, kind, panel, block, how)
        outline(axes, boxes[:MOST_OUTLINES])
        tiles = f": {len(boxes):,} tile{'s' if len(boxes) > 1 else ''}" if boxes else ""
        patches.append(patch(color, f"block {ids_text(launch, block)}{tiles}"))
    assert drawn is not None
    if len(panel.axes) == 2:
        show_image(axes, panel, drawn)
    else:
        first, end = panel.region[panel.axes[0]] if panel.axes else (0, 1)
        axes.imshow(drawn, extent=(first, end, 1, 0), aspect="auto", interpolation="nearest")
        axes.set_yticks([])
    return [*patches, patch(NOTHING, "not touched by them")]


def block_boxes(
    launch: LaunchTrace, array: str, kind: str, panel: Panel, block: Any, how: dict[str, Any]
) -> list[tuple[tuple[int, int], ...]]:
    """The different boxes of a block's tiles that meet a panel, cut down to its axes."""
    found: dict[tuple[tuple[int, int], ...], None] = {}
    for tile in tiles_of(launch, block, between=how["between"]):
        if tile.array != array or tile.kind != kind or not tile.is_box:
            continue
        if all(a < end and first < b for (a, b), (first, end) in zip(tile.box, panel.region, strict=True)):
            found[tuple(tile.box[a] for a in panel.axes)] = None
    return list(found)


def _alike(first: np.ndarray, last: np.ndarray) -> list[tuple[slice, slice]]:
    """Rectangles of neighbouring cells that the same blocks touch."""
    owners = np.stack([first, last])
    done: list[tuple[slice, slice]] = []
    open_: dict[tuple[int, ...], int] = {}  # columns and blocks of a run in the row above, and where it began
    for row in range(first.shape[0] + 1):
        runs = _runs(owners[:, row]) if row < first.shape[0] else []
        done += [(slice(start, row), slice(*key[:2])) for key, start in open_.items() if key not in runs]
        open_ = {key: open_.get(key, row) for key in runs}
    return done


def _runs(owners: np.ndarray) -> list[tuple[int, ...]]:
    """(first column, end, first block, last block) of neighbours in a row that are alike and touched."""
    changes = np.flatnonzero((np.diff(owners, axis=1) != 0).any(axis=0)) + 1
    bounds = [0, *changes.tolist(), owners.shape[1]]
    return [(a, b, *owners[:, a].tolist()) for a, b in pairwise(bounds) if owners[0, a] >= 0]


def _label(axes: Axes, launch: LaunchTrace, box: list[Any], first: int, last: int) -> None:
    """The ids of a tile's blocks in its middle, if they fit."""
    (top, bottom), (left, right) = box
    (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
    tall, wide = (bottom - top) / abs(y1 - y0), (right - left) / abs(x1 - x0)
    label = block_text(launch, int(first))
    if last != first:
        label += ("\n" if tall > 0.08 else " ") + "to " + block_text(launch, int(last))
    longest = max(map(len, label.split("\n")))
    if tall > 0.035 and wide > 0.0135 * longest:
        middle = (left + right) / 2, (top + bottom) / 2
        axes.text(*middle, label, ha="center", va="center", fontsize=7, color=INK)


def outline(axes: Axes, boxes: list[tuple[tuple[int, int], ...]]) -> None:
    """Outlines of boxes over a panel."""
    for box in boxes:
        (top, bottom), (left, right) = box if len(box) == 2 else ((0, 1), *(box or ((0, 1),)))
        axes.add_patch(
            matplotlib().patches.Rectangle(
                (left, top), right - left, bottom - top, fill=False, edgecolor=INK, linewidth=0.8, zorder=4
            )
        )


def ids_of(launch: LaunchTrace, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Block ids along x, y, z of numbers in launch order."""
    gx, gy, _ = launch.grid
    return numbers % gx, numbers // gx % gy, numbers // (gx * gy)


def _tint(color: str) -> tuple[float, ...]:
    """A lighter shade, on which dark text can be read."""
    rgb = np.array(matplotlib().colors.to_rgb(color))
    return tuple(float(c) for c in 1 - 0.6 * (1 - rgb))
