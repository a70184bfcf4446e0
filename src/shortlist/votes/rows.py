"""Votes that are read value by value: columns in memory (pandas, dicts), SQLite, and databases without an engine here.

No value decides how another is read. A column with a declared type becomes an Arrow column. Of any other column, each
value is read by itself.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import Any

import numpy as np

from shortlist.errors import DataError
from shortlist.votes.failures import register_engine, translate_errors
from shortlist.votes.libraries import find_library, pa, unwrap
from shortlist.votes.queries import READABLE, invent_name, refuse_sql, strip_query
from shortlist.votes.source import Choose, Description, Header, Origin, Source, Table
from shortlist.votes.values import is_missing, read_type

_BATCH = 1 << 16


# Columns in memory


class ColumnsSource(Source):
    """A data frame of pandas, or a dict of columns. Types may come from values, so none is refused."""

    def describe(self, choose: Choose) -> Description:
        """Take the columns by name."""
        names = list(self._given if isinstance(self._given, Mapping) else self._given.columns)
        chosen = choose(Header(columns=names))
        return Description(handle={role: self._given[column] for role, column in chosen.items()})

    def open(self, described: Description) -> Table:
        """Open the columns, which have one length."""
        columns = {role: open_column(column, items=role != "other") for role, column in described.handle.items()}
        if len(set(map(len, columns.values()))) > 1:
            raise DataError("the columns of items and of persons or counts must have one length", "they differ")
        kinds = {role: getattr(column, "type", None) for role, column in columns.items()}
        return Table(kinds=kinds, batches=_cut(list(columns.values())))


def _cut(columns: list[Any]) -> Generator[tuple[Any, ...], None, None]:
    for start in range(0, len(columns[0]), _BATCH):
        parts = [column[start : start + _BATCH] for column in columns]
        yield tuple(part.combine_chunks() if hasattr(part, "combine_chunks") else part for part in parts)


def open_column(given: Any, *, items: bool) -> Any:
    """Open a series of pandas or Polars, an Arrow or NumPy array, or any other sequence: as an Arrow array or values.

    A type counts only if no value can have decided it, or if values of that type are written alike without it. So
    persons that are times have no type: they are written value by value.
    """
    given = unwrap(given)
    library, kind = find_library(given), getattr(getattr(given, "dtype", None), "kind", None)
    fixed = kind in ("b", "i", "u", "f") or (items and kind == "M" and given.dtype != "M8[D]")
    if library == "pandas":
        return _open_pandas(given, fixed)
    if isinstance(given, pa.Array | pa.ChunkedArray):
        return _open_arrow(given)
    if library == "polars":
        return _open_text(given.to_list()) if str(given.dtype) == "Object" else _open_arrow(given.to_arrow())
    exported = hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")
    return _convert(given) if exported or (isinstance(given, np.ndarray) and fixed) else _open_text(list(given))


def _open_pandas(given: Any, fixed: bool) -> Any:
    """Open a series, an index or an array. Text has no type here: only some texts of Python fit in Arrow."""
    held, categories = getattr(given, "array", given), getattr(given.dtype, "categories", None)
    if categories is not None and hasattr(held, "codes"):
        if getattr(categories.dtype, "kind", None) in ("b", "i", "u", "f"):
            return _convert(given)
        values, codes = _open_text([*categories, None]), np.asarray(held.codes)
        places = np.where(codes < 0, len(categories), codes.astype(np.int64))
        return [values[place] for place in places] if isinstance(values, list) else values.take(pa.array(places))
    if fixed or hasattr(given.dtype, "pyarrow_dtype") or type(given.dtype).__name__ == "StringDtype":
        return _convert(given)
    return _open_text(np.asarray(given, dtype=object))


def _convert(given: Any) -> Any:
    """Take a column to Arrow if Arrow has its type."""
    try:
        opened = _open_arrow(pa.array(given, from_pandas=True))
    except (pa.ArrowException, ValueError, TypeError, OverflowError, NotImplementedError):
        return list(given)
    return list(given) if isinstance(opened, list) else opened


def _open_arrow(made: Any) -> Any:
    """Take an Arrow array, in chunks, if its values can be persons; else its values."""
    kind = made.type.value_type if pa.types.is_dictionary(made.type) else made.type
    if not read_type(kind).holds_persons or isinstance(kind, pa.BaseExtensionType):
        return made.to_pylist()
    # One text in a column of pandas makes Python floats of all others, which have 64 bits.
    kind = pa.float64() if pa.types.is_floating(kind) else kind
    kind = read_type(kind).exact if pa.types.is_decimal(kind) else kind
    # Dictionaries are read value by value: short codes cannot number the values of several chunks together.
    made = made if made.type == kind else made.cast(kind)
    return made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made])


def _open_text(values: Any) -> Any:
    """Give the type of text to values that are all text or missing; they mean what they mean value by value."""
    text = set(map(type, values)) <= {str} or all(isinstance(value, str) or is_missing(value) for value in values)
    with suppress(pa.ArrowException, ValueError, TypeError):  # text that is no Unicode
        return _open_arrow(pa.array(values, pa.large_string(), from_pandas=True)) if text else list(values)
    return list(values)


# Rows of databases


class SqliteSource(Source):
    """The answer to a query on an SQLite file or connection, whose columns hold values of any type.

    Rows are read one by one, and nothing is written.
    """

    hint = READABLE
    origin = Origin.ANSWER

    def describe(self, choose: Choose) -> Description:
        """Prepare the query, which names the columns."""
        with self._connect() as connection:
            # On lines of its own, so that a comment at the end of the query ends there.
            table = f"(\n{strip_query(self._given.sql)}\n)"
            names = _read_names(connection, table)
        chosen = choose(Header(columns=names, origin=self.origin))
        # By position: a name may have lost a part in brackets, and SQLite takes an unknown name for a text.
        places, answered = ", ".join(f"c{place}" for place in range(len(names))), invent_name()
        # A plus sign makes an expression of a column: no converter of the connection is applied.
        columns = ", ".join(f"+c{names.index(column)} AS {role}" for role, column in chosen.items())
        sql = f"WITH {answered} ({places}) AS {table} SELECT {columns} FROM {answered}"
        return Description(handle=(sql, chosen))

    def open(self, described: Description) -> Table:
        """Read the columns as Python values."""
        sql, chosen = described.handle
        return Table(kinds=dict.fromkeys(chosen), batches=self._read_batches(sql))

    def _read_batches(self, sql: str) -> Generator[tuple[Any, ...], None, None]:
        with self._connect() as connection, register_engine(connection.interrupt):
            before, cursor = connection.text_factory, connection.cursor()
            cursor.row_factory = None
            try:
                connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
                cursor.execute(sql)
                while rows := cursor.fetchmany(_BATCH):
                    yield tuple(zip(*rows, strict=True))
            finally:
                # After an interrupt, the connection may be closed before this generator is.
                with suppress(sqlite3.Error):
                    connection.text_factory = before
                    cursor.close()

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        given = self._given.database
        if isinstance(given, sqlite3.Connection):
            yield given
            return
        address = f"{self._given.path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            yield connection


def _read_names(connection: sqlite3.Connection, table: str) -> list[str]:
    """The names of an answer's columns. No row is read: the text of an error in a row quotes values."""
    with translate_errors("the query", hint=READABLE), closing(connection.cursor()) as cursor:
        try:
            # To explain a query is to prepare it.
            cursor.execute(f"EXPLAIN SELECT * FROM {table} LIMIT 0")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            raise refuse_sql(str(error), table) from None
        cursor.execute(f"SELECT * FROM {table} LIMIT 0")
        found = [each[0] for each in cursor.description]
    # SQLite tells columns with one name apart by a number.
    return [base if (base := re.sub(r":\d+$", "", each)) in found else each for each in found]


