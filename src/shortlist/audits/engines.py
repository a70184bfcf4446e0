"""The places where votes can be: how a table is put there, and what must be installed for it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.votes import Query

if TYPE_CHECKING:
    import pyarrow

Hold = Callable[["pyarrow.Table", Path], Any]
"""Put a table where an engine holds it; files go into a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A place where votes can be."""

    name: str
    hold: Hold
    packages: tuple[str, ...] = ()
    """What must be installed, beside DuckDB and PyArrow."""
    slow: bool = False
    """Whether only few tables are counted there."""


def find_missing(engine: Engine) -> str | None:
    """Find a package that the engine needs and that is not installed."""
    needed = ("duckdb", "pyarrow", *engine.packages)
    return next((name for name in needed if not _is_installed(name)), None)


def _hold_arrow(table: pyarrow.Table, folder: Path) -> Any:
    return table


def _hold_pandas(table: pyarrow.Table, folder: Path) -> Any:
    """Put whole numbers beside a gap as they are. By default, a conversion to pandas makes floats of all of them."""
    return table.to_pandas(integer_object_nulls=True)


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
    Engine(name="PyArrow", hold=_hold_arrow),
    Engine(name="pandas", packages=("pandas",), hold=_hold_pandas),
    Engine(name="Polars", packages=("polars",), hold=_hold_polars),
    Engine(name="DuckDB", hold=_hold_duckdb),
    Engine(name="Parquet files", hold=_hold_parquet),
    Engine(name="CSV files", hold=_hold_csv),
    Engine(name="SQLite", hold=_hold_sqlite),
    Engine(name="Ibis", packages=("ibis",), hold=_hold_ibis),
    Engine(name="Spark", packages=("pyspark", "java"), hold=_hold_spark, slow=True),
)


def _is_installed(name: str) -> bool:
    if name == "java":
        return shutil.which("java") is not None
    with suppress(ImportError, ValueError):
        return find_spec(name) is not None
    return False
