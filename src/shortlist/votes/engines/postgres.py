"""Votes in PostgreSQL: matched and counted on the server, in one transaction.

The transaction sees one state of the data (REPEATABLE READ). It makes temporary objects with names that nobody can
guess, turns read-only before the query runs, and is rolled back in the end. Only levels and chosen row numbers come
back.
"""

from __future__ import annotations

import io
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.votes.counting import VOTES, Columns, CountedDomain
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional, reading
from shortlist.votes.engines.duckdb import check_comparable
from shortlist.votes.engines.postgres_types import Column, describe, write_keys
from shortlist.votes.engines.rows import count_rows
from shortlist.votes.remote import RemoteTally
from shortlist.votes.running import interruptible
from shortlist.votes.sources.header import Choose, Header, Origin
from shortlist.votes.sources.queries import READABLE, Query, bare_query, wrong_sql
from shortlist.votes.workspace import Workspace, invent_name

_BATCH = 1 << 14
_WRONG_SQL = "42"
"""The class of errors in the text of a query: https://www.postgresql.org/docs/current/errcodes-appendix.html"""


def tally_postgres(workspace: Workspace, votes: Query, domain: Domain, columns: Columns) -> CountedDomain | RemoteTally:
    """Count the votes of a query."""
    session = _Session(votes)
    try:
        return _tally(workspace, session, votes, domain, columns)
    except BaseException:
        # The traceback of an error keeps the session, and an open transaction disturbs the server.
        session.close()
        raise


def _tally(
    workspace: Workspace, session: _Session, votes: Query, domain: Domain, columns: Columns
) -> CountedDomain | RemoteTally:
    item, other = session.open_view(votes.sql, lambda header: header.take(columns.names, where=VOTES))
    if columns.counted:
        columns.start()
        session.execute("SET TRANSACTION READ ONLY")
        return CountedDomain(domain, count_rows(workspace, session.rows(item, other), domain, columns))
    check_comparable(item.family, domain, columns)
    columns.start()
    keys, counts = f"pg_temp.{invent_name()}", f"pg_temp.{invent_name()}"
    with reading(VOTES, hint=READABLE), session.stoppable():
        session.execute(f'CREATE TABLE {keys} (key {item.key_type}, "row" bigint)')
        session.copy(f'COPY {keys} (key, "row") FROM STDIN (FORMAT csv)', write_keys(domain, item))
        session.execute(f"ANALYZE {keys}")
        session.execute(f'CREATE TABLE {counts} ("row" bigint, votes bigint)')
        session.execute("SET TRANSACTION READ ONLY")
        session.execute(_counting(session.view, item, other, keys, counts, domain.d, columns.cap))
        levels = session.fetch(f"SELECT votes, count(*) FROM {counts} GROUP BY votes")

    def find(values: IntArray, ranks: IntArray) -> list[tuple[int, int, int]]:
        ranked = f'SELECT votes, "row", row_number() OVER (PARTITION BY votes ORDER BY "row") - 1 AS rank FROM {counts}'
        with reading("the chosen items", hint=READABLE), session.stoppable():
            return session.fetch(
                f'SELECT votes, rank, "row" FROM ({ranked} WHERE votes = ANY(%s)) AS ranked '
                "JOIN unnest(%s::bigint[], %s::bigint[]) AS picked (votes, rank) USING (votes, rank)",
                (np.unique(values).tolist(), values.tolist(), ranks.tolist()),
            )

    return RemoteTally(domain, levels, find)


def read_items(domain: Query, choose: Choose, *, name: str) -> Iterator[Any]:
    """The items that a query answers with, as Python values."""
    session = _Session(domain)
    (item,) = session.open_view(domain.sql, choose)
    with reading(name, hint=READABLE), session.stoppable():
        session.execute("SET TRANSACTION READ ONLY")
        yield from (row[0] for row in session.fetch(f"SELECT DISTINCT {item.expression} FROM {session.view}"))


def read_rows(votes: Query, choose: Choose) -> Iterator[tuple[Any, ...]]:
    """Hand over the chosen columns of a query's answer, all rows of it, in batches of Python values."""
    session = _Session(votes)
    chosen = session.open_view(votes.sql, choose)
    session.execute("SET TRANSACTION READ ONLY")
    yield from session.rows(*chosen)


