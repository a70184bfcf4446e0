"""The results folder: one row for each trial in an SQLite file, written as it is measured, and how it was measured."""

from __future__ import annotations

import fcntl
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from reproduction.experiment.datasets import Histogram, write_title
from reproduction.experiment.grid import CONTENDERS, SWEEPS, Cell, Setting
from shortlist.array_types import FloatArray, IntArray
from shortlist.errors import OutputError

FILE = "results.sqlite"
_SCHEMA = 1
_CELL = "dataset TEXT, contender TEXT, k INTEGER, epsilon REAL, beta REAL, trial INTEGER"
_KEY = "PRIMARY KEY (dataset, contender, k, epsilon, beta, trial)) WITHOUT ROWID"
_TABLES = f"""
CREATE TABLE runs (run INTEGER PRIMARY KEY, started TEXT, command TEXT, code TEXT, release TEXT, machine TEXT,
                   released TEXT);
CREATE TABLE data (dataset TEXT PRIMARY KEY, d INTEGER, fingerprint TEXT, stand_in INTEGER, seed INTEGER);
CREATE TABLE errors ({_CELL}, linf INTEGER, l1 INTEGER, repeats INTEGER, run INTEGER, {_KEY};
CREATE TABLE times ({_CELL}, wall REAL, cpu REAL, before_cpu REAL, linf INTEGER, l1 INTEGER, repeats INTEGER,
                    load REAL, run INTEGER, {_KEY};
CREATE TABLE memory ({_CELL}, bytes INTEGER, run INTEGER, {_KEY};
CREATE TABLE tails ({_CELL}, tau INTEGER, log_probability REAL, run INTEGER, {_KEY};
CREATE TABLE failures ({_CELL}, failure TEXT, run INTEGER, {_KEY};
"""
_TRIALS = ("errors", "times", "memory", "tails", "failures")
_PATIENCE = 60.0
"""How many seconds to wait while another process uses the file."""
_NO_BETA = 0.0
"""Stands for an absent beta in the file, because a key has no empty fields."""

F = TypeVar("F")
_Trials = TypeVar("_Trials", "Errors", "Times")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """How a trial was measured: when, and by which command, code, version, machine and released programs."""

    started: str
    command: str
    code: str
    release: str
    machine: str
    released: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DataInfo:
    """A data set in the results: its size, the hash of its counts, and whether it is a stand-in."""

    d: int
    fingerprint: str
    stand_in: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The errors of a cell, one entry a list."""

    linf: IntArray
    l1: IntArray
    repeats: IntArray
    runs: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Times(Errors):
    """The times of a cell in seconds, one entry a round; the timed lists have errors, too."""

    trial: IntArray
    """The numbers of the rounds."""
    wall: FloatArray
    cpu: FloatArray
    before_cpu: FloatArray
    """The processor's time before the sequence step; NaN for programs without one."""
    load: FloatArray


