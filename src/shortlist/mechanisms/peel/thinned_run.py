"""One run of PNF-Peel along the arrivals of a race: each arrival is a proposal, which is accepted or rejected."""

from __future__ import annotations

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.quick_thinning import accept_by_logs, accept_by_power_sums, accept_by_two_sums, bound_targets
from shortlist.exact.thinning import accept_by_balls
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.peel.peeling import OMITTED, LevelWeights, PeelLevels
from shortlist.mechanisms.peel.race import Race
from shortlist.mechanisms.peel.ranges import cover_all_left

_NEAR = 2.0**-12
"""A sum of weights serves all best levels that weigh at least this share of the first one."""
_FAR_BITS = 400
"""An array of weights serves best levels down to 2^-400 of the first, so that their squares are floats, too."""
_POWERS = 3
"""How many sums Σ c^m `_accept` computes for `accept_by_power_sums`."""
_SPARE = 32
_UNIT = 2.0**-64
_MARGIN = 2.0**-40
"""More than ten roundings."""


class ThinnedRun:
    """The rounds of one run: the items taken, and the number U of the round that has begun."""

    def __init__(self, peeling: PeelLevels, bits: Bits) -> None:
        self._peeling = peeling
        self._bits = bits
        self.positions: dict[int, None] = {}
        """The positions of the items taken, in order."""
        self._words = draw_words(peeling.k, bits)
        self._least, self._most = bound_targets(self._words)
        self._exact: tuple[int, Uniform] | None = None
        shown = peeling.shown
        self._left = shown.profile.sizes.astype(np.float64)
        """How many items are left on each level, if those on `_uncounted` levels are subtracted."""
        self._uncounted: list[int] = []
        self._on_top = shown.profile.sizes[: shown.lowest_top + 1].tolist()
        """How many items are left on each level that can be the best one left."""
        self._top = 0
        self._served = range(0)
        """The best levels that the weights serve."""
        self._weights = np.empty(0)
        """The weights of all levels within reach of one of them."""
        self._sum, self._slack, self._error = 0.0, 0.0, 0.0
        """The weights of all items left on these levels, summed, and how far this sum and a quotient may be off."""
        self._squares, self._square_slack = 0.0, 0.0
        """The squares of these weights, summed, and how far this sum may be off."""
        self._seen, self._best = -1, 1.0
        """The last best level that was asked about, and its weight."""
        self._raised = 1.0
        """This weight, raised by the errors: see `_look_at_top`."""
        self._least_best = 1.0
        """If the weight of the best level is below this, the sums are computed anew."""

    def run(self, race: Race) -> None:
        """Run rounds until the list is full, or until the race has no further arrival that is known.

        Most proposals are accepted by the first inequality below.

        Proof   Let w be the weight of a proposal, b that of the best level, c = w/b, and v ≤ V < v + 2^-64. Then
                S(x*) ≥ x* Σ c, and x* = (1 − V) / (1 − cV) ≥ (1 − v − 2^-64) / (1 − cv). So the proposal is accepted if
                (1 − v − 2^-64) b Σ c > −ln U (b − w v). See `_look_at_top` for the errors.
        """
        arrivals = race.draw(self._bits)
        levels, positions = arrivals.levels.tolist(), arrivals.positions.tolist()
        coins, weights = self._draw_coins(len(levels) + _SPARE), [0.0] * len(levels)
        taken, most, on_top, lowest = self.positions, self._most, self._on_top, len(self._on_top) - 1
        for number in arrivals:
            level, position = levels[number], positions[number]
            if position in taken:
                continue
            # The best item left is always accepted: then x* = 1, where S is infinite.
            if level != self._top:
                if self._top != self._seen and self._look_at_top():
                    weights = self._weigh_each(arrivals.levels)
                weight, (coin, value, tail) = weights[number], coins[number]
                enough = most[len(taken)] * (self._raised - weight * value)
                if not (tail * (self._sum - self._slack) > enough or self._accept(level, weight, coin)):
                    if not arrivals.ask_for_next(number):
                        return
                    if len(coins) == len(levels):
                        coins += self._draw_coins(_SPARE)
                    coins[number] = coins.pop()
                    continue
            taken[position] = None
            if len(taken) == self._peeling.k:
                return
            self._uncounted.append(level)
            weight = weights[number]
            self._sum -= weight
            self._squares -= weight * weight
            if level <= lowest:
                on_top[level] -= 1
                while not on_top[self._top]:
                    self._top += 1

    @property
    def height(self) -> Uniform:
        """The number U of the round that has begun."""
        index = len(self.positions)
        if self._exact is None or self._exact[0] != index:
            self._exact = index, Uniform(self._bits, int(self._words[index]))
        return self._exact[1]

    def _draw_coins(self, count: int) -> list[tuple[int, float, float]]:
        """Draw numbers V: the leading 64 bits of each, about v, and about 1 − v − 2^-64."""
        words = draw_words(count, self._bits)
        return list(zip(words.tolist(), (words * _UNIT).tolist(), (~words * _UNIT).tolist(), strict=True))

    def _look_at_top(self) -> bool:
        """Find the weight b of the best level left. Return whether all weights were computed anew.

        Every item that is taken later changes a sum of weights by two roundings of it at most: the slack. Besides,
        the sum is off by a share `_error`, w is off by that share of b, and the inequality of `run` rounds ten times at
        most. With e for the error and these roundings, s for the computed sum and A for 1 − v − 2^-64, the proposal is
        accepted if A s (1 − e) > −ln U (b (1 + e) − w v). So A s > −ln U (b (1 + e) / (1 − e) − w v) is enough.
        """
        shown, top = self._peeling.shown, self._top
        anew = top not in self._served
        if anew:
            end = min(shown.find_end(top, bits=_FAR_BITS), shown.lowest_top + 1)
            self._served = range(top, end)
            self._weights = shown.weigh(top, shown.find_end(end - 1))
            self._error = self._find_error()
        place = top - self._served.start
        self._seen, self._best = top, self._weights.item(place)
        if anew or self._best < self._least_best:
            self._least_best = self._best * _NEAR
            weights = self._weights[place:]
            left = self._count_left()[top : top + len(weights)]
            # A product of vectors by BLAS would start threads for a long array.
            masses = weights * left
            self._sum, self._squares = float(masses.sum()), float((masses * weights).sum())
            share = LevelWeights.error(len(weights) + 2 * self._peeling.k + 4)
            self._slack, self._square_slack = self._sum * share, self._squares * share
        error = self._error + _MARGIN
        self._raised = self._best * (1 + error) / (1 - error) if error < 1 else np.inf
        return anew

    def _weigh_each(self, levels: IntArray) -> list[float]:
        """Return the weight of each of some levels. Other levels than those with weights count as 0."""
        places = levels - self._served.start
        inside = (places >= 0) & (places < len(self._weights))
        weights = np.zeros(len(levels))
        weights[inside] = self._weights[places[inside]]
        return weights.tolist()

    def _accept(self, level: int, weight: float, coin: int) -> bool:
        """Decide whether a proposal is accepted: by two sums, by three, by logarithms, and in the end by balls."""
        index, best, error = len(self.positions), self._best, self._error
        least, most, decay = self._least[index], self._most[index], weight / best
        square = best * best
        below = (self._sum - self._slack) / best, (self._squares - self._square_slack) / square
        above = (self._sum + self._slack) / best, (self._squares + self._square_slack) / square
        quick = accept_by_two_sums(least, most, coin, decay, error, below, above)
        if quick is None:
            decays = self._weights[self._top - self._served.start :] / best
            left = self._count_left()[self._top : self._top + len(decays)]
            squares = decays * decays
            sums = [float((power * left).sum()) for power in (decays, squares, squares * decays)]
            quick = accept_by_power_sums(least, most, coin, decay, error, sums)
            if quick is None:
                quick = accept_by_logs(least, most, coin, decay, error, decays, left, OMITTED)
        return self._decide_exactly(level, coin) if quick is None else quick

    def _find_error(self) -> float:
        """Bound the relative error of Σ c^m over the items left, and the error of each c.

        Proof   A weight is off by n roundings, and c by 2n + 1. So its m-th power is off by m (2n + 2), and the sum
                over l levels by l + 1 more. A level without a weight counts as 0. All of them add less than `OMITTED`
                to a sum, which is at least 1, and to c.
        """
        roundings = 2 * _POWERS * (self._peeling.shown.roundings + 2) + len(self._weights) + 4
        return LevelWeights.error(roundings) + 2 * OMITTED

    def _count_left(self) -> FloatArray:
        """Count the items left on each level that is shown."""
        left, shown = self._left, len(self._left)
        for level in self._uncounted:
            if level < shown:
                left[level] -= 1
        self._uncounted.clear()
        return left

    def _decide_exactly(self, level: int, coin: int) -> bool:
        complete = self._peeling.complete.profile
        levels = complete.find_levels(np.array(list(self.positions), dtype=np.int64))
        left = complete.sizes - np.bincount(levels, minlength=len(complete.sizes))
        crowd = cover_all_left(complete.values, left, self._peeling.rate)
        loss = int(complete.values[self._top]) - int(complete.values[level])
        return accept_by_balls(self.height, Uniform(self._bits, coin), self._peeling.rate * loss, [crowd])
