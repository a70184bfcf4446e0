"""The trials of a folder, found by data set, program and sweep."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from reproduction.data.datasets import Histogram, write_title
from reproduction.experiment.contenders import CONTENDERS, Setting
from reproduction.experiment.grid import SWEEPS
from reproduction.experiment.store import NO_BETA, RunInfo, Store
from shortlist.array_types import FloatArray, IntArray

Key = tuple[str, str, Setting]
"""Data set, program and setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """The errors of a cell, one entry a list."""

    linf: IntArray
    l1: IntArray
    repeats: IntArray
    runs: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """The times of a cell in seconds, one entry a round; the timed lists have errors, too."""

    rounds: IntArray
    wall: FloatArray
    cpu: FloatArray
    before_cpu: FloatArray
    """The processor's time before the sequence step; NaN for programs without one."""
    linf: IntArray
    l1: IntArray
    repeats: IntArray
    load: FloatArray
    runs: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataInfo:
    """A data set in the results: its size, the hash of its counts, and whether it is a stand-in."""

    d: int
    fingerprint: str
    stand_in: bool

    def matches(self, histogram: Histogram) -> bool:
        """Whether these counts are the ones that were measured."""
        return self.fingerprint == histogram.fingerprint


@dataclass(slots=True, kw_only=True)
class Tables:
    """Everything that a folder holds."""

    runs: dict[int, RunInfo] = field(default_factory=dict)
    data: dict[str, DataInfo] = field(default_factory=dict)
    errors: dict[Key, Errors] = field(default_factory=dict)
    times: dict[Key, Times] = field(default_factory=dict)
    memory: dict[Key, int] = field(default_factory=dict)
    tails: dict[Key, tuple[int, float]] = field(default_factory=dict)
    failures: dict[Key, str] = field(default_factory=dict)