@dataclass(kw_only=True)
class Results:
    """Everything that a folder holds, and the questions that figures and verdicts ask of it."""

    runs: dict[int, RunInfo] = field(default_factory=dict)
    data: dict[str, DataInfo] = field(default_factory=dict)
    errors: dict[Cell, Errors] = field(default_factory=dict)
    times: dict[Cell, Times] = field(default_factory=dict)
    memory: dict[Cell, int] = field(default_factory=dict)
    tails: dict[Cell, tuple[int, float]] = field(default_factory=dict)
    """τ and ln Pr[loss ≥ τ]."""
    failures: dict[Cell, str] = field(default_factory=dict)
    gaps: dict[str, float] = field(default_factory=dict)
    """The median gap between neighbours of the top scores of each data set. It is known where the counts are."""

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The data sets with trials, smallest first."""
        names = {cell.dataset for cell in (*self.errors, *self.times)}
        return tuple(sorted(names, key=lambda name: self.data[name].d))

    @cached_property
    def real(self) -> tuple[str, ...]:
        """Those of them that are not stand-ins."""
        return tuple(name for name in self.datasets if not self.data[name].stand_in)

    @cached_property
    def contenders(self) -> tuple[str, ...]:
        """The programs with trials, in the order of the experiment."""
        found = {cell.contender for cell in (*self.errors, *self.times)}
        return tuple(name for name in CONTENDERS if name in found)

    @property
    def has_released(self) -> bool:
        """Whether the released programs were timed."""
        return "released-fastjoint" in {cell.contender for cell in self.times}

    def title(self, dataset: str) -> str:
        """The name of a data set, and beside it whether it is a stand-in."""
        return write_title(dataset, stand_in=dataset not in self.real)

    def along(self, cells: Mapping[Cell, F], dataset: str, contender: str, vary: str) -> list[tuple[Setting, F]]:
        """The errors, or the times, of a program along a sweep."""
        found = ((at, find(cells, dataset, contender, at)) for at in SWEEPS[vary])
        return [(at, trials) for at, trials in found if trials is not None]

    def has_sweep(self, vary: str) -> bool:
        """Whether FastJoint was measured at more than one value of a sweep."""
        return any(
            len(self.along(cells, name, program, vary)) > 1
            for cells in (self.errors, self.times)
            for name in self.datasets
            for program in ("published-fastjoint", "released-fastjoint")
        )

    @cached_property
    def versions(self) -> dict[str, int]:
        """The versions of the code that measured the trials, and in how many cells each has a trial."""
        return dict(Counter(code for cell in {*self.errors, *self.times} for code in self.find_versions(cell)))

    def find_versions(self, cell: Cell) -> tuple[str, ...]:
        """The versions of the code that measured the trials of a cell, oldest first."""
        found = (cells.get(cell) for cells in (self.errors, self.times))
        runs = sorted(run for trials in found if trials is not None for run in trials.runs)
        return tuple(dict.fromkeys(self.runs[run].code for run in runs))

    @cached_property
    def mixed_cells(self) -> tuple[Cell, ...]:
        """The cells whose trials were measured by more than one version of the code."""
        return tuple(cell for cell in dict.fromkeys((*self.errors, *self.times)) if len(self.find_versions(cell)) > 1)


def find(cells: Mapping[Cell, F], dataset: str, contender: str, setting: Setting) -> F | None:
    """Find the trials of a program at a setting of a sweep; its beta is dropped if the program has no beta."""
    return cells.get(Cell(dataset, contender, CONTENDERS[contender].own(setting)))


def find_pairs(
    cells: Mapping[Cell, F], dataset: str, one: str, other: str, settings: Iterable[Setting]
) -> Iterator[tuple[Setting, F, F]]:
    """Find the trials of two programs at all settings at which both have some."""
    for at in settings:
        first, second = (find(cells, dataset, name, at) for name in (one, other))
        if first is not None and second is not None:
            yield at, first, second


class Store:
    """The trials in a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._written = monotonic()
        self._run = 0
        fresh = not self.path.exists()
        with self._report_damage():
            # A report may read for some time while a run wants to write.
            self._file = sqlite3.connect(self.path, timeout=_PATIENCE)
            self._file.row_factory = sqlite3.Row
            if fresh:
                self._file.executescript(f"PRAGMA user_version = {_SCHEMA};{_TABLES}")
            known = self._file.execute("PRAGMA user_version").fetchone()[0]
        if known != _SCHEMA:
            raise _describe_foreign_file(self.path, "another schema")

    def begin(self, info: RunInfo, histograms: Sequence[Histogram], seed: int) -> None:
        """Start a run. Refuse other data or another seed than those of the earlier trials."""
        for each in histograms:
            row = (each.dataset.name, len(each.counts), each.fingerprint, int(each.origin is None), seed)
            found = self._execute("SELECT * FROM data WHERE dataset = ?", row[:1]).fetchone()
            if found is not None and tuple(found) != row:
                raise OutputError(
                    "`output` must be empty or hold results of the same data and seed",
                    f"{self.path} holds those of "
                    f"{('another seed' if tuple(found)[:4] == row[:4] else f'another {each.dataset.name}')}",
                    hint="pass another folder by `output`",
                )
            self._execute("INSERT OR IGNORE INTO data VALUES (?, ?, ?, ?, ?)", row)
        started = self._execute("INSERT INTO runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", astuple(info))
        self._run = int(started.lastrowid or 0)
        self.flush()

    def add(self, table: str, cell: Cell, trials: Iterable[tuple[object, ...]]) -> None:
        """Store trials of a cell. The first entry of each is its number. They reach the disk within a second."""
        rows = [(*_write_key(cell), *trial, self._run) for trial in trials]
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            with self._report_damage():
                self._file.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
        if monotonic() - self._written > 1:
            self.flush()

    def clear_failure(self, cell: Cell) -> None:
        """Remove an earlier failure of a cell before it is tried again."""
        where = "dataset = ? AND contender = ? AND k = ? AND epsilon = ? AND beta = ?"
        self._execute(f"DELETE FROM failures WHERE {where}", _write_key(cell))

    def forget_other_versions(self, code: str) -> None:
        """Remove the cells with a trial that another version of the code measured."""
        cell = "dataset, contender, k, epsilon, beta"
        for table in _TRIALS:
            others = f"SELECT {cell} FROM {table} WHERE run IN (SELECT run FROM runs WHERE code <> ?)"
            self._execute(f"DELETE FROM {table} WHERE ({cell}) IN ({others})", (code,))
        self.flush()

    def read(self) -> Results:
        """Read all trials."""
        results = Results(
            runs={row["run"]: RunInfo(**_pick(row, RunInfo)) for row in self._select("runs")},
            data={row["dataset"]: DataInfo(**_pick(row, DataInfo)) for row in self._select("data")},
        )
        results.errors = {cell: _read_trials(rows, Errors) for cell, rows in self._group("errors")}
        results.times = {cell: _read_trials(rows, Times) for cell, rows in self._group("times")}
        results.memory = {cell: row["bytes"] for cell, (row, *_) in self._group("memory")}
        results.tails = {cell: (row["tau"], row["log_probability"]) for cell, (row, *_) in self._group("tails")}
        results.failures = {cell: row["failure"] for cell, (row, *_) in self._group("failures")}
        return results

    def flush(self) -> None:
        """Write all trials to the disk."""
        with self._report_damage():
            self._file.commit()
        self._written = monotonic()

    def close(self) -> None:
        """Write all trials to the disk and close the file."""
        try:
            self.flush()
        finally:
            self._file.close()

    def _select(self, table: str) -> list[sqlite3.Row]:
        with self._report_damage():
            return self._file.execute(f"SELECT * FROM {table}").fetchall()

    def _group(self, table: str) -> Iterable[tuple[Cell, list[sqlite3.Row]]]:
        """The rows of a table by cell, those of programs that the experiment does not have left out."""
        found: defaultdict[Cell, list[sqlite3.Row]] = defaultdict(list)
        for row in self._select(f"{table} ORDER BY trial"):
            if row["contender"] in CONTENDERS:
                beta = None if row["beta"] == _NO_BETA else row["beta"]
                setting = Setting(k=row["k"], epsilon=row["epsilon"], beta=beta)
                found[Cell(row["dataset"], row["contender"], setting)].append(row)
        return found.items()

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        """Say which file cannot be read or written: it may be damaged, or the disk full."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise _describe_foreign_file(self.path, str(error)) from None

    def _execute(self, statement: str, values: Sequence[object] = ()) -> sqlite3.Cursor:
        with self._report_damage():
            return self._file.execute(statement, values)


@contextmanager
def open_store(folder: Path, *, new: bool = True) -> Iterator[Store]:
    """Open the results of a folder. Without `new`, the folder must have results."""
    if not new and not (folder / FILE).is_file():
        raise OutputError(
            "`output` must be a folder with results", f"{folder} has no results", hint="run without `report_only`"
        )
    _make_folder(folder)
    with closing(Store(folder)) as store:
        yield store


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against a second run."""
    _make_folder(folder)
    try:
        file = (folder / ".lock").open("w")
    except OSError as error:
        raise _describe_missing_folder(folder, error) from None
    with file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise OutputError("`output` must not be in use", f"another run uses {folder}") from None
        yield


