"""Levels: how many items have each count, which is all that a mechanism needs to know.

Every mechanism treats items with equal counts alike (the profile principle), so counts cross to it as a
`Profile`, and it answers with `Picks`: a count level and a rank inside that level for each chosen item.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from shortlist.arrays import IntArray

EVERY_LEVEL = 2**63 - 1
"""A depth below the k-th largest count that leaves no level out."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The items' levels from the largest count downwards: `sizes[i]` items have count `values[i]`.

    A profile may stop early: then `sizes` sum to less than `d`, and all other items have counts below the last value.

    >>> Profile.of(np.array([2, 0, 2, 7]))
    Profile(values=array([7, 2, 0]), sizes=array([1, 2, 1]), d=4)
    """

    values: IntArray
    sizes: IntArray
    d: int

    @classmethod
    def of(cls, counts: IntArray, *, d: int | None = None) -> Profile:
        """Make the levels of some counts; of the top counts among `d` items, if `d` is given."""
        d = len(counts) if d is None else d
        lowest = int(counts.min())
        if int(counts.max()) - lowest <= 4 * len(counts):
            sizes = np.bincount(counts - lowest if lowest else counts)[::-1]
            offsets = np.flatnonzero(sizes)
            return cls(values=lowest + len(sizes) - 1 - offsets, sizes=sizes[offsets], d=d)
        falling = np.sort(counts)[::-1]
        starts = np.flatnonzero(np.concatenate([[True], falling[1:] != falling[:-1]]))
        return cls(values=falling[starts], sizes=np.diff(starts, append=len(falling)), d=d)

    @cached_property
    def ends(self) -> IntArray:
        """How many items have count `values[i]` or more."""
        return np.cumsum(self.sizes)

    @property
    def complete(self) -> bool:
        """Whether every item is on one of the levels."""
        return bool(self.ends[-1] == self.d)

    def above(self, k: int, depth: int) -> Profile:
        """Itself: a complete profile can show all its levels."""
        return self

    def top(self, k: int) -> IntArray:
        """The k largest counts, falling."""
        last = int(np.searchsorted(self.ends, k)) + 1
        return np.repeat(self.values[:last], self.sizes[:last])[:k]

    def picks(self, positions: IntArray) -> Picks:
        """Name items by level and rank, given their positions among all items in falling order of count."""
        level = np.searchsorted(self.ends, positions, side="right")
        return Picks(levels=self.values[level], ranks=positions - (self.ends[level] - self.sizes[level]))


class Levels(Protocol):
    """Counts of `d` items that can show their upper levels."""

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """The chosen items, best first: `ranks[j]` counts from 0 inside the level of all items with count `levels[j]`.

    Where a mechanism releases noisy counts, `counts[j]` is that of the item in place j.
    """

    levels: IntArray
    ranks: IntArray
    counts: IntArray | None = None
    chosen: str | None = None
    """The name of the mechanism that was chosen, where one chooses among several."""
