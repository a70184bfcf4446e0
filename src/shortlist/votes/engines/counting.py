"""Count different persons for each group of votes, in DuckDB.

With a domain, a vote is matched to a row first, and the groups are the rows. So one person adds at most 1 to each
count, whatever equality an engine applies to items. Without a domain, the groups are the items.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError, DataError
from shortlist.votes.columns import CountColumn, PersonColumn
from shortlist.votes.libraries import import_optional

NO_COUNT, SEVERAL_COUNTS = -1, -2
"""In place of the votes of a group: a value of it is no count, or it has several rows."""
_TEXT = re.compile(r"VARCHAR|JSON|ENUM\(.*", re.DOTALL)
_WHOLE_TYPES = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER")
_WHOLE_TEXT = "^[+-]?[0-9]{1,19}$"


def count_matches(connection: Any, plain: Any, keys: Any, voters: PersonColumn | CountColumn, *, d: int) -> IntArray:
    """Match a relation of `item` and `other` to keys, and count the votes of each row.

    Relations are composed as objects, so no table is made and no name is written into a statement.
    """
    matched = plain.set_alias("v").join(connection.from_arrow(keys).set_alias("k"), "v.item = k.key")
    return count_rows(matched.project('"row" AS item, other'), voters, d=d)


def count_rows(numbered: Any, voters: PersonColumn | CountColumn, *, d: int) -> IntArray:
    """Count the votes of each row, given a relation of row numbers (`item`) and `other`."""
    found = count_groups(numbered, voters).fetchnumpy()
    check_counts(found["votes"].tolist())
    return scatter_counts({"row": found["item"], "votes": found["votes"]}, d=d)


def count_groups(plain: Any, voters: PersonColumn | CountColumn) -> Any:
    """Group a relation of `item` and `other` by item; the answer has the columns `item` and `votes`.

    Persons are counted; counts are taken as they are. A cap is the number of items that are kept of each person, by a
    hash that depends on the person and the item alone. So text is hashed as bytes: the code of a category depends on
    the other persons, and DuckDB's windows misread text that is no UTF-8. Functions are named in full, because a macro
    may have the short name.
    """
    kind = str(plain.types[1])
    nothing = " AND NOT system.main.isnan(other)" if kind in ("FLOAT", "DOUBLE") else ""
    voted = plain.filter(f"item IS NOT NULL AND other IS NOT NULL{nothing}")
    if isinstance(voters, CountColumn):
        read, count = voted.project(f"item, {write_count_reader(kind)} AS votes"), "system.main.count"
        none = f"WHEN {count}(votes) < {count}(*) THEN {NO_COUNT}"
        several = f"WHEN {count}(*) > 1 THEN {SEVERAL_COUNTS}"
        return read.aggregate(f"item, CASE {none} {several} ELSE system.main.max(votes) END AS votes", "item")
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


def number_rows(d: int) -> Any:
    """Keys for votes whose items are row numbers already."""
    every = np.arange(d)
    return import_optional("pyarrow").table({"key": every, "row": every})


def check_counts(votes: Iterable[int]) -> None:
    """Refuse a table of counts in which a group has no count, or several.

    >>> check_counts([3, 0, -2])
    Traceback (most recent call last):
    shortlist.errors.DataError: counts must name each item once; some items have several rows.
    Hint: add the rows up first, and let sensitivity say what one person can add to the sum
    """
    found = set(votes)
    if NO_COUNT in found:
        raise DataError(
            "counts must be whole numbers from 0 to 2^63 − 1",
            "others were found",
            hint="is it the right column? In a file of text, write 1000, not 1,000 or 1000.0; leave a gap for no count",
        )
    if SEVERAL_COUNTS in found:
        raise DataError(
            "counts must name each item once",
            "some items have several rows",
            hint="add the rows up first, and let {sensitivity} say what one person can add to the sum",
        )


def scatter_counts(found: Any, *, d: int) -> IntArray:
    """Write the counts of some rows into an array of all rows; refuse a row that is unknown, missing or repeated.

    >>> scatter_counts({"row": [2, 0], "votes": [5, 7]}, d=4).tolist()
    [7, 0, 5, 0]
    """
    missing = any(np.any(getattr(found[name], "mask", False)) for name in ("row", "votes"))
    counts = np.zeros(d, dtype=np.int64)
    rows = np.asarray(found["row"], dtype=np.int64)
    outside = bool(((rows < 0) | (rows >= d)).any())
    if missing or outside or np.bincount(rows, minlength=d).max() > 1:
        raise ChangedError("each row of the domain must be counted once")
    counts[rows] = np.asarray(found["votes"], dtype=np.int64)
    return counts


def write_count_reader(kind: str) -> str:
    """The SQL that reads a count, NULL where it is none."""
    value = "CAST(NULL AS BIGINT)"
    if _WHOLE_TYPES.fullmatch(kind):
        value = "TRY_CAST(other AS BIGINT)"
    elif kind == "VARCHAR":
        value = f"CASE WHEN system.main.regexp_matches(other, '{_WHOLE_TEXT}') THEN TRY_CAST(other AS BIGINT) END"
    elif kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL("):
        value = "CASE WHEN other = system.main.trunc(other) THEN TRY_CAST(other AS BIGINT) END"
    return f"CASE WHEN {value} >= 0 THEN {value} END"
