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
from shortlist.votes.engines.counting import take_counts
from shortlist.votes.engines.observed import ObservedTally
from shortlist.votes.engines.postgres_session import Session
from shortlist.votes.engines.postgres_types import Column, write_keys
from shortlist.votes.engines.rows import observe_rows
from shortlist.votes.engines.table import Batch, Rows, Start, Table, Tally, check_comparable
from shortlist.votes.header import Choose
from shortlist.votes.items.arrow_values import arrow_column
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.items.python_values import is_missing, read_count
from shortlist.votes.libraries import import_optional
from shortlist.votes.queries import READABLE
from shortlist.votes.sql import invent_name
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.workspace import Workspace

_PRESENT = {
    "numeric": f"BETWEEN -{10**38 - 1} AND {10**38 - 1} AND scale(trim_scale({{item}})) <= 38",
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
            rows = session.fetch(f"SELECT DISTINCT {item.value} FROM {session.view} AS v")
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
        check_comparable(item.family, domain, columns)
        start()
        keys, counts = f"pg_temp.{invent_name()}", f"pg_temp.{invent_name()}"
        with translate_errors(self._name, hint=READABLE), session.stoppable():
            session.execute(f'CREATE TABLE {keys} (key {item.key_type}, "row" bigint)')
            session.copy(f'COPY {keys} (key, "row") FROM STDIN (FORMAT csv)', write_keys(domain, item))
            session.execute(f"ANALYZE {keys}")
            session.execute(f'CREATE TABLE {counts} ("row" bigint, votes bigint)')
            session.execute("SET TRANSACTION READ ONLY")
            matched = f"FROM {session.view} AS v JOIN {keys} AS k ON {item.value} = k.key WHERE {other.is_present}"
            if isinstance(columns.voters, CountColumn):
                rows = session.fetch(f'SELECT k."row", {other.count} {matched}')
                return LocalTally(domain, _take_counts(self._workspace, rows, d=domain.d))
            counted = _write_counting(other.person, matched, columns.voters.cap)
            every = f'generate_series(0::bigint, {domain.d - 1}) AS n ("row")'
            session.execute(
                f'INSERT INTO {counts} SELECT "row", coalesce(votes, 0) FROM {every} '
                f'LEFT JOIN ({counted}) AS counted USING ("row")'
            )
            levels = session.fetch(f"SELECT votes, count(*) FROM {counts} GROUP BY votes")
        return RemoteTally(domain, levels, lambda values, ranks: _find_ranked(session, counts, '"row"', values, ranks))

    def _observe(self, session: Session, columns: VoteColumns, start: Start) -> ObservedTally:
        item, other = session.open_view(self._given.sql, columns.choose)
        check_observable(item.family, columns)
        start()
        counts = f"pg_temp.{invent_name()}"
        # Equal decimals with other numbers of digits are one item.
        value = f"trim_scale({item.value})" if item.kind == "numeric" else item.value
        condition = _PRESENT.get(item.kind, "IS NOT NULL").format(item=item.value)
        voted = f"FROM {session.view} AS v WHERE {item.value} {condition} AND {other.is_present}"
        with translate_errors(self._name, hint=READABLE), session.stoppable():
            if isinstance(columns.voters, CountColumn):
                session.execute("SET TRANSACTION READ ONLY")
                rows = session.fetch(f"SELECT {value}, coalesce({other.count}, -1) {voted}")
                return observe_rows(self._workspace, [tuple(zip(*rows, strict=True))] if rows else [], columns.voters)
            session.execute(f"CREATE TABLE {counts} (item {item.key_type}, votes bigint)")
            session.execute("SET TRANSACTION READ ONLY")
            grouped = _write_grouping(value, other.person, voted, columns.voters.cap)
            session.execute(f"INSERT INTO {counts} {grouped}")
            levels = session.fetch(f"SELECT votes, count(*) FROM {counts} GROUP BY votes")
        return ObservedTally(levels, lambda values, ranks: _find_ranked(session, counts, "item", values, ranks))


def _write_grouping(value: str, person: str, voted: str, cap: int | None) -> str:
    """The query that counts persons for each item."""
    if cap is None:
        return f"SELECT {value} AS item, count(DISTINCT {person}) AS votes {voted} GROUP BY 1"
    pairs = f"SELECT DISTINCT {value} AS item, {person} AS person {voted}"
    hashed = "hashtextextended(person::text || ' ' || item::text, 0)"
    turn = f"row_number() OVER (PARTITION BY person ORDER BY {hashed}, item)"
    turns = f"SELECT item, {turn} AS turn FROM ({pairs}) AS pairs"
    return f"SELECT item, count(*) AS votes FROM ({turns}) AS turns WHERE turn <= {cap} GROUP BY item"


def _write_counting(person: str, matched: str, cap: int | None) -> str:
    """The query that counts persons for each row."""
    if cap is None:
        return f'SELECT k."row", count(DISTINCT {person}) AS votes {matched} GROUP BY k."row"'
    pairs = f'SELECT DISTINCT k."row", {person} AS person {matched}'
    hashed = "hashtextextended(person::text || ' ' || \"row\", 0)"
    turn = f'row_number() OVER (PARTITION BY person ORDER BY {hashed}, "row")'
    turns = f'SELECT "row", {turn} AS turn FROM ({pairs}) AS pairs'
    return f'SELECT "row", count(*) AS votes FROM ({turns}) AS turns WHERE turn <= {cap} GROUP BY "row"'


def _take_counts(workspace: Workspace, rows: list[tuple[int, Any]], *, d: int) -> IntArray:
    """Take the counts of matched rows."""
    pa = import_optional("pyarrow")
    places = pa.array([row for row, _ in rows], pa.int64())
    votes = pa.array([None if is_missing(each) else read_count(each) for _, each in rows], pa.int64())
    return take_counts(workspace.connection.from_arrow(pa.table({"row": places, "votes": votes})), d=d)


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
