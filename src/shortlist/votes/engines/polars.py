"""Votes in Polars: matched and counted there, by its streaming engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.arrow import count_reader, keep_counted, observe_reader, type_reader
from shortlist.votes.engines.columns import count_columns, observe_columns
from shortlist.votes.engines.counted import LocalTally
from shortlist.votes.engines.counting import scatter_counts
from shortlist.votes.engines.observed import ObservedTally
from shortlist.votes.engines.table import Rows, Start, Table, Tally, check_comparable, check_persons
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.items.item_types import choose_exact_type, find_family
from shortlist.votes.items.keys import key_table
from shortlist.votes.libraries import import_optional
from shortlist.votes.workspace.failures import translate_errors


class PolarsTable(Table):
    """A frame, lazy or not."""

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column."""
        with translate_errors(self._name):
            return self._select(choose, "item").unique().collect().to_arrow().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in Polars."""
        with translate_errors(self._name):
            return LocalTally(domain, self._count(domain, columns, start))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group in Polars; the workspace keeps the groups."""
        pl = import_optional("polars")
        with translate_errors(self._name):
            lazy = self._select(columns.choose, "item", "other")
            schema = lazy.collect_schema()
            if pl.Object in schema.dtypes():
                start()
                frame = lazy.collect()
                items, others = (each.to_list() if each.dtype == pl.Object else each.to_arrow() for each in frame)
                return observe_columns(self._workspace, items, others, columns.voters)
            if schema["item"] == pl.Null:
                return ObservedTally([], lambda counts, ranks: [])
            lazy, declared = _take_values(lazy)
            check_observable(find_family(declared), columns)
            check_persons(not schema["other"].is_nested(), columns)
            start()
            if isinstance(columns.voters, CountColumn):
                reader = lazy.collect(engine="streaming").to_arrow().to_reader()
                return observe_reader(self._workspace, reader, columns, start)
            voted = _drop_gaps(lazy.drop_nulls("item"))
            counted = _count_persons(voted, columns.voters.cap, by="item").collect(engine="streaming")
            groups = counted.select("item", "votes").to_arrow().to_reader()
            return keep_counted(self._workspace, groups, find_family(declared))

    def read_rows(self, choose: Choose) -> Rows:
        """All rows of the two chosen columns."""
        with translate_errors(self._name):
            frame = self._select(choose, "item", "other").collect()
            if import_optional("polars").Object in frame.dtypes:
                return [tuple(column.to_list() for column in frame)]
            return type_reader(self._workspace, frame.to_arrow().to_reader())

    def _select(self, choose: Choose, *names: str) -> Any:
        """The chosen columns, under names of ours."""
        chosen = choose(Header(columns=self._given.lazy().collect_schema().names()))
        column = import_optional("polars").col
        return self._given.lazy().select(*(column(old).alias(new) for old, new in zip(chosen, names, strict=True)))

    def _count(self, domain: Domain, columns: VoteColumns, start: Start) -> IntArray:
        pl = import_optional("polars")
        lazy = self._select(columns.choose, "item", "other")
        schema = lazy.collect_schema()
        if pl.Object in schema.dtypes():
            start()
            # Both at once: what is collected twice may come in two orders.
            frame = lazy.collect()
            items, others = (each.to_list() if each.dtype == pl.Object else each.to_arrow() for each in frame)
            return count_columns(self._workspace, items, others, domain, columns.voters)
        if schema["item"] == pl.Null:
            return np.zeros(domain.d, dtype=np.int64)
        lazy, declared = _take_values(lazy)
        check_comparable(find_family(declared), domain, columns)
        check_persons(not schema["other"].is_nested(), columns)
        start()
        if isinstance(columns.voters, CountColumn):
            reader = lazy.collect(engine="streaming").to_arrow().to_reader()
            return count_reader(self._workspace, reader, domain, columns, start)
        keys = pl.from_arrow(key_table(domain, choose_exact_type(declared), find_family(declared)))
        if isinstance(schema["item"], pl.Datetime):
            # Keys are times in UTC; the zone of the votes only says how to show them.
            lazy = lazy.with_columns(pl.col("item").to_physical())
            keys = keys.with_columns(pl.col("key").to_physical())
        matched = _drop_gaps(lazy).join(keys.lazy(), left_on="item", right_on="key").select("row", "other")
        counted = _count_persons(matched, columns.voters.cap).collect(engine="streaming")
        return scatter_counts(counted.to_dict(as_series=True), d=domain.d)


def _take_values(lazy: Any) -> tuple[Any, Any]:
    """Take categories as text, as their codes depend on other votes; return the Arrow type of the items, too."""
    pl = import_optional("polars")
    coded = [name for name, kind in lazy.collect_schema().items() if isinstance(kind, pl.Categorical | pl.Enum)]
    lazy = lazy.with_columns(pl.col(coded).cast(pl.String))
    return lazy, lazy.select("item").clear().collect().to_arrow().schema.field(0).type


def _drop_gaps(lazy: Any) -> Any:
    """Drop rows without a person."""
    pl = import_optional("polars")
    voted = lazy.drop_nulls("other")
    return voted.filter(pl.col("other").is_not_nan()) if lazy.collect_schema()["other"].is_float() else voted


def _count_persons(matched: Any, cap: int | None, *, by: str = "row") -> Any:
    pl = import_optional("polars")
    if cap is None:
        return matched.group_by(by).agg(pl.col("other").n_unique().alias("votes"))
    turn = pl.struct("other", by).hash().rank("ordinal").over("other")
    kept = matched.unique().filter(turn <= cap)
    return kept.group_by(by).agg(pl.len().alias("votes"))
