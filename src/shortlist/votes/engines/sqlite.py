"""Votes in SQLite, whose columns hold values of any type: rows are read one by one, and nothing is written."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator
from contextlib import closing, suppress

from shortlist.votes.engines.rows import RowsTable
from shortlist.votes.engines.table import Batch
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.queries import READABLE, refuse_sql
from shortlist.votes.sql import invent_name, strip_query
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.running import register_engine

_BATCH = 1 << 16


class SqliteTable(RowsTable):
    """The answer to a query on an SQLite file or connection."""

    origin = Origin.ANSWER

    def read_batches(self, choose: Choose) -> Generator[Batch, None, None]:
        """The chosen columns in batches of Python values."""
        given = self._given.database
        if isinstance(given, sqlite3.Connection):
            yield from self._read(given, choose)
            return
        address = f"{self._given.path.resolve().as_uri()}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            yield from self._read(connection, choose)

    def _read(self, connection: sqlite3.Connection, choose: Choose) -> Generator[Batch, None, None]:
        # On lines of its own, so that a comment at the end of the query ends there.
        table = f"(\n{strip_query(self._given.sql)}\n)"
        names = _read_names(connection, table)
        chosen = choose(Header(columns=names, origin=self.origin))
        # By position: a name may have lost a part in brackets, and SQLite takes an unknown name for a text.
        places, answered = ", ".join(f"c{place}" for place in range(len(names))), invent_name()
        # A plus sign makes an expression of a column: no converter of the connection is applied.
        columns = ", ".join(f"+c{names.index(column)} AS c{place}" for place, column in enumerate(chosen))
        before = connection.text_factory
        with register_engine(connection.interrupt):
            cursor = connection.cursor()
            cursor.row_factory = None
            try:
                connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
                cursor.execute(f"WITH {answered} ({places}) AS {table} SELECT {columns} FROM {answered}")
                while rows := cursor.fetchmany(_BATCH):
                    yield tuple(zip(*rows, strict=True))
            finally:
                # After an interrupt, the connection may be closed before this generator is.
                with suppress(sqlite3.Error):
                    connection.text_factory = before
                    cursor.close()


def _read_names(connection: sqlite3.Connection, table: str) -> list[str]:
    """The names of an answer's columns. No row is read: the text of an error in a row quotes values."""
    said = None
    with translate_errors("the query", hint=READABLE), closing(connection.cursor()) as cursor:
        try:
            # To explain a query is to prepare it.
            cursor.execute(f"EXPLAIN SELECT * FROM {table} LIMIT 0")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            said = str(error)
        if said is None:
            cursor.execute(f"SELECT * FROM {table} LIMIT 0")
            found = [each[0] for each in cursor.description]
    if said is not None:
        raise refuse_sql(said, table)
    # SQLite tells columns with one name apart by a number.
    return [base if (base := re.sub(r":\d+$", "", each)) in found else each for each in found]
