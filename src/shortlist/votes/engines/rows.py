"""Votes as Python values, row by row: SQLite, and databases that have no engine of their own.

A value is looked up by its type and value, and nothing is converted, so that no value can cause an error.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Any

from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.columns import write_others, write_values
from shortlist.votes.engines.counted import LocalTally, ObservedTally
from shortlist.votes.engines.counting import count_groups, count_rows
from shortlist.votes.engines.observed import keep_groups
from shortlist.votes.engines.table import Batch, Rows, Start, Table, Tally
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.arrow_values import make_arrow_column
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import Family
from shortlist.votes.items.keys import Lookup
from shortlist.votes.libraries import import_optional
from shortlist.votes.queries import READABLE
from shortlist.votes.sql import invent_name
from shortlist.votes.workspace.running import register_engine


class RowsTable(Table):
    """The answer to a query of a database whose rows come one by one. Define `read_batches`."""

    hint = READABLE

    @abstractmethod
    def read_batches(self, choose: Choose) -> Generator[Batch, None, None]:
        """The chosen columns in batches; they are chosen before a row is read."""

    def read_items(self, choose: Choose) -> Any:
        """The items of the chosen column."""
        with closing(self.read_batches(choose)) as batches:
            return make_arrow_column((item for (items,) in batches for item in items), what=self._name)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Look up every item in Python, and count in the workspace."""
        numbered = self._keep(columns, start, Lookup(domain).number, "BIGINT")
        with register_engine(self._workspace.connection.interrupt):
            return LocalTally(domain, count_rows(numbered, columns.voters, d=domain.d))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Write every item as bytes in Python, and group in the workspace."""
        written = self._keep(columns, start, write_values, "BLOB")
        return keep_groups(self._workspace, count_groups(written, columns.voters), Family.OTHER)

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns."""
        return self.read_batches(choose)

    def _keep(self, columns: VoteColumns, start: Start, write: Callable[[Any], Any], kind: str) -> Any:
        """Keep items as `write` gives them, with persons or counts, in a table of the workspace, which spills."""
        connection, table, counted = self._workspace.connection, invent_name(), isinstance(columns.voters, CountColumn)

        def choose_and_start(header: Header) -> list[str]:
            chosen = columns.choose(header)
            start()
            return chosen

        connection.execute(f"CREATE TEMP TABLE {table} (item {kind}, other {'BIGINT' if counted else 'BLOB'})")
        with closing(self.read_batches(choose_and_start)) as batches:
            for items, others in batches:
                pair = {"item": write(items), "other": write_others(others, counted=counted)}
                voted = connection.from_arrow(import_optional("pyarrow").table(pair))
                voted.filter("item IS NOT NULL AND other IS NOT NULL").insert_into(table)
        return connection.table(table)
