"""Panels of counts: how often each element was loaded, stored or updated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cutile_sim.analysis import coverage, tile_map, touches
from cutile_sim.errors import UsageError
from cutile_sim.pictures.panels import Panel
from cutile_sim.pictures.style import BLUE, INK, KIND_WORDS, NEVER, NOTHING, VERMILLION, matplotlib, patch
from cutile_sim.traces.reader import LaunchTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FEW = 6
"""Up to so many different counts are named one by one."""
MOST_BOUNDARIES = 64
MOST_STRETCHED = 6
"""Arrays up to so many times as long as wide are drawn to scale."""
_FIELDS = {"load": "loads", "store": "stores", "atomic": "updates"}


def count_values(launch: LaunchTrace, array: str, kind: str, panel: Panel, how: dict[str, Any]) -> np.ndarray:
    """Touches for each element, on average in each pixel (float64, as drawn)."""
    found = touches(launch, array, region=panel.region, bins=panel.bins, **how)
    return panel.drawn(getattr(found, _FIELDS[kind]) / found.sizes)


def boundaries(launch: LaunchTrace, array: str, kind: str, panel: Panel, how: dict[str, Any]) -> list[np.ndarray]:
    """Where tiles begin and end, along the axes that are drawn; none where there are too many to be seen."""
    try:
        found = tile_map(launch, array, kinds=(kind,), region=panel.region, **how)
    except UsageError:  # more than fit into memory
        return []
    return [e if len(e) <= MOST_BOUNDARIES + 1 else e[:0] for e in panel.edges(found.edges)]


class CountColors:
    """Colours of counts, the same for all panels of a figure."""

    def __init__(self, values: list[np.ndarray]) -> None:
        mpl = matplotlib()
        present = np.unique(np.concatenate([v[v > 0].reshape(-1) for v in values]))
        shades = mpl.colormaps["YlGnBu"]
        self.few: dict[int, Any] = {}
        if present.size <= FEW and (present == np.floor(present)).all():
            for n, count in enumerate(present):
                self.few[int(count)] = shades(0.2 + 0.55 * (n + 1) / max(present.size, 2))
        top = float(present[-1]) if present.size else 1.0
        self.norm = mpl.colors.Normalize(0, top)
        self.shades = mpl.colors.ListedColormap(shades(np.linspace(0.25, 1, 256)))

    def image(self, values: np.ndarray) -> np.ndarray:
        """RGBA of counts."""
        mpl = matplotlib()
        image = np.empty((*values.shape, 4))
        image[:] = mpl.colors.to_rgba(NOTHING)
        used = values > 0
        if self.few:
            for count, color in self.few.items():
                image[values == count] = color
        else:
            image[used] = self.shades(self.norm(values[used]))
        return image


def draw_counts(
    axes: Axes, launch: LaunchTrace, array: str, kind: str, panel: Panel, values: np.ndarray, colors: CountColors,
    how: dict[str, Any],
) -> list[Any]:  # fmt: skip
    """One panel: an image of two axes, or steps along one. Returns its entries of the legend."""
    lines = boundaries(launch, array, kind, panel, how)
    several = None
    if kind == "store" and not how["blocks"]:
        found = coverage(launch, array, region=panel.region, bins=panel.bins, between=how["between"])
        several = panel.drawn(found.several) > 0
    if values.ndim == 2:
        _draw_image(axes, panel, values, colors, several)
        _draw_lines(axes, panel, lines)
    else:
        _draw_steps(axes, panel, values, several, kind)
        for edge in lines[0] if lines else ():
            axes.axvline(edge, color=INK, linewidth=0.4, alpha=0.35, zorder=3)
    return _entries(kind, values, colors, several, any(len(e) > 2 for e in lines))


def _draw_image(axes: Axes, panel: Panel, values: np.ndarray, colors: CountColors, several: np.ndarray | None) -> None:
    image = colors.image(values)
    if several is not None and several.any():
        image[several] = matplotlib().colors.to_rgba(VERMILLION)
    show_image(axes, panel, image)
    if not colors.few and (values > 0).any():
        scale = matplotlib().cm.ScalarMappable(colors.norm, colors.shades)
        bar = axes.figure.colorbar(scale, ax=axes, shrink=0.85, pad=0.02)
        bar.ax.tick_params(labelsize=8)


def show_image(axes: Axes, panel: Panel, image: np.ndarray) -> None:
    """An image over two axes of the array, in elements."""
    (top, bottom), (left, right) = (panel.region[a] for a in panel.axes)
    tall, wide = bottom - top, right - left
    axes.imshow(image, extent=(left, right, bottom, top), aspect="auto", interpolation="nearest")
    if max(tall, wide) <= MOST_STRETCHED * min(tall, wide):
        axes.set_aspect("equal")


def _draw_lines(axes: Axes, panel: Panel, lines: list[np.ndarray]) -> None:
    if lines:
        (top, bottom), (left, right) = (panel.region[a] for a in panel.axes)
        axes.hlines(lines[0], left, right, color=INK, linewidth=0.5, alpha=0.7)
        axes.vlines(lines[1], top, bottom, color=INK, linewidth=0.5, alpha=0.6)


def _draw_steps(axes: Axes, panel: Panel, values: np.ndarray, several: np.ndarray | None, kind: str) -> None:
    first, end = panel.region[panel.axes[0]] if panel.axes else (0, 1)
    edges = np.linspace(first, end, len(values) + 1)
    top = max(float(values.max(initial=0)), 1.0)
    axes.stairs(values, edges, fill=True, color=BLUE, alpha=0.85)
    axes.stairs(np.where(values == 0, top * 1.05, 0), edges, fill=True, color=NOTHING)
    if several is not None and several.any():
        axes.stairs(np.where(several, values, 0), edges, fill=True, color=VERMILLION)
    axes.set_xlim(first, end)
    axes.set_ylim(0, top * 1.05)
    axes.set_ylabel(f"{KIND_WORDS[kind]} an element", fontsize=9)


def _entries(
    kind: str, values: np.ndarray, colors: CountColors, several: np.ndarray | None, has_lines: bool
) -> list[Any]:
    patches = []
    if (values == 0).any():
        patches.append(patch(NOTHING, NEVER[kind]))
    if values.ndim == 2:
        words = KIND_WORDS[kind]
        for count, color in colors.few.items():
            patches.append(patch(color, f"{count:,} {words if count > 1 else words[:-1]}"))
    if several is not None and several.any():
        patches.append(patch(VERMILLION, "stored by several blocks"))
    if has_lines:
        patches.append(matplotlib().lines.Line2D([], [], color=INK, linewidth=0.8, alpha=0.6, label="edges of tiles"))
    return patches
