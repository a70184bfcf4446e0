"""The same votes on every engine, by parameter."""

import gzip
import json
import sqlite3
import warnings
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from itertools import count

import numpy as np
import pytest
from components import find_java

from shortlist import Query
from shortlist.profile import EVERY_LEVEL, Picks

NUMBERS = count()


def as_pandas(columns, folder):
    import pandas as pd

    return {"votes": pd.DataFrame(columns)}


def as_polars(columns, folder):
    import polars as pl

    return {"votes": pl.DataFrame(columns)}


def as_polars_lazy(columns, folder):
    import polars as pl

    return {"votes": pl.LazyFrame(columns)}


def as_pyarrow(columns, folder):
    import pyarrow as pa

    return {"votes": pa.table(columns)}


def as_duckdb(columns, folder):
    import duckdb

    connection = duckdb.connect()
    connection.register("source", as_pyarrow(columns, folder)["votes"])
    connection.execute("CREATE TABLE votes AS FROM source")
    return {"votes": connection.table("votes")}


def as_ibis(columns, folder):
    import ibis

    backend = ibis.duckdb.connect()
    backend.con.register("source", as_pyarrow(columns, folder)["votes"])
    backend.raw_sql("CREATE TABLE votes AS FROM source")
    return {"votes": backend.table("votes")}


def as_parquet(columns, folder):
    from pyarrow import parquet

    parquet.write_table(as_pyarrow(columns, folder)["votes"], folder / "votes.parquet")
    return {"votes": folder / "votes.parquet"}


def as_csv(columns, folder):
    as_polars(columns, folder)["votes"].write_csv(folder / "votes.csv")
    return {"votes": str(folder / "votes.csv")}


def as_csv_gz(columns, folder):
    as_csv(columns, folder)
    packed = gzip.compress((folder / "votes.csv").read_bytes())
    (folder / "packed.csv.gz").write_bytes(packed)
    return {"votes": folder / "packed.csv.gz"}


def as_jsonl(columns, folder):
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    lines = "".join(json.dumps(row, default=str) + "\n" for row in rows)
    (folder / "votes.jsonl").write_text(lines, encoding="utf-8")
    return {"votes": folder / "votes.jsonl"}


def as_duckdb_file(columns, folder):
    import duckdb

    with duckdb.connect(folder / "votes.duckdb") as connection:
        connection.register("source", as_pyarrow(columns, folder)["votes"])
        connection.execute("CREATE TABLE log AS FROM source")
    return {"votes": Query(folder / "votes.duckdb", "SELECT * FROM log -- all of it")}


def as_sqlite_file(columns, folder):
    names = ", ".join(f'"{name}"' for name in columns)
    marks = ", ".join("?" * len(columns))
    with closing(sqlite3.connect(folder / "votes.sqlite")) as connection, connection:
        connection.execute(f"CREATE TABLE log ({names})")
        connection.executemany(f"INSERT INTO log VALUES ({marks})", zip(*columns.values(), strict=True))
    return {"votes": Query(folder / "votes.sqlite", "SELECT * FROM log;")}


def as_spark(columns, folder, session):
    from pyspark.sql.types import LongType, StructField, StructType, TimestampNTZType

    table, schema = as_pyarrow(columns, folder)["votes"], None
    if str(table.schema.field(1).type) == "timestamp[us]":
        schema = StructType([StructField("user", LongType()), StructField("track", TimestampNTZType())])
    return {"votes": session.createDataFrame(table, schema)}


POSTGRES_TYPES = {
    int: "bigint",
    float: "double precision",
    str: "text",
    bytes: "bytea",
    bool: "boolean",
    Decimal: "numeric",
    date: "date",
    time: "time",
    list: "text[]",
}


def as_postgres(columns, folder, address):
    import psycopg

    table = f"log_{next(NUMBERS)}"
    with psycopg.connect(address) as connection:
        kinds = [
            next((postgres_type(value) for value in values if value is not None), "text") for values in columns.values()
        ]
        fields = ", ".join(f'"{name}" {kind}' for name, kind in zip(columns, kinds, strict=True))
        connection.execute(f"CREATE TABLE {table} ({fields})")
        marks = ", ".join(["%s"] * len(columns))
        rows = list(zip(*columns.values(), strict=True))
        connection.cursor().executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    return {"votes": Query(address, f"SELECT * FROM {table};")}


def postgres_type(value):
    if isinstance(value, datetime):
        return "timestamp" if value.tzinfo is None else "timestamptz"
    if isinstance(value, int) and abs(value) >= 1 << 63 and value != -(1 << 63):
        return "numeric"
    return POSTGRES_TYPES[type(value)]


ENGINES = {
    "pandas": as_pandas,
    "polars": as_polars,
    "polars lazy": as_polars_lazy,
    "pyarrow": as_pyarrow,
    "duckdb": as_duckdb,
    "ibis": as_ibis,
    "parquet": as_parquet,
    "csv": as_csv,
    "csv.gz": as_csv_gz,
    "jsonl": as_jsonl,
    "duckdb file": as_duckdb_file,
    "sqlite file": as_sqlite_file,
    "spark": as_spark,
    "postgres": as_postgres,
}
UNTYPED = {"csv", "csv.gz", "jsonl"}


@pytest.fixture(scope="session")
def spark():
    """A session with settings for many small queries. `test_spark.py` runs with Spark's own."""
    from hostile import QUICK_SPARK

    find_java()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        # Compiling Spark itself as far as for long queries costs more than it saves.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.session.timeZone": "America/New_York",
        **QUICK_SPARK,
    }
    with warnings.catch_warnings():
        # PySpark warns of pandas 3 while it is imported.
        warnings.simplefilter("ignore", FutureWarning)
        from pyspark.sql import SparkSession

        session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(params=ENGINES)
def engine(request):
    """The name of an engine; every test that asks for it runs on all of them."""
    return request.param


@pytest.fixture
def typed(engine):
    """Whether the engine knows the types of its columns."""
    return engine not in UNTYPED


@pytest.fixture
def hold(engine, tmp_path, request):
    """Put columns into the engine; returns the arguments that `tally` finds them by."""
    build = ENGINES[engine]
    if engine == "ibis":
        # Ibis calls DuckDB by a name that DuckDB gives up.
        warnings.filterwarnings("ignore", "fetch_(arrow_table|record_batch)", DeprecationWarning)
    if engine == "spark":
        build = partial(build, session=request.getfixturevalue("spark"))
    if engine == "postgres":
        build = partial(build, address=request.getfixturevalue("postgres"))
    return lambda columns: build(columns, tmp_path)


@pytest.fixture(scope="session")
def all_items():
    """Read every item of a tally, by falling count and rising rank."""

    def read(tally):
        profile = tally[0].above(tally[0].d, EVERY_LEVEL)
        levels = np.repeat(profile.values, profile.sizes)
        ranks = np.concatenate([np.arange(size) for size in profile.sizes])
        return list(zip(levels.tolist(), tally.names(tally.rows([Picks(levels=levels, ranks=ranks)]))[0], strict=True))

    return read
