"""The figures of the paper in its layout: medians, shaded quartiles, log axes, errors padded by 1.

The paper's four methods come first, dotted with hollow markers as in the paper; our mechanisms are in a second row. A
picture is a file with several panels; the page shows each panel by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.experiment.datasets import TOP, Histogram
from reproduction.experiment.grid import CONTENDERS, PAPER_LAWS, TODAY, Contender, Maker
from reproduction.experiment.store import Results
from reproduction.report.comparisons import AXES, compute_ratios
from shortlist.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = {"time": "CPU time (s)", "linf": "ℓ∞ error + 1", "l1": "ℓ1 error + 1"}
LOOKS = {
    "fastjoint": ("#009E73", "p"),
    "joint": ("#E69F00", "*"),
    "pnf-peel": ("#CC79A7", "o"),
    "cdp-peel": ("#0072B2", "P"),
    "pnf-joint": ("#D55E00", "D"),
    "margin-joint": ("#56B4E9", "^"),
    "subset": ("#999999", "v"),
    "auto": ("#000000", "s"),
}
"""The colour and the marker of each law. The paper's four methods have its markers, and colours of Okabe and Ito."""
_FIGURES = {"k": "Figure 1", "epsilon": "Figures 2 and 5", "beta": "Figures 3 and 6"}
_FIXED = {"k": "ε = 1, β = 2⁻¹⁰", "epsilon": "k = 100, β = 2⁻¹⁰", "beta": "k = 100, ε = 1"}
_ROWS = {"paper": "the paper's methods", "ours": "our mechanisms", "today": "what to use today"}
# What is divided by what, and how the line looks; with the released programs first.
_SPEED_UPS: tuple[tuple[str, str, bool, dict[str, Any]], ...] = (
    ("released-joint", "released-fastjoint", False, {"color": "#D55E00", "marker": "*", "linestyle": ":"}),
    ("released-joint", "released-fastjoint", True, {"color": "#CC79A7", "marker": "o", "linestyle": ":"}),
    ("published-joint", "published-fastjoint", False, {"color": "#0072B2", "marker": "P", "linestyle": "--"}),
    ("released-joint", "fastjoint", False, {"color": "#009E73", "marker": "p", "linestyle": "-"}),
)
_FONTS = ("DejaVu Sans", "Verdana", "Arial", "sans-serif")
"""Matplotlib lays out with the first. Where it is missing, a browser takes a later one: about as wide, or narrower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A file with panels, each with a caption and a function that draws it."""

    name: str
    title: str
    panels: list[tuple[str, Callable[[Axes], None]]]
    columns: int
    legend: float = 0.0
    """The inches below the panels for a legend, which has so many columns."""
    legend_columns: int = 1
    head: str = ""
    note: str = ""
    """The head of its section on the page, and the note below the head."""
    caption: str = ""
    """What the page says below its panels."""

    def draw(self) -> Figure:
        """Draw all panels in rows. Panels in two rows share their vertical axes, so that they can be compared."""
        rows = -(-len(self.panels) // self.columns)
        figure, panels = make_panels(rows, self.columns, title=self.title, legend=self.legend)
        for panel, (_, draw) in zip(panels, self.panels, strict=False):
            draw(panel)
        for panel in panels[len(self.panels) :]:
            panel.set_visible(False)
        if "-against-" in self.name:
            for upper, lower in zip(panels[:3], panels[3:], strict=True):
                low, high = np.array([upper.get_ylim(), lower.get_ylim()]).T
                upper.set_ylim(low.min(), high.max())
                lower.set_ylim(low.min(), high.max())
        return add_legend(figure, panels, self.legend_columns) if self.legend else figure


def list_pictures(results: Results, histograms: Sequence[Histogram]) -> Iterator[Picture]:
    """Every figure of the paper for which there are results, those of one section of the page beside each other."""
    sweeps = [vary for vary in AXES if results.has_sweep(vary)]
    for vary in sweeps:
        yield from (picture_sweep(results, dataset, vary) for dataset in results.datasets)
    if results.times:
        yield picture_speed_ups(results)
        yield from (picture_without_step(results, dataset, sweeps) for dataset in results.datasets if sweeps)
    if histograms:
        yield picture_gaps(histograms)


def picture_sweep(results: Results, dataset: str, vary: str) -> Picture:
    """Time, ℓ∞ and ℓ1 error of a data set against one parameter: the paper's methods above, ours below."""
    title, counted = results.title(dataset), count_trials(results, dataset)
    return Picture(
        name=f"{dataset}-against-{vary}",
        title=f"{title} against {AXES[vary]} ({_FIGURES[vary]} of the paper); {counted}",
        panels=_list_panels(results, dataset, vary, ("paper", "ours")),
        columns=3,
        legend=0.75,
        legend_columns=5,
        head=f"Against {AXES[vary]}",
        note=f"{_FIGURES[vary]} of the paper. {_FIXED[vary]}.",
        caption=f"{title}: {counted}.",
    )


def picture_today(results: Results) -> Iterator[Picture]:
    """Time and errors against k of what a reader of the paper would use today, beside our Joint and CDP-Peel."""
    for dataset in results.datasets if results.has_sweep("k") else ():
        title, counted = results.title(dataset), count_trials(results, dataset)
        yield Picture(
            name=f"{dataset}-today",
            title=f"{title} against k: what to use today; {counted}",
            panels=_list_panels(results, dataset, "k", ("today",)),
            columns=3,
            legend=0.6,
            legend_columns=6,
            caption=f"{title}: {counted}.",
        )


def picture_speed_ups(results: Results) -> Picture:
    """How many times as fast FastJoint is as Joint, against k, a panel for each data set."""
    columns, counted = min(3, len(results.datasets)), count_rounds(results, *results.datasets)
    title = "Joint's time over FastJoint's (Figure 1 of the paper)"
    return Picture(
        name="speed-ups",
        title=f"{title}, against k; {counted}" if columns > 1 else title,
        panels=[
            (f"speed-up on {results.title(name)}", partial(_draw_speed_up, results=results, dataset=name))
            for name in results.datasets
        ],
        columns=columns,
        legend=0.6 if columns > 2 else 1.0,
        legend_columns=2 if columns > 2 else 1,
        head="How many times as fast FastJoint is as Joint",
        note=f"Figure 1 of the paper, first column, as ratios; {counted}. Lines at 10 and 100 times.",
    )


def picture_without_step(results: Results, dataset: str, sweeps: Sequence[str]) -> Picture:
    """The time of Joint without its sequence step, and of FastJoint with it, along some sweeps."""
    title, step = results.title(dataset), "Joint without its sequence step"
    return Picture(
        name=f"{dataset}-without-sequence-step",
        title=f"{title}: {step} (Figure 7 of the paper); {count_rounds(results, dataset)}",
        panels=[
            (
                f"{step} against {AXES[vary]} on {title}",
                partial(_draw_without_step, results=results, dataset=dataset, vary=vary),
            )
            for vary in sweeps
        ],
        columns=len(AXES),
        legend=0.6,
        legend_columns=3,
        head=step,
        note=f"Figure 7 of the paper; {count_rounds(results, *results.datasets)}.",
    )


def picture_gaps(histograms: Sequence[Histogram]) -> Picture:
    """The gaps between the top 300 scores of each data set."""
    return Picture(
        name="gaps",
        title=f"Gaps between the top {TOP} scores (Figure 4 of the paper)",
        panels=[(f"gaps of {each.title}", partial(_draw_gaps, histogram=each)) for each in histograms],
        columns=min(3, len(histograms)),
        head=f"Gaps between the top {TOP} scores",
        note="Figure 4 of the paper.",
    )


def list_programs(results: Results, row: str, measure: str) -> Sequence[str]:
    """The programs of a row: for the paper's methods the released ones, where they have this measure."""
    ours = [name for name in results.contenders if CONTENDERS[name].maker is Maker.OURS]
    if row == "ours":
        return [name for name in ours if name not in TODAY]
    if row == "today":
        return [name for name in ours if name in ("joint", "cdp-peel", *TODAY)]
    measured = {key[1] for key in (results.times if measure == "time" else results.errors)}
    return [f"released-{law}" if f"released-{law}" in measured else f"published-{law}" for law in PAPER_LAWS]


def count_trials(results: Results, dataset: str) -> str:
    """How many lists and rounds the cells of a data set have, the fewest and the most where they differ."""
    lists = {len(cell.linf) for key, cell in results.errors.items() if key[0] == dataset}
    return f"lists for each error: {_write_range(lists)}; {count_rounds(results, dataset)}"


def count_rounds(results: Results, *datasets: str) -> str:
    """How many rounds the times of some data sets have."""
    rounds = {len(cell.cpu) for key, cell in results.times.items() if key[0] in datasets}
    return f"rounds for each time: {_write_range(rounds)}"


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


def add_legend(figure: Figure, panels: Sequence[Axes], columns: int) -> Figure:
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


def _list_panels(
    results: Results, dataset: str, vary: str, rows: Sequence[str]
) -> list[tuple[str, Callable[[Axes], None]]]:
    return [
        (
            f"{name} against {AXES[vary]} on {results.title(dataset)}, {_ROWS[row]}",
            partial(_draw_sweep, results=results, dataset=dataset, vary=vary, measure=measure, row=row),
        )
        for row in rows
        for measure, name in MEASURES.items()
    ]


def _draw_sweep(panel: Axes, results: Results, dataset: str, vary: str, measure: str, row: str) -> None:
    """Draw one measure of the programs of a row along a sweep."""
    for place, name in enumerate(list_programs(results, row, measure)):
        if measure == "time":
            cells = [(at, cell.cpu) for at, cell in results.times_along(dataset, name, vary)]
        else:
            cells = [(at, getattr(cell, measure) + 1) for at, cell in results.errors_along(dataset, name, vary)]
        # In the paper's row a method has one name, whoever wrote the program of a measure. In the others, later lines
        # have smaller markers, so that lines on top of each other are all seen.
        contender = CONTENDERS[name]
        own = {"label": contender.spelling} if row == "paper" else {"markersize": 7.0 - 0.9 * place}
        if cells:
            x = [getattr(at, vary) for at, _ in cells]
            _draw_line(panel, x, [values for _, values in cells], **_choose_look(contender) | own)
    # Errors hardly change with β, and a log axis would show noise as slabs.
    log = measure == "time" or vary != "beta"
    _finish(panel, title=f"{results.title(dataset)}: {_ROWS[row]}", vary=vary, measure=MEASURES[measure], log=log)


def _draw_speed_up(panel: Axes, results: Results, dataset: str) -> None:
    """Draw ratios of times, with lines at 10 and 100 times."""
    for one, other, before_sequence, style in _SPEED_UPS:
        found = compute_ratios(results, dataset, one, other, before_sequence=before_sequence)
        if found:
            step = " without its step" if before_sequence else ""
            label = f"{CONTENDERS[one].label}{step} / {CONTENDERS[other].label}"
            line = {**style, "label": label, "markerfacecolor": "none", "linewidth": 1.3, "markersize": 6}
            _draw_line(panel, [at.k for at, _ in found], [values for _, values in found], **line)
    for factor in (10, 100):
        panel.axhline(factor, color="#555555", linewidth=0.9)
        panel.annotate(
            f"{factor}×", (1, factor), xycoords=("axes fraction", "data"), fontsize=8, ha="right", va="bottom"
        )
    _finish(panel, title=results.title(dataset), vary="k", measure="times as fast")


def _draw_without_step(panel: Axes, results: Results, dataset: str, vary: str) -> None:
    maker = "released" if results.has_released else "published"
    joint, fastjoint = f"{maker}-joint", f"{maker}-fastjoint"
    for name, before, suffix in ((joint, False, ""), (joint, True, " without sequence step"), (fastjoint, False, "")):
        cells = results.times_along(dataset, name, vary)
        if cells:
            rows = [cell.before_cpu if before else cell.cpu for _, cell in cells]
            line = {**_choose_look(CONTENDERS[name]), "label": CONTENDERS[name].label + suffix}
            if before:
                line |= {"color": "#D55E00", "marker": "X"}
            _draw_line(panel, [getattr(at, vary) for at, _ in cells], rows, **line)
    _finish(panel, title=results.title(dataset), vary=vary, measure="CPU time (s)")


def _draw_gaps(panel: Axes, histogram: Histogram) -> None:
    """Draw the differences between neighbours among the top scores, padded by 1."""
    gaps = histogram.gaps() + 1
    panel.plot(np.arange(1, len(gaps) + 1), gaps, color=LOOKS["cdp-peel"][0], linewidth=0.9)
    _finish(panel, title=histogram.title, vary="rank", measure="gap to the next score + 1")


def _choose_look(contender: Contender) -> dict[str, Any]:
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


def _draw_line(panel: Axes, x: Sequence[float], rows: Sequence[Any], **line: Any) -> None:
    """Draw the medians of some samples, and shade from the lower to the upper quartile."""
    low, middle, high = np.array([np.quantile(each, [0.25, 0.5, 0.75]) for each in rows]).T
    panel.fill_between(x, low, high, color=line["color"], alpha=0.15, linewidth=0)
    panel.plot(x, middle, **line)


def _finish(panel: Axes, *, title: str, vary: str, measure: str, log: bool = True) -> None:
    """Label a panel and set its axes."""
    if vary in ("epsilon", "beta"):
        panel.set_xscale("log", base=2)
    if log:
        panel.set_yscale("log")
        _use_whole_decades(panel)
    else:
        high = float(panel.dataLim.intervaly[1])
        panel.set_ylim(0, max(1.15 * high, 1.0))
    panel.set_title(title, fontsize=10)
    panel.set(xlabel=AXES.get(vary, vary), ylabel=measure)
    panel.grid(visible=True, which="major", color="#dddddd", linewidth=0.5)


def _use_whole_decades(panel: Axes) -> None:
    """Let the axis run just past powers of ten, so that ticks need no minor labels and no marker is cut."""
    limits = np.asarray(panel.dataLim.intervaly)
    if not np.isfinite(limits).all() or limits.min() <= 0:  # Nothing was drawn.
        return
    low, high = np.log10(limits)
    panel.yaxis.minorticks_off()
    panel.set_ylim(10.0 ** (np.floor(low) - 0.1), 10.0 ** (max(np.ceil(high), np.floor(low) + 1) + 0.1))


def _write_range(numbers: set[int]) -> str:
    if not numbers:
        return "no"
    return str(min(numbers)) if len(numbers) == 1 else f"{min(numbers)}–{max(numbers)}"