class Results:
    """The trials, and the questions that figures and verdicts ask of them."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.errors, self.times = tables.errors, tables.times
        self.gaps: dict[str, float] = {}
        """The median gap between neighbours of the top scores of each data set. It is known where the counts are."""

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """The data sets with trials, smallest first."""
        names = {key[0] for key in (*self.errors, *self.times)}
        return tuple(sorted(names, key=lambda name: self.tables.data[name].d))

    @cached_property
    def real(self) -> tuple[str, ...]:
        """Those of them that are not stand-ins."""
        return tuple(name for name in self.datasets if not self.tables.data[name].stand_in)

    @cached_property
    def contenders(self) -> tuple[str, ...]:
        """The programs with trials, in the order of the experiment."""
        found = {key[1] for key in (*self.errors, *self.times)}
        return tuple(name for name in CONTENDERS if name in found)

    @property
    def has_released(self) -> bool:
        """Whether the released programs were timed."""
        return "released-fastjoint" in {key[1] for key in self.times}

    def title(self, dataset: str) -> str:
        """The name of a data set, and beside it whether it is a stand-in."""
        return write_title(dataset, stand_in=dataset not in self.real)

    def d(self, dataset: str) -> int:
        """The number of items of a data set."""
        return self.tables.data[dataset].d

    def key(self, dataset: str, contender: str, setting: Setting) -> Key:
        """The key of a program at a setting of a sweep; beta is dropped if the program has no beta."""
        return dataset, contender, CONTENDERS[contender].own(setting)

    def errors_along(self, dataset: str, contender: str, vary: str) -> list[tuple[Setting, Errors]]:
        """The errors of a program along a sweep."""
        pairs = ((at, self.errors.get(self.key(dataset, contender, at))) for at in SWEEPS[vary])
        return [(at, found) for at, found in pairs if found is not None]

    def times_along(self, dataset: str, contender: str, vary: str) -> list[tuple[Setting, Times]]:
        """The times of a program along a sweep."""
        pairs = ((at, self.times.get(self.key(dataset, contender, at))) for at in SWEEPS[vary])
        return [(at, found) for at, found in pairs if found is not None]

    def has_sweep(self, vary: str) -> bool:
        """Whether FastJoint was measured at more than one value of a sweep."""
        return any(
            max(len(self.errors_along(name, program, vary)), len(self.times_along(name, program, vary))) > 1
            for name in self.datasets
            for program in ("published-fastjoint", "released-fastjoint")
        )

    @cached_property
    def versions(self) -> dict[str, int]:
        """The versions of the code that measured the trials, and in how many cells each has a trial."""
        return dict(Counter(code for key in {*self.errors, *self.times} for code in self.find_versions(key)))

    def find_versions(self, key: Key) -> tuple[str, ...]:
        """The versions of the code that measured the trials of a cell, oldest first."""
        found = (cells.get(key) for cells in (self.errors, self.times))
        runs = sorted(run for trials in found if trials is not None for run in trials.runs)
        return tuple(dict.fromkeys(self.tables.runs[run].code for run in runs))

    @cached_property
    def mixed_cells(self) -> tuple[Key, ...]:
        """The cells whose trials were measured by more than one version of the code."""
        return tuple(key for key in dict.fromkeys((*self.errors, *self.times)) if len(self.find_versions(key)) > 1)


def read_results(store: Store) -> Results:
    """Read all trials of a folder."""
    tables = Tables()
    for run, started, command, code, release, machine, released in store.select("SELECT * FROM runs"):
        tables.runs[int(str(run))] = RunInfo(
            started=str(started),
            command=str(command),
            code=str(code),
            release=str(release),
            machine=str(machine),
            released=str(released),
        )
    for name, d, fingerprint, stand_in, _ in store.select("SELECT * FROM data"):
        tables.data[str(name)] = DataInfo(d=int(str(d)), fingerprint=str(fingerprint), stand_in=bool(stand_in))
    for key, rows in _cells(store, "errors"):
        columns = list(zip(*rows, strict=True))
        linf, l1, repeats = (np.array(column, dtype=np.int64) for column in columns[1:4])
        tables.errors[key] = Errors(linf=linf, l1=l1, repeats=repeats, runs=frozenset(columns[4]))
    for key, rows in _cells(store, "times"):
        tables.times[key] = _times(rows)
    tables.memory = {key: rows[0][1] for key, rows in _cells(store, "memory")}
    tables.tails = {key: (rows[0][1], rows[0][2]) for key, rows in _cells(store, "tails")}
    tables.failures = {key: rows[0][1] for key, rows in _cells(store, "failures")}
    return Results(tables)


def _times(rows: list[tuple[Any, ...]]) -> Times:
    columns = list(zip(*rows, strict=True))
    rounds, linf, l1, repeats = (np.array(columns[place], dtype=np.int64) for place in (0, 4, 5, 6))
    wall, cpu, before, load = (np.array(columns[place], dtype=np.float64) for place in (1, 2, 3, 7))
    return Times(
        rounds=rounds,
        wall=wall,
        cpu=cpu,
        before_cpu=before,
        linf=linf,
        l1=l1,
        repeats=repeats,
        load=load,
        runs=frozenset(columns[8]),
    )


def _cells(store: Store, table: str) -> Iterator[tuple[Key, list[tuple[Any, ...]]]]:
    """The rows of a table by cell, each without what the key says."""
    found: defaultdict[Key, list[tuple[Any, ...]]] = defaultdict(list)
    for row in store.select(f"SELECT * FROM {table} ORDER BY trial"):
        dataset, contender, k, epsilon, beta, *rest = row
        setting = Setting(k=int(str(k)), epsilon=float(str(epsilon)), beta=_beta(beta))
        if contender in CONTENDERS:
            found[str(dataset), str(contender), setting].append(tuple(rest))
    return iter(found.items())


def _beta(stored: object) -> float | None:
    beta = float(str(stored))
    return None if beta == NO_BETA else beta
