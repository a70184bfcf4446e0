"""Votes in PostgreSQL: matched and counted on the server, in one transaction.

The transaction sees one state of the data (REPEATABLE READ). It makes temporary objects with names that nobody can
guess, turns read-only before the query runs, and is rolled back in the end. Only levels and chosen row numbers come
back.
"""

from __future__ import annotations

import io
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError, DataError
from shortlist.profile import EVERY_LEVEL
from shortlist.votes.domain import Domain
from shortlist.votes.failures import register_engine, translate_errors
from shortlist.votes.libraries import import_optional
from shortlist.votes.matching import find_keys, make_key_table
from shortlist.votes.queries import (
    READABLE,
    Query,
    invent_name,
    order_by_hash,
    quote_name,
    refuse_sql,
    strip_query,
    write_present,
)
from shortlist.votes.source import (
    NO_COUNT,
    SEVERAL_COUNTS,
    Choose,
    CountColumn,
    Description,
    Find,
    Header,
    ObservedTally,
    Origin,
    RemoteTally,
    Rows,
    Source,
    Tally,
    Voters,
)
from shortlist.votes.values import Family, make_arrow_column

_R = TypeVar("_R")
_BATCH = 1 << 14
_WRONG_SQL = ("42", "0A")
"""The classes of errors in the text of a query: https://www.postgresql.org/docs/current/errcodes-appendix.html"""
_PRESENT = {
    "numeric": f"BETWEEN -{10**38 - 1} AND {10**38 - 1} AND scale(trim_scale({{item}})) <= 38",
    "date": "BETWEEN '0001-01-01' AND '9999-12-31'",
    "time": "< '24:00'",
    "timestamp": "BETWEEN '0001-01-01' AND '9999-12-31 23:59:59.999999'",
    "timestamptz": "BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'",
}
"""The conditions that Python can hold an item."""


class PostgresSource(Source):
    """The answer to a query, on the server that an address or an engine of SQLAlchemy names."""

    hint = READABLE

    def describe(self, choose: Choose) -> Description:
        """Make a view of the query, describe its columns, and forget it."""
        with closing(Session(self._given)) as session:
            item, *others = chosen = session.open_view(self._given.sql, choose)
        plain = all(other.is_plain for other in others)
        return Description(family=item.family, plain=plain, held=(choose, chosen))

    def read_items(self, described: Description) -> Any:
        """The different items of the chosen column."""
        with self._open(described) as (session, (item,)):
            session.execute("SET TRANSACTION READ ONLY")
            rows = session.fetch(f"SELECT DISTINCT {item.value} FROM {session.view} AS v")
        return make_arrow_column((row[0] for row in rows), what=self._name)

    def count(self, described: Description, domain: Domain, voters: Voters) -> Tally:
        """Count on the server."""
        with self._open(described) as (session, (item, other)):
            keys, counts = f"pg_temp.{invent_name()}", f"pg_temp.{invent_name()}"
            session.execute(f'CREATE TABLE {keys} (key {item.key_type}, "row" bigint)')
            session.copy(f'COPY {keys} (key, "row") FROM STDIN (FORMAT csv)', _write_keys(domain, item))
            session.execute(f"ANALYZE {keys}")
            session.execute(f"CREATE TABLE {counts} (item bigint, votes bigint)")
            session.execute("SET TRANSACTION READ ONLY")
            matched = f"FROM {session.view} AS v JOIN {keys} AS k ON {item.value} = k.key WHERE {other.is_present}"
            counted = _write_counting('k."row"', "item::text", other, matched, voters)
            every = f"generate_series(0::bigint, {domain.d - 1}) AS n (item)"
            session.execute(
                f"INSERT INTO {counts} SELECT item, coalesce(votes, 0) FROM {every} "
                f"LEFT JOIN ({counted}) AS counted USING (item)"
            )
            return RemoteTally(domain, *_read_levels(session, counts))

    def count_observed(self, described: Description, voters: Voters) -> ObservedTally:
        """Group on the server."""
        with self._open(described) as (session, (item, other)):
            counts = f"pg_temp.{invent_name()}"
            # Equal decimals with other numbers of digits are one item.
            value = f"trim_scale({item.value})" if item.kind == "numeric" else item.value
            condition = _PRESENT.get(item.kind, "IS NOT NULL").format(item=item.value)
            voted = f"FROM {session.view} AS v WHERE {item.value} {condition} AND {other.is_present}"
            session.execute(f"CREATE TABLE {counts} (item {item.key_type}, votes bigint)")
            session.execute("SET TRANSACTION READ ONLY")
            counted = _write_counting(value, item.write_text("item"), other, voted, voters)
            session.execute(f"INSERT INTO {counts} {counted}")
            return ObservedTally(*_read_levels(session, counts))

    def read_rows(self, described: Description, use: Callable[[Rows], _R]) -> _R:
        """Use all rows, in batches of Python values."""
        with self._open(described) as (session, chosen):
            session.execute("SET TRANSACTION READ ONLY")
            return use(session.fetch_batches(*chosen))

    @contextmanager
    def _open(self, described: Description) -> Iterator[tuple[Session, list[Column]]]:
        """Open a session for a tally, which keeps it, with the columns that were described.

        After an error it is closed at once. Otherwise the traceback would keep its transaction open on the server.
        """
        choose, before = described.held
        session = Session(self._given)
        try:
            with session.allow_interrupts():
                chosen = session.open_view(self._given.sql, choose)
                if chosen != before:
                    raise ChangedError("the columns of the query must not change while it is read")
                yield session, chosen
        except BaseException:
            session.close()
            raise