def _counting(view: str, item: Column, other: Column, keys: str, counts: str, d: int, cap: int | None) -> str:
    """The statement that fills the table of counts."""
    nothing = f" AND v.{other.name} <> 'NaN'" if other.is_float else ""
    matched = (
        f"FROM {view} AS v JOIN {keys} AS k ON {item.write('v')} = k.key WHERE v.{other.name} IS NOT NULL{nothing}"
    )
    counted = f'SELECT k."row", count(DISTINCT v.{other.name}) AS votes {matched} GROUP BY k."row"'
    if cap is not None:
        pairs = f'SELECT DISTINCT k."row", v.{other.name} AS person {matched}'
        hashed = "hashtextextended(person::text || ' ' || \"row\", 0)"
        turn = f'row_number() OVER (PARTITION BY person ORDER BY {hashed}, "row")'
        turns = f'SELECT "row", {turn} AS turn FROM ({pairs}) AS pairs'
        counted = f'SELECT "row", count(*) AS votes FROM ({turns}) AS turns WHERE turn <= {cap} GROUP BY "row"'
    return (
        f'INSERT INTO {counts} SELECT "row", coalesce(votes, 0) FROM generate_series(0::bigint, {d - 1}) AS n ("row") '
        f'LEFT JOIN ({counted}) AS counted USING ("row")'
    )


class _Session:
    """One transaction on a connection of our own; it ends when the session is no longer used."""

    def __init__(self, query: Query) -> None:
        psycopg = optional("psycopg", extra="postgres", purpose="reading PostgreSQL tables")
        connection = None
        with suppress(psycopg.Error, OSError):
            connection = connect(query)
        if connection is None:
            raise DataError(
                "{database} must be a PostgreSQL server that can be reached",
                "it could not be opened",
                hint="is the address right, does the server run, and may this user connect?",
            )
        self._connection = connection
        self.close = weakref.finalize(self, _close, connection)
        self.view = f"pg_temp.{invent_name()}"

    def open_view(self, sql: str, choose: Choose) -> list[Column]:
        """Make a temporary view of a query alone, and describe the chosen columns."""
        psycopg = optional("psycopg")
        said = None
        with reading("the query", hint=READABLE):
            self._connection.rollback()
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            for setting in ("timezone = 'UTC'", "datestyle = 'ISO'", "client_encoding = 'UTF8'"):
                self.execute(f"SET LOCAL {setting}")
            try:
                self.execute(f"CREATE VIEW {self.view} AS\n{bare_query(sql)}\n", single=True)
            except psycopg.Error as error:
                if not (error.sqlstate or "").startswith(_WRONG_SQL):
                    raise
                said = str(error).splitlines()[0]
        if said is not None:
            raise wrong_sql(said)
        with reading("the query", hint=READABLE):
            # The view is bound already; functions and operators that others made have no part in our statements.
            self.execute("SET LOCAL search_path = pg_catalog, pg_temp")
            found = describe(self._connection, self.view)
        chosen = choose(Header(columns=list(found), origin=Origin.ANSWER))
        return [found[name] for name in chosen]

    def execute(self, statement: str, *, single: bool = False) -> None:
        """Run a statement; a single one cannot be followed by another."""
        # Only the simple protocol takes several statements, and prepared ones never use it.
        self._connection.execute(statement.encode(), prepare=True if single else None)

    def fetch(self, statement: str, parameters: tuple[Any, ...] | None = None) -> list[Any]:
        """Run a statement and take its answer."""
        found: list[Any] = self._connection.execute(statement.encode(), parameters).fetchall()
        return found

    def copy(self, statement: str, data: bytes) -> None:
        """Send data to a table."""
        with self._connection.cursor().copy(statement.encode()) as copying:
            stream = io.BytesIO(data)
            while block := stream.read(1 << 20):
                copying.write(block)

    def rows(self, *columns: Column) -> Iterator[tuple[Any, ...]]:
        """Give columns of the view in batches."""
        with reading(VOTES, hint=READABLE), self.stoppable(), self._connection.cursor(invent_name()) as cursor:
            cursor.execute(f"SELECT {', '.join(column.expression for column in columns)} FROM {self.view}".encode())
            while rows := cursor.fetchmany(_BATCH):
                yield tuple(zip(*rows, strict=True))

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let Ctrl-C stop the server."""
        with interruptible(self._connection.cancel):
            yield


def connect(query: Query) -> Any:
    """Open a connection: by an address, or as an engine of SQLAlchemy would."""
    psycopg = optional("psycopg", extra="postgres", purpose="reading PostgreSQL tables")
    address = query.address
    if address is None:
        engine = query.database
        if engine.dialect.driver == "psycopg":
            pooled = engine.raw_connection()
            connection = pooled.driver_connection
            pooled.detach()
            return connection
        address = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect("postgresql" + address[address.index("://") :])


def _close(connection: Any) -> None:
    with suppress(Exception):  # a server that stopped meanwhile
        connection.rollback()
        connection.close()
