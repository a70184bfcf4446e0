"""Write the results of a run: the figures, the verdict, and the report with both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from reproduction.experiment.datasets import Histogram
from reproduction.experiment.store import Results
from reproduction.report.claims import Finding, count_verdicts, judge_claims, list_sides
from reproduction.report.figures import Picture, list_sections, picture_today, save
from reproduction.report.page import NOTES, write_page
from shortlist.atomic_files import write_whole
from shortlist.errors import OutputError


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
    for picture in list_pictures(results, histograms):
        figure = picture.draw()
        for kind in ("png", "svg"):
            write_whole(drawn / f"{picture.name}.{kind}", partial(save, figure, kind=kind), force=True)
    _write(folder / "verdict.md", write_verdict(findings))
    _write(folder / "notes.md", NOTES.read_text(encoding="utf-8"))
    _write(folder / "report.html", write_page(results, histograms, findings))
    return findings


def list_pictures(results: Results, histograms: Sequence[Histogram]) -> Iterator[Picture]:
    """Every figure for which there are results."""
    for section in list_sections(results, histograms):
        yield from section.pictures
    if results.has_sweep("k"):
        yield from (picture_today(results, dataset) for dataset in results.datasets)


def write_verdict(findings: Sequence[Finding]) -> str:
    """The tally and the verdicts as tables in Markdown."""
    sides = list_sides(findings)
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
