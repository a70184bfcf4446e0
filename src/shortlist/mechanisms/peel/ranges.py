"""Ranges of levels with exact weights. A decision splits a range only if it needs to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from shortlist.array_types import IntArray
from shortlist.exact.balls import enclose_exp_minus


def cover_all_left(values: IntArray, left: IntArray, rate: Fraction) -> LevelRange:
    """Make one range of all levels that have items left."""
    indices = np.flatnonzero(left)
    ends = np.concatenate([[0], np.cumsum(left[indices])])
    return LevelRange(rate=rate, indices=indices, values=values[indices], ends=ends, first=0, last=len(indices) - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelRange:
    """The items left on the levels from the `first` to the `last` of those that have any.

    The weight of an item is e^(−rate · loss). Its loss is how many votes it is below the best item left. A range is
    both a `Cell`, with the sum of the weights of its items, and a `Crowd`, with its items as members.
    """

    rate: Fraction
    indices: IntArray
    values: IntArray
    ends: IntArray
    first: int
    last: int

    def level(self) -> int:
        """Return the index of the first level among all levels."""
        return int(self.indices[self.first])

    @property
    def members(self) -> int:
        """The number of items."""
        return int(self.ends[self.last + 1] - self.ends[self.first])

    def decay(self) -> arb:
        """Enclose e^(−rate · loss) of every item."""
        best = self._decay(self.first)
        return best if self.first == self.last else best.union(self._decay(self.last))

    def weight(self) -> arb:
        """Enclose the sum of the weights."""
        return self.members * self.decay()

    def split(self) -> tuple[LevelRange, LevelRange] | None:
        """Return two halves, or None if there is only one level."""
        if self.first == self.last:
            return None
        middle = (self.first + self.last) // 2
        return replace(self, last=middle), replace(self, first=middle + 1)

    def _decay(self, index: int) -> arb:
        return enclose_exp_minus(self.rate * (int(self.values[0]) - int(self.values[index])))
