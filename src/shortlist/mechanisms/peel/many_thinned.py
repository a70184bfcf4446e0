"""Permute-and-flip for many peels side by side: which of their proposals are accepted."""

from __future__ import annotations

import numpy as np

from shortlist.array_types import IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.many_thinning import POWERS, Mask, Words, accept_each_by_integers, accept_each_by_sums
from shortlist.exact.thinning import accept_by_balls
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.peel.many import ManyPeels
from shortlist.mechanisms.peel.peeling import LevelWeights
from shortlist.mechanisms.peel.stretches import Stretch


class Thinning:
    """Accepts proposals as permute-and-flip does. Each round of a run has one number U."""

    def __init__(self, peels: ManyPeels, bits: Bits) -> None:
        self._peels = peels
        self._bits = bits
        self._heights = draw_words(len(peels.tops), bits)
        self._exact: dict[int, Uniform] = {}
        """The numbers U of which more than 64 bits may have been drawn, by run."""

    def accept(self, runs: IntArray, levels: IntArray) -> Mask:
        """Decide for each run whether its proposal, an item of a level, is accepted."""
        accepted: Mask = levels == self._peels.tops[runs]  # the best one left is always accepted
        undecided = np.flatnonzero(~accepted)
        if len(undecided):
            accepted[undecided] = self._thin(runs[undecided], levels[undecided])
        done = runs[accepted]
        self._heights[done] = draw_words(len(done), self._bits)
        for run in self._exact.keys() & done.tolist():
            del self._exact[run]
        return accepted

    def _thin(self, runs: IntArray, levels: IntArray) -> Mask:
        heights, coins = self._heights[runs], draw_words(len(runs), self._bits)
        accepted = np.zeros(len(runs), dtype=bool)
        for stretch, asked in self._peels.cut(runs):
            magnitudes = self._bound_magnitudes(stretch, runs[asked])
            accepted[asked] = accept_each_by_integers(heights[asked], coins[asked], magnitudes)
            rest = asked[~accepted[asked]]
            sure, never = self._decide(stretch, runs[rest], levels[rest], heights[rest], coins[rest])
            accepted[rest] = sure
            for i in rest[~sure & ~never].tolist():
                accepted[i] = self._decide_exactly(int(runs[i]), int(levels[i]), int(coins[i]))
        return accepted

    def _bound_magnitudes(self, stretch: Stretch, runs: IntArray) -> IntArray:
        """Find integers m such that Σ c over the items left is 2^m or more: no item that was taken has a c above 1."""
        totals = stretch.sums[0, self._peels.tops[runs] - stretch.first] * 0.999
        least = np.maximum(totals - self._peels.rounds[runs], 1.0)
        exponents: IntArray = np.frexp(least)[1].astype(np.int64)
        return exponents - 1

    def _decide(
        self, stretch: Stretch, runs: IntArray, levels: IntArray, heights: Words, coins: Words
    ) -> tuple[Mask, Mask]:
        """Decide by the sums of the powers of c over the items left: those of all items, less those taken."""
        peels = self._peels
        tops = peels.tops[runs] - stretch.first
        weights = np.append(stretch.weights, 0.0)
        last = len(weights) - 1
        width = int(peels.rounds[runs].max()) if len(runs) else 0
        taken = peels.levels[runs, :width] - stretch.first
        # Levels above the best one left are used up, and rounds to come have the level −1: no weight is lost there.
        lost = weights[np.where(taken < tops[:, None], last, np.minimum(taken, last))] / weights[tops, None]
        gone, powers = np.empty((POWERS, len(runs))), np.ones_like(lost)
        for m in range(POWERS):
            powers *= lost
            powers.sum(axis=1, out=gone[m])
        error = stretch.error + LevelWeights.error(2 * POWERS + width)
        totals = stretch.sums[:, tops]
        below = np.maximum(totals * (1 - error) - gone * (1 + error), 1.0)  # the best item left counts 1
        above = totals * (1 + error) - gone * (1 - error)
        decays = weights[np.minimum(levels - stretch.first, last)] / weights[tops]
        return accept_each_by_sums(heights, coins, decays, error, below, above)

    def _decide_exactly(self, run: int, level: int, coin: int) -> bool:
        values = self._peels.peeling.complete.profile.values
        loss = int(values[self._peels.tops[run]]) - int(values[level])
        height = self._exact.setdefault(run, Uniform(self._bits, int(self._heights[run])))
        rate, left = self._peels.peeling.rate, self._peels.find_left(run)
        return accept_by_balls(height, Uniform(self._bits, coin), rate * loss, [left])
