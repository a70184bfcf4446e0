"""A query on a DuckDB or SQLite file, which is opened for reading only."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shortlist.errors import DataError, ParameterError
from shortlist.votes.border import optional, reading
from shortlist.votes.source import Choose, Source
from shortlist.votes.values import arrow_column
from shortlist.votes.workspace import Workspace, identifier, literal

if TYPE_CHECKING:
    import duckdb

_BATCH = 1 << 16


def open_query(workspace: Workspace, database: Any, sql: str, *, choose: Choose, name: str) -> Source:
    """Open the result of a query as a table.

    DuckDB answers when the votes are counted; what SQLite answers is moved in batches to the workspace, which spills.
    """
    path = Path(database)
    if not path.is_file():
        raise DataError(f"database must be a file that exists; nothing was found at {str(path)!r}.")
    with path.open("rb") as file:
        start = file.read(16)
    nw = optional("narwhals.stable.v2")
    if start[8:12] == b"DUCK":
        return Source(frame=nw.from_native(_duckdb(workspace, path, sql, choose, name)), name=name, local=True)
    if start == b"SQLite format 3\0":
        return Source(frame=nw.from_native(_sqlite(workspace, path, sql, choose, name)), name=name, local=True)
    raise DataError(f"database must be a DuckDB or SQLite file; {str(path)!r} is neither.")


def _duckdb(workspace: Workspace, path: Path, sql: str, choose: Choose, name: str) -> duckdb.DuckDBPyRelation:
    engine, connection = optional("duckdb"), workspace.connection
    with reading(f"database {str(path)!r}", hint="is it open elsewhere, for writing?"):
        connection.execute(f"ATTACH IF NOT EXISTS {literal(str(path))} AS votes_database (READ_ONLY)")
        connection.execute("USE votes_database")
    query = _as_table(sql)
    try:
        columns = connection.sql(f"SELECT * FROM {query} LIMIT 0").columns
    except (engine.ParserException, engine.CatalogException, engine.BinderException) as error:
        raise _wrong_sql(error) from None
    with reading(name):
        return connection.sql(f"SELECT {_names(choose(columns))} FROM {query}")


def _sqlite(workspace: Workspace, path: Path, sql: str, choose: Choose, name: str) -> duckdb.DuckDBPyRelation:
    query = _as_table(sql)
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            columns = [each[0] for each in connection.execute(f"SELECT * FROM {query} LIMIT 0").description]
        except sqlite3.Error as error:
            raise _wrong_sql(error) from None
        chosen = choose(columns)
        present = " AND ".join(f"{identifier(column)} IS NOT NULL" for column in chosen)
        with reading(name):
            rows = connection.execute(f"SELECT {_names(chosen)} FROM {query} WHERE {present}")
            return _moved(workspace, rows, chosen, name)


def _moved(workspace: Workspace, rows: sqlite3.Cursor, columns: Sequence[str], name: str) -> duckdb.DuckDBPyRelation:
    """Copy rows into a table of the workspace, batch by batch."""
    pa = optional("pyarrow")
    connection, table, schema = workspace.connection, f"from sqlite: {name}", None
    while batch := rows.fetchmany(_BATCH):
        arrays = [arrow_column(values, what=f"a column of {name}") for values in zip(*batch, strict=True)]
        rows_read = pa.table(arrays, names=columns)
        connection.register("rows_read", rows_read)
        if schema is None:
            schema = rows_read.schema
            connection.execute(f"CREATE TEMP TABLE {identifier(table)} AS FROM rows_read")
        elif rows_read.schema != schema:
            raise DataError(f"each column of {name} must have one type.", hint="cast it in the query")
        else:
            connection.execute(f"INSERT INTO {identifier(table)} FROM rows_read")
    if schema is None:
        types = ", ".join(f"{identifier(column)} VARCHAR" for column in columns)
        connection.execute(f"CREATE TEMP TABLE {identifier(table)} ({types})")
    return connection.sql(f"FROM {identifier(table)}")


def _as_table(sql: str) -> str:
    # On lines of its own, so that a comment at the end of the query ends there.
    return f"(\n{sql.strip().rstrip(';')}\n) AS answer"


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(identifier, columns))


def _wrong_sql(error: Exception) -> ParameterError:
    """A query is refused before any data is seen, so what the engine says of it may be shown."""
    return ParameterError(f"sql must be one SELECT that the database can answer; it says: {str(error).splitlines()[0]}")
