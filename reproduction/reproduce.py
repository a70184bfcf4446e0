"""The whole evaluation in one call: read the data, measure what is missing, draw, judge, report."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from reproduction.data.datasets import Histogram
from reproduction.experiment.grid import Grid
from reproduction.experiment.machine import describe_machine, find_commit, hash_code
from reproduction.experiment.results import Results, read_results
from reproduction.experiment.run import Progress, Run, Watch, load_all
from reproduction.experiment.store import RunInfo, lock_folder, open_store, write_released
from reproduction.released.process import Released
from reproduction.report.figures.style import use_matplotlib
from reproduction.report.publish import publish
from reproduction.report.verdict import Finding

QUICK = Grid(datasets=("games", "books"), trials=50, rounds=5, seconds=4.0, coarse=True)
"""The same sweeps in some minutes: the two small data sets, fewer lists and fewer rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The measured results, and the verdicts on them."""

    results: Results
    findings: list[Finding]


def reproduce(
    grid: Grid,
    *,
    data: Path | None = None,
    output: Path,
    released: Path | None = None,
    remeasure: bool = False,
    command: str = "",
    watch: Watch = lambda progress: None,
) -> Outcome:
    """Measure a grid into a folder and write the figures, the verdict and `report.html` there.

    Only trials that are not in the folder yet are measured, so an interrupted run continues and a finished one can
    grow. With `remeasure`, trials that another version of the code measured are made again; without, they are marked.
    """
    use_matplotlib()  # A missing optional part is reported now, not after hours.
    histograms = load_all(grid, data)
    programs = None if released is None else Released(released)
    with lock_folder(output), open_store(output) as store, programs or nullcontext():
        info = RunInfo(
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            command=command,
            code=hash_code(),
            release=find_commit(),
            machine=describe_machine(),
            released="" if programs is None else write_released(programs.programs.hashes, programs.versions),
        )
        if remeasure:
            store.forget_other_versions(info.code)
        store.begin(info, histograms, grid.seed)
        results = Run(grid, histograms, store, released=programs, watch=watch).measure()
    return _report(results, histograms, output, watch)


def report_only(grid: Grid, *, data: Path | None = None, output: Path, watch: Watch = lambda progress: None) -> Outcome:
    """Write the report of the trials that a folder holds, also while a run goes on."""
    use_matplotlib()
    with open_store(output, new=False) as store:
        results = read_results(store)
    return _report(results, load_all(grid, data), output, watch)


def _report(results: Results, histograms: list[Histogram], output: Path, watch: Watch) -> Outcome:
    failures = len(results.tables.failures)
    current = "drawing the figures and writing the page"
    watch(Progress(step="report", done=0, total=1, current=current, failures=failures))
    # The folder may hold results of other data than those at hand, for instance of files that are elsewhere now.
    known = results.tables.data
    shown = [each for each in histograms if (name := each.dataset.name) in known and known[name].matches(each)]
    results.gaps = {each.dataset.name: float(np.median(each.gaps())) for each in shown}
    return Outcome(results=results, findings=publish(results, shown, output))
