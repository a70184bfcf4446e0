"""What a finished run leaves behind: the figures, the verdict, and the report that holds both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shortlist.errors import OutputError
from shortlist.paper.data.datasets import Histogram
from shortlist.paper.experiment.grid import Grid
from shortlist.paper.experiment.results import Results
from shortlist.paper.report import figures
from shortlist.paper.report.page import page
from shortlist.paper.report.verdict import Finding, verdict
from shortlist.writing import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_AGAINST = {"k": figures.against_k, "epsilon": figures.against_epsilon, "beta": figures.against_beta}


def publish(grid: Grid, results: Results, histograms: Sequence[Histogram], folder: Path) -> list[Finding]:
    """Write `figures/*.png`, `figures/*.svg`, `verdict.md` and `report.html`; return the verdict."""
    findings = verdict(results)
    drawn = folder / "figures"
    try:
        drawn.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{drawn} must be a folder, and cannot be ({type(error).__name__}).") from None
    for name, figure in all_figures(results, histograms):
        for kind in ("png", "svg"):
            write_whole(drawn / f"{name}.{kind}", partial(figures.save, figure, kind=kind), force=True)
    _write(folder / "verdict.md", verdict_table(findings))
    _write(folder / "report.html", page(grid, results, histograms, findings))
    return findings


def all_figures(results: Results, histograms: Sequence[Histogram]) -> Iterator[tuple[str, Figure]]:
    """Every figure for which there are results, with the name of its file."""
    for vary, against in _AGAINST.items():
        if results.swept(vary):
            for dataset in results.datasets:
                yield f"{dataset}-against-{vary}", against(results, dataset)
    yield "gaps", figures.score_gaps(histograms)
    for dataset in results.datasets:
        yield f"{dataset}-without-sequence-step", figures.without_sequence_step(results, dataset)


def verdict_table(findings: Sequence[Finding]) -> str:
    """The verdict as a table in Markdown."""
    lines = ["| claim of the paper | verdict | measured here | how it is judged |", "|---|---|---|---|"]
    lines += [f"| {each.claim} | **{each.holding}** | {each.measured} | {each.test} |" for each in findings]
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()), force=True)
