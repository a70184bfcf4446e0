"""A run over the grid: errors in batches, memory once, times in rounds of all programs. Trials are stored at once."""

from __future__ import annotations

import hashlib
import inspect
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from time import monotonic

import numpy as np

from reproduction.experiment.datasets import Histogram
from reproduction.experiment.grid import CONTENDERS, DEFAULT, Cell, Contender, Grid, Setting, list_programs
from reproduction.experiment.released import Released
from reproduction.experiment.store import Results, Store, Times
from reproduction.experiment.trials import compute_tail, draw_lists, measure_memory, time_list
from shortlist.planning.forecast import measure
from shortlist.version import __version__

_BATCH = 4_096
"""How many lists are drawn between two writes to the store. It bounds the memory that a large run takes."""
_MEASURED = (
    *(f"shortlist/{name}" for name in ("exact", "mechanisms", "privacy", "selection", "profile.py")),
    *(f"shortlist/{name}.py" for name in ("planning/forecast", "votes/array_counts")),
    *(f"reproduction/{name}.py" for name in ("baselines", "fastjoint", "fastjoint_buckets", "joint")),
    "reproduction/experiment",
)
"""The files and folders that decide what a trial is."""


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


Watch = Callable[[Progress], None]


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
        held = self._store.read()
        lists = {cell: len(found.linf) for cell, found in held.errors.items()}
        try:
            batches = [
                (cell, partial(self._draw_errors, cell, range(start, min(start + _BATCH, self._grid.trials))))
                for cell in self._grid.error_cells(self._contenders)
                for start in range(lists.get(cell, 0), self._grid.trials, _BATCH)
            ]
            self._go_through("errors", batches)
            cells = self._grid.memory_cells(self._contenders, self._sizes) if self._grid.rounds else []
            missing = [cell for cell in cells if cell not in held.memory]
            self._go_through("memory", [(cell, partial(self._measure_memory, cell)) for cell in missing])
            self._warm_up()
            self._time_rounds(held.times)
        finally:
            self._store.flush()
        return self._store.read()

    def _go_through(self, step: str, pieces: Sequence[tuple[Cell, Callable[[], None]]]) -> None:
        """Measure one piece of a cell after the other, and show how far the step is."""
        started = monotonic()
        for done, (cell, run) in enumerate(pieces):
            left = (monotonic() - started) / done * (len(pieces) - done) if done else None
            self._show(step, done, len(pieces), self._describe(cell), left)
            if cell in self._failed:
                continue  # Trials are numbered without gaps, and the first failure is kept.
            with self._record_failure(cell):
                run()
        self._show(step, len(pieces), len(pieces), "")

    def _draw_errors(self, cell: Cell, trials: range) -> None:
        histogram, contender = self._histograms[cell.dataset], CONTENDERS[cell.contender]
        seeds = [cell.seed(self._grid.seed, trial) for trial in trials]
        counts, repeats = draw_lists(contender, histogram, cell.setting, seeds, self._released)
        _, linf, l1 = measure(histogram.counts[: cell.setting.k], counts)
        self._store.add("errors", cell, zip(trials, linf.tolist(), l1.tolist(), repeats.tolist(), strict=True))
        if cell.contender == "published-fastjoint" and not trials.start:
            self._store.add("tails", cell, [(0, *compute_tail(histogram, cell.setting))])

    def _measure_memory(self, cell: Cell) -> None:
        at, histogram = CONTENDERS[cell.contender], self._histograms[cell.dataset]
        peak = measure_memory(at, histogram, cell.setting, cell.seed(self._grid.seed, 0), self._released)
        self._store.add("memory", cell, [(0, peak)])

    def _time_rounds(self, held: Mapping[Cell, Times]) -> None:
        """Time all programs at all settings in turn, round after round. A change of the load affects all of them."""
        cells = self._grid.time_cells(self._contenders)
        walls = {cell: held[cell].wall.tolist() if cell in held else [] for cell in cells}

        def count_left(cell: Cell) -> int:
            spent, mean = sum(walls[cell]), float(np.mean(walls[cell])) if walls[cell] else 0.0
            return 0 if cell in self._failed else self._grid.count_rounds_left(len(walls[cell]), spent, mean)

        started = monotonic()
        for number in range(self._grid.rounds):
            due = [cell for cell in cells if len(walls[cell]) == number and count_left(cell)]
            # After the first round, it is known how long a round of each cell takes.
            ends = monotonic() + sum(np.mean(walls[cell]) * count_left(cell) for cell in due) if number else None
            for place, cell in enumerate(due):
                left = None if ends is None else max(0.0, float(ends) - monotonic())
                done = place if left is None else monotonic() - started
                total = len(due) * self._grid.rounds if left is None else done + left
                self._show("times", done, total, f"round {number + 1}, {self._describe(cell)}", left)
                with self._record_failure(cell):
                    walls[cell].append(self._time(cell, number))
        self._show("times", 1, 1, "")

    def _time(self, cell: Cell, trial: int) -> float:
        histogram, seed = self._histograms[cell.dataset], cell.seed(self._grid.seed, trial)
        timed = time_list(CONTENDERS[cell.contender], histogram, cell.setting, seed, self._released)
        _, linf, l1 = measure(histogram.counts[: cell.setting.k], timed.counts[None, :])
        times, errors = (timed.wall, timed.cpu, timed.before_cpu), (int(linf[0]), int(l1[0]), timed.repeats)
        self._store.add("times", cell, [(trial, *times, *errors, os.getloadavg()[0])])
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

    def _describe(self, cell: Cell) -> str:
        return f"{self._histograms[cell.dataset].title}: {cell.label}"

    def _show(self, step: str, done: float, total: float, current: str, left: float | None = None) -> None:
        self._watch(Progress(step=step, done=done, total=total, current=current, failures=self._failures, left=left))


def describe_machine() -> str:
    """Describe this machine in one line, without the name of its owner."""
    parts = [
        f"{_processor()}, {os.cpu_count()} cores",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        *(f"{name} {version(name)}" for name in ("numpy", "python-flint")),
        f"shortlist {__version__}",
    ]
    return "; ".join(parts)


def hash_code() -> str:
    """Hash the code that a measurement depends on: two trials with the same version ran the same code."""
    digest = hashlib.sha256()
    for name in _MEASURED:
        package, _, inside = name.partition("/")
        root = Path(str(files(package)))
        place = root / inside
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes() if path.exists() else b"")
    for kind in (each.kind for each in CONTENDERS.values() if each.kind is not None):
        digest.update(Path(inspect.getfile(kind)).read_bytes())
    return digest.hexdigest()[:12]


def find_commit() -> str:
    """Find the commit of the working copy that the code comes from. An installed package has none."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=10"],
            cwd=str(files("shortlist")),
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "unknown processor")
