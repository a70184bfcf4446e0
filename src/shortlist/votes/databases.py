"""A query on a DuckDB or SQLite file, which is opened for reading only."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from shortlist.errors import DataError, ParameterError
from shortlist.votes.border import optional, reading
from shortlist.votes.headers import Choose, Header, Origin
from shortlist.votes.source import Source
from shortlist.votes.values import arrow_column
from shortlist.votes.workspace import Workspace, identifier, literal

_BATCH = 1 << 16
_READABLE = "is the database complete, and every file that the query reads?"
_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|(?P<nothing>--[^\n]*|/\*.*?\*/|\s+)|.""", re.DOTALL)


def open_query(workspace: Workspace, database: Any, sql: str, *, choose: Choose, name: str) -> Source:
    """Open the result of a query as a table.

    DuckDB answers when the votes are counted; what SQLite answers is moved in batches to the workspace, which spills.
    """
    path = Path(database)
    if not path.is_file():
        raise DataError(f"database must be a file that exists; nothing was found at {str(path)!r}.")
    with path.open("rb") as file:
        start = file.read(18)
    if start[8:12] == b"DUCK":
        return _duckdb(workspace, path, sql, choose, name)
    if start[:16] == b"SQLite format 3\0":
        _check_pages(path, start)
        return _sqlite(workspace, path, sql, choose, name)
    raise DataError(f"database must be a DuckDB or SQLite file; {str(path)!r} is neither.")


def _duckdb(workspace: Workspace, path: Path, sql: str, choose: Choose, name: str) -> Source:
    engine, connection = optional("duckdb"), workspace.connection
    with reading(f"database {str(path)!r}", hint="is it open elsewhere, for writing?"):
        connection.execute(f"ATTACH IF NOT EXISTS {literal(str(path))} AS votes_database (READ_ONLY)")
        connection.execute("USE votes_database")
    query = _query(sql)
    with reading("sql", hint=_READABLE):
        try:
            connection.sql(f"SELECT * FROM {_as_table(query)} LIMIT 0")
            columns = [str(row[0]) for row in connection.execute(f"DESCRIBE (\n{query}\n)").fetchall()]
        except (engine.ParserException, engine.CatalogException, engine.BinderException) as error:
            raise _wrong_sql(error) from None
    chosen = choose(Header(columns=columns, origin=Origin.ANSWER))
    with reading(name):
        relation = connection.sql(f"SELECT {_names(chosen)} FROM {_as_table(query)}")
        return Source(frame=optional("narwhals.stable.v2").from_native(relation), name=name, local=True)


def _check_pages(path: Path, start: bytes) -> None:
    """Refuse a file that ends inside a page: SQLite would read what is missing as zeros."""
    # https://www.sqlite.org/fileformat.html#page_size
    size = int.from_bytes(start[16:18], "big")
    if path.stat().st_size % (1 << 16 if size == 1 else max(size, 1)):
        raise DataError(f"database must be complete; {str(path)!r} could not be read to its end.", hint=_READABLE)


def _sqlite(workspace: Workspace, path: Path, sql: str, choose: Choose, name: str) -> Source:
    query = _query(sql)
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        with reading("sql", hint=_READABLE):
            try:
                # As a table, the answer would have other names for columns that are there twice.
                connection.execute(f"SELECT * FROM {_as_table(query)} LIMIT 0")
                columns = [each[0] for each in connection.execute(query).description]
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_ERROR:
                    raise _wrong_sql(error) from None
                raise
        chosen = choose(Header(columns=columns, origin=Origin.ANSWER))
        present = " AND ".join(f"{identifier(column)} IS NOT NULL" for column in chosen)
        with reading(name, hint=_READABLE):
            rows = connection.execute(f"SELECT {_names(chosen)} FROM {_as_table(query)} WHERE {present}")
            return _moved(workspace, rows, chosen, name)


def _moved(workspace: Workspace, rows: sqlite3.Cursor, columns: Sequence[str], name: str) -> Source:
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
    nw = optional("narwhals.stable.v2")
    if schema is None:
        # Without rows there are no types, which only a frame in memory can say.
        nothing = pa.table([pa.array([], pa.string())] * len(columns), names=columns)
        return Source(frame=nw.from_native(nothing), name=name)
    return Source(frame=nw.from_native(connection.sql(f"FROM {identifier(table)}")), name=name, local=True)


def _query(sql: str) -> str:
    """The query without a semicolon at its end, after which only comments may stand.

    >>> _query("SELECT ';'; -- all of it")
    "SELECT ';'"
    """
    end = None
    for token in _TOKEN.finditer(sql):
        if token[0] == ";" and end is None:
            end = token.start()
        elif token.lastgroup != "nothing" and token[0] != ";":
            end = None
    return sql[:end].strip()


def _as_table(query: str) -> str:
    # On lines of its own, so that a comment at the end of the query ends there.
    return f"(\n{query}\n) AS answer"


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(identifier, columns))


def _wrong_sql(error: Exception) -> ParameterError:
    """A query is refused before any data is seen, so what the engine says of it may be shown."""
    return ParameterError(f"sql must be one SELECT that the database can answer; it says: {str(error).splitlines()[0]}")