def _write_counting(group: str, text: str, other: Column, voted: str, voters: Voters) -> str:
    """The query that counts persons, or takes counts, for each group (`item`, whose text is given)."""
    if isinstance(voters, CountColumn):
        none = f"WHEN count({other.count}) < count(*) THEN {NO_COUNT}"
        several = f"WHEN count(*) > 1 THEN {SEVERAL_COUNTS}"
        return f"SELECT {group} AS item, CASE {none} {several} ELSE max({other.count}) END AS votes {voted} GROUP BY 1"
    if voters.cap is None:
        return f"SELECT {group} AS item, count(DISTINCT {other.person}) AS votes {voted} GROUP BY 1"
    pairs = f"SELECT DISTINCT {group} AS item, {other.person} AS person {voted}"
    digests = (
        f"SELECT item, person, md5({other.write_text('person')} || ' ' || {text}) AS digest FROM ({pairs}) AS pairs"
    )
    order = f'{order_by_hash("digest")} COLLATE "C", item'
    turns = f"SELECT item, row_number() OVER (PARTITION BY person ORDER BY {order}) AS turn FROM ({digests}) AS digests"
    return f"SELECT item, count(*) AS votes FROM ({turns}) AS turns WHERE turn <= {voters.cap} GROUP BY item"


def _read_levels(session: Session, counts: str) -> tuple[list[tuple[int, int]], Find]:
    """How many groups have each count, and how to find those that are chosen."""
    levels = session.fetch(f"SELECT votes, count(*) FROM {counts} GROUP BY votes")
    return levels, partial(_find_ranked, session, counts)


def _find_ranked(session: Session, counts: str, values: IntArray, ranks: IntArray) -> list[tuple[int, int, Any]]:
    """The chosen rows or items, by their votes and their rank among those with as many votes."""
    ranked = f"SELECT votes, item, row_number() OVER (PARTITION BY votes ORDER BY item) - 1 AS rank FROM {counts}"
    with translate_errors("the chosen items", hint=READABLE), session.allow_interrupts():
        return session.fetch(
            f"SELECT votes, rank, item FROM ({ranked} WHERE votes = ANY(%s)) AS ranked "
            "JOIN unnest(%s::bigint[], %s::bigint[]) AS picked (votes, rank) USING (votes, rank)",
            (np.unique(values).tolist(), values.tolist(), ranks.tolist()),
        )


# The session


