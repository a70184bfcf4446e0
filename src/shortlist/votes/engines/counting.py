"""Count different persons for each row of the domain, in DuckDB.

A vote is matched to a row first, and persons are counted per row. So one person adds at most 1 to each count, whatever
equality an engine applies to items.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError, DataError
from shortlist.votes.columns import CountColumn, PersonColumn
from shortlist.votes.libraries import import_optional

_TEXT = re.compile(r"VARCHAR|JSON|ENUM\(.*", re.DOTALL)
_WHOLE_TYPES = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER")
_WHOLE_TEXT = "^[+-]?[0-9]{1,19}$"


def count_matches(connection: Any, plain: Any, keys: Any, voters: PersonColumn | CountColumn, *, d: int) -> IntArray:
    """Match a relation of `item` and `other` to keys, and count persons for each row or take counts as they are.

    Relations are composed as objects, so no table is made and no name is written into a statement.
    """
    kind = str(plain.types[1])
    nothing = " AND NOT system.main.isnan(other)" if kind in ("FLOAT", "DOUBLE") else ""
    voted = plain.filter(f"other IS NOT NULL{nothing}").set_alias("v")
    matched = voted.join(connection.from_arrow(keys).set_alias("k"), "v.item = k.key")
    if isinstance(voters, CountColumn):
        return take_counts(matched.project(f'"row", {write_count_reader(kind)} AS votes'), d=d)
    return count_pairs(matched.project('"row", other AS person'), d=d, cap=voters.cap)


def count_pairs(pairs: Any, *, d: int, cap: int | None) -> IntArray:
    """Count the different persons of each row, given a relation of `row` and `person` without gaps.

    With a cap, of each person only so many rows are kept, by a hash that depends on the person and the row alone.
    So text is hashed as bytes: the code of a category depends on the other persons, and DuckDB's windows misread text
    that is no UTF-8. Functions are named in full, because a macro may have the name alone.
    """
    if cap is None:
        counted = pairs.aggregate('"row", system.main.count(DISTINCT person) AS votes', '"row"')
    else:
        if _TEXT.fullmatch(str(pairs.types[1])):
            pairs = pairs.project('"row", system.main.encode(CAST(person AS VARCHAR)) AS person')
        # Hashed twice: one hash of a pair of small numbers prefers some rows.
        order = 'system.main.hash(system.main.hash(person, "row")), "row"'
        turn = f"system.main.row_number() OVER (PARTITION BY person ORDER BY {order}) AS turn"
        kept = pairs.distinct().project(f'"row", {turn}').filter(f"turn <= {cap}")
        counted = kept.aggregate('"row", system.main.count(*) AS votes', '"row"')
    return scatter_counts(counted.fetchnumpy(), d=d)


def number_rows(d: int) -> Any:
    """Keys for votes whose items are row numbers already."""
    every = np.arange(d)
    return import_optional("pyarrow").table({"key": every, "row": every})


def take_counts(given: Any, *, d: int) -> IntArray:
    """Take counts as they are, given a relation of `row` and `votes`, where votes are NULL if they are no count."""
    sizes = "system.main.count(*) AS n, system.main.count(votes) AS read, system.main.max(votes) AS votes"
    found = given.aggregate(f'"row", {sizes}', '"row"').fetchnumpy()
    if (found["read"] != found["n"]).any():
        raise DataError(
            "counts must be whole numbers from 0 to 2^63 − 1",
            "others were found",
            hint="is it the right column? In a file of text, write 1000, not 1,000 or 1000.0; leave a gap for no count",
        )
    if (found["n"] > 1).any():
        raise DataError(
            "counts must name each item once",
            "some items have several rows",
            hint="add the rows up first, and let {sensitivity} say what one person can add to the sum",
        )
    return scatter_counts(found, d=d)


def scatter_counts(found: Any, *, d: int) -> IntArray:
    """Write the counts of some rows into an array of all rows; refuse a row that is unknown, missing or repeated.

    >>> scatter_counts({"row": [2, 0], "votes": [5, 7]}, d=4).tolist()
    [7, 0, 5, 0]
    """
    missing = any(np.any(getattr(found[name], "mask", False)) for name in ("row", "votes"))
    counts = np.zeros(d, dtype=np.int64)
    rows = np.asarray(found["row"], dtype=np.int64)
    outside = bool(((rows < 0) | (rows >= d)).any())
    if missing or outside or len(np.unique(rows)) < len(rows):
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
