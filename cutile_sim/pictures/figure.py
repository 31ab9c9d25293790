"""`plot`: a figure of what a launch did to one array."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cutile_sim.analysis.blocks import block_id
from cutile_sim.analysis.footprints import ACCESS_KINDS
from cutile_sim.errors import UsageError
from cutile_sim.pictures.counts import CountColors, count_values, draw_counts
from cutile_sim.pictures.panels import Panel, panels_of
from cutile_sim.pictures.style import KIND_WORDS, head, legend, matplotlib, new_figure, whole_numbers
from cutile_sim.pictures.tiles import block_boxes, draw_blocks, draw_owners, outline
from cutile_sim.pictures.values import contents_of, draw_histogram, draw_values, scale_of
from cutile_sim.pictures.words import grid_text, ids_text
from cutile_sim.traces.model import ArrayInfo
from cutile_sim.traces.reader import LaunchTrace, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WHATS = ("touches", "tiles", "values")
MOST_BLOCKS = 7
"""How many blocks are told apart by colour."""


def plot(
    launch: LaunchTrace | Trace,
    array: str,
    *,
    what: str = "touches",
    kind: str | None = None,
    blocks: Sequence[Any] = (),
    at: Sequence[int] = (),
    between: tuple[int, int] | None = None,
) -> Figure:
    """Draw what a launch did to one array. Needs matplotlib.

    Args:
        launch: The launch, or a trace of one launch.
        array: The array's name.
        what: "touches", how often each element is touched; "tiles", which blocks touch what; "values", the contents
            after the launch, which must have been recorded.
        kind: "load", "store" or "atomic"; None for all that there are.
        blocks: Only these, such as (1, 2); with "tiles" each in a colour of its own, with "values" as outlines.
        at: Of an array of more than two axes, the index along all but the last two; () for a few of them.
        between: Only records with numbers from the first up to but without the second.

    Returns:
        The figure; `savefig` writes it.

    Raises:
        UsageError: matplotlib is not installed; there is no such array, block, kind or slice; nothing of that kind, or
            no contents were recorded.
    """
    matplotlib()
    launch = _one(launch)
    if what not in WHATS:
        raise UsageError(f"what={what!r}: there is {', '.join(WHATS)}")
    info = launch.array(array)
    panels = panels_of(info, at)
    chosen = [block_id(launch, (b,) if isinstance(b, int) else b) for b in blocks]
    if len(chosen) > MOST_BLOCKS and what != "touches":
        raise UsageError(f"{len(chosen)} blocks are too many to be told apart by colour: give at most {MOST_BLOCKS}")
    kinds = _kinds(launch, array, kind)
    how = {"blocks": tuple(chosen), "between": between}
    if what == "values":
        figure = _values(launch, info, panels, kinds, chosen, how)
    else:
        if not kinds:
            word = f"has no {KIND_WORDS[kind]} of" if kind else "touches nothing of"
            raise UsageError(f"what was recorded {word} array {array}")
        figure = (_touches if what == "touches" else _tiles)(launch, info, panels, kinds, chosen, how)
    return figure


def expect_picture(path: str) -> str:
    """The ending of a picture's path. Raises UsageError for one that cannot be written, or without matplotlib."""
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    known = matplotlib().figure.Figure().canvas.get_supported_filetypes()
    if ending not in known:
        raise UsageError(f"cannot write {path}: the ending must be one of {', '.join(sorted(known))}")
    return ending


def save(figure: Figure, path: str) -> None:
    """Write a figure as the ending of the path says. Raises UsageError where that cannot be done."""
    ending = expect_picture(path)
    try:
        # The same picture gives the same file.
        with matplotlib().rc_context({"svg.hashsalt": "cutile_sim"}):
            figure.savefig(path, metadata={"Date": None} if ending == "svg" else None)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _one(launch: LaunchTrace | Trace) -> LaunchTrace:
    if isinstance(launch, LaunchTrace):
        return launch
    if len(launch.launches) != 1:
        raise UsageError(f"{launch.name} holds {len(launch.launches)} launches: give one of them")
    return launch.launches[0]


def _kinds(launch: LaunchTrace, array: str, kind: str | None) -> list[str]:
    """The kinds to draw: the one that is asked for, or all, of those that touch the array."""
    if kind is not None and kind not in ACCESS_KINDS:
        raise UsageError(f"there is no kind {kind!r} of access; there is {', '.join(ACCESS_KINDS)}")
    present = {r.kind for r in launch.records(kinds=(kind,) if kind else ACCESS_KINDS, names=(array,))}
    return [k for k in ACCESS_KINDS if k in present]