class Session:
    """One transaction on a connection of our own; it ends when the session is no longer used."""

    def __init__(self, query: Query) -> None:
        psycopg = import_optional("psycopg", extra="postgres", purpose="reading PostgreSQL tables")
        connection = None
        with suppress(psycopg.Error, OSError):
            connection = _connect(query)
        if connection is None:
            raise DataError(
                "`database` must be a PostgreSQL server that can be reached",
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
            found = _describe_columns(self._connection, self.view)
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


# Types

_FAMILIES = {
    "int2": Family.INTEGER,
    "int4": Family.INTEGER,
    "int8": Family.INTEGER,
    "numeric": Family.DECIMAL,
    "float4": Family.FLOAT,
    "float8": Family.FLOAT,
    "bool": Family.BOOLEAN,
    "date": Family.DATE,
    "time": Family.TIME,
    "timestamp": Family.NAIVE,
    "timestamptz": Family.AWARE,
    "bytea": Family.BYTES,
}
_ONE_TEXT = ("bit", "varbit", "char", "cidr", "inet", "macaddr", "macaddr8", "money", "oid", "pg_lsn", "timetz")
"""Other types that have one text for each value."""
_ARROW = {
    "int2": "int16",
    "int4": "int32",
    "int8": "int64",
    "float4": "float32",
    "float8": "float64",
    "bool": "bool_",
    "date": "date32",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a view."""

    name: str
    """Its quoted name in the view `v`."""
    kind: str
    """The name of its type: `text` for all that is written as text, `other` for types that users made."""

    @property
    def family(self) -> Family:
        """The family of its values."""
        return Family.TEXT if self.kind == "text" else _FAMILIES.get(self.kind, Family.OTHER)

    @property
    def key_type(self) -> str:
        """The type of keys: text is compared by its bytes."""
        return 'text COLLATE "C"' if self.kind == "text" else self.kind

    @property
    def value(self) -> str:
        """The SQL of its values; text is compared by its bytes."""
        return f'({self.name}::text COLLATE "C")' if self.kind == "text" else self.name

    @property
    def person(self) -> str:
        """The SQL of its values as persons: equal persons have equal texts, and the other way round."""
        if self.kind == "numeric":
            return f"trim_scale({self.name})"
        if self.kind in ("float4", "float8"):
            return f"(CASE WHEN {self.name} = 0 THEN 0 ELSE {self.name} END)"
        return self.name if self.kind in _FAMILIES else f'({self.name}::text COLLATE "C")'

    def write_text(self, value: str) -> str:
        """The SQL of `values.write_text` of a value of this type."""
        text = f"{value}::text"
        if self.family == Family.FLOAT:
            text = (
                f"CASE WHEN {value} >= -9223372036854775808 AND {value} < 9223372036854775808 THEN floor({value}) END"
            )
            text = f"({text})::bigint::text"
        elif self.family == Family.DECIMAL:
            text = f"floor({value})::text"
        elif self.family == Family.BYTES:
            text = f"encode({value}, 'hex')"
        elif self.family in (Family.NAIVE, Family.AWARE, Family.TIME):
            text = f"floor(extract(epoch FROM {value}) * 1000000)::text"
        return f"coalesce({text}, '')"

    @property
    def is_plain(self) -> bool:
        """Whether its values can be persons: equal values of other types (ranges, say) may have different texts."""
        return self.kind in ("text", *_FAMILIES, *_ONE_TEXT)

    @property
    def count(self) -> str:
        """The SQL of its values as counts, NULL where they are none."""
        number = f"{self.name}::numeric"
        if self.family not in (Family.INTEGER, Family.DECIMAL, Family.FLOAT):
            digits = f"CASE WHEN {self.value} ~ '^[+]?[0-9]{{1,19}}$' THEN {self.value}::numeric END"
            number = f"({digits if self.kind == 'text' else 'NULL::numeric'})"
        return f"(CASE WHEN {number} BETWEEN 0 AND {EVERY_LEVEL} AND {number} % 1 = 0 THEN {number}::bigint END)"

    @property
    def is_present(self) -> str:
        """The SQL that says whether a value is neither NULL nor NaN."""
        return write_present(self.name, self.kind)


def _describe_columns(connection: Any, view: str) -> dict[str, Column]:
    """The columns of a view, by name."""
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
    return {name: Column(name=f"v.{quote_name(name)}", kind=kind) for name, kind in rows}


def _write_keys(domain: Domain, column: Column) -> bytes:
    """Write the keys of a domain as CSV."""
    pa, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    if column.kind == "numeric":
        found = find_keys(domain, Family.DECIMAL)
        table = pa.table({"key": [f"{key:f}" for key in found], "row": pa.array(found.values(), pa.int64())})
    else:
        arrow = getattr(pa, _ARROW[column.kind])() if column.kind in _ARROW else _other_type(column.kind)
        table = make_key_table(domain, arrow, column.family)
    keys = table.column("key")
    if column.kind == "bytea":
        keys = pa.array(["\\x" + key.hex() for key in keys.to_pylist()], pa.string())
    table = pa.table({"key": keys.cast(pa.large_string()), "row": table.column("row")})
    # No text of PostgreSQL holds the character 0.
    table = table.filter(compute.invert(compute.match_substring(table.column("key"), "\0")))
    stream = io.BytesIO()
    csv = import_optional("pyarrow.csv")
    csv.write_csv(table, stream, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    return stream.getvalue()


def _other_type(kind: str) -> Any:
    pa = import_optional("pyarrow")
    if kind == "bytea":
        return pa.large_binary()
    if kind == "time":
        return pa.time64("us")
    return pa.large_string() if kind == "text" else pa.timestamp("us")
