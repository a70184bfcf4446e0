"""The run: errors in batches, memory once, times in rounds of all programs; every trial is stored at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import numpy as np

from reproduction.data.datasets import Histogram, choose_datasets, load, require_folder
from reproduction.experiment.contenders import CONTENDERS, Contender, Setting
from reproduction.experiment.grid import DEFAULT, Cell, Grid, list_programs
from reproduction.experiment.lists import compute_tail, draw_lists
from reproduction.experiment.machine import measure_load as machine_load
from reproduction.experiment.results import Results, read_results
from reproduction.experiment.store import Store
from reproduction.experiment.timing import measure_memory, time_list
from reproduction.released.process import Released
from shortlist.array_types import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of a step. `done` and `total` are in the unit of the step."""

    step: str
    done: float
    total: float
    current: str
    failures: int
    left: float | None = None
    """The estimated seconds that the step still takes. It is None before anything is known."""


_BATCH = 4_096
"""How many lists are drawn between two writes to the store. It bounds the memory that a large run takes."""

Watch = Callable[[Progress], None]


def load_all(grid: Grid, data: Path | None) -> list[Histogram]:
    """Read the data sets of a grid from a folder. A missing one is replaced by a stand-in."""
    folder = require_folder(data)
    return [load(each, folder) for each in choose_datasets(grid.datasets)]


class Run:
    """One run over a grid. It measures the trials that the store does not have yet."""

    def __init__(
        self,
        grid: Grid,
        histograms: Sequence[Histogram],
        store: Store,
        *,
        released: Released | None = None,
        watch: Watch = lambda progress: None,
    ) -> None:
        self._grid, self._store, self._released, self._watch = grid, store, released, watch
        self._histograms = {each.dataset.name: each for each in histograms}
        self._sizes = {name: len(each.counts) for name, each in self._histograms.items()}
        self._contenders: Mapping[str, Contender] = list_programs(released=released is not None)
        self._failures = 0
        self._failed: set[Cell] = set()

    def measure(self) -> Results:
        """Measure everything that is missing. After an interrupt, the store has all trials so far."""
        try:
            self._draw_errors()
            self._measure_memory()
            self._time_rounds()
        finally:
            self._store.flush()
        return read_results(self._store)

    def _draw_errors(self) -> None:
        held = {key: len(found.linf) for key, found in read_results(self._store).errors.items()}
        cells = self._grid.error_cells(self._contenders)
        missing = [
            (cell, range(start, min(start + _BATCH, self._grid.trials)))
            for cell in cells
            for start in range(held.get(_key(cell), 0), self._grid.trials, _BATCH)
        ]
        started = monotonic()
        for done, (cell, trials) in enumerate(missing):
            left = (monotonic() - started) / done * (len(missing) - done) if done else None
            self._show("errors", done, len(missing), str(cell), left)
            if cell in self._failed:
                continue  # Trials are numbered without gaps.
            with self._record_failure(cell):
                histogram, contender = self._histograms[cell.dataset], CONTENDERS[cell.contender]
                seeds = [cell.seed(self._grid.seed, trial) for trial in trials]
                counts, repeats = draw_lists(contender, histogram, cell.setting, seeds, self._released)
                linf, l1 = compute_errors(histogram.counts, counts)
                rows = zip(trials, linf.tolist(), l1.tolist(), repeats.tolist(), strict=True)
                self._store.add("errors", cell, rows)
                if cell.contender == "published-fastjoint" and not trials.start:
                    self._store.add("tails", cell, [(0, *compute_tail(histogram, cell.setting))])
        self._show("errors", len(missing), len(missing), "")

    def _measure_memory(self) -> None:
        held = read_results(self._store).tables.memory
        cells = self._grid.memory_cells(self._contenders, self._sizes) if self._grid.rounds else []
        missing = [cell for cell in cells if _key(cell) not in held]
        started = monotonic()
        for done, cell in enumerate(missing):
            left = (monotonic() - started) / done * (len(missing) - done) if done else None
            self._show("memory", done, len(missing), str(cell), left)
            with self._record_failure(cell):
                at, histogram = CONTENDERS[cell.contender], self._histograms[cell.dataset]
                peak = measure_memory(at, histogram, cell.setting, cell.seed(self._grid.seed, 0), self._released)
                self._store.add("memory", cell, [(0, peak)])
        self._show("memory", len(missing), len(missing), "")

    def _time_rounds(self) -> None:
        """Time all programs at all settings in turn, round after round. A change of the load affects all of them."""
        self._warm_up()
        cells = self._grid.time_cells(self._contenders, self._sizes)
        held = read_results(self._store).times
        schedule = Schedule(self._grid, self._sizes)
        for cell in cells:
            found = held.get(_key(cell))
            schedule.start(cell, [] if found is None else found.wall.tolist())
        for round_number in range(self._grid.rounds):
            for cell in cells:
                if schedule.rounds(cell) == round_number and schedule.wants(cell) and cell not in self._failed:
                    left = schedule.left
                    total = schedule.spent + (left or 1.0)
                    self._show("times", schedule.spent, total, f"round {round_number + 1}, {cell}", left)
                    with self._record_failure(cell):
                        schedule.add(cell, self._time(cell, round_number))
        self._show("times", schedule.spent, schedule.spent, "")

    def _time(self, cell: Cell, trial: int) -> float:
        histogram, seed = self._histograms[cell.dataset], cell.seed(self._grid.seed, trial)
        timed = time_list(CONTENDERS[cell.contender], histogram, cell.setting, seed, self._released)
        linf, l1 = compute_errors(histogram.counts, timed.counts[None, :])
        row = (trial, timed.wall, timed.cpu, timed.before_cpu, int(linf[0]), int(l1[0]), timed.repeats, machine_load())
        self._store.add("times", cell, [row])
        return timed.wall

    def _warm_up(self) -> None:
        """Draw once with every program, so that no first round includes the time of imports."""
        smallest = min(self._histograms.values(), key=lambda each: len(each.counts))
        for contender in self._contenders.values():
            # A program that fails here fails again in its cells, and is reported there.
            with suppress(Exception):
                if contender.has_time:
                    at = contender.own(Setting(k=3, epsilon=1.0, beta=DEFAULT.beta))
                    time_list(contender, smallest, at, 0, self._released)

    @contextmanager
    def _record_failure(self, cell: Cell) -> Iterator[None]:
        """Store the reason if a cell fails, and go on with the other cells."""
        self._store.clear_failure(cell)
        try:
            yield
        except Exception as error:
            self._failures += 1
            self._failed.add(cell)
            self._store.add("failures", cell, [(0, f"{type(error).__name__}: {error}")])

    def _show(self, step: str, done: float, total: float, current: str, left: float | None = None) -> None:
        self._watch(Progress(step=step, done=done, total=total, current=current, failures=self._failures, left=left))


