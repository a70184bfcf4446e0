"""Votes in PostgreSQL: matched and counted on the server, in one transaction.

The transaction sees one state of the data (REPEATABLE READ). It makes temporary objects with names that nobody can
guess, turns read-only before the query runs, and is rolled back in the end. Only levels and chosen row numbers come
back.
"""

from __future__ import annotations

import io
import os
import weakref
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from shortlist.errors import ChangedError, DataError
from shortlist.profile import EVERY_LEVEL
from shortlist.votes.dialects import POSTGRES, Column
from shortlist.votes.domain import Domain
from shortlist.votes.failures import end_in, register_engine, translate_errors
from shortlist.votes.libraries import compute, import_optional, pa, psycopg
from shortlist.votes.matching import find_keys, make_key_table
from shortlist.votes.queries import READABLE, Query, invent_name, quote_name, refuse_sql, strip_query
from shortlist.votes.source import (
    CellTally,
    Choose,
    Description,
    Header,
    Origin,
    Request,
    Source,
    Table,
    Tally,
)
from shortlist.votes.values import DIGITS, NUMBERS, Family, read_type, write_item

_BATCH = 1 << 14
_WRONG_SQL = ("42", "0A")
"""The classes of errors in the text of a query: https://www.postgresql.org/docs/current/errcodes-appendix.html"""


class PostgresSource(Source):
    """The answer to a query, on the server that an address or an engine of SQLAlchemy names."""

    hint = READABLE

    def describe(self, choose: Choose) -> Description:
        """Make a view of the query, describe its columns, and forget it."""
        with closing(Session(self._given)) as session:
            chosen = session.open_view(self._given.sql, choose)
        return Description(
            columns=chosen, holds_persons="other" not in chosen or chosen["other"].holds_persons, handle=choose
        )

    def open(self, described: Description) -> Table:
        """Read the columns as Python values."""
        return Table(kinds=dict.fromkeys(described.columns), batches=self._read_batches(described))

    def _read_batches(self, described: Description) -> Generator[tuple[Any, ...], None, None]:
        with self._open(described) as (session, chosen), closing(session):
            session.execute("SET TRANSACTION READ ONLY")
            yield from session.fetch_batches(chosen)

    def count(self, described: Description, request: Request) -> Tally:
        """Count on the server."""
        with self._open(described) as (session, columns):
            counts, item, other = f"pg_temp.{invent_name()}", columns["item"], columns["other"]
            if item.kind == "numeric":
                # Equal decimals with other numbers of digits are one item.
                columns["item"] = replace(item, value=f"trim_scale({item.value})")
            written = request.domain is None and item.kind == "bytea"
            texts = {"item": POSTGRES.write_text("substr(item, 2)", item.kind)} if written else {}
            if written:
                columns["item"] = replace(item, value=POSTGRES.item_bytes.format(item.value))
            votes = POSTGRES.write_votes(
                f"{session.view} AS v",
                request,
                columns,
                taken={"other": other.count if request.counted else other.person},
                where=[other.is_present, *([item.is_held] if request.domain is None else [])],
                send=lambda table: session.send(
                    ", ".join(f"{name} bigint" for name in table.column_names), _write_csv(table)
                ),
                send_keys=lambda public, column: session.send(
                    f"key {column.key_type}, row bigint", _write_keys(public, column)
                ),
            )
            number = item.kind if request.domain is None else "int8"
            kinds = {"item": number, "other": other.kind, "group_number": "int8"}
            counting = POSTGRES.write_counting(f"({votes}) AS votes", request, kinds, texts)
            # Nothing is planned or read before the transaction reads only.
            session.execute(f"CREATE TABLE {counts} AS {counting} WITH NO DATA")
            session.execute("SET TRANSACTION READ ONLY")
            session.execute(f"INSERT INTO {counts} {counting}")

            def ask(sql: str) -> list[Any]:
                with register_engine(session.connection.cancel):
                    return list(zip(*session.fetch(sql.format(table=counts)), strict=True))

            return CellTally(POSTGRES, ask, request, write=bytes if written else write_item, hint=READABLE)

    @contextmanager
    def _open(self, described: Description) -> Iterator[tuple[Session, dict[str, ServerColumn]]]:
        """Open a session for a tally, which keeps it, with the columns that were described.

        After an error it is closed at once. Otherwise the traceback would keep its transaction open on the server.
        """
        session = Session(self._given)
        try:
            with register_engine(session.connection.cancel):
                chosen = session.open_view(self._given.sql, described.handle)
                if chosen != described.columns:
                    raise ChangedError("the columns of the query must not change while it is read")
                yield session, chosen
        except BaseException:
            session.close()
            raise


