"""Votes behind Ibis: DuckDB and SQLite by their own engines, every other backend through Ibis."""

from __future__ import annotations

from typing import Any

from shortlist.array_types import IntArray
from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.arrow import count_batches, count_reader, observe_reader, type_reader
from shortlist.votes.engines.counted import LocalTally
from shortlist.votes.engines.counting import number_rows, scatter_counts
from shortlist.votes.engines.duckdb import open_duckdb_query
from shortlist.votes.engines.observed import ObservedTally
from shortlist.votes.engines.sqlite import SqliteTable
from shortlist.votes.engines.table import Rows, Start, Table, Tally, check_comparable, check_persons
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import find_family
from shortlist.votes.items.keys import key_table
from shortlist.votes.libraries import import_optional
from shortlist.votes.queries import Query
from shortlist.votes.workspace.failures import translate_errors
from shortlist.votes.workspace.workspace import Workspace


def open_ibis(workspace: Workspace, table: Any, name: str) -> Table:
    """A table of any backend. DuckDB and SQLite answer to its SQL, without what Ibis makes of their values."""
    with translate_errors(name):
        backend = table.get_backend()
        if backend.name not in ("duckdb", "sqlite"):
            return IbisTable(workspace, table, name)
        table.limit(0).to_pyarrow()  # makes tables that Ibis has in memory known to the backend
        query = Query(backend.con, backend.compile(table))
    if backend.name == "duckdb":
        return open_duckdb_query(workspace, query, name, origin=Origin.FRAME)
    return _SqliteBackend(workspace, query, name)


class _SqliteBackend(SqliteTable):
    origin = Origin.FRAME


class IbisTable(Table):
    """A table of a backend that has no engine of its own here."""

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column."""
        with translate_errors(self._name):
            return self._select(choose, "item").distinct().to_pyarrow().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in the backend."""
        with translate_errors(self._name):
            return LocalTally(domain, self._count(domain, columns, start))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group in the workspace: a backend may take different texts for one, and return either of them."""
        with translate_errors(self._name):
            reader = self._select(columns.choose, "item", "other").to_pyarrow().to_reader()
            return observe_reader(self._workspace, reader, columns, start)

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns."""
        with translate_errors(self._name):
            return type_reader(self._workspace, self._select(choose, "item", "other").to_pyarrow().to_reader())

    def _select(self, choose: Choose, *names: str) -> Any:
        """The chosen columns, under names of ours."""
        chosen = choose(Header(columns=list(self._given.columns)))
        return self._given.select(**{new: self._given[old] for old, new in zip(chosen, names, strict=True)})

    def _count(self, domain: Domain, columns: VoteColumns, start: Start) -> IntArray:
        plain = self._select(columns.choose, "item", "other")
        kept, kind = plain.schema().to_pyarrow().field(0).type, plain.other.type()
        check_comparable(find_family(kept), domain, columns)
        check_persons(not kind.is_nested() and not kind.is_interval(), columns)
        start()
        if isinstance(columns.voters, CountColumn):
            return count_reader(self._workspace, plain.to_pyarrow().to_reader(), domain, columns, start)
        keys = import_optional("ibis").memtable(key_table(domain, kept))
        voted = plain.filter(plain.other.notnull())
        if kind.is_floating():
            voted = voted.filter(~voted.other.isnan())
        matched = voted.join(keys, voted.item == keys.key).select("row", "other")
        if columns.voters.cap is not None:
            # Not every backend has a hash, and some take persons for equal that differ in case: we take them as bytes.
            reader = matched.to_pyarrow().to_reader()
            return count_batches(self._workspace, reader, number_rows(domain.d), columns.voters, d=domain.d)
        counted = matched.group_by("row").agg(votes=matched.other.nunique()).to_pyarrow()
        return scatter_counts(counted.to_pydict(), d=domain.d)
