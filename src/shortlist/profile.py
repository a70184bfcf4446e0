"""The profile of counts: how many items have each count.

Every mechanism treats items with equal counts alike, so it needs no more than the profile. A *level* is the set of all
items with the same count. A mechanism answers with `Picks`: for each chosen item, the count of its level and its rank
inside the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import DataError

EVERY_LEVEL = 2**63 - 1
"""A depth below the k-th largest count that reaches every level."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Profile:
    """The levels in falling order of count: `sizes[i]` items have count `values[i]`.

    A profile may stop early. Then `sizes` sum to less than `d`, and all other items have counts below the last value.

    >>> Profile.of(np.array([2, 0, 2, 7]))
    Profile(values=array([7, 2, 0]), sizes=array([1, 2, 1]), d=4)
    """

    values: IntArray
    sizes: IntArray
    d: int

    @classmethod
    def of(cls, counts: IntArray, *, d: int | None = None) -> Profile:
        """Group counts into levels. With `d`, they are the largest counts of `d` items."""
        values, sizes = np.unique(counts, return_counts=True)
        return cls(values=values[::-1], sizes=sizes[::-1], d=len(counts) if d is None else d)

    @cached_property
    def ends(self) -> IntArray:
        """How many items have count `values[i]` or more."""
        return np.cumsum(self.sizes)

    @property
    def is_complete(self) -> bool:
        """Whether every item is on one of the levels."""
        return int(self.sizes.sum()) == self.d

    def above(self, k: int, depth: int) -> Profile:
        """Return the profile itself. Refuse if it stops too early.

        >>> Profile.of(np.array([9, 9]), d=4).above(k=1, depth=5)
        Traceback (most recent call last):
        shortlist.errors.DataError: the profile must hold every level that the mechanism needs; it stops too early.
        Hint: pass the counts of all items, or of more of them
        """
        if not self.is_complete and (k > self.ends[-1] or int(self.values[-1]) > int(self.top(k)[-1]) - depth):
            raise DataError(
                "the profile must hold every level that the mechanism needs",
                "it stops too early",
                hint="pass the counts of all items, or of more of them",
            )
        return self

    def top(self, k: int) -> IntArray:
        """The k largest counts, in falling order."""
        return self.values[self.find_levels(np.arange(min(k, int(self.ends[-1]))))]

    def find_gaps(self, sizes: range) -> IntArray:
        """Find the gap after the n largest counts, for every size n. A count that does not exist is 0.

        Of the sizes above the number of items, only the first is included: all of them have the gap 0, and the last may
        be huge.

        >>> Profile.of(np.array([9, 4, 4])).find_gaps(range(1, 10**30)).tolist()
        [5, 0, 4, 0]
        """
        first, last = sizes[0], min(sizes[-1], max(self.d + 1, sizes[0]))
        counts = self.top(min(last + 1, self.d))[first - 1 :]
        padded = np.concatenate([counts, np.zeros(last - first + 2 - len(counts), dtype=np.int64)])
        gaps: IntArray = padded[:-1] - padded[1:]
        return gaps

    def picks(self, positions: IntArray) -> Picks:
        """Describe items by level and rank, given their positions in the falling order of counts."""
        level = self.find_levels(positions)
        return Picks(levels=self.values[level], ranks=positions - (self.ends[level] - self.sizes[level]))

    def find_levels(self, positions: IntArray) -> IntArray:
        """Find the level of each item, given its position in the falling order of counts."""
        return np.searchsorted(self.ends, positions, side="right")


class Levels(Protocol):
    """Counts of `d` items, of which the upper levels can be read."""

    @property
    def d(self) -> int:
        """The number of items, with or without votes."""

    def above(self, k: int, depth: int) -> Profile:
        """Return at least every level down to `depth` below the k-th largest count."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picks:
    """The chosen items, best first: item j has rank `ranks[j]`, from 0, among the items with count `levels[j]`.

    If the mechanism releases noisy counts, `counts[j]` is the noisy count of item j.
    """

    levels: IntArray
    ranks: IntArray
    counts: IntArray | None = None
    chosen: str | None = None
    """The name of the mechanism that `auto` chose."""
    unordered: bool = False
    """Whether the picks have no order. Items are then listed in the order of the domain."""

    def publish(self, rows: IntArray) -> tuple[IntArray, IntArray | None]:
        """Return rows and noisy counts in the order in which they are published, given the row of each item.

        >>> picks = Picks(levels=np.array([9, 7]), ranks=np.array([0, 0]), unordered=True)
        >>> picks.publish(np.array([40, 30]))
        (array([30, 40]), None)
        """
        if not self.unordered:
            return rows, self.counts
        order = np.argsort(rows)
        return rows[order], None if self.counts is None else self.counts[order]


NO_PICKS = Picks(levels=np.zeros(0, dtype=np.int64), ranks=np.zeros(0, dtype=np.int64))
"""The picks of a group without a list."""
