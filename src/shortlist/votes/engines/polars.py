"""Votes in Polars: matched and counted there, by its streaming engine."""

from __future__ import annotations

from typing import Any

from shortlist.votes.columns import CountColumn, VoteColumns
from shortlist.votes.engines.arrow import StreamTable, open_batches
from shortlist.votes.engines.columns import ColumnsTable
from shortlist.votes.engines.counted import LocalTally, ObservedTally
from shortlist.votes.engines.counting import scatter_counts
from shortlist.votes.engines.observed import keep_groups
from shortlist.votes.engines.table import Start, Table, Tally, check_comparable, check_persons
from shortlist.votes.header import Choose, Header
from shortlist.votes.items.domain import Domain
from shortlist.votes.items.item_keys import check_observable
from shortlist.votes.items.item_types import Family, choose_exact_type, find_family
from shortlist.votes.items.keys import make_key_table
from shortlist.votes.libraries import import_optional
from shortlist.votes.workspace.workspace import Workspace


def open_polars(workspace: Workspace, frame: Any, name: str) -> Table:
    """A frame, lazy or not. One with Python objects is read like a dict, all its columns at once and in one order."""
    pl = import_optional("polars")
    if pl.Object not in frame.lazy().collect_schema().dtypes():
        return PolarsTable(workspace, frame, name)
    columns = frame.lazy().collect()
    given = {each.name: each.to_list() if each.dtype == pl.Object else each.to_arrow() for each in columns}
    return ColumnsTable(workspace, given, name)


class PolarsTable(StreamTable):
    """A frame of columns that have types."""

    def open_reader(self, choose: Choose) -> Any:
        """The chosen columns."""
        return self._select(choose).collect(engine="streaming").to_arrow().to_reader()

    def read_items(self, choose: Choose) -> Any:
        """The different items of the chosen column."""
        return self._select(choose).unique().collect().to_arrow().column(0)

    def count(self, domain: Domain, columns: VoteColumns, start: Start) -> Tally:
        """Count in Polars; the workspace takes columns of counts, and those that hold nothing."""
        pl = import_optional("polars")
        lazy = self._select(columns.choose)
        schema = lazy.collect_schema()
        if isinstance(columns.voters, CountColumn) or schema["item"] == pl.Null:
            return super().count(domain, columns, start)
        kept, family = _find_type(lazy)
        check_comparable(family, domain, columns)
        check_persons(not schema["other"].is_nested(), columns)
        start()
        # Short row numbers are grouped faster.
        keys = pl.from_arrow(make_key_table(domain, choose_exact_type(kept), family)).with_columns(
            pl.col("row").cast(pl.UInt32)
        )
        if isinstance(schema["item"], pl.Datetime):
            # Keys are times in UTC; the zone of the votes only says how to show them.
            lazy = lazy.with_columns(pl.col("item").to_physical())
            keys = keys.with_columns(pl.col("key").to_physical())
        matched = _drop_gaps(lazy).join(keys.lazy(), left_on="item", right_on="key").select("row", "other")
        counted = _count_persons(matched, columns.voters.cap, by="row").collect(engine="streaming")
        return LocalTally(domain, scatter_counts(counted.to_dict(as_series=True), d=domain.d))

    def count_observed(self, columns: VoteColumns, start: Start) -> ObservedTally:
        """Group in Polars; the workspace keeps the groups."""
        lazy = self._select(columns.choose)
        schema = lazy.collect_schema()
        if isinstance(columns.voters, CountColumn) or schema["item"] == import_optional("polars").Null:
            return super().count_observed(columns, start)
        _, family = _find_type(lazy)
        check_observable(family, columns)
        check_persons(not schema["other"].is_nested(), columns)
        start()
        voted = _drop_gaps(lazy.drop_nulls("item"))
        counted = _count_persons(voted, columns.voters.cap, by="item").collect(engine="streaming")
        groups = open_batches(self._workspace, counted.select("item", "votes").to_arrow().to_reader())
        return keep_groups(self._workspace, groups.project("item, other AS votes"), family)

    def _select(self, choose: Choose) -> Any:
        """The chosen columns, under names of ours. Categories are taken as text: their codes depend on other votes."""
        pl, lazy = import_optional("polars"), self._given.lazy()
        chosen = choose(Header(columns=lazy.collect_schema().names()))
        taken = lazy.select(pl.col(old).alias(new) for old, new in zip(chosen, ("item", "other"), strict=False))
        coded = [name for name, kind in taken.collect_schema().items() if isinstance(kind, pl.Categorical | pl.Enum)]
        return taken.with_columns(pl.col(coded).cast(pl.String)) if coded else taken


def _find_type(lazy: Any) -> tuple[Any, Family]:
    """The Arrow type of the items, and its family."""
    kept = lazy.select("item").clear().collect().to_arrow().schema.field(0).type
    return kept, find_family(kept)


def _drop_gaps(lazy: Any) -> Any:
    """Drop rows without a person."""
    pl = import_optional("polars")
    voted = lazy.drop_nulls("other")
    return voted.filter(pl.col("other").is_not_nan()) if lazy.collect_schema()["other"].is_float() else voted


def _count_persons(pairs: Any, cap: int | None, *, by: str) -> Any:
    pl = import_optional("polars")
    if cap is None:
        return pairs.group_by(by).agg(pl.col("other").n_unique().alias("votes"))
    turn = pl.struct("other", by).hash().rank("ordinal").over("other")
    kept = pairs.unique().filter(turn <= cap)
    return kept.group_by(by).agg(pl.len().alias("votes"))
