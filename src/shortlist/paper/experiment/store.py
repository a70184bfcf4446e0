"""The results folder: rows in one Parquet file, which is whole after every cell, and which grid they belong to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from shortlist.errors import MissingExtraError, OutputError
from shortlist.paper.data.datasets import Histogram
from shortlist.paper.experiment.grid import Grid
from shortlist.paper.experiment.measure import MEASURES, QUARTILES, Row
from shortlist.paper.experiment.results import Key, Results, key
from shortlist.writing import write_whole

FILE = "results.parquet"
_GRID, _DATA = b"shortlist.grid", b"shortlist.data"


class Store:
    """The rows of a grid in a folder: kept as soon as they are measured, found again when a run continues."""

    def __init__(self, folder: Path, grid: Grid, histograms: Sequence[Histogram]) -> None:
        self._path = folder / FILE
        self._meant = {_GRID: grid.describe().encode(), _DATA: _fingerprints(histograms).encode()}
        self._rows: dict[Key, Row] = {}
        if self._path.exists():
            self._rows = {key(row): row for row in self._read()}

    @property
    def results(self) -> Results:
        """All rows so far."""
        return Results(self._rows.values())

    def add(self, row: Row) -> None:
        """Keep a row; the file on disk is replaced in one step, so it is never half written."""
        self._rows[key(row)] = row
        _, pq = arrow()
        table = _table(list(self._rows.values()), self._meant)
        write_whole(self._path, lambda file: pq.write_table(table, file), force=True)

    def _read(self) -> list[Row]:
        _, pq = arrow()
        try:
            table = pq.read_table(self._path)
        except Exception as error:
            raise OutputError(
                f"{self._path} must be results of this command, and cannot be read ({type(error).__name__}).",
                hint="pass another folder by --output",
            ) from None
        found = table.schema.metadata or {}
        for name, what in ((_GRID, "another grid"), (_DATA, "other data")):
            if found.get(name) != self._meant[name]:
                raise OutputError(
                    f"output must be empty or hold results of the same grid and data; "
                    f"{self._path} holds those of {what}{_difference(found.get(name), self._meant[name])}.",
                    hint="pass another folder by --output, or the options of the run that made it",
                )
        return [Row(**each) for each in table.select([each.name for each in fields(Row)]).to_pylist()]


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make the folder, and keep a second run out of it, where the system has a way to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise OutputError(f"output must name a folder; {folder} cannot be one ({type(error).__name__}).") from None
    with lock:
        try:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:
            pass  # two runs at once are the user's affair there
        except OSError:
            raise OutputError(f"{folder} is in use by another run.") from None
        yield


def kept(folder: Path) -> int:
    """How many rows a results folder holds."""
    _, pq = arrow()
    path = folder / FILE
    return int(pq.read_metadata(path).num_rows) if path.exists() else 0


def arrow() -> tuple[Any, Any]:
    """The two parts of PyArrow that keep rows."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("paper", purpose="keeping results") from None
    return pa, pq


def _table(rows: Sequence[Row], metadata: dict[bytes, bytes]) -> Any:
    """The rows as a table; medians and quartiles stand beside the trials, for whoever reads the file alone."""
    pa, _ = arrow()
    kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    kinds |= {f"{name} | None": kind for name, kind in kinds.items()}
    kinds |= {f"list[{name}]": pa.list_(kinds[name]) for name in ("float", "int")}
    columns = [(each.name, kinds[str(each.type)]) for each in fields(Row)]
    columns += [(f"{measure}_{part}", pa.float64()) for measure in MEASURES for part in QUARTILES]
    return pa.Table.from_pylist(
        [{**asdict(row), **_quartiles(row)} for row in rows], schema=pa.schema(columns, metadata=metadata)
    )


def _quartiles(row: Row) -> dict[str, float]:
    return {
        f"{measure}_{part}": value
        for measure in MEASURES
        if row.trials
        for part, value in zip(QUARTILES, row.quartiles(measure), strict=True)
    }


def _fingerprints(histograms: Sequence[Histogram]) -> str:
    return json.dumps({each.title: each.fingerprint for each in histograms}, sort_keys=True)


def _difference(found: bytes | None, meant: bytes) -> str:
    """Say in which entries two descriptions differ."""
    try:
        one, other = json.loads(found or b""), json.loads(meant)
    except ValueError:
        return ""
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return f" (differing in {', '.join(sorted(names))})" if names else ""
