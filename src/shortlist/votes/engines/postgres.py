"""Votes in PostgreSQL: matched and counted on the server, in one transaction.

The transaction sees one state of the data (REPEATABLE READ). It makes temporary objects with names that nobody can
guess, turns read-only before the query runs, and is rolled back in the end. Only levels and chosen row numbers come
back.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.columns import CountColumn, PersonColumn, VoteColumns
from shortlist.votes.engines.counted import Find, ObservedTally, RemoteTally
from shortlist.votes.engines.counting import NO_COUNT, SEVERAL_COUNTS
from shortlist.votes.engines.postgres_session import Session
from shortlist.votes.engines.postgres_types import Column, write_keys
from shortlist.votes.engines.table import Batch, Rows, Start, Table, Tally, check_comparable, check_persons
from shortlist.votes.header import Choose
from shortlist.votes.items.arrow_values import make_arrow_column
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.queries import READABLE
from shortlist.votes.sql import invent_name
from shortlist.votes.workspace.failures import translate_errors

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

    hint = READABLE

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column."""
        session = Session(self._given)
        (item,) = session.open_view(self._given.sql, choose)
        with session.allow_interrupts():
            session.execute("SET TRANSACTION READ ONLY")
            rows = session.fetch(f"SELECT DISTINCT {item.value} FROM {session.view} AS v")
        return make_arrow_column((row[0] for row in rows), what=self._name)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count on the server."""
        with self._open_session() as session:
            return self._count(session, domain, columns, start)

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group on the server."""
        with self._open_session() as session:
            return self._observe(session, columns, start)

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns, in batches of Python values."""
        session = Session(self._given)
        return self._read(session, session.open_view(self._given.sql, choose))

    def _read(self, session: Session, chosen: list[Column]) -> Generator[Batch, None, None]:
        session.execute("SET TRANSACTION READ ONLY")
        with session.allow_interrupts():
            yield from session.fetch_batches(*chosen)

    @contextmanager
    def _open_session(self) -> Iterator[Session]:
        """Open a session for a tally, which keeps it.

        After an error it is closed at once. Otherwise the traceback would keep its transaction open on the server.
        """
        session = Session(self._given)
        try:
            with session.allow_interrupts():
                yield session
        except BaseException:
            session.close()
            raise

    def _count(self, session: Session, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        item, other = session.open_view(self._given.sql, columns.choose)
        check_comparable(item.family, domain, columns)
        check_persons(other.is_plain, columns)
        start()
        keys, counts = f"pg_temp.{invent_name()}", f"pg_temp.{invent_name()}"
        session.execute(f'CREATE TABLE {keys} (key {item.key_type}, "row" bigint)')
        session.copy(f'COPY {keys} (key, "row") FROM STDIN (FORMAT csv)', write_keys(domain, item))
        session.execute(f"ANALYZE {keys}")
        session.execute(f"CREATE TABLE {counts} (item bigint, votes bigint)")
        session.execute("SET TRANSACTION READ ONLY")
        matched = f"FROM {session.view} AS v JOIN {keys} AS k ON {item.value} = k.key WHERE {other.is_present}"
        counted = _write_counting('k."row"', other, matched, columns.voters)
        every = f"generate_series(0::bigint, {domain.d - 1}) AS n (item)"
        session.execute(
            f"INSERT INTO {counts} SELECT item, coalesce(votes, 0) FROM {every} "
            f"LEFT JOIN ({counted}) AS counted USING (item)"
        )
        return RemoteTally(domain, *_read_levels(session, counts))

    def _observe(self, session: Session, columns: VoteColumns, start: Start) -> ObservedTally:
        item, other = session.open_view(self._given.sql, columns.choose)
        check_observable(item.family, columns)
        check_persons(other.is_plain, columns)
        start()
        counts = f"pg_temp.{invent_name()}"
        # Equal decimals with other numbers of digits are one item.
        value = f"trim_scale({item.value})" if item.kind == "numeric" else item.value
        condition = _PRESENT.get(item.kind, "IS NOT NULL").format(item=item.value)
        voted = f"FROM {session.view} AS v WHERE {item.value} {condition} AND {other.is_present}"
        session.execute(f"CREATE TABLE {counts} (item {item.key_type}, votes bigint)")
        session.execute("SET TRANSACTION READ ONLY")
        session.execute(f"INSERT INTO {counts} {_write_counting(value, other, voted, columns.voters)}")
        return ObservedTally(*_read_levels(session, counts))


def _write_counting(group: str, other: Column, voted: str, voters: PersonColumn | CountColumn) -> str:
    """The query that counts persons, or takes counts, for each group (`item`)."""
    if isinstance(voters, CountColumn):
        none = f"WHEN count({other.count}) < count(*) THEN {NO_COUNT}"
        several = f"WHEN count(*) > 1 THEN {SEVERAL_COUNTS}"
        return f"SELECT {group} AS item, CASE {none} {several} ELSE max({other.count}) END AS votes {voted} GROUP BY 1"
    if voters.cap is None:
        return f"SELECT {group} AS item, count(DISTINCT {other.person}) AS votes {voted} GROUP BY 1"
    pairs = f"SELECT DISTINCT {group} AS item, {other.person} AS person {voted}"
    hashed = "hashtextextended(person::text || ' ' || item::text, 0)"
    turn = f"row_number() OVER (PARTITION BY person ORDER BY {hashed}, item)"
    turns = f"SELECT item, {turn} AS turn FROM ({pairs}) AS pairs"
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
