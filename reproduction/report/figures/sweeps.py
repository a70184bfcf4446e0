"""Time and errors against k, ε and β: the paper's methods in one row, ours in another, what to use today in a third."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reproduction.experiment.contenders import CONTENDERS, PAPER_LAWS, TODAY, Maker
from reproduction.experiment.results import Results
from reproduction.report.figures.style import AXES, add_legend, choose_look, draw_line, finish, make_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEASURES = {"time": "CPU time (s)", "linf": "ℓ∞ error + 1", "l1": "ℓ1 error + 1"}
FIGURES = {"k": "Figure 1", "epsilon": "Figures 2 and 5", "beta": "Figures 3 and 6"}
ROWS = {"paper": "the paper's methods", "ours": "our mechanisms", "today": "what to use today"}
SWEEP_ROWS = ("paper", "ours")


def draw_sweep(results: Results, dataset: str, vary: str) -> Figure:
    """Time, ℓ∞ and ℓ1 error of a data set against one parameter, in two rows."""
    name = f"{results.title(dataset)} against {AXES[vary]} ({FIGURES[vary]} of the paper)"
    title = f"{name}; {count_trials(results, dataset)}"
    figure, panels = make_panels(2, 3, title=title, legend=0.75)
    for place, panel in enumerate(panels):
        row, measure = SWEEP_ROWS[place // 3], list(MEASURES)[place % 3]
        draw_panel(panel, results, dataset, vary, measure, row)
    for upper, lower in zip(panels[:3], panels[3:], strict=True):
        share_scale(upper, lower)
    return add_legend(figure, panels)


def draw_today(results: Results, dataset: str) -> Figure:
    """Time and errors against k of what a reader of the paper would use today, beside our Joint and CDP-Peel."""
    title = f"{results.title(dataset)} against k: what to use today; {count_trials(results, dataset)}"
    figure, panels = make_panels(1, 3, title=title, legend=0.6)
    for panel, measure in zip(panels, MEASURES, strict=True):
        draw_panel(panel, results, dataset, "k", measure, "today")
    return add_legend(figure, panels, columns=6)


def draw_panel(panel: Axes, results: Results, dataset: str, vary: str, measure: str, row: str) -> None:
    """Draw one measure of the programs of a row along a sweep."""
    for place, name in enumerate(list_programs(results, row, measure)):
        if measure == "time":
            cells = [(at, cell.cpu) for at, cell in results.times_along(dataset, name, vary)]
        else:
            cells = [(at, getattr(cell, measure) + 1) for at, cell in results.errors_along(dataset, name, vary)]
        if cells:
            draw_line(
                panel,
                [getattr(at, vary) for at, _ in cells],
                [values for _, values in cells],
                **_choose_look(name, row, place),
            )
    # Errors hardly change with β, and a log axis would show noise as slabs.
    log = measure == "time" or vary != "beta"
    finish(panel, title=f"{results.title(dataset)}: {ROWS[row]}", vary=vary, measure=MEASURES[measure], log=log)


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
    """How many lists and rounds the cells of a data set have, for captions.

    The fewest and the most are given where they differ.
    """
    lists = {len(cell.linf) for key, cell in results.errors.items() if key[0] == dataset}
    return f"lists for each error: {_range(lists)}; {count_rounds(results, dataset)}"


def count_rounds(results: Results, *datasets: str) -> str:
    """How many rounds the times of some data sets have, for captions."""
    rounds = {len(cell.cpu) for key, cell in results.times.items() if key[0] in datasets}
    return f"rounds for each time: {_range(rounds)}"


def share_scale(one: Axes, other: Axes) -> None:
    """Give two panels the same vertical axis, so that they can be compared."""
    low = min(one.get_ylim()[0], other.get_ylim()[0])
    high = max(one.get_ylim()[1], other.get_ylim()[1])
    one.set_ylim(low, high)
    other.set_ylim(low, high)


def _choose_look(name: str, row: str, place: int) -> dict[str, Any]:
    """In the paper's row a method has one name, whoever wrote the program of a measure.

    In the others, later lines have smaller markers, so that lines on top of each other are all seen.
    """
    line = choose_look(CONTENDERS[name])
    return line | ({"label": CONTENDERS[name].spelling} if row == "paper" else {"markersize": 7.0 - 0.9 * place})


def _range(numbers: set[int]) -> str:
    if not numbers:
        return "no"
    return str(min(numbers)) if len(numbers) == 1 else f"{min(numbers)}–{max(numbers)}"
