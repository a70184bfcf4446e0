"""Votes without a domain: every different item is a group, and the persons of each group are counted.

Items are grouped by their exact value: text by its bytes, without collation. A person counts once in a group. So one
person adds 0 or 1 to each count, may bring groups that nobody else has, and at most as many as a cap allows. Groups
whose items Python cannot hold are left out, each by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.votes.engines.counted import ObservedTally
from shortlist.votes.items.domain import Domain, choose_held_type
from shortlist.votes.items.item_keys import read_item
from shortlist.votes.items.item_types import Family
from shortlist.votes.libraries import import_optional
from shortlist.votes.sql import invent_name
from shortlist.votes.workspace.running import register_engine
from shortlist.votes.workspace.workspace import Workspace

_RANGES = {
    "DATE": "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    "TIME": "BETWEEN TIME '00:00:00' AND TIME '23:59:59.999999'",
    "TIMESTAMP": "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
    "TIMESTAMP WITH TIME ZONE": (
        "BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"
    ),
}


def keep_groups(workspace: Workspace, counted: Any, family: Family) -> ObservedTally:
    """Keep counted groups, a relation of `item` and `votes`, in a table of the workspace, which spills.

    Items of no family (`OTHER`) are bytes that `write_item` wrote.
    """
    connection, table = workspace.connection, invent_name()
    item, condition = _clean_items(str(counted.types[0]), family)
    with register_engine(connection.interrupt):
        clean = counted.project(f"{item} AS item, CAST(votes AS BIGINT) AS votes").filter(condition)
        connection.execute(f"CREATE TEMP TABLE {table} (item {clean.types[0]}, votes BIGINT)")
        clean.insert_into(table)
        levels = connection.table(table).aggregate("votes, system.main.count(*) AS n", "votes").fetchall()
    return ObservedTally(levels, lambda counts, ranks: _find_items(workspace, table, family, counts, ranks))


def convert_items(column: Any, family: Family) -> list[Any]:
    """Turn an Arrow column of chosen items into Python values."""
    if family == Family.OTHER:
        return [read_item(each) for each in column.to_pylist()]
    held = column.cast(choose_held_type(column.type, family))
    return list(Domain(items=held, family=family).values())


def _clean_items(kind: str, family: Family) -> tuple[str, str]:
    """The SQL of a group's item in the type that it is held in, and the condition that Python can hold it."""
    if family == Family.TEXT:
        text = "item" if kind == "BLOB" else "system.main.encode(item)"
        return f"TRY(system.main.decode({text}))", "item IS NOT NULL"
    if kind.startswith("TIMESTAMP_"):
        whole = "CASE WHEN system.main.epoch_ns(item) % 1000 = 0 THEN item END" if kind == "TIMESTAMP_NS" else "item"
        return f"TRY_CAST({whole} AS TIMESTAMP)", f"item {_RANGES['TIMESTAMP']}"
    return "item", f"item {_RANGES.get(kind, 'IS NOT NULL')}"


def _find_items(
    workspace: Workspace, table: str, family: Family, counts: IntArray, ranks: IntArray
) -> Iterable[tuple[int, int, Any]]:
    pa, connection = import_optional("pyarrow"), workspace.connection
    levels = ", ".join(map(str, np.unique(counts).tolist()))
    rank = "system.main.row_number() OVER (PARTITION BY votes ORDER BY item) - 1 AS place"
    with register_engine(connection.interrupt):
        ranked = connection.table(table).filter(f"votes IN ({levels})").project(f"votes, item, {rank}").set_alias("r")
        wanted = connection.from_arrow(pa.table({"votes": counts, "place": ranks})).set_alias("w")
        found = ranked.join(wanted, "r.votes = w.votes AND r.place = w.place").project("r.votes, r.place, item")
        answer = found.to_arrow_table()
    items = convert_items(answer.column(2).combine_chunks(), family)
    return zip(answer.column(0).to_pylist(), answer.column(1).to_pylist(), items, strict=True)
