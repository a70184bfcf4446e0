"""The path of tables: on every engine that is installed, one hostile person changes each count by 1 at most."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shortlist.audits.hostile_votes import Neighbours, invent_neighbours
from shortlist.audits.report import Finding
from shortlist.errors import DataError
from shortlist.exact.bits import SeededBits, SystemBits
from shortlist.profile import EVERY_LEVEL, Picks
from shortlist.votes import Query, tally

if TYPE_CHECKING:
    import pyarrow

Hold = Callable[["pyarrow.Table", Path], Any]
Counts = list[tuple[str, int]] | str
"""Each item with its count, or the text of the error."""

_PAIRS, _FEW_PAIRS = 30, 1
_COLUMNS = {"person": "user", "item": "track"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A place where votes can be, and what must be installed for it."""

    name: str
    packages: tuple[str, ...]
    hold: Hold
    pairs: int = _PAIRS


def check_tables(progress: Callable[[str], None] = lambda step: None, *, seed: int | None = None) -> Iterator[Finding]:
    """Count random tables with and without one hostile person, on every engine that is installed."""
    used = int.from_bytes(SystemBits().draw(8)) if seed is None else seed
    for engine in ENGINES:
        missing = [name for name in ("duckdb", "pyarrow", *engine.packages) if not _is_installed(name)]
        subject = f"votes in {engine.name}"
        if missing:
            found = f"{missing[0]} is not installed"
            yield Finding(subject=subject, check="tables", passed=None, found=found)
            continue
        progress(f"{subject}: counting with and without one hostile person")
        try:
            yield _check_engine(engine, subject, used)
        except Exception as error:  # of an engine: its text may quote the tables
            found = f"the engine failed ({type(error).__name__}; seed {used})"
            yield Finding(subject=subject, check="tables", passed=False, found=found)
    found = "it needs a server: the tests of the library start one"
    yield Finding(subject="votes in PostgreSQL", check="tables", passed=None, found=found)


def _check_engine(engine: Engine, subject: str, seed: int) -> Finding:
    bits = SeededBits(seed)
    wrong, refused = 0, 0
    with tempfile.TemporaryDirectory(prefix="shortlist-audit-") as folder:
        for number in range(engine.pairs):
            pair = invent_neighbours(bits)
            place = Path(folder) / str(number)
            place.mkdir()
            before, after = (count(pair, engine.hold(pair.table(last=last), place)) for last in (False, True))
            refused += isinstance(after, str)
            wrong += not may_differ(before, after, pair.cap)
    said = f"in {wrong} pairs one person changed too much" if wrong else "no count moved by more than 1"
    return Finding(
        subject=subject,
        check="tables",
        passed=not wrong,
        found=f"{said} ({engine.pairs} pairs of tables; {refused} refused alike)",
        details={"pairs": engine.pairs, "refused": refused, "wrong": wrong, "seed": str(seed)},
    )


def count(pair: Neighbours, votes: Any) -> Counts:
    """Count votes by the public function, and name every item with its count; or give the error."""
    try:
        counted = tally(votes, **_COLUMNS, domain=pair.items, votes_per_person=pair.cap)  # type: ignore[arg-type]
    except DataError as error:
        return str(error)
    profile = counted.above(counted.d, EVERY_LEVEL)
    levels = np.repeat(profile.values, profile.sizes)
    ranks = np.concatenate([np.arange(size) for size in profile.sizes])
    names = counted.names(counted.rows(Picks(levels=levels, ranks=ranks)))
    return sorted(zip(map(repr, names), levels.tolist(), strict=True))


def may_differ(before: Counts, after: Counts, cap: int | None) -> bool:
    """Whether one person more can have made this difference.

    >>> may_differ([("a", 1), ("b", 0)], [("a", 2), ("b", 1)], None), may_differ([("a", 1)], [("a", 3)], None)
    (True, False)
    """
    if isinstance(before, str) or isinstance(after, str):
        return before == after  # an error must not depend on one person
    growth = [new - old for (_, old), (_, new) in zip(before, after, strict=False)]
    same = [item for item, _ in before] == [item for item, _ in after]
    return same and set(growth) <= {0, 1} and (cap is None or sum(growth) <= cap)


def _hold_arrow(table: pyarrow.Table, folder: Path) -> Any:
    return table


def _hold_pandas(table: pyarrow.Table, folder: Path) -> Any:
    return table.to_pandas()


def _hold_polars(table: pyarrow.Table, folder: Path) -> Any:
    import polars

    return polars.from_arrow(table)


def _hold_duckdb(table: pyarrow.Table, folder: Path) -> Any:
    """A table whose texts are compared without case and accents."""
    import duckdb

    connection = duckdb.connect()
    relation = connection.from_arrow(table)
    kind = "VARCHAR COLLATE NOCASE.NOACCENT" if str(relation.types[1]) == "VARCHAR" else relation.types[1]
    connection.execute(f"CREATE TABLE votes (user BIGINT, track {kind})")
    relation.insert_into("votes")
    return connection.table("votes")


def _hold_parquet(table: pyarrow.Table, folder: Path) -> Any:
    from pyarrow import parquet

    path = folder / f"{len(table)}.parquet"
    parquet.write_table(table, path)
    return path


def _hold_csv(table: pyarrow.Table, folder: Path) -> Any:
    from pyarrow import csv

    path = folder / f"{len(table)}.csv"
    csv.write_csv(table, path)
    return path


def _hold_sqlite(table: pyarrow.Table, folder: Path) -> Any:
    """A column that converts what it stores, and compares without case."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE votes (user INTEGER, track NUMERIC COLLATE NOCASE)")
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    plain = (None, int, float, str)
    connection.executemany(
        "INSERT INTO votes VALUES (?, ?)", [(user, item if type(item) in plain else str(item)) for user, item in rows]
    )
    return Query(connection, "SELECT user, track FROM votes")


def _hold_ibis(table: pyarrow.Table, folder: Path) -> Any:
    import ibis

    backend = ibis.duckdb.connect()
    backend.con.from_arrow(table).create("votes")
    return backend.table("votes")


def _hold_spark(table: pyarrow.Table, folder: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "OFF")
    session = builder.getOrCreate()
    return session.createDataFrame(table)


ENGINES = (
    Engine(name="PyArrow", packages=(), hold=_hold_arrow),
    Engine(name="pandas", packages=("pandas",), hold=_hold_pandas),
    Engine(name="Polars", packages=("polars",), hold=_hold_polars),
    Engine(name="DuckDB", packages=(), hold=_hold_duckdb),
    Engine(name="Parquet files", packages=(), hold=_hold_parquet),
    Engine(name="CSV files", packages=(), hold=_hold_csv),
    Engine(name="SQLite", packages=(), hold=_hold_sqlite),
    Engine(name="Ibis", packages=("ibis",), hold=_hold_ibis),
    Engine(name="Spark", packages=("pyspark", "java"), hold=_hold_spark, pairs=_FEW_PAIRS),
)


def _is_installed(name: str) -> bool:
    if name == "java":
        return shutil.which("java") is not None
    with suppress(ImportError, ValueError):
        return find_spec(name) is not None
    return False
