"""The report: figures, the verdict, and one page that stands alone, with figures and tables that can be sorted."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from functools import partial
from html import escape
from itertools import chain
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from reproduction.experiment.datasets import Histogram
from reproduction.experiment.grid import CONTENDERS, Cell, Maker
from reproduction.experiment.store import Results
from reproduction.report import tables
from reproduction.report.claims import Finding, judge_claims, write_verdict
from reproduction.report.comparisons import ALPHA, rank_test, reject
from reproduction.report.figures import Picture, add_legend, list_pictures, make_panels, picture_today, save
from reproduction.report.related_work import write_subsets
from shortlist.atomic_files import write_whole
from shortlist.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOTES = Path(__file__).parents[1] / "notes.md"
"""Differences from the paper, threats to validity, and errors of the paper."""
ABSENT = (
    "<p>The programs that the paper timed were not run: no folder was given with <code>--released</code>. So the "
    "columns and lines of the released programs are absent, and every verdict is on the programs that are "
    "implemented here. These are faster than the released ones, so ratios of times differ.</p>"
)


def publish(results: Results, histograms: Sequence[Histogram], folder: Path) -> list[Finding]:
    """Write the figures as png and svg, `verdict.md`, `summary.md`, `notes.md` and `report.html`; return findings."""
    # The folder may hold results of other data than those at hand, for instance of files that are elsewhere now.
    known = {name: info.fingerprint for name, info in results.data.items()}
    histograms = [each for each in histograms if known.get(each.dataset.name) == each.fingerprint]
    results.gaps = {each.dataset.name: float(np.median(each.gaps())) for each in histograms}
    findings = judge_claims(results)
    drawn = folder / "figures"
    try:
        drawn.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{drawn} must be a folder, and cannot be one ({type(error).__name__})") from None
    for picture in chain(list_pictures(results, histograms), picture_today(results)):
        figure = picture.draw()
        for kind in ("png", "svg"):
            write_whole(drawn / f"{picture.name}.{kind}", partial(save, figure, kind=kind), force=True)
    texts = {
        "verdict.md": write_verdict(findings),
        "summary.md": tables.write_summary(results, histograms, findings),
        "notes.md": "## " + NOTES.read_text(encoding="utf-8").partition("\n## ")[2],
        "report.html": write_page(results, histograms, findings),
    }
    for name, text in texts.items():
        write_whole(folder / name, text, force=True)
    return findings


def write_page(results: Results, histograms: Sequence[Histogram], findings: Sequence[Finding]) -> str:
    """Write the report as HTML that needs nothing else: style, script and figures are inside."""
    here, notes = Path(__file__).parent, _read_notes()
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        style=(here / "page.css").read_text(encoding="utf-8"),
        script=(here / "page.js").read_text(encoding="utf-8"),
        summary=_write_summary(results),
        tally=tables.convert_table(tables.tally_verdicts(findings)),
        chance=f"1 in {1 / ALPHA:,.0f}",
        verdict=tables.write_verdict(findings),
        released=_describe_released(results),
        speed=tables.convert_table(tables.compare_speed(results)),
        beside=tables.convert_table(tables.compare_times(results)),
        today=_write_today(results),
        figures="\n".join(
            f"<section><h3>{escape(each.head)}</h3>{_write_panels(each)}</section>"
            for each in list_pictures(results, histograms)
        ),
        subsets=tables.convert_table([*write_subsets(histograms)]),
        deviations=tables.convert_table(notes["Differences from the paper"].splitlines()),
        threats="".join(f"<li>{escape(line[2:])}</li>" for line in notes["Threats to validity"].splitlines()),
        errata=tables.convert_table(notes["Errors of the paper"].splitlines()),
        cells="\n".join(tables.write_cells(results, name) for name in results.datasets),
        failures=tables.write_failures(results),
        provenance=_write_provenance(results),
        date=date.today().isoformat(),
    )


def _read_notes() -> dict[str, str]:
    """The sections of notes.md by their heads."""
    parts = NOTES.read_text(encoding="utf-8").split("\n## ")[1:]
    return {head: body.strip() for head, _, body in (part.partition("\n") for part in parts)}


def _write_prose(head: str) -> str:
    """A section of notes.md that is one paragraph."""
    text = escape(" ".join(_read_notes()[head].split()), quote=False)
    return "<p>" + re.sub("`(.+?)`", r"<code>\1</code>", text) + "</p>"


def _write_summary(results: Results) -> str:
    data = ", ".join(f"{results.title(name)} (d = {results.data[name].d:,})" for name in results.datasets)
    lists = sum(len(cell.linf) for cell in results.errors.values())
    rounds = sum(len(cell.cpu) for cell in results.times.values())
    lines = [f"Data: {escape(data)}. {lists:,} lists for errors, {rounds:,} timed lists."]
    if len(results.real) < len(results.datasets):
        lines.append(
            "A data set marked <strong>stand-in</strong> was not at hand: a synthetic histogram of the published size "
            "takes its place. Its times mean something, its errors say nothing about the paper."
        )
    if results.failures:
        lines.append(f"<strong>{len(results.failures)} cells failed</strong>; they are listed below.")
    if len(results.versions) > 1:
        counts = ", ".join(f"{escape(code)} in {count} cells" for code, count in results.versions.items())
        lines.append(
            f"<strong>The trials come from {len(results.versions)} versions of the code</strong>: {counts}. "
            f"{len(results.mixed_cells)} cells hold trials of more than one. The last column of the tables names them."
        )
    return "\n".join(f"<p>{line}</p>" for line in lines)


def _describe_released(results: Results) -> str:
    """The section on the released programs: their repeats, and a test of their lists against the published laws."""
    if not results.has_released:
        return ABSENT
    repeats = tables.convert_table(tables.count_repeats(results)) or "<p>No list of this run has a repeat.</p>"
    return _write_prose("A fault of the released FastJoint") + repeats + _compare_errors(results)


def _compare_errors(results: Results) -> str:
    """Compare the errors of the timed lists of released programs with those of the published law."""
    chances, cells = [], []
    for (dataset, contender, at), times in results.times.items():
        program = CONTENDERS[contender]
        if program.maker is Maker.RELEASED and program.law != "fastjoint":
            drawn = results.errors.get(Cell(dataset, f"published-{program.law}", at))
            if drawn is not None:
                both = min(rank_test(times.l1, drawn.l1), rank_test(drawn.l1, times.l1))
                chances.append(min(1.0, 2 * both))
                cells.append(f"{results.title(dataset)}, {program.label}, {at}")
    if not chances:
        return ""
    differing = [cell for cell, rejected in zip(cells, reject(chances), strict=True) if rejected]
    found = f"differ at {len(differing)} ({escape('; '.join(differing[:5]))})" if differing else "differ at none"
    return (
        f"<p>The lists of the released Joint, PNF-Peel and CDP-Peel that were timed have errors as well. Compared with "
        f"those drawn from the same laws at {len(chances)} settings by rank tests of ℓ1, at a chance of {ALPHA:g} of "
        f"any false alarm, they {found}; the smallest chance of one comparison is {tables.write_number(min(chances))}."
        "</p>"
    )


def _write_today(results: Results) -> str:
    """A section on what this package offers beyond the paper's laws. It is empty without results."""
    table, head = tables.convert_table(tables.compare_today(results)), "What to use today"
    if not table:
        return ""
    return f"<h2>{head}</h2>{_write_prose(head)}{table}{''.join(map(_write_panels, picture_today(results)))}"


