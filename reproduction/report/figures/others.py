"""The other figures: speed-ups, Joint without its sequence step, and the gaps between scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.data.datasets import TOP, Histogram
from reproduction.experiment.contenders import CONTENDERS
from reproduction.experiment.results import Results
from reproduction.report.figures.style import (
    AXES,
    LOOKS,
    add_legend,
    choose_look,
    draw_line,
    finish,
    make_panels,
    use_whole_decades,
)
from reproduction.report.figures.sweeps import count_rounds
from reproduction.report.verdict.compare import compute_ratios

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# What is divided by what, and how the line looks; with the released programs first.
_SPEED_UPS: tuple[tuple[str, str, bool, dict[str, Any]], ...] = (
    ("released-joint", "released-fastjoint", False, {"color": "#D55E00", "marker": "*", "linestyle": ":"}),
    ("released-joint", "released-fastjoint", True, {"color": "#CC79A7", "marker": "o", "linestyle": ":"}),
    ("published-joint", "published-fastjoint", False, {"color": "#0072B2", "marker": "P", "linestyle": "--"}),
    ("released-joint", "fastjoint", False, {"color": "#009E73", "marker": "p", "linestyle": "-"}),
)


def draw_speed_ups(results: Results) -> Figure:
    """How many times as fast FastJoint is as Joint, against k, a panel for each data set."""
    columns = min(3, len(results.datasets))
    title = "Joint's time over FastJoint's (Figure 1 of the paper)"
    if columns > 1:
        title += f", against k; {count_rounds(results, *results.datasets)}"
    figure, panels = make_panels(
        -(-len(results.datasets) // columns), columns, title=title, legend=0.6 if columns > 2 else 1.0
    )
    for panel, dataset in zip(panels, results.datasets, strict=False):
        draw_speed_up(panel, results, dataset)
    _hide(panels[len(results.datasets) :])
    return add_legend(figure, panels, columns=2 if columns > 2 else 1)


def draw_speed_up(panel: Axes, results: Results, dataset: str) -> None:
    """Draw one panel of `draw_speed_ups`, with lines at 10 and 100 times."""
    for one, other, before_sequence, style in _SPEED_UPS:
        found = compute_ratios(results, dataset, one, other, before_sequence=before_sequence)
        if found:
            step = " without its step" if before_sequence else ""
            label = f"{CONTENDERS[one].label}{step} / {CONTENDERS[other].label}"
            line = {**style, "label": label, "markerfacecolor": "none", "linewidth": 1.3, "markersize": 6}
            draw_line(panel, [at.k for at, _ in found], [values for _, values in found], **line)
    for factor in (10, 100):
        panel.axhline(factor, color="#555555", linewidth=0.9)
        panel.annotate(
            f"{factor}×", (1, factor), xycoords=("axes fraction", "data"), fontsize=8, ha="right", va="bottom"
        )
    finish(panel, title=results.title(dataset), vary="k", measure="times as fast")


def draw_without_step(results: Results, dataset: str) -> Figure:
    """The time of Joint without its sequence step, and of FastJoint with it, along each sweep that was run."""
    name = f"{results.title(dataset)}: Joint without its sequence step (Figure 7 of the paper)"
    title = f"{name}; {count_rounds(results, dataset)}"
    sweeps = [vary for vary in AXES if results.has_sweep(vary)] or list(AXES)
    figure, panels = make_panels(1, len(AXES), title=title, legend=0.6)
    for panel, vary in zip(panels, sweeps, strict=False):
        draw_without_step_panel(panel, results, dataset, vary)
    _hide(panels[len(sweeps) :])
    return add_legend(figure, panels, columns=3)


def draw_without_step_panel(panel: Axes, results: Results, dataset: str, vary: str) -> None:
    """Draw one panel of `draw_without_step`."""
    maker = "released" if results.has_released else "published"
    joint, fastjoint = f"{maker}-joint", f"{maker}-fastjoint"
    for name, before, suffix in ((joint, False, ""), (joint, True, " without sequence step"), (fastjoint, False, "")):
        cells = results.times_along(dataset, name, vary)
        if cells:
            rows = [cell.before_cpu if before else cell.cpu for _, cell in cells]
            line = {**choose_look(CONTENDERS[name]), "label": CONTENDERS[name].label + suffix}
            if before:
                line |= {"color": "#D55E00", "marker": "X"}
            draw_line(panel, [getattr(at, vary) for at, _ in cells], rows, **line)
    finish(panel, title=results.title(dataset), vary=vary, measure="CPU time (s)")


def draw_gaps(histograms: Sequence[Histogram]) -> Figure:
    """The gaps between the top 300 scores of each data set."""
    columns = min(3, len(histograms))
    title = f"Gaps between the top {TOP} scores (Figure 4 of the paper)"
    figure, panels = make_panels(-(-len(histograms) // columns), columns, title=title)
    for panel, histogram in zip(panels, histograms, strict=False):
        draw_gap(panel, histogram)
    _hide(panels[len(histograms) :])
    return figure


def draw_gap(panel: Axes, histogram: Histogram) -> None:
    """Draw the differences between neighbours among the top scores, padded by 1."""
    gaps = histogram.gaps() + 1
    panel.plot(np.arange(1, len(gaps) + 1), gaps, color=LOOKS["cdp-peel"][0], linewidth=0.9)
    panel.set_yscale("log")
    use_whole_decades(panel)
    panel.set_title(histogram.title, fontsize=10)
    panel.set(xlabel="rank", ylabel="gap to the next score + 1")
    panel.grid(visible=True, which="major", color="#dddddd", linewidth=0.5)


def _hide(panels: Sequence[Axes]) -> None:
    for panel in panels:
        panel.set_visible(False)
