"""The score of a mechanism that chooses sets. Few programs need it, so scores.py does not import it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb

from shortlist.exact.balls import ball, enclose_exp_minus
from shortlist.exact.choice import enclose_sum
from shortlist.mechanisms.mechanism import cut_off
from shortlist.mechanisms.spans import count_bits
from shortlist.mechanisms.subset.draws import count_set_bits, find_reach
from shortlist.mechanisms.subset.grid import Grid
from shortlist.mechanisms.subset.sets import Sets
from shortlist.mechanisms.weights import Weights
from shortlist.profile import EVERY_LEVEL, Levels


class SetScore:
    """The mean over j of min(z, h_(j)), z = (1/rate) · ln Z, Z = Σ_S e^(−rate · max(loss of S, 0)), over all sizes."""

    def __init__(self, levels: Levels, *, sizes: range, rate: Fraction) -> None:
        self._rate = rate
        self._sums = [_SetSum(levels, n=n, rate=rate) for n in sizes]

    def enclose(self, effort: int) -> arb:
        """Enclose the score."""
        return cut_off(self.enclose_spread(effort), self._sums[-1].top)

    def enclose_spread(self, effort: int) -> arb:
        """Enclose z."""
        return sum((each.enclose(effort) for each in self._sums), arb(0)).log() / ball(self._rate)


class _SetSum:
    """Σ_S e^(−rate · max(loss of S, 0)) over the sets of n items.

    The set of the n largest items counts 1. If it leads by the gap g > 0, all other sets have an upper and a lower
    loss of g or more, and a loss of g or more. With W the sum of e^(−rate · (loss − g)) over all sets, where the two
    losses of the leading set count as g, the sum is 1 + e^(−rate · g) (W − 1). If g is 0, it is W.
    """

    def __init__(self, levels: Levels, *, n: int, rate: Fraction) -> None:
        self._levels = levels
        self._n = n
        self._rate = rate
        self._all_bits = count_set_bits(levels.d, range(n, n + 1))
        self._reach = find_reach(self._all_bits, rate)
        sets = self._sets(self._reach)
        self._gap = sets.gap
        self.top = sets.profile.top(n)
        others = sets.drop_leader()
        self._grid = None if others is None else Grid(others, rate, offset=0, reach=self._reach)

    def enclose(self, effort: int) -> arb:
        """Enclose the sum."""
        if self._grid is None:
            return arb(1)
        spread = self._enclose_exactly(self._grid, effort) if effort else self._enclose_roughly(self._grid)
        return 1 + enclose_exp_minus(self._rate * self._gap) * (spread - 1)

    def _enclose_roughly(self, grid: Grid) -> arb:
        left_out = grid.bound_left_out()
        if not grid.whole:
            left_out = np.append(left_out, self._all_bits + 2 - count_bits(self._rate, self._reach))
        highest = Weights(grid.weights(), left_out).total()
        return highest if grid.single else highest.union(Weights(grid.weights(lowest=True), left_out).total())

    def _enclose_exactly(self, grid: Grid, effort: int) -> arb:
        complete = self._sets(EVERY_LEVEL).drop_leader()
        assert complete is not None
        cells = [*(replace(cell, padded=False) for cell in grid.cells(complete)), *grid.rest(complete)]
        return enclose_sum(cells, effort)

    def _sets(self, depth: int) -> Sets:
        return Sets(self._levels.above(min(self._n + 1, self._levels.d), depth), self._n, depth)
