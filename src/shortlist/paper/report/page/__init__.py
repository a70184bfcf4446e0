"""The report: one page that stands alone, with the verdict, the figures and tables that can be sorted."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from shortlist.mechanisms import MECHANISMS
from shortlist.paper.data.datasets import Histogram
from shortlist.paper.experiment.contenders import CONTENDERS
from shortlist.paper.experiment.grid import Grid
from shortlist.paper.experiment.results import Results
from shortlist.paper.report import figures
from shortlist.paper.report.page import tables
from shortlist.paper.report.verdict import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["page"]

_NAMES = {"k": "Against k", "epsilon": "Against ε", "beta": "Against β"}
_NOTES = {
    "k": "ε = 1, β = 2⁻¹⁰.",
    "epsilon": "k = 100, β = 2⁻¹⁰.",
    "beta": "k = 100, ε = 1. A mechanism without β is measured once and drawn as a level line.",
}


def page(grid: Grid, results: Results, histograms: Sequence[Histogram], findings: Sequence[Finding]) -> str:
    """Write the report as HTML that needs nothing else: style, script and figures are inside."""
    here = files("shortlist.paper.report.page")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        style=(here / "page.css").read_text(encoding="utf-8"),
        script=(here / "page.js").read_text(encoding="utf-8"),
        summary=_summary(grid, results, histograms),
        verdict=tables.verdict(findings),
        beside=tables.beside(results),
        legend=_legend(results),
        figures="\n".join(_sections(results, histograms)),
        cells="\n".join(tables.cells(results, name) for name in results.datasets),
        failures=tables.failures(results),
        machines=_machines(results),
        date=date.today().isoformat(),
    )


def _summary(grid: Grid, results: Results, histograms: Sequence[Histogram]) -> str:
    data = ", ".join(f"{each.title} (d = {len(each.counts):,})" for each in histograms)
    capped = sum(row.trials < row.asked for row in results.measured.values())
    lines = [
        f"Data: {data}.",
        f"{len(results.measured):,} cells, {grid.trials} trials each, seed {grid.seed}"
        + (f"; {capped} cells of the published Joint have fewer trials, as the tables say." if capped else "."),
    ]
    if any(each.origin is None for each in histograms):
        lines.append(
            "A data set marked <strong>stand-in</strong> was not at hand: a synthetic histogram of the published "
            "size takes its place. Its times mean something, its errors say nothing about the paper."
        )
    if results.failures:
        lines.append(f"<strong>{len(results.failures)} cells failed</strong>; they are listed below.")
    return "\n".join(f"<p>{line}</p>" for line in lines)


def _legend(results: Results) -> str:
    entries = []
    for contender in (CONTENDERS[name] for name in results.contenders):
        dash = "" if contender.ours else ' stroke-dasharray="2 4"'
        line = (
            f'<line x1="0" y1="6" x2="34" y2="6" stroke="{MECHANISMS[contender.law].colour}" stroke-width="3"{dash}/>'
        )
        swatch = f'<svg width="34" height="12" aria-hidden="true">{line}</svg>'
        entries.append(f"<li>{swatch} {escape(contender.label)}</li>")
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _sections(results: Results, histograms: Sequence[Histogram]) -> Iterator[str]:
    """One section for each figure of the paper, with a row of panels for each data set."""
    for vary, name in _NAMES.items():
        if results.swept(vary):
            rows = (_measures(results, dataset, vary) for dataset in results.datasets)
            yield _section(name, _NOTES[vary], "".join(rows))
    gaps = "".join(
        _panel(partial(figures.draw_gaps, histogram=each), f"gaps between the top scores of {each.title}")
        for each in histograms
    )
    yield _section("Gaps between the top 300 scores", "", f'<div class="panels">{gaps}</div>')
    note = "The published Joint without its sequence step, and the published FastJoint with it."
    rows = (_without_sequence_step(results, dataset) for dataset in results.datasets)
    yield _section("Joint without its sequence step", note, "".join(rows))


def _measures(results: Results, dataset: str, vary: str) -> str:
    panels = (
        _panel(
            partial(figures.draw_measure, results=results, dataset=dataset, vary=vary, measure=measure),
            f"{name} against {vary} on {results.title(dataset)}",
        )
        for measure, name in figures.MEASURES.items()
    )
    return f'<div class="panels">{"".join(panels)}</div>'


def _without_sequence_step(results: Results, dataset: str) -> str:
    panels = (
        _panel(
            partial(figures.draw_without_sequence_step, results=results, dataset=dataset, vary=vary),
            f"{figures.WITHOUT} and FastJoint: time against {vary} on {results.title(dataset)}",
        )
        for vary in figures.AXES
        if results.swept(vary)
    )
    return f'<div class="panels">{"".join(panels)}</div>'


def _section(name: str, note: str, body: str) -> str:
    return f"<section><h3>{escape(name)}</h3><p>{escape(note)}</p>{body}</section>"


def _panel(draw: Callable[[Axes], None], caption: str) -> str:
    """Draw one panel by itself: side by side on a desk, one below the other on a phone."""
    picture = io.BytesIO()
    figures.save(figures.single(draw), picture, kind="svg")
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    return f'<img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'


def _machines(results: Results) -> str:
    described = sorted({row.machine for row in results.rows})
    return "".join(f"<li>{escape(each)}</li>" for each in described)
