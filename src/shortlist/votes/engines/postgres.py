"""Votes in PostgreSQL: matched and counted on the server, in one transaction.

The transaction sees one state of the data (REPEATABLE READ). It makes temporary objects with names that nobody can
guess, turns read-only before the query runs, and is rolled back in the end. Only levels and chosen row numbers come
back.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.counted import LocalTally, RemoteTally
from shortlist.votes.engines.observed import ObservedTally
from shortlist.votes.engines.postgres_session import Session
from shortlist.votes.engines.postgres_types import Column, write_keys
from shortlist.votes.engines.rows import count_rows, observe_rows
from shortlist.votes.engines.table import Batch, Rows, Start, Table, Tally, check_comparable
from shortlist.votes.header import Choose
from shortlist.votes.items.arrow_values import arrow_column
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.queries import READABLE
from shortlist.votes.sql import invent_name
from shortlist.votes.workspace.failures import translate_errors

_PRESENT = {
    "numeric": "BETWEEN -1e38 AND 1e38 AND scale(trim_scale({item})) <= 38",
    "date": "BETWEEN '0001-01-01' AND '9999-12-31'",
    "time": "< '24:00'",
    "timestamp": "BETWEEN '0001-01-01' AND '9999-12-31 23:59:59.999999'",
    "timestamptz": "BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'",
}
"""The conditions that Python can hold an item."""


class PostgresTable(Table):
    """The answer to a query, on the server that an address or an engine of SQLAlchemy names."""

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column."""
        session = Session(self._given)
        (item,) = session.open_view(self._given.sql, choose)
        with translate_errors(self._name, hint=READABLE), session.stoppable():
            session.execute("SET TRANSACTION READ ONLY")
            rows = session.fetch(f"SELECT DISTINCT {item.expression} FROM {session.view}")
        return arrow_column((row[0] for row in rows), what=self._name)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count on the server."""
        session = Session(self._given)
        try:
            return self._count(session, domain, columns, start)
        except BaseException:
            # The traceback of an error keeps the session, and an open transaction disturbs the server.
            session.close()
            raise

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group on the server."""
        session = Session(self._given)
        try:
            return self._observe(session, columns, start)
        except BaseException:
            session.close()
            raise

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns, in batches of Python values."""
        session = Session(self._given)
        return self._read(session, session.open_view(self._given.sql, choose))

    def _read(self, session: Session, chosen: list[Column]) -> Generator[Batch, None, None]:
        session.execute("SET TRANSACTION READ ONLY")
        with translate_errors(self._name, hint=READABLE), session.stoppable():
            yield from session.fetch_batches(*chosen)

    def _count(self, session: Session, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        item, other = session.open_view(self._given.sql, columns.choose)
        if isinstance(columns.voters, CountColumn):
            start()
            rows = self._read(session, [item, other])
            return LocalTally(domain, count_rows(self._workspace, rows, domain, columns.voters))
        check_comparable(item.family, domain, columns)
        start()
        keys, counts = f"pg_temp.{invent_name()}", f"pg_temp.{invent_name()}"
        with translate_errors(self._name, hint=READABLE), session.stoppable():
            session.execute(f'CREATE TABLE {keys} (key {item.key_type}, "row" bigint)')
            session.copy(f'COPY {keys} (key, "row") FROM STDIN (FORMAT csv)', write_keys(domain, item))
            session.execute(f"ANALYZE {keys}")
            session.execute(f'CREATE TABLE {counts} ("row" bigint, votes bigint)')
            session.execute("SET TRANSACTION READ ONLY")
            session.execute(_write_counting(session.view, item, other, keys, counts, domain.d, columns.voters.cap))
            levels = session.fetch(f"SELECT votes, count(*) FROM {counts} GROUP BY votes")
        return RemoteTally(domain, levels, lambda values, ranks: _find_ranked(session, counts, '"row"', values, ranks))

    def _observe(self, session: Session, columns: VoteColumns, start: Start) -> ObservedTally:
        item, other = session.open_view(self._given.sql, columns.choose)
        check_observable(item.family, columns)
        start()
        if isinstance(columns.voters, CountColumn):
            return observe_rows(self._workspace, self._read(session, [item, other]), columns.voters)
        counts = f"pg_temp.{invent_name()}"
        with translate_errors(self._name, hint=READABLE), session.stoppable():
            session.execute(f"CREATE TABLE {counts} (item {item.key_type}, votes bigint)")
            session.execute("SET TRANSACTION READ ONLY")
            session.execute(_write_grouping(session.view, item, other, counts, columns.voters.cap))
            levels = session.fetch(f"SELECT votes, count(*) FROM {counts} GROUP BY votes")
        return ObservedTally(levels, lambda values, ranks: _find_ranked(session, counts, "item", values, ranks))


def _write_grouping(view: str, item: Column, other: Column, counts: str, cap: int | None) -> str:
    """The statement that fills the table of groups."""
    nothing = f" AND v.{other.name} <> 'NaN'" if other.is_float else ""
    # Equal decimals with other numbers of digits are one item.
    value = f"trim_scale({item.write('v')})" if item.kind == "numeric" else item.write("v")
    condition = _PRESENT.get(item.kind, "IS NOT NULL").format(item=item.write("v"))
    voted = f"FROM {view} AS v WHERE {item.write('v')} {condition} AND v.{other.name} IS NOT NULL{nothing}"
    counted = f"SELECT {value} AS item, count(DISTINCT v.{other.name}) AS votes {voted} GROUP BY 1"
    if cap is not None:
        pairs = f"SELECT DISTINCT {value} AS item, v.{other.name} AS person {voted}"
        hashed = "hashtextextended(person::text || ' ' || item::text, 0)"
        turn = f"row_number() OVER (PARTITION BY person ORDER BY {hashed}, item)"
        turns = f"SELECT item, {turn} AS turn FROM ({pairs}) AS pairs"
        counted = f"SELECT item, count(*) AS votes FROM ({turns}) AS turns WHERE turn <= {cap} GROUP BY item"
    return f"INSERT INTO {counts} {counted}"


def _write_counting(view: str, item: Column, other: Column, keys: str, counts: str, d: int, cap: int | None) -> str:
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


def _find_ranked(
    session: Session, counts: str, column: str, values: IntArray, ranks: IntArray
) -> list[tuple[int, int, Any]]:
    """The chosen rows or items, by their votes and their rank among those with as many votes."""
    ranked = (
        f"SELECT votes, {column}, row_number() OVER (PARTITION BY votes ORDER BY {column}) - 1 AS rank FROM {counts}"
    )
    with translate_errors("the chosen items", hint=READABLE), session.stoppable():
        return session.fetch(
            f"SELECT votes, rank, {column} FROM ({ranked} WHERE votes = ANY(%s)) AS ranked "
            "JOIN unnest(%s::bigint[], %s::bigint[]) AS picked (votes, rank) USING (votes, rank)",
            (np.unique(values).tolist(), values.tolist(), ranks.tolist()),
        )
