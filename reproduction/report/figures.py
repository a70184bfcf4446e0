"""The figures of the paper in its layout: a row for each data set, medians, shaded quartiles, errors padded by 1.

All panels of a kind have one vertical axis, so that data sets and programs can be compared. A picture is as wide as the
text of a paper. It has no title: the page around it has a caption. The page shows each panel by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product, starmap
from typing import TYPE_CHECKING, Any

import numpy as np

from reproduction.experiment.datasets import TOP, Histogram
from reproduction.experiment.grid import CONTENDERS, DEFAULT, OTHERS, PAPER_LAWS, Contender, Maker, Setting, list_today
from reproduction.experiment.store import Results, find, find_pairs
from reproduction.report.comparisons import AXES, compute_ratios, write_short
from shortlist.array_types import FloatArray
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
    "fastjoint-buckets": ("#8C564B", "h"),
    "truncated-peel": ("#6A3D9A", "X"),
    "pnf-joint": ("#D55E00", "D"),
    "margin-joint": ("#56B4E9", "^"),
    "subset": ("#999999", "v"),
    "auto": ("#000000", "s"),
}
"""The colour and the marker of each law. The paper's four methods have its markers, and colours of Okabe and Ito."""
_YOURS = ("#444444", "H")
"""The look of a mechanism of the user."""
_FIGURES = {"k": "Figure 1", "epsilon": "Figures 2 and 5", "beta": "Figures 3 and 6"}
_FIXED = {"k": "ε = 1, β = 2⁻¹⁰", "epsilon": "k = 100, β = 2⁻¹⁰", "beta": "k = 100, ε = 1"}
_ROWS = {"paper": "the paper's methods", "ours": "our mechanisms", "today": "what to use today"}
# What is divided by what, and how the line looks; with the released programs first.
SPEED_UPS: tuple[tuple[str, str, bool, dict[str, Any]], ...] = (
    ("released-joint", "released-fastjoint", False, {"color": "#D55E00", "marker": "*", "linestyle": ":"}),
    ("released-joint", "released-fastjoint", True, {"color": "#CC79A7", "marker": "o", "linestyle": ":"}),
    ("published-joint", "published-fastjoint", False, {"color": "#0072B2", "marker": "P", "linestyle": "--"}),
    ("released-joint", "fastjoint", False, {"color": "#009E73", "marker": "p", "linestyle": "-"}),
)
_FONTS = ("DejaVu Sans", "Verdana", "Arial", "sans-serif")
"""Matplotlib lays out with the first. Where it is missing, a browser takes a later one: about as wide, or narrower."""
_TEXT = 5.5
"""The inches of a line of text in a paper."""
_POINTS = 7

