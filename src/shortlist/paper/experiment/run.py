"""The run: every cell of the grid that is not measured yet, one after the other, each kept as soon as it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from shortlist.paper.data.datasets import Histogram, chosen, data_folder, load
from shortlist.paper.experiment.contenders import CONTENDERS, Setting
from shortlist.paper.experiment.grid import Cell, Grid
from shortlist.paper.experiment.machine import machine
from shortlist.paper.experiment.measure import Row, failed, measure
from shortlist.paper.experiment.results import Results
from shortlist.paper.experiment.store import Store, held


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is: shown before each cell, and once more at the end, when there is no current cell."""

    done: int
    cells: int
    failures: int
    share: float
    """The part of the forecast work that is done, from 0 to 1."""
    seconds_left: float | None
    current: Cell | None


Watch = Callable[[Progress], None]


def load_all(grid: Grid, data: Path | None) -> list[Histogram]:
    """Read the data sets of a grid from a folder; what is not there is a stand-in."""
    folder = data_folder(data)
    return [load(each, folder) for each in chosen(grid.datasets)]


def run(grid: Grid, histograms: Sequence[Histogram], output: Path, watch: Watch = lambda progress: None) -> Results:
    """Measure what is missing in the output folder. Interrupted, it keeps every finished cell and can go on later."""
    by_name = {each.dataset.name: each for each in histograms}
    cells = grid.cells({name: len(each.counts) for name, each in by_name.items()})
    with held(output):
        store = Store(output, grid, histograms)
        kept = store.results.measured
        missing = [cell for cell in cells if (cell.dataset, cell.contender, cell.setting) not in kept]
        if missing:
            _warm_up()
        _measure_all(missing, grid, by_name, store, _Forecast(cells, missing, by_name), watch)
    return store.results


def _measure_all(
    cells: Sequence[Cell],
    grid: Grid,
    histograms: Mapping[str, Histogram],
    store: Store,
    forecast: _Forecast,
    watch: Watch,
) -> None:
    described = machine()
    failures = 0
    for cell in cells:
        watch(forecast.progress(cell, failures))
        row = _row(cell, grid, histograms[cell.dataset], described)
        failures += row.failure is not None
        store.add(row)
        forecast.finish(cell)
    watch(forecast.progress(None, failures))


def _row(cell: Cell, grid: Grid, histogram: Histogram, described: str) -> Row:
    """Measure a cell, or record why that failed: one broken cell must not cost the others."""
    try:
        return measure(cell, histogram, run_seed=grid.seed, asked=grid.trials, machine=described)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return failed(cell, histogram, run_seed=grid.seed, asked=grid.trials, machine=described, failure=text)


def _warm_up() -> None:
    """Draw once with every mechanism, so that no first trial pays for imports."""
    counts = np.arange(50, dtype=np.int64)
    for contender in CONTENDERS.values():
        with suppress(Exception):  # its cells will say what is wrong
            contender.draw(counts, Setting(k=3, epsilon=1.0, beta=2.0**-10), 0)


class _Forecast:
    """How much work is done and how long the rest will take, by the rough cost of each cell."""

    def __init__(self, cells: Sequence[Cell], missing: Sequence[Cell], histograms: Mapping[str, Histogram]) -> None:
        self._sizes = {name: len(each.counts) for name, each in histograms.items()}
        self._cells = len(cells)
        self._done = len(cells) - len(missing)
        self._all = sum(map(self._cost, cells))
        self._left = sum(map(self._cost, missing))
        self._spent = 0.0
        self._start = perf_counter()

    def finish(self, cell: Cell) -> None:
        cost = self._cost(cell)
        self._done, self._left, self._spent = self._done + 1, self._left - cost, self._spent + cost

    def progress(self, current: Cell | None, failures: int) -> Progress:
        elapsed = perf_counter() - self._start
        return Progress(
            done=self._done,
            cells=self._cells,
            failures=failures,
            share=1 - max(self._left, 0.0) / self._all if current else 1.0,
            seconds_left=elapsed / self._spent * self._left if self._spent else None,
            current=current,
        )

    def _cost(self, cell: Cell) -> float:
        return cell.trials * CONTENDERS[cell.contender].cost(self._sizes[cell.dataset], cell.setting)
