"""The report: one page that stands alone, with the verdict, the figures and tables that can be sorted."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from functools import partial
from html import escape
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from reproduction.data.datasets import Histogram
from reproduction.experiment.results import Results
from reproduction.report.figures import others
from reproduction.report.figures.style import AXES, add_legend, make_panels, save
from reproduction.report.figures.sweeps import (
    FIGURES,
    MEASURES,
    ROWS,
    SWEEP_ROWS,
    count_rounds,
    count_trials,
    draw_panel,
)
from reproduction.report.page import tables
from reproduction.report.page.notes import THREATS
from reproduction.report.page.released import describe_released
from reproduction.report.verdict import Finding
from reproduction.report.verdict.statistics import ALPHA

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["write_page"]

_TODAY = (
    "<p>Beyond the paper’s laws, this package has <code>margin-joint</code> (ε-DP; the true list is at least as likely "
    "as with Joint), <code>subset</code> (ε-DP; a set without an order, so its items are sorted by their counts before "
    "errors are computed), and <code>auto</code>, the default, which chooses privately between "
    "<code>margin-joint</code> and a peel: <code>pnf-peel</code>, or <code>cdp-peel</code> where a δ is given "
    "(<code>auto-delta</code>, δ = 10⁻⁶). The table is at k = 100, ε = 1. The figures are against k.</p>"
)
_FIXED = {"k": "ε = 1, β = 2⁻¹⁰", "epsilon": "k = 100, β = 2⁻¹⁰", "beta": "k = 100, ε = 1"}


def write_page(results: Results, histograms: Sequence[Histogram], findings: Sequence[Finding]) -> str:
    """Write the report as HTML that needs nothing else: style, script and figures are inside."""
    here = files("reproduction.report.page")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        style=(here / "page.css").read_text(encoding="utf-8"),
        script=(here / "page.js").read_text(encoding="utf-8"),
        summary=_write_summary(results),
        tally=tables.write_tallies(findings),
        chance=f"1 in {1 / ALPHA:,.0f}",
        verdict=tables.write_verdict(findings),
        released=describe_released(results),
        beside=tables.compare_programs(results),
        today=_write_today(results),
        figures="\n".join(_write_sections(results, histograms)),
        deviations=tables.write_deviations(),
        threats="".join(f"<li>{escape(each)}</li>" for each in THREATS),
        errata=tables.write_errata(),
        cells="\n".join(tables.write_cells(results, name) for name in results.datasets),
        failures=tables.write_failures(results),
        provenance=_write_provenance(results),
        date=date.today().isoformat(),
    )


def _write_summary(results: Results) -> str:
    data = ", ".join(f"{results.title(name)} (d = {results.d(name):,})" for name in results.datasets)
    lists = sum(len(cell.linf) for cell in results.errors.values())
    rounds = sum(len(cell.cpu) for cell in results.times.values())
    lines = [f"Data: {escape(data)}. {lists:,} lists for errors, {rounds:,} timed lists."]
    if len(results.real) < len(results.datasets):
        lines.append(
            "A data set marked <strong>stand-in</strong> was not at hand: a synthetic histogram of the published size "
            "takes its place. Its times mean something, its errors say nothing about the paper."
        )
    if results.tables.failures:
        lines.append(f"<strong>{len(results.tables.failures)} cells failed</strong>; they are listed below.")
    if len(results.versions) > 1:
        counts = ", ".join(f"{escape(code)} in {count} cells" for code, count in results.versions.items())
        lines.append(
            f"<strong>The trials come from {len(results.versions)} versions of the code</strong>: {counts}. "
            f"{len(results.mixed_cells)} cells hold trials of more than one. The last column of the tables names them."
        )
    return "\n".join(f"<p>{line}</p>" for line in lines)


def _write_sections(results: Results, histograms: Sequence[Histogram]) -> Iterator[str]:
    """One section for each figure of the paper, with panels for each data set."""
    for vary in AXES:
        if results.has_sweep(vary):
            body = "".join(_write_rows(results, dataset, vary) for dataset in results.datasets)
            yield _write_section(f"Against {AXES[vary]}", f"{FIGURES[vary]} of the paper. {_FIXED[vary]}.", body)
    if results.times:
        speed = (
            _draw_panel(
                partial(others.draw_speed_up, results=results, dataset=name), f"speed-up on {results.title(name)}"
            )
            for name in results.datasets
        )
        counted = count_rounds(results, *results.datasets)
        note = f"Figure 1 of the paper, first column, as ratios; {counted}. Lines at 10 and 100 times."
        yield _write_section("How many times as fast FastJoint is as Joint", note, _write_grid(speed))
        steps = (
            _draw_panel(
                partial(others.draw_without_step_panel, results=results, dataset=name, vary=vary),
                f"Joint without its sequence step against {AXES[vary]} on {results.title(name)}",
            )
            for name in results.datasets
            for vary in AXES
            if results.has_sweep(vary)
        )
        yield _write_section(
            "Joint without its sequence step", f"Figure 7 of the paper; {counted}.", _write_grid(steps)
        )
    gaps = (
        _draw_panel(partial(others.draw_gap, histogram=each), f"gaps of {each.title}", legend=False)
        for each in histograms
    )
    yield _write_section("Gaps between the top 300 scores", "Figure 4 of the paper.", _write_grid(gaps))


def _write_rows(results: Results, dataset: str, vary: str, rows: Sequence[str] = SWEEP_ROWS) -> str:
    """Three panels of a data set in each row, and a caption with the number of trials."""
    panels = (
        _draw_panel(
            partial(draw_panel, results=results, dataset=dataset, vary=vary, measure=measure, row=row),
            f"{name} against {AXES[vary]} on {results.title(dataset)}, {ROWS[row]}",
        )
        for row in rows
        for measure, name in MEASURES.items()
    )
    caption = f"{results.title(dataset)}: {count_trials(results, dataset)}."
    return f"<figure>{_write_grid(panels)}<figcaption>{escape(caption)}</figcaption></figure>"


def _write_today(results: Results) -> str:
    """A section on what this package offers beyond the paper's laws. It is empty without results."""
    table = tables.write_today(results)
    if not table:
        return ""
    figures = ""
    if results.has_sweep("k"):
        figures = "".join(_write_rows(results, dataset, "k", ("today",)) for dataset in results.datasets)
    return f"<h2>What to use today</h2>{_TODAY}{table}{figures}"


