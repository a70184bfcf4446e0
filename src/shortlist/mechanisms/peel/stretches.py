"""Levels that can be the best one left, in stretches whose weights are near enough to share one table."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.choice import Table
from shortlist.exact.many_thinning import POWERS
from shortlist.mechanisms.peel.peeling import OMITTED, LevelWeights

_NEAR = 2.0**-16
"""All items from the last level of a stretch on weigh more than this share of those from its first level on."""


class Stretch:
    """The best levels from `first` to `last`, with the weights of all levels within reach of any of them."""

    def __init__(self, slope: LevelWeights, first: int, last: int) -> None:
        self.first = first
        self._length = last - first + 1
        self.weights = slope.weigh(first, slope.find_end(last))
        """e^(−rate · (count of the first level − count)) of each level."""
        self._sizes = slope.profile.sizes[first : first + len(self.weights)]
        self._omitted = OMITTED * float(self.weights[last - first])
        self._roundings = slope.roundings
        error = LevelWeights.error(slope.roundings + 1)
        self.table = Table(self._sizes * self.weights, error=error, omitted=self._omitted)

    @cached_property
    def sums(self) -> FloatArray:
        """Σ c^m over all items from each best level on, a row for each m from 1, where c is 1 on the best level."""
        rows, powers = [], np.ones_like(self.weights)
        for _ in range(POWERS):
            powers = powers * self.weights
            # From below, so that nothing is subtracted.
            totals = np.cumsum((self._sizes * powers)[::-1])[::-1]
            rows.append(totals[: self._length] / powers[: self._length])
        return np.array(rows)

    @property
    def error(self) -> float:
        """The relative error of the sums, and of each c.

        A weight is off by n roundings, its m-th power by m (n + 2), and a sum of it over l levels by l more. What is
        out of reach adds less than 2^-47.
        """
        roundings = 2 * POWERS * (self._roundings + 3) + len(self.weights) + 8
        return LevelWeights.error(roundings) + OMITTED


def find_stretches(slope: LevelWeights) -> tuple[list[Stretch], IntArray]:
    """Cut the levels that can be the best one left into stretches, and say in which one each level is."""
    totals = np.array(slope.totals)
    stretches: list[Stretch] = []
    places, first = np.zeros(len(totals), dtype=np.int64), 0
    while first < len(totals):
        weights = slope.weigh(first, len(totals))
        near = weights * totals[first:] > _NEAR * totals[first]
        near &= weights > _NEAR
        length = len(near) if near.all() else int(near.argmin())
        places[first : first + length] = len(stretches)
        stretches.append(Stretch(slope, first, first + length - 1))
        first += length
    return stretches, places
