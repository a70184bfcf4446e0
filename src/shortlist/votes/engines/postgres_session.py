"""One transaction on a PostgreSQL server."""

from __future__ import annotations

import io
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from shortlist.errors import DataError
from shortlist.votes.engines.postgres_types import Column, describe_columns
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.libraries import import_optional
from shortlist.votes.queries import READABLE, Query, refuse_sql
from shortlist.votes.sql import invent_name, strip_query
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.running import register_engine

_BATCH = 1 << 14
_WRONG_SQL = ("42", "0A")
"""The classes of errors in the text of a query: https://www.postgresql.org/docs/current/errcodes-appendix.html"""


class Session:
    """One transaction on a connection of our own; it ends when the session is no longer used."""

    def __init__(self, query: Query) -> None:
        psycopg = import_optional("psycopg", extra="postgres", purpose="reading PostgreSQL tables")
        connection = None
        with suppress(psycopg.Error, OSError):
            connection = _connect(query)
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
        psycopg = import_optional("psycopg")
        said = None
        with translate_errors("the query", hint=READABLE):
            self._connection.rollback()
            # Temporary objects are written even where a role reads only.
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE")
            for setting in ("timezone = 'UTC'", "datestyle = 'ISO'", "client_encoding = 'UTF8'"):
                self.execute(f"SET LOCAL {setting}")
            try:
                self.execute(f"CREATE VIEW {self.view} AS\n{strip_query(sql)}\n", single=True)
            except psycopg.Error as error:
                if not (error.sqlstate or "").startswith(_WRONG_SQL):
                    raise
                said = str(error)
        if said is not None:
            raise refuse_sql(said, sql)
        with translate_errors("the query", hint=READABLE):
            # The view is bound already; functions and operators that others made have no part in our statements.
            self.execute("SET LOCAL search_path = pg_catalog, pg_temp")
            found = describe_columns(self._connection, self.view)
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

    def fetch_batches(self, *columns: Column) -> Iterator[tuple[Any, ...]]:
        """Fetch columns of the view in batches."""
        values = ", ".join(column.value for column in columns)
        with self._connection.cursor(invent_name()) as cursor:
            cursor.execute(f"SELECT {values} FROM {self.view} AS v".encode())
            while rows := cursor.fetchmany(_BATCH):
                yield tuple(zip(*rows, strict=True))

    @contextmanager
    def allow_interrupts(self) -> Iterator[None]:
        """Let Ctrl-C stop the server."""
        with register_engine(self._connection.cancel):
            yield


def _connect(query: Query) -> Any:
    """Open a connection: by an address, or as an engine of SQLAlchemy would."""
    psycopg = import_optional("psycopg", extra="postgres", purpose="reading PostgreSQL tables")
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