def _subtitle(launch: LaunchTrace, array: ArrayInfo, blocks: list[Any]) -> str:
    words = [launch.kernel, f"grid {grid_text(launch)}", f"{array.dtype_name.rstrip('_')}{list(array.shape)}"]
    if blocks:
        ids = " and ".join(ids_text(launch, b) for b in blocks)
        words.append(f"only block {ids}" if len(blocks) < 4 else f"only {len(blocks)} blocks")
    return " · ".join(words)


def _grid(rows: int, columns: int, panel: Panel) -> tuple[Figure, list[Axes]]:
    """Panels in rows, as tall as the array's axes ask for."""
    if len(panel.axes) < 2:
        size = 7.5, 2.4
    else:
        tall, wide = panel.lengths
        width = 5.0 if columns == 1 else 4.4 if columns == 2 else 3.6
        size = width, width * min(max(tall / wide, 0.3), 1.2)
    figure, axes = new_figure(rows, columns, size)
    return figure, [one for row in axes for one in row]


def _kinds_and_slices(kinds: list[str], panels: Sequence[Panel]) -> tuple[Figure, list[tuple[Axes, str, Panel]]]:
    """A panel for each kind and slice: kinds beside each other, or below each other where there are slices or lines."""
    pairs = [(kind, panel) for kind in kinds for panel in panels]
    beside = len(panels) == 1 and len(panels[0].axes) == 2
    figure, axes = _grid(1, len(kinds), panels[0]) if beside else _grid(len(kinds), len(panels), panels[0])
    return figure, [(one, *pair) for one, pair in zip(axes, pairs, strict=True)]


def _finish(axes: Axes, panel: Panel, title: str) -> None:
    if title:
        axes.set_title(title, fontsize=10, parse_math=False)
    whole_numbers(axes.xaxis)
    axes.set_xlabel(f"axis {panel.axes[-1]} (element)" if panel.axes else "element", fontsize=9)
    if len(panel.axes) == 2:
        whole_numbers(axes.yaxis)
        axes.set_ylabel(f"axis {panel.axes[0]} (element)", fontsize=9)
    axes.tick_params(labelsize=8)


def _name(kind: str, kinds: list[str], panel: Panel) -> str:
    return " ".join(part for part in (KIND_WORDS[kind] if len(kinds) > 1 else "", panel.title) if part)


def _touches(
    launch: LaunchTrace, array: ArrayInfo, panels: Sequence[Panel], kinds: list[str], blocks: list[Any], how: Any
) -> Figure:
    figure, places = _kinds_and_slices(kinds, panels)
    entries: list[Any] = []
    values = [count_values(launch, array.name, kind, panel, how) for _, kind, panel in places]
    colors = CountColors(values)
    for (one, kind, panel), counts in zip(places, values, strict=True):
        entries += draw_counts(one, launch, array.name, kind, panel, counts, colors, how)
        if counts.ndim == 1 and (counts == np.floor(counts)).all():
            whole_numbers(one.yaxis)
        _finish(one, panel, _name(kind, kinds, panel))
    words = " and ".join(KIND_WORDS[k] for k in kinds)
    legend(figure, entries)
    head(figure, f"{array.name}: {words} of each element", _subtitle(launch, array, blocks))
    return figure


def _tiles(
    launch: LaunchTrace, array: ArrayInfo, panels: Sequence[Panel], kinds: list[str], blocks: list[Any], how: Any
) -> Figure:
    figure, places = _kinds_and_slices(kinds, panels)
    entries: list[Any] = []
    for one, kind, panel in places:
        if blocks:
            entries += draw_blocks(one, launch, array.name, kind, panel, blocks, how)
        else:
            entries += draw_owners(one, launch, array.name, kind, panel, how)
        _finish(one, panel, _name(kind, kinds, panel))
    legend(figure, entries)
    words = {"load": "loaded", "store": "stored", "atomic": "updated"}
    head(
        figure,
        f"{array.name}: tiles {' and '.join(words[k] for k in kinds)}",
        _subtitle(launch, array, blocks),
    )
    return figure


def _values(
    launch: LaunchTrace, array: ArrayInfo, panels: Sequence[Panel], kinds: list[str], blocks: list[Any], how: Any
) -> Figure:
    contents = contents_of(launch, array.name)
    figure, axes = _grid(2, 1, panels[0]) if len(panels[0].axes) < 2 else _grid(1, len(panels) + 1, panels[0])
    entries: list[Any] = []
    scale = scale_of(contents)
    for one, panel in zip(axes, panels, strict=False):
        entries += draw_values(one, panel, contents, scale)
        for block in blocks:
            for kind in kinds:
                outline(one, block_boxes(launch, array.name, kind, panel, block, how))
        _finish(one, panel, panel.title)
    draw_histogram(axes[-1], contents)
    legend(figure, entries)
    head(figure, f"{array.name}: values after the launch", _subtitle(launch, array, []))
    return figure
