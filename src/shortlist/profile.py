"""Levels: how many items have each count, which is all that a mechanism needs to know.

Every mechanism treats items with equal counts alike (the profile principle), so counts cross to it as a
`Profile`, and it answers with `Picks`: a count level and a rank inside that level for each chosen item.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The items' levels from the largest count downwards: `sizes[i]` items have count `values[i]`.

    A profile may stop early: then `sizes` sum to less than `d`, and all other items have counts below the last value.
    """

    values: IntArray
    sizes: IntArray
    d: int

    @cached_property
    def ends(self) -> IntArray:
        """How many items have count `values[i]` or more."""
        return np.cumsum(self.sizes)

    @property
    def complete(self) -> bool:
        """Whether every item is on one of the levels."""
        return bool(self.ends[-1] == self.d)

    def above(self, k: int, depth: int) -> Profile:
        """Itself: it satisfies `Levels` whenever it is complete."""
        return self


class Levels(Protocol):
    """Counts that can show their upper levels; those of `d` items."""

    @property
    def d(self) -> int:
        """How many items there are, voted for or not."""

    def above(self, k: int, depth: int) -> Profile:
        """Show at least every level down to `depth` below the k-th largest count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picks:
    """The chosen items, best first: `ranks[j]` counts from 0 inside the level of all items with count `levels[j]`."""

    levels: IntArray
    ranks: IntArray
