"""Votes in Polars: matched and counted there, by its streaming engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.counting import VOTES, Columns, spread
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional
from shortlist.votes.engines.duckdb import check_comparable, check_persons, count_arrow
from shortlist.votes.item_types import exact_type, family_of
from shortlist.votes.keys import key_table
from shortlist.votes.sources.columns import count_columns
from shortlist.votes.sources.header import Header
from shortlist.votes.workspace import Workspace


def count_polars(workspace: Workspace, votes: Any, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of a frame, lazy or not."""
    pl = optional("polars")
    lazy = votes.lazy()
    chosen = Header(columns=lazy.collect_schema().names()).take(columns.names, where=VOTES)
    lazy = lazy.select(*(pl.col(old).alias(new) for old, new in zip(chosen, ("item", "other"), strict=True)))
    schema = lazy.collect_schema()
    if pl.Object in schema.dtypes():
        columns.start()
        # Both at once: what is collected twice may come in two orders.
        frame = lazy.collect()
        items, others = (each.to_list() if each.dtype == pl.Object else each.to_arrow() for each in frame)
        return count_columns(workspace, items, others, domain, columns)
    if schema["item"] == pl.Null:
        return np.zeros(domain.d, dtype=np.int64)
    # The code of a category depends on the other values of its column.
    coded = [name for name, kind in schema.items() if isinstance(kind, pl.Categorical | pl.Enum)]
    lazy = lazy.with_columns(pl.col(coded).cast(pl.String))
    declared = lazy.select("item").clear().collect().to_arrow().schema.field(0).type
    check_comparable(family_of(declared), domain, columns)
    check_persons(schema["other"].is_nested(), columns)
    columns.start()
    if columns.counted:
        return count_arrow(workspace, lazy.collect(engine="streaming").to_arrow().to_reader(), domain, columns)
    keys = pl.from_arrow(key_table(domain, exact_type(declared), family_of(declared)))
    if isinstance(schema["item"], pl.Datetime):
        # Keys are times in UTC; the zone of the votes only says how to show them.
        lazy = lazy.with_columns(pl.col("item").to_physical())
        keys = keys.with_columns(pl.col("key").to_physical())
    voted = lazy.drop_nulls("other")
    if schema["other"].is_float():
        voted = voted.filter(pl.col("other").is_not_nan())
    matched = voted.join(keys.lazy(), left_on="item", right_on="key").select("row", "other")
    counted = _count(matched, columns.cap).collect(engine="streaming")
    return spread(counted.to_dict(as_series=True), d=domain.d)


def _count(matched: Any, cap: int | None) -> Any:
    pl = optional("polars")
    if cap is None:
        return matched.group_by("row").agg(pl.col("other").n_unique().alias("votes"))
    turn = pl.struct("other", "row").hash().rank("ordinal").over("other")
    kept = matched.unique().filter(turn <= cap)
    return kept.group_by("row").agg(pl.len().alias("votes"))
