"""Votes behind Ibis, in any of its backends: matched and counted there."""

from __future__ import annotations

from typing import Any

from shortlist.array_types import IntArray
from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.arrow import count_reader, observe_reader, type_reader
from shortlist.votes.engines.counted import LocalTally
from shortlist.votes.engines.counting import count_pairs, scatter_counts
from shortlist.votes.engines.observed import ObservedTally
from shortlist.votes.engines.table import Rows, Start, Table, Tally, check_comparable, check_persons
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_types import find_family
from shortlist.votes.items.keys import key_table
from shortlist.votes.libraries import import_optional
from shortlist.votes.workspace.failures import translate_errors


class IbisTable(Table):
    """A table of any backend."""

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
        kept = plain.schema().to_pyarrow().field(0).type
        check_comparable(find_family(kept), domain, columns)
        check_persons(plain.other.type().is_nested(), columns)
        start()
        if isinstance(columns.voters, CountColumn):
            return count_reader(self._workspace, plain.to_pyarrow().to_reader(), domain, columns, start)
        keys = import_optional("ibis").memtable(key_table(domain, kept))
        voted = plain.filter(plain.other.notnull())
        if plain.other.type().is_floating():
            voted = voted.filter(~voted.other.isnan())
        matched = voted.join(keys, voted.item == keys.key).select("row", person="other")
        if columns.voters.cap is not None:
            # Not every backend has a hash, so the pairs are handed over.
            pairs = self._workspace.connection.from_arrow(matched.distinct().to_pyarrow())
            return count_pairs(pairs, d=domain.d, cap=columns.voters.cap)
        counted = matched.group_by("row").agg(votes=matched.person.nunique()).to_pyarrow()
        return scatter_counts(counted.to_pydict(), d=domain.d)