def _write_section(name: str, note: str, body: str) -> str:
    return f"<section><h3>{escape(name)}</h3><p>{escape(note)}</p>{body}</section>"


def _write_grid(panels: Iterator[str]) -> str:
    return f'<div class="panels">{"".join(panels)}</div>'


def _draw_panel(draw: Callable[[Axes], None], caption: str, *, legend: bool = True) -> str:
    """Draw one panel by itself: side by side on a desk, one below the other on a phone, large when touched."""
    figure, panels = make_panels(1, 1, legend=0.95 if legend else 0.0)
    draw(panels[0])
    if legend:
        add_legend(figure, panels, columns=2 if len(panels[0].get_lines()) > 4 else 1)
    picture = io.BytesIO()
    save(figure, picture, kind="svg")
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    image = f'<img alt="{escape(caption)}" src="data:image/svg+xml;base64,{data}">'
    return f'<button type="button" class="zoom" title="show larger">{image}</button>'


def _write_provenance(results: Results) -> str:
    """Commands, versions, machines, load and the hashes of data and programs."""
    found = results.tables
    loads = [cell.load for cell in results.times.values()]
    load = np.concatenate(loads) if loads else np.empty(0)
    load = load[np.isfinite(load)]
    rows = []
    for run in found.runs.values():
        commit = f", commit {run.release}" if run.release else ""
        version = escape(f"code {run.code}{commit}")
        rows.append(f"<li>{escape(run.started)}: <code>{escape(run.command)}</code>; {version}</li>")
    machines = "".join(f"<li>{escape(each)}</li>" for each in dict.fromkeys(run.machine for run in found.runs.values()))
    hashes = "".join(
        f"<li>{escape(results.title(name))}: {found.data[name].d:,} items, SHA-256 {found.data[name].fingerprint}</li>"
        for name in results.datasets
    )
    programs = "".join(
        f"<li>{escape(', '.join(f'{name} {value}' for name, value in json.loads(text).items()))}</li>"
        for text in dict.fromkeys(run.released for run in found.runs.values() if run.released)
    )
    parts = [("Runs", "".join(rows)), ("Machine", machines), ("Data", hashes)]
    if programs:
        parts.append(("Released programs: versions, and hashes without comment lines", programs))
    text = "".join(f"<h3>{name}</h3><ul>{body}</ul>" for name, body in parts)
    if len(load):
        low, middle, high = np.quantile(load, [0, 0.5, 1])
        text += f"<p>Load average while timing: median {middle:.1f}, from {low:.1f} to {high:.1f}.</p>"
    return text + _write_waiting(results)


def _write_waiting(results: Results) -> str:
    """How far wall-clock time exceeds CPU time, over all timed lists of at least a millisecond."""
    ratios = [(cell.wall / np.maximum(cell.cpu, 1e-9))[cell.cpu >= 1e-3] for cell in results.times.values()]
    values = np.concatenate(ratios) if ratios else np.empty(0)
    if not len(values):
        return ""
    middle, high = np.quantile(values, [0.5, 0.95])
    return f"<p>Wall-clock time over CPU time: median {middle:.2f}, at most {high:.2f} in 95 % of the timed lists.</p>"
