"""The figures of the paper, one function each, in its layout: log axes, errors padded by 1, quartiles shaded.

The mechanisms of one law share a colour. The published ones are dotted with marks, as in the paper; ours are drawn
through.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.errors import MissingExtraError
from shortlist.mechanisms import MECHANISMS
from shortlist.paper.data.datasets import Histogram
from shortlist.paper.experiment.contenders import CONTENDERS, Contender
from shortlist.paper.experiment.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOP = 300
AXES = {"k": "k", "epsilon": "ε", "beta": "β"}
MEASURES = {"seconds": "time (s)", "linf": "ℓ∞ error + 1", "l1": "ℓ1 error + 1"}
WITHOUT = "Joint without sequence step"


def against_k(results: Results, dataset: str) -> Figure:
    """Time, ℓ∞ and ℓ1 error against k."""
    return _three_measures(results, dataset, "k")


def against_epsilon(results: Results, dataset: str) -> Figure:
    """Time, ℓ∞ and ℓ1 error against ε."""
    return _three_measures(results, dataset, "epsilon")


def against_beta(results: Results, dataset: str) -> Figure:
    """Time, ℓ∞ and ℓ1 error against β; a mechanism without β is a level line."""
    return _three_measures(results, dataset, "beta")


def score_gaps(histograms: Sequence[Histogram]) -> Figure:
    """The gaps between the top 300 scores of each data set."""
    columns = min(3, len(histograms))
    figure, panels = _panels(-(-len(histograms) // columns), columns)
    for panel, histogram in zip(panels, histograms, strict=False):
        draw_gaps(panel, histogram)
    for panel in panels[len(histograms) :]:
        panel.set_visible(False)
    return figure


def without_sequence_step(results: Results, dataset: str) -> Figure:
    """The time of the published Joint without its sequence step, and of the published FastJoint with it."""
    figure, panels = _panels(1, 3, legend=0.5)
    for panel, vary in zip(panels, AXES, strict=True):
        draw_without_sequence_step(panel, results, dataset, vary)
    return _with_legend(figure, panels)


def draw_measure(panel: Axes, results: Results, dataset: str, vary: str, measure: str) -> None:
    """Draw one measure of every mechanism along a sweep."""
    pad = 0 if measure == "seconds" else 1
    for name in results.contenders:
        rows = results.sweep(dataset, name, vary)
        if rows:
            low, middle, high = np.array([row.quartiles(measure) for _, row in rows]).T + pad
            _line(panel, [value for value, _ in rows], low, middle, high, **style(CONTENDERS[name]))
    _finish(panel, results.title(dataset), vary, MEASURES[measure])


def draw_gaps(panel: Axes, histogram: Histogram) -> None:
    """Draw the differences between neighbours among the top scores, padded by 1."""
    top = histogram.counts[: TOP + 1]
    gaps = top[:-1] - top[1:] + 1
    panel.plot(np.arange(1, len(gaps) + 1), gaps, color="#444444", linewidth=0.9)
    panel.set_yscale("log")
    _whole_decades(panel)
    panel.set(title=histogram.title, xlabel="rank", ylabel="gap to the next score + 1")


def draw_without_sequence_step(panel: Axes, results: Results, dataset: str, vary: str) -> None:
    """Draw one of the panels of `without_sequence_step`."""
    lines = (("published-joint", "before_sequence", WITHOUT), ("published-fastjoint", "seconds", "FastJoint"))
    for name, measure, label in lines:
        rows = results.sweep(dataset, name, vary)
        if rows:
            low, middle, high = np.array([row.quartiles(measure) for _, row in rows]).T
            look = {**style(CONTENDERS[name]), "label": label}
            _line(panel, [value for value, _ in rows], low, middle, high, **look)
    _finish(panel, results.title(dataset), vary, MEASURES["seconds"])


def style(contender: Contender) -> dict[str, Any]:
    """How a mechanism's line looks, and what the legend calls it."""
    look: dict[str, Any] = {"color": MECHANISMS[contender.law].colour, "label": contender.label}
    if contender.ours:
        return {**look, "linestyle": "-", "linewidth": 1.4}
    return {**look, "linestyle": ":", "linewidth": 1.4, "marker": MECHANISMS[contender.law].marker, "markersize": 5}


def drawing() -> Any:
    """Matplotlib's figures, without a window and without global state."""
    try:
        from matplotlib import figure
    except ImportError:
        raise MissingExtraError("paper", purpose="drawing figures") from None
    return figure


def single(draw: Callable[[Axes], None]) -> Figure:
    """A figure of one panel."""
    figure, [panel] = _panels(1, 1)
    draw(panel)
    return figure


def save(figure: Figure, target: Any, *, kind: str) -> None:
    """Write a figure as svg or png, the same bytes for the same figure."""
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": "shortlist", "font.family": "DejaVu Sans"}):
        figure.savefig(target, format=kind, dpi=110, metadata={"Date": None} if kind == "svg" else None)


def _three_measures(results: Results, dataset: str, vary: str) -> Figure:
    figure, panels = _panels(1, 3, legend=0.5)
    for panel, measure in zip(panels, MEASURES, strict=True):
        draw_measure(panel, results, dataset, vary, measure)
    return _with_legend(figure, panels)


def _panels(rows: int, columns: int, *, legend: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure with room for its panels and, below them, for a legend of so many inches.

    The margins are given in inches: working them out from the drawn texts takes longer than drawing.
    """
    width, height = 4.0 * columns, 3.2 * rows + legend
    figure = drawing().Figure(figsize=(width, height))
    panels = figure.subplots(rows, columns, squeeze=False)
    figure.subplots_adjust(
        left=0.75 / width,
        right=1 - 0.15 / width,
        bottom=(0.5 + legend) / height,
        top=1 - 0.35 / height,
        wspace=0.9 / 3.1,
        hspace=0.85 / 2.35,
    )
    return figure, list(panels.flat)


def _line(panel: Axes, x: Sequence[float], low: Any, middle: Any, high: Any, **look: Any) -> None:
    panel.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
    panel.plot(x, middle, **look)


def _finish(panel: Axes, title: str, vary: str, measure: str) -> None:
    if vary != "k":
        panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    _whole_decades(panel)
    panel.set(title=title, xlabel=AXES[vary], ylabel=measure)
    panel.grid(visible=True, which="major", color="#dddddd", linewidth=0.5)


def _whole_decades(panel: Axes) -> None:
    """Let the axis end at powers of ten, with a little air below: ticks then need no minor labels."""
    low, high = np.log10(panel.dataLim.intervaly)
    panel.yaxis.minorticks_off()
    panel.set_ylim(10.0 ** (np.floor(low) - 0.1), 10.0 ** max(np.ceil(high), np.floor(low) + 1))


def _with_legend(figure: Figure, panels: Sequence[Axes]) -> Figure:
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="lower center", ncols=5, frameon=False, fontsize=9)
    return figure
