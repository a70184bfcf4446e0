"""Votes behind Ibis: DuckDB and SQLite by their own engines, every other backend through Ibis."""

from __future__ import annotations

from typing import Any

from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.arrow import StreamTable, count_batches
from shortlist.votes.engines.counted import LocalTally
from shortlist.votes.engines.counting import number_rows, scatter_counts
from shortlist.votes.engines.duckdb import open_duckdb_query
from shortlist.votes.engines.sqlite import SqliteTable
from shortlist.votes.engines.table import Start, Table, Tally, check_comparable, check_persons
from shortlist.votes.header import Choose, Header, Origin
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import find_family
from shortlist.votes.items.keys import make_key_table
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


class IbisTable(StreamTable):
    """A table of a backend that has no engine of its own here.

    Without a domain, the workspace groups: a backend may take different texts for one, and return either of them.
    """

    def open_reader(self, choose: Choose) -> Any:
        """The chosen columns."""
        return self._select(choose).to_pyarrow().to_reader()

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column."""
        return self._select(choose).distinct().to_pyarrow().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in the backend."""
        plain = self._select(columns.choose)
        kept, kind = plain.schema().to_pyarrow().field(0).type, plain.other.type()
        check_comparable(find_family(kept), domain, columns)
        check_persons(not kind.is_nested() and not kind.is_interval(), columns)
        start()
        if isinstance(columns.voters, CountColumn):
            return super().count(domain, columns, start)
        keys = import_optional("ibis").memtable(make_key_table(domain, kept))
        voted = plain.filter(plain.other.notnull())
        if kind.is_floating():
            voted = voted.filter(~voted.other.isnan())
        matched = voted.join(keys, voted.item == keys.key).select("row", "other")
        if columns.voters.cap is None:
            counted = matched.group_by("row").agg(votes=matched.other.nunique()).to_pyarrow()
            return LocalTally(domain, scatter_counts(counted.to_pydict(), d=domain.d))
        # Not every backend has a hash, and some take persons for equal that differ in case: we take them as bytes.
        reader = matched.to_pyarrow().to_reader()
        counts = count_batches(self._workspace, reader, number_rows(domain.d), columns.voters, d=domain.d)
        return LocalTally(domain, counts)

    def _select(self, choose: Choose) -> Any:
        """The chosen columns, under names of ours."""
        chosen = choose(Header(columns=list(self._given.columns)))
        return self._given.select(**dict(zip(("item", "other"), map(self._given.__getitem__, chosen), strict=False)))
