"""Scores: about how many votes the list of a mechanism misses at a place. One person changes a score by at most Δ.

No place can miss more votes than its count. So every score is a mean over places j of a number that is cut off at
h_(j). A score has logarithms of sums of exponentials, so it is irrational. It is enclosed in balls: first from floats
with a proven error, then exactly. More effort makes the ball narrower.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flint import arb

from shortlist.exact.balls import ball
from shortlist.mechanisms.joint.mixture import Mixture
from shortlist.mechanisms.mechanism import cut_off
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


def make_score(mechanism: Any, levels: Any, rate: Any) -> Any:
    """Until all mechanisms have the method."""
    if (score := mechanism.make_score(levels, rate)) is not None:
        return score
    if mechanism.name == "subset":
        from shortlist.mechanisms.set_scores import SetScore

        return SetScore(levels, sizes=mechanism.sizes, rate=rate)
    if mechanism.round_rate is not None:
        from shortlist.mechanisms.peel import RoundScore

        return RoundScore(levels, k=mechanism.k, rate=rate)
    return ListScore(levels, k=mechanism.k, rate=rate)


def find_tail(mechanism: Any) -> Any:
    """Until all mechanisms have the method."""
    if (tail := mechanism.find_tail()) is not None:
        return tail
    if mechanism.name == "noisy-counts":
        from shortlist.exact.noise import DiscreteLaplace

        rate = mechanism.round_rate
        laplace = isinstance(mechanism.noise, DiscreteLaplace)
        return (rate * Fraction(3, 4), 6 * mechanism.k) if laplace else (2 * rate, 55 * mechanism.k)
    if mechanism.name in ("joint", "margin-joint", "pnf-joint", "subset"):
        return mechanism.rate, 1
    return (mechanism.round_rate, mechanism.k) if mechanism.name in ("pnf-peel", "cdp-peel") else None
