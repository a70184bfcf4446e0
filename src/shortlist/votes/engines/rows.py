"""Votes as Python values, row by row: SQLite, and databases that have no engine of their own.

A value is looked up by its type and value, and nothing is converted, so that no value can cause an error.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.columns import CountColumn, PersonColumn, VoteColumns
from shortlist.votes.engines.counted import LocalTally
from shortlist.votes.engines.counting import count_pairs, take_counts
from shortlist.votes.engines.table import Batch, Rows, Start, Table, Tally
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.arrow_values import arrow_column
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.keys import NO_ROW, Lookup
from shortlist.votes.items.python_values import is_missing, read_count
from shortlist.votes.libraries import import_optional
from shortlist.votes.persons import write_person
from shortlist.votes.sql import invent_name
from shortlist.votes.workspace.running import register_engine
from shortlist.votes.workspace.workspace import Workspace


class RowsTable(Table):
    """The answer to a query of a database whose rows come one by one. Define `read_batches`."""

    @abstractmethod
    def read_batches(self, choose: Choose) -> Generator[Batch, None, None]:
        """The chosen columns in batches; they are chosen before a row is read."""

    def read_items(self, choose: Choose) -> Any:
        """The items of the chosen column."""
        with closing(self.read_batches(choose)) as batches:
            return arrow_column((item for (items,) in batches for item in items), what=self._name)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Look up every item in Python, and count in the workspace."""

        def choose_and_start(header: Header) -> list[str]:
            chosen = columns.choose(header)
            start()
            return chosen

        with closing(self.read_batches(choose_and_start)) as batches:
            return LocalTally(domain, count_rows(self._workspace, batches, domain, columns.voters))

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns."""
        return self.read_batches(choose)


def count_rows(
    workspace: Workspace, batches: Iterable[Batch], domain: Domain, voters: PersonColumn | CountColumn
) -> IntArray:
    """Count the votes of rows that come in batches; matched pairs are kept by the workspace, which spills."""
    pa, connection = import_optional("pyarrow"), workspace.connection
    lookup, table = Lookup(domain), invent_name()
    counted = isinstance(voters, CountColumn)
    other, read, kind = ("votes", read_count, pa.int64()) if counted else ("person", write_person, pa.binary())
    connection.execute(f'CREATE TEMP TABLE {table} ("row" BIGINT, {other} {"BIGINT" if counted else "BLOB"})')
    for items, others in batches:
        rows = lookup.rows(items)
        found = np.flatnonzero(rows != NO_ROW)
        pairs = [(rows[place], read(others[place])) for place in found.tolist() if not is_missing(others[place])]
        if not counted:
            pairs = [pair for pair in pairs if pair[1] is not None]
        if pairs:
            matched = pa.table({"row": [row for row, _ in pairs], other: pa.array([each for _, each in pairs], kind)})
            connection.from_arrow(matched).insert_into(table)
    with register_engine(connection.interrupt):
        if isinstance(voters, CountColumn):
            return take_counts(connection.table(table), d=domain.d)
        return count_pairs(connection.table(table), d=domain.d, cap=voters.cap)
