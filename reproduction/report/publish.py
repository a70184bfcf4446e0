"""Write the results of a run: the figures, the verdict, and the report with both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reproduction.data.datasets import Histogram
from reproduction.experiment.results import Results
from reproduction.report.figures.others import draw_gaps, draw_speed_ups, draw_without_step
from reproduction.report.figures.style import AXES, save
from reproduction.report.figures.sweeps import draw_sweep, draw_today
from reproduction.report.page import write_page
from reproduction.report.page.notes import write_notes
from reproduction.report.verdict import SIDES, Finding, count_verdicts, judge_claims
from shortlist.atomic_files import write_whole
from shortlist.errors import OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def publish(results: Results, histograms: Sequence[Histogram], folder: Path) -> list[Finding]:
    """Write `figures/*.png`, `figures/*.svg`, `verdict.md`, `notes.md` and `report.html`; return the verdict."""
    findings = judge_claims(results)
    drawn = folder / "figures"
    try:
        drawn.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            "{folder} must be a folder, and cannot be one ({reason})", folder=drawn, reason=type(error).__name__
        ) from None
    for name, figure in draw_all(results, histograms):
        for kind in ("png", "svg"):
            write_whole(drawn / f"{name}.{kind}", partial(save, figure, kind=kind), force=True)
    _write(folder / "verdict.md", write_verdict(findings))
    _write(folder / "notes.md", write_notes())
    _write(folder / "report.html", write_page(results, histograms, findings))
    return findings


def draw_all(results: Results, histograms: Sequence[Histogram]) -> Iterator[tuple[str, Figure]]:
    """Every figure for which there are results, with the name of its file."""
    for vary in AXES:
        if results.has_sweep(vary):
            for dataset in results.datasets:
                yield f"{dataset}-against-{vary}", draw_sweep(results, dataset, vary)
    if results.has_sweep("k"):
        for dataset in results.datasets:
            yield f"{dataset}-today", draw_today(results, dataset)
    if results.times:
        yield "speed-ups", draw_speed_ups(results)
        for dataset in results.datasets:
            yield f"{dataset}-without-sequence-step", draw_without_step(results, dataset)
    if histograms:
        yield "gaps", draw_gaps(histograms)


def write_verdict(findings: Sequence[Finding]) -> str:
    """The tally and the verdicts as tables in Markdown."""
    sides = [side for side in SIDES if findings and side.title in findings[0].judgements]
    lines = []
    for side in sides:
        counts = ", ".join(f"{count} {holding}" for holding, count in count_verdicts(findings, side).items() if count)
        lines.append(f"- {side.title}: {counts}")
    heads = [f"{side.title} | measured" for side in sides]
    lines += ["", f"| claim of the paper | {' | '.join(heads)} | rule |", "|---" * (2 + 2 * len(sides)) + "|"]
    for each in findings:
        judged = [each.judgements[side.title] for side in sides]
        fields = [f"**{found.holding}** | {found.measured}" for found in judged]
        lines.append(f"| “{each.claim.text}” ({each.claim.place}) | {' | '.join(fields)} | {each.claim.rule} |")
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()), force=True)