def _write_panels(picture: Picture) -> str:
    """The panels of a picture in a grid, and its caption below."""
    panels = "".join(_draw_panel(draw, said, legend=picture.legend_columns > 0) for said, draw in picture.panels)
    caption = f"<figcaption>{escape(picture.caption)}</figcaption>"
    return f'<figure><div class="panels">{panels}</div>{caption}</figure>'


def _draw_panel(draw: Callable[[Axes], None], caption: str, *, legend: bool) -> str:
    """Draw one panel by itself: side by side on a desk, one below the other on a phone, large when touched."""
    figure, panels = make_panels(1, 1, width=2.75, legend=0.62 if legend else 0.0)
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
    runs = results.runs.values()
    text = "<h3>Runs</h3><ul>"
    for run in runs:
        commit = f", commit {run.release}" if run.release else ""
        version = escape(f"code {run.code}{commit}")
        text += f"<li>{escape(run.started)}: <code>{escape(run.command)}</code>; {version}</li>"
    text += "</ul>" + _write_list("Machine", dict.fromkeys(run.machine for run in runs))
    known = ((results.title(name), results.data[name]) for name in results.datasets)
    text += _write_list("Data", (f"{title}: {info.d:,} items, SHA-256 {info.fingerprint}" for title, info in known))
    programs = [json.loads(text) for text in dict.fromkeys(run.released for run in runs if run.released)]
    if programs:
        head = "Released programs: versions, and hashes without comment lines"
        text += _write_list(head, (", ".join(f"{name} {value}" for name, value in each.items()) for each in programs))
    load = np.concatenate([np.empty(0), *(cell.load for cell in results.times.values())])
    if len(load := load[np.isfinite(load)]):
        low, middle, high = np.quantile(load, [0, 0.5, 1])
        text += f"<p>Load average while timing: median {middle:.1f}, from {low:.1f} to {high:.1f}.</p>"
    waiting = [(cell.wall / np.maximum(cell.cpu, 1e-9))[cell.cpu >= 1e-3] for cell in results.times.values()]
    if any(map(len, waiting)):
        middle, high = np.quantile(np.concatenate(waiting), [0.5, 0.95])
        text += f"<p>Wall-clock time over CPU time: median {middle:.2f}, at most {high:.2f} in 95 % of the timed lists."
        text += "</p>"
    return text


def _write_list(head: str, entries: Iterable[str]) -> str:
    return f"<h3>{head}</h3><ul>{''.join(f'<li>{escape(each)}</li>' for each in entries)}</ul>"
