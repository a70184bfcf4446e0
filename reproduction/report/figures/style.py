"""The style of figures: colours that colour-blind readers can distinguish, a marker for each law, axes, legends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.experiment.contenders import Contender, Maker
from shortlist.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXES = {"k": "k", "epsilon": "ε", "beta": "β"}
_FONTS = ("DejaVu Sans", "Verdana", "Arial", "sans-serif")
"""Matplotlib lays out with the first. Where it is missing, a browser takes a later one: about as wide, or narrower."""


LOOKS = {
    "fastjoint": ("#009E73", "p"),
    "joint": ("#E69F00", "*"),
    "pnf-peel": ("#CC79A7", "o"),
    "cdp-peel": ("#0072B2", "P"),
    "laplace": ("#969696", "."),
    "gamma": ("#636363", "."),
    "pnf-joint": ("#D55E00", "D"),
    "margin-joint": ("#56B4E9", "^"),
    "subset": ("#999999", "v"),
    "auto": ("#000000", "s"),
}
"""The colour and the marker of each law. The paper's four methods have its markers, and colours of Okabe and Ito."""


def choose_look(contender: Contender) -> dict[str, Any]:
    """How a program's line looks, and what the legend calls it."""
    colour, marker = LOOKS[contender.mechanism]
    ours = contender.maker is Maker.OURS
    solid = ours and contender.law == contender.mechanism
    return {
        "color": colour,
        "label": contender.label,
        "linestyle": "-" if solid else "--" if ours else ":",
        "linewidth": 1.3,
        "marker": marker,
        "markersize": 4 if ours else 6.5,
        "markerfacecolor": colour if solid else "none",
        "markeredgewidth": 1.1,
    }


def draw_line(panel: Axes, x: Sequence[float], rows: Sequence[Any], **line: Any) -> None:
    """Draw the medians of some samples, and shade from the lower to the upper quartile."""
    low, middle, high = np.array([np.quantile(each, [0.25, 0.5, 0.75]) for each in rows]).T
    panel.fill_between(x, low, high, color=line["color"], alpha=0.15, linewidth=0)
    panel.plot(x, middle, **line)


def finish(panel: Axes, *, title: str, vary: str, measure: str, log: bool = True) -> None:
    """Label a panel and set its axes."""
    if vary != "k":
        panel.set_xscale("log", base=2)
    if log:
        panel.set_yscale("log")
        use_whole_decades(panel)
    else:
        high = float(panel.dataLim.intervaly[1])
        panel.set_ylim(0, max(1.15 * high, 1.0))
    panel.set_title(title, fontsize=10)
    panel.set(xlabel=AXES.get(vary, vary), ylabel=measure)
    panel.grid(visible=True, which="major", color="#dddddd", linewidth=0.5)


def use_whole_decades(panel: Axes) -> None:
    """Let the axis run just past powers of ten, so that ticks need no minor labels and no marker is cut."""
    limits = np.asarray(panel.dataLim.intervaly)
    if not np.isfinite(limits).all() or limits.min() <= 0:  # Nothing was drawn.
        return
    low, high = np.log10(limits)
    panel.yaxis.minorticks_off()
    panel.set_ylim(10.0 ** (np.floor(low) - 0.1), 10.0 ** (max(np.ceil(high), np.floor(low) + 1) + 0.1))


def make_panels(rows: int, columns: int, *, title: str = "", legend: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure with a title, its panels and, below them, room for a legend of so many inches.

    The margins are given in inches: working them out from the drawn texts takes longer than drawing.
    """
    head = 0.4 if title else 0.05
    width, height = 4.0 * columns, 3.2 * rows + legend + head
    figure = use_matplotlib().Figure(figsize=(width, height))
    panels = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=0.75 / width,
        right=1 - 0.15 / width,
        bottom=(0.5 + legend) / height,
        top=1 - (0.35 + head) / height,
        wspace=0.9 / 3.1,
        hspace=0.85 / 2.35,
    )
    if title:
        figure.suptitle(title, fontsize=10.5, y=1 - 0.12 / height, va="top")
    return figure, list(panels.flat)


def add_legend(figure: Figure, panels: Sequence[Axes], columns: int = 5) -> Figure:
    """Put one legend for all panels below them; panels of different programs add their lines."""
    entries: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        figure.legend(
            list(entries.values()), list(entries), loc="lower center", ncols=columns, frameon=False, fontsize=9
        )
    return figure


def use_matplotlib() -> Any:
    """Matplotlib's figures, without a window and without global state."""
    try:
        from matplotlib import figure
    except ImportError:
        raise MissingExtraError("reproduction", purpose="drawing figures") from None
    return figure


def save(figure: Figure, target: Any, *, kind: str) -> None:
    """Write a figure as svg or png, the same bytes for the same figure. An svg holds its text as text."""
    from matplotlib import rc_context

    with rc_context(
        {"svg.hashsalt": "shortlist", "svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": _FONTS}
    ):
        figure.savefig(target, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)