Limits = Mapping[str, tuple[float, float]]
"""The ends of the vertical axis of each kind of panel."""
Panel = tuple[str, Callable[["Axes"], None]]
"""A description, and the function that draws the panel."""
Line = tuple[Sequence[tuple[Setting, FloatArray]], dict[str, Any]]
"""Samples at some settings, and how they look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A file with panels."""

    name: str
    panels: Sequence[Panel]
    head: str
    """The head of its section on the page."""
    caption: str
    """What the page says below its panels."""
    legend_columns: int = 0
    """How many columns the legend has; 0 stands for no legend."""
    aspect: float = 0.75
    """The height of a panel in parts of its width."""

    def draw(self) -> Figure:
        """Draw all panels, three in a row, and one legend for all of them."""
        columns = min(3, len(self.panels))
        legend = 0.45 if self.legend_columns else 0.0
        rows = -(-len(self.panels) // columns)
        figure, panels = make_panels(rows, columns, width=_TEXT, legend=legend, aspect=self.aspect)
        for panel, (_, draw) in zip(panels, self.panels, strict=False):
            draw(panel)
        for panel in panels[len(self.panels) :]:
            panel.set_visible(False)
        return add_legend(figure, panels, self.legend_columns) if self.legend_columns else figure


def list_pictures(results: Results, histograms: Sequence[Histogram]) -> Iterator[Picture]:
    """Every figure of the paper for which there are results, those of one section of the page beside each other."""
    sweeps = [vary for vary in AXES if results.has_sweep(vary)]
    for vary in sweeps:
        yield from (picture_sweep(results, vary, row) for row in ("paper", "ours"))
    if results.times:
        yield picture_default(results)
        yield picture_speed_ups(results)
        if sweeps:
            yield picture_without_step(results, sweeps)
    if histograms:
        yield picture_gaps(histograms)


def picture_sweep(results: Results, vary: str, row: str) -> Picture:
    """Time, ℓ∞ and ℓ1 error of every data set against one parameter, for some programs."""
    limits = find_limits(results)

    def make(dataset: str, measure: str) -> Panel:
        title, name = results.title(dataset), MEASURES[measure]
        lines = list(_list_sweep(results, dataset, vary, measure, row))
        draw = partial(_draw_lines, lines=lines, title=title, vary=vary, measure=name, limits=limits[measure])
        return f"{name} against {AXES[vary]} on {title}, {_ROWS[row]}", draw

    source = "" if row == "today" else f"{_FIGURES[vary]} of the paper. "
    return Picture(
        name="today" if row == "today" else f"against-{vary}" + ("" if row == "paper" else f"-{row}"),
        panels=list(starmap(make, product(results.datasets, MEASURES))),
        head=f"Against {AXES[vary]}: {_ROWS[row]}",
        caption=f"{source}{_FIXED[vary]}; {count_trials(results)}.",
        legend_columns=3,
    )


def picture_today(results: Results) -> Iterator[Picture]:
    """Time and errors against k of what a reader of the paper would use today, beside our Joint and CDP-Peel."""
    if results.has_sweep("k"):
        yield picture_sweep(results, "k", "today")


def picture_default(results: Results) -> Picture:
    """The time of one list at the default setting: Joint, FastJoint and our fastjoint, on each data set."""
    return Picture(
        name="one-list",
        panels=[("time of one list on each data set", partial(_draw_default, results=results))],
        head="One list",
        caption=f"At {DEFAULT}; {count_rounds(results)}. A factor is how many times as fast the left program is.",
        legend_columns=3,
        aspect=0.33,
    )


def picture_speed_ups(results: Results) -> Picture:
    """How many times as fast FastJoint is as Joint, against k, a panel for each data set."""
    lines = {results.title(dataset): list(_list_speed_ups(results, dataset)) for dataset in results.datasets}
    ratios = (values for each in lines.values() for cells, _ in each for _, values in cells)
    limits = _find_decades([10, 100, *_list_quartiles(ratios)])
    draw = partial(_draw_lines, marks=(10, 100), vary="k", measure="times as fast", limits=limits)
    return Picture(
        name="speed-ups",
        panels=[(f"speed-up on {title}", partial(draw, lines=each, title=title)) for title, each in lines.items()],
        head="How many times as fast FastJoint is as Joint",
        caption=f"Figure 1 of the paper, first column, as ratios; {count_rounds(results)}. Lines at 10 and 100 times.",
        legend_columns=2,
    )


def name_speed_up(one: str, other: str, before_sequence: bool) -> str:
    """Say what is divided by what."""
    step = " without its step" if before_sequence else ""
    return f"{CONTENDERS[one].label}{step} / {CONTENDERS[other].label}"


def picture_without_step(results: Results, sweeps: Sequence[str]) -> Picture:
    """The time of Joint without its sequence step, and of FastJoint with it, along some sweeps."""
    step = "Joint without its sequence step"
    draw = partial(_draw_lines, measure=MEASURES["time"], limits=find_limits(results)["time"])

    def make(dataset: str, vary: str) -> Panel:
        title, lines = results.title(dataset), list(_list_without_step(results, dataset, vary))
        return f"{step} against {AXES[vary]} on {title}", partial(draw, lines=lines, title=title, vary=vary)

    return Picture(
        name="without-sequence-step",
        panels=list(starmap(make, product(results.datasets, sweeps))),
        head=step,
        caption=f"Figure 7 of the paper; {count_rounds(results)}.",
        legend_columns=3,
    )


def picture_gaps(histograms: Sequence[Histogram]) -> Picture:
    """The gaps between the top 300 scores of each data set."""
    limits = _find_decades(gap + 1 for each in histograms for gap in each.gaps())
    return Picture(
        name="gaps",
        panels=[(f"gaps of {each.title}", partial(_draw_gaps, histogram=each, limits=limits)) for each in histograms],
        head=f"Gaps between the top {TOP} scores",
        caption="Figure 4 of the paper.",
    )


def list_programs(results: Results, row: str, measure: str) -> Sequence[str]:
    """The programs of a row: for the paper's methods the released ones, where they have this measure."""
    ours = [name for name in results.contenders if CONTENDERS[name].is_mechanism]
    if row == "ours":
        return [name for name in ours if name not in list_today()]
    if row == "today":
        return [name for name in ours if name in ("joint", "cdp-peel", *list_today())]
    measured = {cell.contender for cell in (results.times if measure == "time" else results.errors)}
    papers = [f"released-{law}" if f"released-{law}" in measured else f"published-{law}" for law in PAPER_LAWS]
    return [*papers, *(name for law in OTHERS if (name := f"published-{law}") in measured)]


def find_limits(results: Results) -> Limits:
    """Find the vertical axis of times and of both errors: whole decades that show every program on every data set."""
    errors = [found for cell, found in results.errors.items() if CONTENDERS[cell.contender].has_time]
    return {
        "time": _find_decades(_list_quartiles(cell.cpu for cell in results.times.values())),
        "linf": _find_decades(_list_quartiles(each.linf + 1 for each in errors)),
        "l1": _find_decades(_list_quartiles(each.l1 + 1 for each in errors)),
    }


def count_trials(results: Results) -> str:
    """How many lists and rounds the cells have, the fewest and the most where they differ."""
    lists = {len(cell.linf) for cell in results.errors.values()}
    return f"lists for each error: {_write_range(lists)}; {count_rounds(results)}"


def count_rounds(results: Results) -> str:
    """How many rounds the times have."""
    return f"rounds for each time: {_write_range({len(cell.cpu) for cell in results.times.values()})}"


def make_panels(
    rows: int, columns: int, *, width: float, legend: float = 0.0, aspect: float = 0.75
) -> tuple[Figure, list[Axes]]:
    """A figure with its panels and, below them, room for a legend of so many inches.

    The margins are given in inches: working them out from the drawn texts takes longer than drawing.
    """
    height = (aspect * width / columns + 0.1) * rows + legend
    figure = use_matplotlib().Figure(figsize=(width, height))
    panels = figure.subplots(rows, columns, squeeze=False)
    inner = width / columns - 0.5
    figure.subplots_adjust(
        left=0.45 / width,
        right=1 - 0.05 / width,
        bottom=(0.33 + legend) / height,
        top=1 - 0.18 / height,
        wspace=0.5 / inner,
        hspace=0.5 / ((height - legend - 0.51 - 0.5 * (rows - 1)) / rows),
    )
    for panel in panels.flat:
        panel.tick_params(labelsize=_POINTS - 1, pad=1.5, length=2, width=0.5)
        for spine in panel.spines.values():
            spine.set_linewidth(0.5)
    return figure, list(panels.flat)


def add_legend(figure: Figure, panels: Sequence[Axes], columns: int) -> Figure:
    """Put one legend for all panels below them; panels of different programs add their lines."""
    entries: dict[str, Any] = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        look = {"frameon": False, "fontsize": _POINTS, "borderpad": 0.1, "labelspacing": 0.25, "columnspacing": 1.2}
        figure.legend(list(entries.values()), list(entries), loc="lower center", ncols=columns, **look)
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
        figure.savefig(target, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)


def _list_sweep(results: Results, dataset: str, vary: str, measure: str, row: str) -> Iterator[Line]:
    """List one measure of the programs of a row along a sweep."""
    for place, name in enumerate(list_programs(results, row, measure)):
        if measure == "time":
            cells = [(at, cell.cpu) for at, cell in results.along(results.times, dataset, name, vary)]
        else:
            errors = results.along(results.errors, dataset, name, vary)
            cells = [(at, getattr(cell, measure) + 1) for at, cell in errors]
        # In the paper's row a method has one name, whoever wrote the program of a measure.
        look = _choose_look(CONTENDERS[name], place)
        if row == "paper":
            look["label"] = CONTENDERS[name].spelling
        yield cells, look


def _draw_default(panel: Axes, results: Results) -> None:
    """Draw a row for each data set, with the median time of each program and its quartiles."""
    maker = "released" if results.has_released else "published"
    names = (f"{maker}-joint", f"{maker}-fastjoint", "fastjoint")
    ticks = range(len(results.datasets))
    for place, name in enumerate(names):
        found = [find(results.times, dataset, name, DEFAULT) for dataset in results.datasets]
        rows = [(row, 1e3 * np.median(cell.cpu)) for row, cell in enumerate(found) if cell is not None]
        look = {**_choose_look(CONTENDERS[name], place), "linestyle": "none"}
        if CONTENDERS[name].maker is Maker.OURS:  # it has the law of another program here
            look |= {"color": "#0072B2", "marker": "o", "markerfacecolor": "#0072B2"}
        panel.plot([time for _, time in rows], [row for row, _ in rows], **look)
    for (row, dataset), pair in product(enumerate(results.datasets), pairwise(names)):
        for _, slow, fast in find_pairs(results.times, dataset, *pair, [DEFAULT]):
            ratio = write_short(float(np.median(slow.cpu) / np.median(fast.cpu)))
            middle = 1e3 * float(np.sqrt(np.median(slow.cpu) * np.median(fast.cpu)))
            panel.annotate(f"{ratio}×", (middle, row), fontsize=_POINTS - 1, ha="center", va="center")
    panel.set_xscale("log")
    panel.figure.subplots_adjust(left=0.17)
    panel.set_yticks([*ticks], [results.title(dataset) for dataset in results.datasets])
    panel.set_ylim(len(results.datasets) - 0.5, -0.5)
    panel.set_xlabel("CPU time of one list (ms)", fontsize=_POINTS, labelpad=1)
    panel.grid(visible=True, axis="x", color="#dddddd", linewidth=0.4)


def _list_speed_ups(results: Results, dataset: str) -> Iterator[Line]:
    """List ratios of times."""
    for place, (one, other, before, style) in enumerate(SPEED_UPS):
        look = {**_choose_look(CONTENDERS[other], place), **style, "label": name_speed_up(one, other, before)}
        yield compute_ratios(results, dataset, one, other, before_sequence=before), look


def _list_without_step(results: Results, dataset: str, vary: str) -> Iterator[Line]:
    """List the times of Joint with and without its sequence step, and of FastJoint."""
    maker = "released" if results.has_released else "published"
    joint, fastjoint = f"{maker}-joint", f"{maker}-fastjoint"
    for place, (name, before) in enumerate(((joint, False), (joint, True), (fastjoint, False))):
        look = _choose_look(CONTENDERS[name], place)
        if before:
            look |= {"color": "#D55E00", "marker": "X", "label": f"{CONTENDERS[name].label} without sequence step"}
        cells = results.along(results.times, dataset, name, vary)
        yield [(at, cell.before_cpu if before else cell.cpu) for at, cell in cells], look


def _draw_lines(panel: Axes, lines: Iterable[Line], *, marks: Iterable[float] = (), **axes: Any) -> None:
    """Draw the medians of some samples along a parameter, and shade from the lower to the upper quartile."""
    for cells, look in lines:
        if not cells:
            continue
        x = [getattr(at, axes["vary"]) for at, _ in cells]
        low, middle, high = np.array([np.quantile(values, [0.25, 0.5, 0.75]) for _, values in cells]).T
        panel.fill_between(x, low, high, color=look["color"], alpha=0.15, linewidth=0)
        # Of many points every third has a marker, and the next line has its markers beside them.
        every = 3 if len(x) > 10 else 1
        panel.plot(x, middle, markevery=(len(panel.get_lines()) % every, every), **look)
    for mark in marks:
        panel.axhline(mark, color="#555555", linewidth=0.6)
    _finish(panel, **axes)


def _draw_gaps(panel: Axes, histogram: Histogram, limits: tuple[float, float]) -> None:
    """Draw the differences between neighbours among the top scores, padded by 1."""
    gaps = histogram.gaps() + 1
    panel.plot(np.arange(1, len(gaps) + 1), gaps, color=LOOKS["cdp-peel"][0], linewidth=0.6)
    _finish(panel, title=histogram.title, vary="rank", measure="gap to the next + 1", limits=limits)


def _choose_look(contender: Contender, place: int) -> dict[str, Any]:
    """How a program's line looks, and what the legend calls it: published ones are dotted, and those with a δ dashed.

    Markers are hollow, and smaller on later lines. So where lines are on top of each other, all markers are seen.
    """
    colour, marker = LOOKS.get(contender.mechanism, _YOURS)
    ours = contender.is_mechanism
    solid = ours and contender.law == contender.mechanism
    return {
        "color": colour,
        "label": contender.label,
        "linestyle": "-" if solid else "--" if ours else ":",
        "linewidth": 0.8,
        "marker": marker,
        "markersize": 6.0 - 0.6 * place,
        "markerfacecolor": "none",
        "markeredgewidth": 0.7,
    }


def _finish(panel: Axes, *, title: str, vary: str, measure: str, limits: tuple[float, float]) -> None:
    """Label a panel and set its axes."""
    if vary in ("epsilon", "beta"):
        panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.yaxis.minorticks_off()
    panel.set_ylim(*limits)
    panel.set_title(title, fontsize=_POINTS, pad=2)
    panel.set_xlabel(AXES.get(vary, vary), fontsize=_POINTS, labelpad=1)
    panel.set_ylabel(measure, fontsize=_POINTS, labelpad=1)
    panel.grid(visible=True, which="major", color="#dddddd", linewidth=0.4)


def _find_decades(values: Iterable[float]) -> tuple[float, float]:
    """Find powers of ten around all values, and go a little further, so that no marker is cut."""
    shown = [float(value) for value in values if value > 0]
    first, last = np.floor(np.log10(min(shown, default=1))), np.ceil(np.log10(max(shown, default=1)))
    return float(10.0 ** (first - 0.15)), float(10.0 ** (max(last, first + 1) + 0.15))


def _list_quartiles(samples: Iterable[Any]) -> Iterator[float]:
    return (value for each in samples if len(each) for value in np.quantile(each, [0.25, 0.75]))


def _write_range(numbers: set[int]) -> str:
    if not numbers:
        return "no"
    return str(min(numbers)) if len(numbers) == 1 else f"{min(numbers)}–{max(numbers)}"
