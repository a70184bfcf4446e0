"""Scores: about how many votes the list of a mechanism misses at a place. One person changes a score by at most Δ.

No place can miss more votes than its count. So every score is a mean over places j of a number that is cut off at
h_(j). A score has logarithms of sums of exponentials, so it is irrational. It is enclosed in balls: first from floats
with a proven error, then exactly. More effort makes the ball narrower.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import ball, enclose_exp_minus
from shortlist.exact.choice import enclose_sum
from shortlist.exact.logarithms import LOG_ERROR, compute_negative_logs
from shortlist.exact.noise import DiscreteLaplace
from shortlist.mechanisms.counts.noisy_counts import NoisyCounts
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.peel.peeling import PeelLevels
from shortlist.mechanisms.spans import count_bits
from shortlist.mechanisms.subset.draws import count_set_bits, find_reach
from shortlist.mechanisms.subset.grid import Grid
from shortlist.mechanisms.subset.sets import Sets
from shortlist.mechanisms.weights import Weights
from shortlist.profile import EVERY_LEVEL, Levels

_ROUNDED = 2.0**-50
"""More than a few roundings, as a share of a number."""


class Score(Protocol):
    """The score of one mechanism on given levels, in votes. A smaller score is better."""

    def enclose(self, effort: int) -> arb:
        """Enclose the score: from floats without effort, and exactly with a radius that shrinks as effort rises."""

    def enclose_spread(self, effort: int) -> arb:
        """Enclose the largest z_j: the score of the worst place, not cut off at its count."""


class ListScore:
    """The mean over j of min(z, h_(j)), z = (1/rate) · ln Σ_s e^(−rate · L(s)): how spread the law of Joint is."""

    def __init__(self, levels: Levels, *, k: int, rate: Fraction) -> None:
        self._rate = rate
        self.mixture = Mixture(levels, k=k, rate=rate, tau=None)
        """The law of Joint."""

    def enclose(self, effort: int) -> arb:
        """Enclose the score."""
        return cut_off(self.enclose_spread(effort), self.mixture.top)

    def enclose_spread(self, effort: int) -> arb:
        """Enclose z."""
        return self.mixture.total(effort).log() / ball(self._rate)


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


class RoundScore:
    """The mean over rounds j of min(z_j, h_(j)), z_j = (1/rate) · ln Σ_{i ≥ j} e^(−rate · (h_(j) − h_(i)))."""

    def __init__(self, levels: Levels, *, k: int, rate: Fraction, peeling: PeelLevels | None = None) -> None:
        """Take the levels, and their weights if they are prepared already."""
        self._peeling = peeling or PeelLevels(levels, k=k, rate=rate)
        self._top = self._peeling.shown.profile.top(k)
        self._rate = rate

    def enclose(self, effort: int) -> arb:
        """Enclose the score."""
        if not effort:
            below, above = (float(np.minimum(z, self._top).sum()) for z in self._bound_rounds())
            error = _ROUNDED * len(self._top)
            return arb(below * (1 - error)).union(arb(above * (1 + error))) / len(self._top)
        cut = [z.min(arb(count)) for z, count in zip(self._enclose_rounds(), self._top.tolist(), strict=True)]
        return sum(cut, arb(0)) / len(cut)

    def enclose_spread(self, effort: int) -> arb:
        """Enclose the largest z_j."""
        if not effort:
            below, above = (float(z.max()) for z in self._bound_rounds())
            return arb(below).union(arb(above))
        first, *others = self._enclose_rounds()
        for z in others:
            first = first.max(z)
        return first

    def _bound_rounds(self) -> tuple[FloatArray, FloatArray]:
        """Bound z_j of each round from below and from above, by floats.

        The reciprocal of a sum and its logarithm are off by less than 2 `LOG_ERROR`. The rate is rounded, and so is the
        quotient. A rate below the range of floats may be off by more. Then a bound other than 0 is above all counts, as
        z_j is.
        """
        rate = float(self._rate)
        logs = [compute_negative_logs(1 / each) for each in self._peeling.shown.enclose_totals()]
        with np.errstate(over="ignore"):
            below = np.maximum(logs[0] - 2 * LOG_ERROR, 0.0) / rate * (1 - _ROUNDED)
            above: FloatArray = (logs[1] + 2 * LOG_ERROR) / rate * (1 + _ROUNDED)
        return below, above

    def _enclose_rounds(self) -> list[arb]:
        """Enclose z_j of each round at the working precision."""
        rate = ball(self._rate)
        return [each.log() / rate for each in self._enclose_sums()]

    def _enclose_sums(self) -> list[arb]:
        """Enclose the sum of each round at the working precision. That of a level follows from that of the next one."""
        profile = self._peeling.complete.profile
        total, levels = arb(0), []
        for index in reversed(range(len(profile.values))):
            if index + 1 < len(profile.values):
                total *= enclose_exp_minus(self._rate * int(profile.values[index] - profile.values[index + 1]))
            total += int(profile.sizes[index])
            levels.append([total - taken for taken in range(min(int(profile.sizes[index]), len(self._top)))])
        return [each for level in reversed(levels) for each in level][: len(self._top)]


def find_noise_rate(candidate: NoisyCounts) -> Fraction:
    """One divided by the scale of discrete Laplace noise, or a little less than 1/σ for Gaussian noise."""
    noise = candidate.noise
    if isinstance(noise, DiscreteLaplace):
        return 1 / noise.b
    # The root of a number of 40 bits or more is off by less than a millionth.
    shift = 20 + max(0, math.floor(noise.variance).bit_length())
    return Fraction(math.isqrt(math.floor(4**shift / noise.variance)), 2**shift)


def cut_off(score: arb, top: IntArray) -> arb:
    """Enclose the mean over j of min(score, h_(j)). It grows with the score, so the ends of a ball suffice."""
    return _cut_off(score.lower(), top).union(_cut_off(score.upper(), top))


def _cut_off(point: arb, top: IntArray) -> arb:
    whole = point.floor().unique_fmpz()
    assert whole is not None  # a point has an exact floor
    larger = int(np.searchsorted(-top, -min(int(whole), EVERY_LEVEL)))  # h_(j) > whole, and so h_(j) > point
    return (point * larger + int(top[larger:].sum())) / len(top)
