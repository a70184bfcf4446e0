"""Scores: about how many votes the list of a mechanism misses at a place. One person changes a score by at most Δ.

No place can miss more votes than its count. So every score is a mean over places j of a number that is cut off at
h_(j). A score has logarithms of sums of exponentials, so it is irrational. It is enclosed in balls: first from floats
with a proven error, then exactly. More effort makes the ball narrower.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray
from shortlist.exact.balls import ball, enclose_exp_minus
from shortlist.exact.logarithms import LOG_ERROR, compute_negative_logs
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.mechanism import cut_off
from shortlist.mechanisms.peel.peeling import PeelLevels
from shortlist.profile import Levels

_ROUNDED = 2.0**-50
"""More than a few roundings, as a share of a number."""


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
        logs = compute_negative_logs(1 / np.array(self._peeling.shown.enclose_totals()))
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