class Schedule:
    """How many rounds each cell has, how long they took, and how long the rest will take."""

    def __init__(self, grid: Grid, sizes: Mapping[str, int]) -> None:
        self._grid, self._sizes = grid, sizes
        self._walls: dict[Cell, list[float]] = {}
        self._estimate: float | None = None
        self._estimated = -math.inf
        self.spent = 0.0

    def start(self, cell: Cell, walls: list[float]) -> None:
        """Enter a cell with the rounds of earlier runs."""
        self._walls[cell] = list(walls)

    def add(self, cell: Cell, wall: float) -> None:
        """Enter a round."""
        self._walls[cell].append(wall)
        self.spent += wall

    def rounds(self, cell: Cell) -> int:
        """How many rounds a cell has."""
        return len(self._walls[cell])

    def wants(self, cell: Cell) -> bool:
        """Whether a cell is timed once more."""
        walls = self._walls[cell]
        return self._grid.wants_round(len(walls), sum(walls))

    @property
    def left(self) -> float | None:
        """The estimated seconds of rounds that are left, updated every second. It is None before the first round."""
        if monotonic() - self._estimated > 1:
            self._estimate, self._estimated = self._estimate_left(), monotonic()
        return self._estimate

    def _estimate_left(self) -> float | None:
        """Estimate the seconds that are left.

        A cell goes on as it began. One without a round is expected to take as long, for each item and place, as the
        quickest cell of its program, or of all programs if its program has none yet.
        """
        rates: dict[str, float] = {}
        for cell, walls in self._walls.items():
            if walls:
                rate = walls[0] / (self._sizes[cell.dataset] * cell.setting.k)
                rates[cell.contender] = min(rate, rates.get(cell.contender, rate))
        if not rates:
            return None
        other = min(rates.values())
        left = 0.0
        for cell, walls in self._walls.items():
            guess = rates.get(cell.contender, other) * self._sizes[cell.dataset] * cell.setting.k
            mean = float(np.mean(walls)) if walls else guess
            left += mean * self._grid.count_rounds_left(len(walls), sum(walls), mean)
        return left


def compute_errors(falling: IntArray, chosen_counts: IntArray) -> tuple[IntArray, IntArray]:
    """The ℓ∞ and the ℓ1 distance between the counts of each list and the largest counts, position by position.

    >>> [each.tolist() for each in compute_errors(np.array([9, 5, 4, 1]), np.array([[5, 9, 1]]))]
    [[4], [11]]
    """
    distances = np.abs(falling[: chosen_counts.shape[1]] - chosen_counts)
    return distances.max(axis=1), distances.sum(axis=1)


def _key(cell: Cell) -> tuple[str, str, Setting]:
    return cell.dataset, cell.contender, cell.setting
