"""The whole evaluation in one call: read the data, measure what is missing, draw, judge, report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from shortlist.paper.experiment.grid import Grid
from shortlist.paper.experiment.results import Results
from shortlist.paper.experiment.run import Watch, load_all, run
from shortlist.paper.experiment.store import arrow
from shortlist.paper.report.figures import drawing
from shortlist.paper.report.publish import publish
from shortlist.paper.report.verdict import Finding

QUICK = Grid(datasets=("games", "books"), trials=5)
"""The same grid in minutes: the two small data sets, and as many trials as a verdict needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was measured and what it says."""

    results: Results
    findings: list[Finding]


def reproduce(grid: Grid, *, data: Path | None = None, output: Path, watch: Watch = lambda progress: None) -> Outcome:
    """Measure a grid into a folder and write the figures, the verdict and `report.html` there.

    A run that was interrupted continues: only cells that are not in the folder yet are measured.
    """
    # What is missing is said now, not after hours.
    drawing()
    arrow()
    histograms = load_all(grid, data)
    results = run(grid, histograms, output, watch)
    return Outcome(results=results, findings=publish(grid, results, histograms, output))
