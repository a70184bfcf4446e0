"""Votes in SQLite, whose columns hold values of any type: rows are read one by one, and nothing is written."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

from shortlist.votes.engine_errors import reading
from shortlist.votes.running import interruptible
from shortlist.votes.sources.header import Choose, Header, Origin
from shortlist.votes.sources.queries import READABLE, Query, bare_query, wrong_sql
from shortlist.votes.workspace import invent_name

_BATCH = 1 << 16


@contextmanager
def answer(query: Query, choose: Choose, *, name: str) -> Iterator[Iterator[tuple[Sequence[Any], ...]]]:
    """Give the chosen columns of an answer, in batches of Python values."""
    given = query.database
    if isinstance(given, sqlite3.Connection):
        yield _batches(given, query, choose, name)
        return
    address = f"{query.path.resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        yield _batches(connection, query, choose, name)


def _batches(connection: sqlite3.Connection, query: Query, choose: Choose, name: str) -> Iterator[tuple[Any, ...]]:
    # On lines of its own, so that a comment at the end of the query ends there.
    table = f"(\n{bare_query(query.sql)}\n)"
    names = _names(connection, table)
    chosen = choose(Header(columns=names, origin=Origin.ANSWER))
    # By position: a name may have lost a part in brackets, and SQLite takes a name that it does not know for a text.
    places, answered = ", ".join(f"c{place}" for place in range(len(names))), invent_name()
    # A plus sign makes an expression of a column: no converter of the connection is applied.
    columns = ", ".join(f"+c{names.index(column)} AS c{place}" for place, column in enumerate(chosen))
    before = connection.text_factory
    with reading(name, hint=READABLE), interruptible(connection.interrupt):
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


def _names(connection: sqlite3.Connection, table: str) -> list[str]:
    """The names of an answer's columns. No row is read: the text of an error in a row quotes values."""
    said = None
    with reading("the query", hint=READABLE), closing(connection.cursor()) as cursor:
        try:
            # To explain a query is to prepare it.
            cursor.execute(f"EXPLAIN SELECT * FROM {table} LIMIT 0")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            said = str(error).splitlines()[0]
        if said is None:
            cursor.execute(f"SELECT * FROM {table} LIMIT 0")
            found = [each[0] for each in cursor.description]
    if said is not None:
        raise wrong_sql(said)
    # SQLite tells columns with one name apart by a number.
    return [base if (base := re.sub(r":\d+$", "", each)) in found else each for each in found]
