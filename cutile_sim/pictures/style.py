"""Colours and sizes of figures. Colours are those of Okabe and Ito, and maps of one hue, for all kinds of eyesight."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from cutile_sim.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, VERMILLION = "#0072b2", "#e69f00", "#009e73", "#d55e00"
SKY, PURPLE, YELLOW = "#56b4e9", "#cc79a7", "#f0e442"
OF_BLOCKS = (SKY, ORANGE, GREEN, YELLOW, PURPLE, BLUE, VERMILLION)
NOTHING = "#e6e6e6"
"""What nothing touches."""
INK = "#222222"
KIND_WORDS = {"load": "loads", "store": "stores", "atomic": "atomic updates"}
NEVER = {"load": "never loaded", "store": "never stored", "atomic": "never updated"}


def matplotlib() -> ModuleType:
    """The package. Raises UsageError where it is not installed."""
    try:
        import matplotlib as found
    except ImportError:
        raise UsageError("pictures need matplotlib: pip install 'cutile-sim[plot]'") from None
    import matplotlib.colors
    import matplotlib.figure
    import matplotlib.patches
    import matplotlib.ticker

    return found


def new_figure(rows: int, columns: int, panel_inches: tuple[float, float]) -> tuple[Figure, list[list[Axes]]]:
    """A figure of rows and columns of panels of that width and height, with room for a title and a legend."""
    mpl = matplotlib()
    width, height = columns * panel_inches[0], rows * panel_inches[1]
    figure = mpl.figure.Figure((width, height + 1.1), dpi=110, facecolor="white")
    figure.set_layout_engine("constrained", h_pad=0.08)  # inches
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, [list(row) for row in axes]


def head(figure: Figure, title: str, below: str) -> None:
    """The title of a figure and a smaller line below it."""
    wide, tall = figure.get_size_inches()
    left = 0.06 / wide
    figure.suptitle(f"{title}\n", x=left, ha="left", fontsize=12, fontweight="bold", color=INK, parse_math=False)
    figure.text(left, 1 - 0.32 / tall, below, ha="left", va="top", fontsize=9, color="#555555", parse_math=False)


def whole_numbers(axis: Any) -> None:
    """Ticks at whole numbers only."""
    axis.set_major_locator(matplotlib().ticker.MaxNLocator(nbins=8, integer=True, min_n_ticks=1))


def legend(figure: Figure, patches: list[Any]) -> None:
    """One legend below all panels, each label once; nothing for none."""
    each = list({p.get_label(): p for p in patches}.values())
    if each:
        found = figure.legend(
            handles=each, loc="outside lower left", ncols=min(len(each), 4), frameon=False, fontsize=8,
            handlelength=1.2, columnspacing=1.2,
        )  # fmt: skip
        for text in found.get_texts():
            text.set_parse_math(False)


def patch(color: Any, label: str, **options: Any) -> Any:
    """A square of a legend."""
    options.setdefault("edgecolor", "#888888")
    return matplotlib().patches.Patch(facecolor=color, label=label, linewidth=0.5, **options)
