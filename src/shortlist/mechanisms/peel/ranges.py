"""What is left of the levels, with exact weights, in ranges that can be told apart as far as a decision needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import arb

from shortlist.array_types import IntArray
from shortlist.exact.balls import exp_minus


def all_left(values: IntArray, left: IntArray, rate: Fraction) -> LevelRange:
    """One range of all levels that have items left."""
    indices = np.flatnonzero(left)
    ends = np.concatenate([[0], np.cumsum(left[indices])])
    return LevelRange(rate=rate, indices=indices, values=values[indices], ends=ends, first=0, last=len(indices) - 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelRange:
    """The items left on the levels from the `first` to the `last` of those that have any.

    An item weighs e^(−rate · loss), its loss being how far its count is below the best one left. As a cell of a choice
    the range weighs what its items weigh together; as a crowd of permute-and-flip it is its items.
    """

    rate: Fraction
    indices: IntArray
    values: IntArray
    ends: IntArray
    first: int
    last: int

    def level(self) -> int:
        """The place of the first level among all levels."""
        return int(self.indices[self.first])

    @property
    def members(self) -> int:
        """How many items there are."""
        return int(self.ends[self.last + 1] - self.ends[self.first])

    def decay(self) -> arb:
        """Enclose e^(−rate · loss) for all of them."""
        best = self._decay(self.first)
        return best if self.first == self.last else best.union(self._decay(self.last))

    def weight(self) -> arb:
        """Enclose the weight of all of them together."""
        return self.members * self.decay()

    def split(self) -> tuple[LevelRange, LevelRange] | None:
        """Two halves, unless there is only one level."""
        if self.first == self.last:
            return None
        middle = (self.first + self.last) // 2
        return replace(self, last=middle), replace(self, first=middle + 1)

    def _decay(self, index: int) -> arb:
        return exp_minus(self.rate * (int(self.values[0]) - int(self.values[index])))