class SqlalchemySource(Source):
    """The answer to a query of any other database that SQLAlchemy knows. Rows are read one by one."""

    hint = READABLE

    def describe(self, choose: Choose) -> Description:
        """Ask for the names with an answer of no rows."""
        sql, engine = strip_query(self._given.sql), self._given.database
        # SQL Server takes no query here that begins with WITH or is ordered: there, names are seen with the answer.
        tolerated = [Exception] if engine.dialect.name == "mssql" else []
        names: list[str] | None = None
        with engine.connect() as connection, suppress(*tolerated):
            names = list(connection.exec_driver_sql(f"SELECT * FROM (\n{sql}\n) {invent_name()} WHERE 1 = 0").keys())
        chosen = choose(Header(columns=names, origin=Origin.ANSWER)) if names is not None else None
        return Description(handle=(sql, choose, chosen))

    def open(self, described: Description) -> Table:
        """Read the columns as Python values."""
        # What comes first are the roles.
        batches = self._read_batches(*described.handle)
        return Table(kinds=dict.fromkeys(next(batches)), batches=batches)

    def _read_batches(
        self, sql: str, choose: Choose, chosen: dict[str, str] | None
    ) -> Generator[tuple[Any, ...], None, None]:
        with self._given.database.connect() as connection:
            result = connection.execution_options(stream_results=True).exec_driver_sql(sql)
            names = list(result.keys())
            chosen = chosen or choose(Header(columns=names, origin=Origin.ANSWER))
            yield tuple(chosen)
            places = list(map(names.index, chosen.values()))
            for rows in result.partitions(_BATCH // 4):
                yield tuple([row[place] for row in rows] for place in places)
