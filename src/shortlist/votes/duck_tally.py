"""Counted items in DuckDB: those of files, and of every engine whose counts fit on one machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.errors import ChangedError, DataError
from shortlist.profile import Picks, Profile
from shortlist.votes.border import optional, reading
from shortlist.votes.families import Kind
from shortlist.votes.frames import arrow
from shortlist.votes.ranks import Places, checked_profile, instant
from shortlist.votes.source import Source, reading_from
from shortlist.votes.workspace import Workspace


class DuckTally:
    """The votes of every item of the domain, in one temporary table.

    The votes and the domain are read once, to fill the table. They are joined after the votes were counted, so the
    join sees a row for each item, not for each vote.
    """

    def __init__(self, workspace: Workspace, *, votes: Source, domain: Source, kind: Kind, given: bool) -> None:
        self._workspace = workspace
        self._connection = workspace.connection
        self._kind = kind
        with reading_from(votes, domain, hint="is every file complete, and are all its rows alike?"):
            self._connection.execute(f"""
                CREATE TEMP TABLE tallied AS
                WITH counted AS (
                    SELECT item::{kind.storage} AS item, votes::BIGINT AS votes FROM {self._table(votes)}
                ), domain AS (
                    SELECT DISTINCT item::{kind.storage} AS item FROM {self._table(domain)} WHERE item IS NOT NULL
                )
                SELECT item, coalesce(votes, 0) AS votes FROM domain LEFT JOIN counted USING (item)
            """)
            levels = self._connection.execute("SELECT votes, count(*) AS size FROM tallied GROUP BY votes").fetchnumpy()
            distinct = self._one("SELECT count(DISTINCT item) FROM tallied") if given else None
            finer = "SELECT bool_or(epoch_ns(item) % 1000 > 0) FROM tallied"
            too_fine = kind.storage == "TIMESTAMP_NS" and self._one(finer)
        votes.check_unchanged()
        domain.check_unchanged()
        if too_fine:
            raise DataError("items that are timestamps must be whole microseconds.", hint="cast them to text")
        self._profile = checked_profile(levels["votes"], levels["size"], distinct=distinct)

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""
        return self._profile.d

    def above(self, k: int, depth: int) -> Profile:
        """Show every level."""
        return self._profile

    def items(self, picks: Picks) -> list[Any]:
        """The chosen items, best first.

        Only picked levels are sorted; DuckDB keeps the order of insertion, so a row's number is its place.
        """
        pa = optional("pyarrow")
        found = Places.of(picks, self._profile)
        aware = self._kind.storage == "TIMESTAMPTZ"
        item = "epoch_us(item)" if aware else "item::TIMESTAMP" if self._kind.storage == "TIMESTAMP_NS" else "item"
        with reading("the chosen items"):
            self._connection.register("chosen", pa.table({"votes": found.levels}))
            self._connection.register("places", pa.table({"place": found.places, "turn": np.arange(len(found.places))}))
            self._connection.execute("""
                CREATE OR REPLACE TEMP TABLE ranked AS
                SELECT item FROM tallied WHERE votes IN (SELECT votes FROM chosen) ORDER BY votes, item
            """)
            rows = self._connection.execute(
                f"SELECT {item} FROM ranked JOIN places ON ranked.rowid = place ORDER BY turn"
            ).fetchall()
            self._connection.execute("DROP TABLE ranked")
        if len(rows) != len(found.places):
            raise ChangedError("the counted items changed between two reads.")
        return [instant(value) if aware else value for (value,) in rows]

    def _table(self, source: Source) -> str:
        """What to read a source from: its own query if it lives in the workspace, else a stream."""
        if source.local:
            return f"({source.frame.to_native().sql_query()})"
        name = "stream_of_" + ("votes" if "votes" in source.frame.collect_schema().names() else "items")
        self._connection.register(name, arrow(source.frame, name=source.name))
        return name

    def _one(self, sql: str) -> Any:
        ((value,),) = self._connection.execute(sql).fetchall()
        return value
