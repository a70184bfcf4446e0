"""Count different persons for each row of the domain, in the library's own DuckDB.

A vote is matched to a row first, and persons are counted per row. So one person adds at most 1 to each count, whatever
equality an engine applies to items.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ChangedError, DataError, ParameterError
from shortlist.privacy.numbers import quote
from shortlist.profile import EVERY_LEVEL, Picks, Profile
from shortlist.votes.arrays import ArrayTally
from shortlist.votes.domain import Domain
from shortlist.votes.engine_errors import strip_context

VOTES = "the votes"
_TEXT = re.compile(r"VARCHAR|JSON|ENUM\(.*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns of the votes are read: the items, and the persons or the counts."""

    item: str
    other: str
    counted: bool
    cap: int | None = None
    """How many rows of one person are kept at most."""
    start: Callable[[], None] = lambda: None
    """What engines call when all checks are done and before they read a vote, once or several times."""

    @classmethod
    def check(cls, *, item: Any, person: Any, count: Any, votes_per_person: Any) -> Columns:
        """Refuse columns that contradict each other."""
        for name, column in (("item", item), ("person", person), ("count", count)):
            if not isinstance(column, str) and (column is not None or name == "item"):
                raise ParameterError(
                    f"{{{name}}} must be the name of a column, as text", "not {kind}", kind=type(column).__name__
                )
        if (person is None) == (count is None):
            raise ParameterError(
                "{person} or {count} must be named, and only one of them",
                "neither was" if person is None else "both were",
                hint="{person} names the column of who voted; {count} the counts of a table that is counted already",
            )
        if item in (person, count):
            raise ParameterError(f"{{item}} and {{{'person' if count is None else 'count'}}} must be different columns")
        if votes_per_person is not None:
            _check_cap(votes_per_person, counted=person is None)
        other = str(count if person is None else person)
        return cls(item=item, other=other, counted=person is None, cap=votes_per_person)

    @property
    def names(self) -> list[str]:
        """The two columns: items, then persons or counts."""
        return [self.item, self.other]


class CountedDomain:
    """The votes of every row of the domain, in memory."""

    def __init__(self, domain: Domain, counts: IntArray) -> None:
        self._domain = domain
        self._tally = ArrayTally(counts)

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""
        return self._domain.d

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""
        return self._tally.above(k, depth)

    def rows(self, picks: Picks) -> IntArray:
        """The row of each pick; inside a level, items are ranked by row."""
        return self._tally.items(picks)

    @strip_context
    def names(self, rows: IntArray) -> list[Any]:
        """The items of some rows, as the domain wrote them."""
        return self._domain.names(rows)


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
        order = 'system.main.hash(person, "row"), "row"'
        turn = f"system.main.row_number() OVER (PARTITION BY person ORDER BY {order}) AS turn"
        kept = pairs.distinct().project(f'"row", {turn}').filter(f"turn <= {cap}")
        counted = kept.aggregate('"row", system.main.count(*) AS votes', '"row"')
    return spread(counted.fetchnumpy(), d=d)


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
    return spread(found, d=d)


def spread(found: Any, *, d: int) -> IntArray:
    """Write the counts of some rows into an array of all rows; refuse a row that is unknown, missing or repeated.

    >>> spread({"row": [2, 0], "votes": [5, 7]}, d=4).tolist()
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


def _check_cap(cap: Any, *, counted: bool) -> None:
    if isinstance(cap, bool) or not isinstance(cap, int) or not 1 <= cap <= EVERY_LEVEL:
        raise ParameterError("{votes_per_person} must be a whole number from 1", "not {value}", value=quote(cap))
    if counted:
        raise ParameterError(
            "{votes_per_person} must go with {person}",
            hint="in a table that is counted already, nobody's votes can be told apart",
        )
