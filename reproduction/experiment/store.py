"""The results folder: one row for each trial in an SQLite file, written as it is measured, and how it was measured."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from reproduction.data.datasets import Histogram
from reproduction.experiment.grid import Cell
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
TRIALS = ("errors", "times", "memory", "tails", "failures")
_PATIENCE = 60.0
"""How many seconds to wait while another process uses the file."""
NO_BETA = 0.0
"""Stands for an absent beta in the file, because a key has no empty fields."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """How a trial was measured: when, and by which command, code, version, machine and released programs."""

    started: str
    command: str
    code: str
    release: str
    machine: str
    released: str


class Store:
    """The trials in a folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._written = monotonic()
        self._run = 0
        fresh = not self.path.exists()
        try:
            # A report may read for some time while a run wants to write.
            self._file = sqlite3.connect(self.path, timeout=_PATIENCE)
            if fresh:
                self._file.executescript(f"PRAGMA user_version = {_SCHEMA};{_TABLES}")
            known = self._file.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError as error:
            raise _describe_foreign_file(self.path, str(error)) from None
        if known != _SCHEMA:
            raise _describe_foreign_file(self.path, "another schema")

    def begin(self, info: RunInfo, histograms: Sequence[Histogram], seed: int) -> None:
        """Start a run. Refuse other data or another seed than those of the earlier trials."""
        for each in histograms:
            row = (each.dataset.name, len(each.counts), each.fingerprint, int(each.origin is None), seed)
            found = self._execute("SELECT * FROM data WHERE dataset = ?", row[:1]).fetchone()
            if found is not None and tuple(found) != row:
                raise OutputError(
                    "{output} must be empty or hold results of the same data and seed",
                    "{path} holds those of {what}",
                    hint="pass another folder by {output}",
                    path=self.path,
                    what="another seed" if found[:4] == row[:4] else f"another {each.dataset.name}",
                )
            self._execute("INSERT OR IGNORE INTO data VALUES (?, ?, ?, ?, ?)", row)
        values = (info.started, info.command, info.code, info.release, info.machine, info.released)
        self._run = int(self._execute("INSERT INTO runs VALUES (NULL, ?, ?, ?, ?, ?, ?)", values).lastrowid or 0)
        self.flush()

    def add(self, table: str, cell: Cell, trials: Iterable[tuple[object, ...]]) -> None:
        """Store trials of a cell. The first entry of each is its number. They reach the disk within a second."""
        at = cell.setting
        key = (cell.dataset, cell.contender, at.k, at.epsilon, NO_BETA if at.beta is None else at.beta)
        rows = [(*key, *trial, self._run) for trial in trials]
        if rows:
            marks = ", ".join("?" * len(rows[0]))
            with self._report_damage():
                self._file.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
        if monotonic() - self._written > 1:
            self.flush()

    def clear_failure(self, cell: Cell) -> None:
        """Remove an earlier failure of a cell before it is tried again."""
        at = cell.setting
        self._execute(
            "DELETE FROM failures WHERE dataset = ? AND contender = ? AND k = ? AND epsilon = ? AND beta = ?",
            (cell.dataset, cell.contender, at.k, at.epsilon, NO_BETA if at.beta is None else at.beta),
        )

    def forget_other_versions(self, code: str) -> None:
        """Remove the cells with a trial that another version of the code measured."""
        cell = "dataset, contender, k, epsilon, beta"
        for table in TRIALS:
            others = f"SELECT {cell} FROM {table} WHERE run IN (SELECT run FROM runs WHERE code <> ?)"
            self._execute(f"DELETE FROM {table} WHERE ({cell}) IN ({others})", (code,))
        self.flush()

    def select(self, query: str) -> Iterator[tuple[object, ...]]:
        """Return the rows of a query."""
        with self._report_damage():
            yield from self._file.execute(query)

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
            "{output} must be a folder with results",
            "{folder} has no results",
            hint="run without {report_only}",
            folder=folder,
        )
    _make_folder(folder)
    store = Store(folder)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder against a second run, on systems with file locks."""
    _make_folder(folder)
    try:
        file = (folder / ".lock").open("w")
    except OSError as error:
        raise _describe_missing_folder(folder, error) from None
    with file as lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass
        except OSError:
            raise OutputError("{output} must not be in use", "another run uses {folder}", folder=folder) from None
        yield


def count_trials(folder: Path) -> int:
    """Count the trials in a folder."""
    if not (folder / FILE).exists():
        return 0
    with open_store(folder, new=False) as store:
        counts = (next(store.select(f"SELECT COUNT(*) FROM {table}"))[0] for table in ("errors", "times"))
        return sum(int(str(count)) for count in counts)


def write_released(hashes: dict[str, str], versions: dict[str, str]) -> str:
    """Write which released programs ran, for `RunInfo`."""
    return json.dumps({**versions, **hashes}, sort_keys=True)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _describe_missing_folder(folder, error) from None


def _describe_missing_folder(folder: Path, error: OSError) -> OutputError:
    return OutputError(
        "{output} must name a folder that can be written to",
        "{folder} is not one ({reason})",
        folder=folder,
        reason=type(error).__name__,
    )


def _describe_foreign_file(path: Path, reason: str) -> OutputError:
    return OutputError(
        "{path} must be results of this command, and cannot be used ({reason})",
        hint="pass another folder by {output}",
        path=path,
        reason=reason,
    )
