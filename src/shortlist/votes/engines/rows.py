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
from shortlist.votes.engines.observed import ObservedTally, keep_keys
from shortlist.votes.engines.table import Batch, Rows, Start, Table, Tally
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.arrow_values import arrow_column
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import write_item
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
        with closing(self.read_batches(_choose_and_start(columns, start))) as batches:
            return LocalTally(domain, count_rows(self._workspace, batches, domain, columns.voters))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Write every item as bytes in Python, and group in the workspace."""
        with closing(self.read_batches(_choose_and_start(columns, start))) as batches:
            return observe_rows(self._workspace, batches, columns.voters)

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns."""
        return self.read_batches(choose)


def _choose_and_start(columns: VoteColumns, start: Start) -> Choose:
    def choose(header: Header) -> list[str]:
        chosen = columns.choose(header)
        start()
        return chosen

    return choose


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


def observe_rows(workspace: Workspace, batches: Iterable[Batch], voters: PersonColumn | CountColumn) -> ObservedTally:
    """Group the votes of rows that come in batches by item; pairs are kept by the workspace, which spills."""
    pa, connection, table = import_optional("pyarrow"), workspace.connection, invent_name()
    counted = isinstance(voters, CountColumn)
    kind = pa.int64() if counted else pa.binary()
    connection.execute(f"CREATE TEMP TABLE {table} (item BLOB, other {'BIGINT' if counted else 'BLOB'})")
    for items, others in batches:
        present = [not is_missing(other) for other in others]
        written = [write_item(item) if there else None for item, there in zip(items, present, strict=True)]
        if counted:
            # No count is −1, so what is no count is refused later.
            values: list[Any] = [(-1 if (n := read_count(each)) is None else n) for each in others]
        else:
            values = [write_person(each) if there else None for each, there in zip(others, present, strict=True)]
        pairs = pa.table({"item": pa.array(written, pa.binary()), "other": pa.array(values, kind)})
        connection.from_arrow(pairs).filter("item IS NOT NULL AND other IS NOT NULL").insert_into(table)
    return keep_keys(workspace, connection.table(table), voters)