# The session


class Session:
    """One transaction on a connection of our own; it ends when the session is no longer used."""

    def __init__(self, query: Query) -> None:
        connection = None
        with suppress(psycopg.Error, OSError):
            connection = _connect(query)
        if connection is None:
            raise DataError(
                "`database` must be a PostgreSQL server that can be reached",
                "it could not be opened",
                hint="is the address right, does the server run, and may this user connect?",
            )
        self.connection = connection
        self.close = weakref.finalize(self, end_in, os.getpid(), _close, connection)
        self.view = f"pg_temp.{invent_name()}"

    def open_view(self, sql: str, choose: Choose) -> dict[str, ServerColumn]:
        """Make a temporary view of a query alone, and describe the chosen columns."""
        with translate_errors("the query", hint=READABLE):
            self.connection.rollback()
            # Temporary objects are written even where a role reads only.
            self.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE")
            # To compile our long statements takes the server longer than it saves: a fifth of the time for 10⁶ votes.
            for setting in ("timezone = 'UTC'", "datestyle = 'ISO'", "client_encoding = 'UTF8'", "jit = off"):
                self.execute(f"SET LOCAL {setting}")
            try:
                self.execute(f"CREATE VIEW {self.view} AS\n{strip_query(sql)}\n", single=True)
            except psycopg.Error as error:
                if not (error.sqlstate or "").startswith(_WRONG_SQL):
                    raise
                raise refuse_sql(str(error), sql) from None
            # The view is bound already; functions and operators that others made have no part in our statements.
            self.execute("SET LOCAL search_path = pg_catalog, pg_temp")
            found = _describe_columns(self.connection, self.view)
        chosen = choose(Header(columns=list(found), origin=Origin.ANSWER))
        return {role: found[name] for role, name in chosen.items()}

    def execute(self, statement: str, *, single: bool = False) -> None:
        """Run a statement; a single one cannot be followed by another."""
        # Only the simple protocol takes several statements, and prepared ones never use it.
        self.connection.execute(statement.encode(), prepare=True if single else None)

    def fetch(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement and take its answer."""
        found: list[tuple[Any, ...]] = self.connection.execute(statement.encode()).fetchall()
        return found

    def send(self, columns: str, data: bytes) -> str:
        """Send data, as CSV, to a new table, and return its name."""
        table = f"pg_temp.{invent_name()}"
        self.execute(f"CREATE TABLE {table} ({columns})")
        with self.connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)".encode()) as copying:
            copying.write(data)
        self.execute(f"ANALYZE {table}")
        return table

    def fetch_batches(self, columns: Mapping[str, ServerColumn]) -> Iterator[tuple[Any, ...]]:
        """Fetch columns of the view in batches; of items alone, the different values."""
        distinct = "DISTINCT " if list(columns) == ["item"] else ""
        values = distinct + ", ".join(column.value for column in columns.values())
        with self.connection.cursor(invent_name()) as cursor:
            cursor.execute(f"SELECT {values} FROM {self.view} AS v".encode())
            while rows := cursor.fetchmany(_BATCH):
                yield tuple(zip(*rows, strict=True))


def _connect(query: Query) -> Any:
    """Open a connection: by an address, or as an engine of SQLAlchemy would."""
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


# Types

_ONE_TEXT = ("bit", "varbit", "char", "cidr", "inet", "macaddr", "macaddr8", "money", "oid", "pg_lsn", "timetz")
"""Other types that have one text for each value."""


@cache
def _list_types() -> dict[str, Any]:
    """The Arrow types of the types that hold items. `text` stands for all that is written as text."""
    return {
        "text": pa.large_string(),
        "int2": pa.int16(),
        "int4": pa.int32(),
        "int8": pa.int64(),
        "numeric": pa.decimal128(DIGITS),
        "float4": pa.float32(),
        "float8": pa.float64(),
        "bool": pa.bool_(),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "timestamp": pa.timestamp("us"),
        "timestamptz": pa.timestamp("us", "UTC"),
        "bytea": pa.large_binary(),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerColumn(Column):
    """A column of a view. `kind` is `text` for all that is written as text, `other` for types that users made."""

    name: str
    """Its quoted name in the view `v`."""

    @property
    def key_type(self) -> str:
        """The type of keys: text is compared by its bytes."""
        return 'text COLLATE "C"' if self.kind == "text" else self.kind

    @property
    def person(self) -> str:
        """The SQL of its values as persons: equal persons have equal texts, and the other way round."""
        if self.kind == "numeric":
            return f"trim_scale({self.name})"
        if self.kind in ("float4", "float8"):
            return f"(CASE WHEN {self.name} = 0 THEN 0 ELSE {self.name} END)"
        return self.name if self.kind in _list_types() and self.kind != "text" else _write_text(self.name)

    @property
    def holds_persons(self) -> bool:
        """Whether its values can be persons: equal values of other types (ranges, say) may have different texts."""
        return self.kind in (*_list_types(), *_ONE_TEXT)

    @property
    def count(self) -> str:
        """The SQL of its values as counts, NULL where they are none."""
        number = f"{self.name}::numeric"
        if self.family not in NUMBERS:
            digits = f"CASE WHEN {self.value} ~ '^[+]?[0-9]{{1,19}}$' THEN {self.value}::numeric END"
            number = f"({digits if self.kind == 'text' else 'NULL::numeric'})"
        return f"(CASE WHEN {number} BETWEEN 0 AND {EVERY_LEVEL} AND {number} % 1 = 0 THEN {number}::bigint END)"

    @property
    def is_present(self) -> str:
        """The SQL that says whether a value is neither NULL nor NaN."""
        return POSTGRES.is_present(self.name, self.kind)

    @property
    def is_held(self) -> str:
        """The SQL that says whether Python can hold a value."""
        if self.kind == "numeric":
            limit = 10**DIGITS - 1
            return f"{self.value} BETWEEN -{limit} AND {limit} AND scale(trim_scale({self.value})) <= {DIGITS}"
        return POSTGRES.is_held(self.value, self.family)


def _write_text(name: str) -> str:
    """The SQL of a column as text, which is compared by its bytes."""
    return f'({name}::text COLLATE "C")'


def _describe_columns(connection: Any, view: str) -> dict[str, ServerColumn]:
    """The columns of a view, by name. A type that holds no items has the Arrow type of a structure."""
    rows = connection.execute(
        # A domain has the type that it is made of, which may be a domain again.
        "WITH RECURSIVE found AS (SELECT attnum, attname, atttypid AS kind FROM pg_attribute "
        "WHERE attrelid = %s::regclass AND attnum > 0 UNION ALL SELECT attnum, attname, typbasetype "
        "FROM found JOIN pg_type AS t ON t.oid = found.kind WHERE t.typtype = 'd') "
        # Strings, enumerations and UUIDs are compared as text.
        "SELECT attname, CASE WHEN t.typcategory IN ('S', 'E') OR t.oid = 'uuid'::regtype THEN 'text' "
        "WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname ELSE 'other' END "
        "FROM found JOIN pg_type AS t ON t.oid = found.kind WHERE t.typtype <> 'd' ORDER BY attnum",
        (view,),
    ).fetchall()
    found = {}
    for name, kind in rows:
        quoted, arrow = f"v.{quote_name(name)}", _list_types().get(kind, pa.struct([]))
        value = _write_text(quoted) if kind == "text" else quoted
        found[name] = ServerColumn(name=quoted, value=value, kind=kind, arrow=arrow, family=read_type(arrow).family)
    return found


def _write_keys(domain: Domain, column: ServerColumn) -> bytes:
    """Write the keys of a domain as CSV."""
    if column.kind == "numeric":
        found = find_keys(domain, Family.DECIMAL)
        table = pa.table({"key": [f"{key:f}" for key in found], "row": pa.array(found.values(), pa.int64())})
    else:
        table = make_key_table(domain, column.arrow)
    keys = table.column("key")
    if column.kind == "bytea":
        keys = pa.array(["\\x" + key.hex() for key in keys.to_pylist()], pa.string())
    table = pa.table({"key": keys.cast(pa.large_string()), "row": table.column("row")})
    # No text of PostgreSQL holds the character 0.
    table = table.filter(compute.invert(compute.match_substring(table.column("key"), "\0")))
    return _write_csv(table)


def _write_csv(table: Any) -> bytes:
    stream, csv = io.BytesIO(), import_optional("pyarrow.csv")
    csv.write_csv(table, stream, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    return stream.getvalue()
