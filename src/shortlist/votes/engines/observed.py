"""Votes without a domain: every different item is a group, and the persons of each group are counted.

Items are grouped by their exact value: text by its bytes, without collation. A person counts once in a group. So one
person adds 0 or 1 to each count, may bring groups that nobody else has, and at most as many as a cap allows. Groups
whose items Python cannot hold are left out, each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError, DataError
from shortlist.profile import Picks, Profile
from shortlist.votes.columns import CountColumn, PersonColumn
from shortlist.votes.engines.counting import write_count_reader
from shortlist.votes.items.domain import Domain, choose_held_type
from shortlist.votes.items.item_keys import read_item, write_item
from shortlist.votes.items.item_types import Family
from shortlist.votes.libraries import import_optional
from shortlist.votes.sql import invent_name
from shortlist.votes.workspace.failures import strip_context
from shortlist.votes.workspace.running import register_engine
from shortlist.votes.workspace.workspace import Workspace

FindItems = Callable[[IntArray, IntArray], Iterable[tuple[int, int, Any]]]
"""Given the counts and ranks of some picks, answers with count, rank and item of each."""

_TEXT = re.compile(r"VARCHAR|JSON|ENUM\(.*", re.DOTALL)
_RANGES = {
    "DATE": "BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'",
    "TIME": "< TIME '24:00:00'",
    "TIMESTAMP": "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'",
    "TIMESTAMP WITH TIME ZONE": (
        "BETWEEN TIMESTAMPTZ '0001-01-01 00:00:00+00' AND TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'"
    ),
}


class ObservedTally:
    """The votes of every observed item, counted and fixed. Only levels and chosen items come back.

    Items on one level are ranked in ascending order: numbers and times by value, text and bytes by their bytes. How
    many items there are is data, and must not be published.
    """

    def __init__(self, levels: Iterable[tuple[int, int]], find: FindItems) -> None:
        """Take the number of items of each count, and a way to find the chosen ones."""
        falling = sorted(levels, reverse=True)
        values, sizes = (np.array([level[part] for level in falling], dtype=np.int64) for part in (0, 1))
        self._profile = Profile(values=values, sizes=sizes, d=int(sizes.sum()))
        self._find = find
        self._chosen: list[Any] = []

    @property
    def d(self) -> int:
        """How many items there are. It is not public."""
        return self._profile.d

    def above(self, k: int, depth: int) -> Profile:
        """Show every level."""
        return self._profile

    @strip_context
    def rows(self, picks: Picks) -> IntArray:
        """Number the picks in the order of their items, and keep the items."""
        wanted = list(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))
        found = {(level, rank): item for level, rank, item in self._find(picks.levels, picks.ranks)} if wanted else {}
        written = {pick: key for pick, item in found.items() if (key := write_item(item)) is not None}
        if not all(pick in written for pick in wanted):
            raise ChangedError("the counted items must not change between two reads")
        keys = sorted(written.values())
        self._chosen = [read_item(key) for key in keys]
        places = {key: place for place, key in enumerate(keys)}
        return np.array([places[written[pick]] for pick in wanted], dtype=np.int64)

    def names(self, rows: IntArray) -> Sequence[Any]:
        """The items of some rows of the last picks."""
        return [self._chosen[row] for row in rows.tolist()]


def count_groups(plain: Any, voters: PersonColumn | CountColumn) -> Any:
    """Group a relation of `item` and `other` by item, in its DuckDB; the answer has the columns `item` and `votes`.

    Text is handed on as bytes where a window needs it: DuckDB's windows misread text that is no UTF-8.
    """
    kind = str(plain.types[1])
    nothing = " AND NOT system.main.isnan(other)" if kind in ("FLOAT", "DOUBLE") else ""
    voted = plain.filter(f"item IS NOT NULL AND other IS NOT NULL{nothing}")
    if isinstance(voters, CountColumn):
        sizes = "system.main.count(*) AS n, system.main.count(votes) AS read, system.main.max(votes) AS votes"
        return voted.project(f"item, {write_count_reader(kind)} AS votes").aggregate(f"item, {sizes}", "item")
    if voters.cap is None:
        return voted.aggregate("item, system.main.count(DISTINCT other) AS votes", "item")
    columns = [
        f"system.main.encode(CAST({name} AS VARCHAR)) AS {name}" if _TEXT.fullmatch(str(type_)) else name
        for name, type_ in zip(("item", "other"), plain.types, strict=True)
    ]
    # Hashed twice: one hash of a pair of small numbers prefers some items.
    order = "system.main.hash(system.main.hash(other, item)), item"
    turn = f"system.main.row_number() OVER (PARTITION BY other ORDER BY {order}) AS turn"
    kept = voted.project(", ".join(columns)).distinct().project(f"item, {turn}").filter(f"turn <= {voters.cap}")
    return kept.aggregate("item, system.main.count(*) AS votes", "item")


def keep_groups(workspace: Workspace, counted: Any, family: Family, *, moved: bool) -> ObservedTally:
    """Keep counted groups in a table of the workspace, which spills. `moved` groups come from another DuckDB."""
    connection, table = workspace.connection, invent_name()
    if moved:
        reader = getattr(counted, "to_arrow_reader", None) or counted.fetch_record_batch  # its name in DuckDB 1
        counted = connection.from_arrow(reader())
    types = dict(zip(counted.columns, map(str, counted.types), strict=True))
    item, condition = clean_items(types["item"], family)
    with register_engine(connection.interrupt):
        if "read" in types:
            counted = _take_counts(connection, counted, types)
        clean = counted.project(f"{item} AS item, CAST(votes AS BIGINT) AS votes").filter(condition)
        connection.execute(f"CREATE TEMP TABLE {table} (item {clean.types[0]}, votes BIGINT)")
        clean.insert_into(table)
        levels = connection.table(table).aggregate("votes, system.main.count(*) AS n", "votes").fetchall()
    return ObservedTally(levels, lambda counts, ranks: _find_items(workspace, table, family, counts, ranks))


def keep_keys(workspace: Workspace, pairs: Any, voters: PersonColumn | CountColumn) -> ObservedTally:
    """Count and keep groups whose items are written as bytes by `write_item`."""
    return keep_groups(workspace, count_groups(pairs, voters), Family.OTHER, moved=False)


def clean_items(kind: str, family: Family) -> tuple[str, str]:
    """The SQL of a group's item in the type that it is held in, and the condition that Python can hold it."""
    if family == Family.TEXT:
        text = "item" if kind == "BLOB" else "system.main.encode(item)"
        return f"TRY(system.main.decode({text}))", "item IS NOT NULL"
    if kind.startswith("TIMESTAMP_"):
        whole = "CASE WHEN system.main.epoch_ns(item) % 1000 = 0 THEN item END" if kind == "TIMESTAMP_NS" else "item"
        return f"TRY_CAST({whole} AS TIMESTAMP)", f"item {_RANGES['TIMESTAMP']}"
    return "item", f"item {_RANGES.get(kind, 'IS NOT NULL')}"


def convert_items(column: Any, family: Family) -> list[Any]:
    """Turn an Arrow column of chosen items into Python values."""
    if family == Family.OTHER:
        return [read_item(each) for each in column.to_pylist()]
    held = column.cast(choose_held_type(column.type, family))
    return list(Domain(items=held, family=family).values())


def _take_counts(connection: Any, counted: Any, types: dict[str, str]) -> Any:
    """Refuse groups that are no counts or have several rows. The groups are read once."""
    table = invent_name()
    fields = ", ".join(f"{name} {kind}" for name, kind in types.items())
    connection.execute(f"CREATE TEMP TABLE {table} ({fields})")
    counted.insert_into(table)
    kept = connection.table(table)
    if kept.filter("read <> n").limit(1).fetchall():
        raise DataError(
            "counts must be whole numbers from 0 to 2^63 − 1",
            "others were found",
            hint="is it the right column? In a file of text, write 1000, not 1,000 or 1000.0; leave a gap for no count",
        )
    if kept.filter("n > 1").limit(1).fetchall():
        raise DataError("counts must name each item once", "some items have several rows", hint="add the rows up first")
    return kept


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