def count_trials(folder: Path) -> int:
    """Count the lists for errors and the timed lists in a folder."""
    if not (folder / FILE).exists():
        return 0
    with open_store(folder, new=False) as store:
        results = store.read()
    return sum(len(cell.linf) for cells in (results.errors, results.times) for cell in cells.values())


def _write_key(cell: Cell) -> tuple[object, ...]:
    at = cell.setting
    return cell.dataset, cell.contender, at.k, at.epsilon, _NO_BETA if at.beta is None else at.beta


def _pick(row: sqlite3.Row, kind: type[RunInfo | DataInfo]) -> dict[str, Any]:
    return {each.name: row[each.name] for each in fields(kind)}


def _read_trials(rows: Sequence[sqlite3.Row], kind: type[_Trials]) -> _Trials:
    """Read columns of whole numbers, and columns of floats, in which NULL is NaN."""
    types = {"IntArray": np.int64, "FloatArray": np.float64}
    columns = {each.name: types[str(each.type)] for each in fields(kind) if each.name != "runs"}
    arrays: dict[str, Any] = {name: np.array([row[name] for row in rows], of) for name, of in columns.items()}
    return kind(**arrays, runs=frozenset(row["run"] for row in rows))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _describe_missing_folder(folder, error) from None


def _describe_missing_folder(folder: Path, error: OSError) -> OutputError:
    return OutputError(
        "`output` must name a folder that can be written to", f"{folder} is not one ({type(error).__name__})"
    )


def _describe_foreign_file(path: Path, reason: str) -> OutputError:
    return OutputError(
        f"{path} must be results of this command, and cannot be used ({reason})", hint="pass another folder by `output`"
    )
