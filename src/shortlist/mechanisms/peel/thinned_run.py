"""One run of PNF-Peel along the arrivals of a race: each arrival is a proposal, which is accepted or rejected."""

from __future__ import annotations

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.many_thinning import POWERS
from shortlist.exact.quick_thinning import accept_by_first_sum, accept_by_logs, accept_by_power_sums, bound_targets
from shortlist.exact.thinning import accept_by_balls
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.peel.peeling import OMITTED, LevelWeights, PeelLevels
from shortlist.mechanisms.peel.race import Race
from shortlist.mechanisms.peel.ranges import cover_all_left

_NEAR = 2.0**-40
"""One array of weights serves all best levels that weigh at least this share of its first level."""


class ThinnedRun:
    """The rounds of one run: the items taken, and the number U of the round that has begun."""

    def __init__(self, peeling: PeelLevels, bits: Bits) -> None:
        self._peeling = peeling
        self._bits = bits
        self.positions: dict[int, None] = {}
        """The positions of the items taken, in order."""
        self._left = peeling.shown.profile.sizes.copy()
        self._top = 0
        self._words = draw_words(peeling.k, bits)
        self._least, self._most = bound_targets(self._words)
        self._exact: tuple[int, Uniform] | None = None
        self._served = range(0)
        """The best levels that the weights serve."""
        self._weights = np.empty(0)
        """The weights of all levels within reach of one of them."""
        self._matrix: FloatArray | None = None
        """Powers of these weights, a row for each power, once they are needed."""
        self._sum, self._slack = 0.0, 0.0
        """The weights of all items left on these levels, summed, and how far this sum may be off."""
        self._error = 0.0
        self._seen, self._best, self._end = -1, 1.0, 0
        """The last best level that was asked about, its weight, and the first level out of its reach."""

    def run(self, race: Race) -> None:
        """Run rounds until the list is full, or until the race has no further arrival that is known."""
        arrivals = race.draw(self._bits)
        coins = draw_words(len(arrivals.levels), self._bits)
        for level, position, last, coin in zip(
            arrivals.levels.tolist(), arrivals.positions.tolist(), arrivals.last.tolist(), coins.tolist(), strict=True
        ):
            if position in self.positions:
                continue
            if level >= len(self._left):
                self._left = self._extend_left()
            # The best item left is always accepted: then x* = 1, where S is infinite.
            if level == self._top or self._accept(level, coin):
                self._take(level, position)
                if len(self.positions) == self._peeling.k:
                    return
            elif last:
                return

    @property
    def height(self) -> Uniform:
        """The number U of the round that has begun."""
        index = len(self.positions)
        if self._exact is None or self._exact[0] != index:
            self._exact = index, Uniform(self._bits, int(self._words[index]))
        return self._exact[1]

    def _take(self, level: int, position: int) -> None:
        self.positions[position] = None
        self._left[level] -= 1
        if level - self._served.start < len(self._weights):
            self._sum -= self._weights.item(level - self._served.start)
        while not self._left[self._top] and self._top < len(self._left) - 1:
            self._top += 1

    def _accept(self, level: int, coin: int) -> bool:
        index, top = len(self.positions), self._top
        if top not in self._served:
            self._weigh()
        first = self._served.start
        if top != self._seen:
            self._seen, self._best = top, self._weights.item(top - first)
            self._end = self._peeling.shown.find_end(top)
        decay = self._weights.item(level - first) / self._best if level < self._end else 0.0
        error, least, most = self._error, self._least[index], self._most[index]
        below, above = (self._sum - self._slack) / self._best, (self._sum + self._slack) / self._best
        quick = accept_by_first_sum(least, most, coin, decay, error, below, above)
        if quick is None:
            quick = accept_by_power_sums(least, most, coin, decay, error, self._sum_powers())
        if quick is None:
            decays = self._weights[top - first : self._end - first] / self._best
            left = self._left[top : self._end]
            quick = accept_by_logs(least, most, coin, decay, error, decays, left, OMITTED)
        return self._decide_exactly(level, coin) if quick is None else quick

    def _find_error(self) -> float:
        """Bound the relative error of Σ c^m over the items left, and the error of each c.

        Proof   A weight is off by n roundings, its m-th power by m (n + 1), the sum over l levels by l + 1 more, and
                its quotient by the power of the best level by m (n + 1) + 1 more. A level out of reach counts as 0.
                All of them add less than `OMITTED` to a sum, which is at least 1, and to c.
        """
        roundings = 2 * POWERS * (self._peeling.shown.roundings + 2) + len(self._weights) + 4
        return LevelWeights.error(roundings) + 2 * OMITTED

    def _sum_powers(self) -> list[float]:
        """Sum c^m over the items left, for each m from 1."""
        if self._matrix is None:
            self._matrix = np.multiply.accumulate(np.tile(self._weights, (POWERS, 1)), axis=0)
        first, top, end = self._served.start, self._top, self._end
        part = self._matrix[:, top - first : end - first]
        sums: list[float] = ((part * self._left[top:end]).sum(axis=1) / part[:, 0]).tolist()
        return sums

    def _weigh(self) -> None:
        """Compute the weights for the best level and some below it, and the weight of what is left.

        Every item that is taken from now on changes the sum by one rounding of it at most.
        """
        shown, top = self._peeling.shown, self._top
        best = shown.weigh(top, max(top, shown.lowest_top) + 1)
        self._served = range(top, top + int(np.count_nonzero(best >= _NEAR * best[0])))
        self._weights = weights = shown.weigh(top, shown.find_end(self._served[-1]))
        self._matrix = None
        self._sum = float((weights * self._left[top : top + len(weights)]).sum())
        self._slack = self._sum * LevelWeights.error(len(weights) + self._peeling.k + 4)
        self._error = self._find_error()

    def _decide_exactly(self, level: int, coin: int) -> bool:
        complete, left = self._peeling.complete.profile, self._extend_left()
        loss = int(complete.values[self._top]) - int(complete.values[level])
        crowd = cover_all_left(complete.values, left, self._peeling.rate)
        return accept_by_balls(self.height, Uniform(self._bits, coin), self._peeling.rate * loss, [crowd])

    def _extend_left(self) -> IntArray:
        """Return the numbers of items left on all levels."""
        left = self._peeling.complete.profile.sizes.copy()
        left[: len(self._left)] = self._left
        return left
