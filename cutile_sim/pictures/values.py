"""Panels of values: an array's contents as a heat map, with a histogram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cutile_sim.errors import UsageError
from cutile_sim.pictures.counts import show_image
from cutile_sim.pictures.panels import PIXELS, Panel
from cutile_sim.pictures.style import BLUE, PURPLE, VERMILLION, matplotlib, patch
from cutile_sim.traces.reader import LaunchTrace

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 50


def contents_of(launch: LaunchTrace, array: str) -> np.ndarray:
    """An array's contents after the launch (float64). Raises UsageError where they were not recorded."""
    found = launch.contents(array)
    if found is None:
        raise UsageError(f"the trace holds no contents of array {array}: record it with --contents, or contents=True")
    return found.astype(np.float64)


def scale_of(values: np.ndarray) -> tuple[float, float]:
    """The smallest and largest finite value; as far on both sides of 0 where there are values on both."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low < 0 < high:
        high = max(high, -low)
        low = -high
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def draw_values(axes: Axes, panel: Panel, contents: np.ndarray, scale: tuple[float, float]) -> list[Any]:
    """One panel: a heat map of two axes, or a curve along one. Where there are more elements than pixels, means.

    Returns the entries of the legend.
    """
    part = contents[tuple(slice(first, end) for first, end in panel.region)]
    values = _means(panel.drawn(part))
    nan, infinite = np.isnan(values), np.isinf(values)
    if values.ndim == 1:
        first, end = panel.region[panel.axes[0]] if panel.axes else (0, 1)
        edges = np.linspace(first, end, len(values) + 1)
        axes.stairs(np.where(nan | infinite, np.nan, values), edges, baseline=None, color=BLUE, linewidth=1.2)
        for mask, color in ((nan, PURPLE), (infinite, VERMILLION)):
            if mask.any():
                axes.fill_between(
                    edges, 0, 1, where=np.append(mask, False), step="post", color=color, alpha=0.6, linewidth=0,
                    transform=axes.get_xaxis_transform(),
                )  # fmt: skip
        axes.set_xlim(first, end)
        axes.set_ylabel("value", fontsize=9)
    else:
        mpl = matplotlib()
        shades = mpl.colormaps["RdBu_r" if scale[0] < 0 < scale[1] else "viridis"]
        norm = mpl.colors.Normalize(*scale)
        image = shades(norm(np.where(nan | infinite, 0, values)))
        image[nan], image[infinite] = mpl.colors.to_rgba(PURPLE), mpl.colors.to_rgba(VERMILLION)
        show_image(axes, panel, image)
        bar = axes.figure.colorbar(mpl.cm.ScalarMappable(norm, shades), ax=axes, shrink=0.85, pad=0.02)
        bar.ax.tick_params(labelsize=8)
    patches = [patch(PURPLE, "NaN")] if nan.any() else []
    return patches + ([patch(VERMILLION, "infinite")] if infinite.any() else [])


def draw_histogram(axes: Axes, contents: np.ndarray) -> None:
    """How often which values occur, with what is not finite in the title."""
    finite = contents[np.isfinite(contents)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    counts, edges = np.histogram(finite, BINS, (low, high) if low < high else (low - 0.5, high + 0.5))
    axes.stairs(counts, edges, fill=True, color=BLUE, alpha=0.85)
    axes.set_xlabel("value", fontsize=9)
    axes.set_ylabel("elements", fontsize=9)
    odd = [
        f"{n:,} {word}" for n, word in ((np.isnan(contents).sum(), "NaN"), (np.isinf(contents).sum(), "infinite")) if n
    ]
    axes.set_title(", ".join([f"{finite.size:,} finite values", *odd]), fontsize=9)
    axes.margins(x=0.02)


def _means(values: np.ndarray) -> np.ndarray:
    for axis, n in enumerate(values.shape):
        if n > PIXELS:
            starts = np.arange(PIXELS) * n // PIXELS
            sizes = np.diff(np.append(starts, n)).reshape((-1,) + (1,) * (values.ndim - 1 - axis))
            with np.errstate(invalid="ignore", over="ignore"):
                values = np.add.reduceat(values, starts, axis=axis) / sizes
    return values
