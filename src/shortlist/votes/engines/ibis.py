"""Votes behind Ibis, in any of its backends: matched and counted there."""

from __future__ import annotations

from typing import Any

from shortlist.array_types import IntArray
from shortlist.votes.counting import VOTES, Columns, count_pairs, spread
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import optional
from shortlist.votes.engines.duckdb import check_comparable, check_persons, count_arrow
from shortlist.votes.item_types import family_of
from shortlist.votes.keys import key_table
from shortlist.votes.sources.header import Header
from shortlist.votes.workspace import Workspace


def count_ibis(workspace: Workspace, votes: Any, domain: Domain, columns: Columns) -> IntArray:
    """Count the votes of a table."""
    ibis = optional("ibis")
    item, other = Header(columns=list(votes.columns)).take(columns.names, where=VOTES)
    plain = votes.select(item=votes[item], other=votes[other])
    kept = plain.schema().to_pyarrow().field(0).type
    check_comparable(family_of(kept), domain, columns)
    check_persons(plain.other.type().is_nested(), columns)
    columns.start()
    if columns.counted:
        return count_arrow(workspace, plain.to_pyarrow().to_reader(), domain, columns)
    keys = ibis.memtable(key_table(domain, kept))
    voted = plain.filter(plain.other.notnull())
    if plain.other.type().is_floating():
        voted = voted.filter(~voted.other.isnan())
    matched = voted.join(keys, voted.item == keys.key).select("row", person="other")
    if columns.cap is not None:
        # Not every backend has a hash, so the pairs are handed over.
        pairs = workspace.connection.from_arrow(matched.distinct().to_pyarrow())
        return count_pairs(pairs, d=domain.d, cap=columns.cap)
    counted = matched.group_by("row").agg(votes=matched.person.nunique()).to_pyarrow()
    return spread(counted.to_pydict(), d=domain.d)
