"""The law of auto: its choice, and then the mechanism that was chosen."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import reduce

from flint import arb

from shortlist.exact.balls import ball, enclose_exp_minus
from shortlist.mechanisms import Auto, CDPPeel, Mechanism, NoisyCounts, PNFPeel, Subset
from shortlist.mechanisms.auto import candidates
from shortlist.mechanisms.stated import Histogram, flip_round, losses, set_losses


def choice_law(mechanism: Auto, histogram: Histogram) -> list[arb]:
    """The probability that each candidate is chosen: permute-and-flip with ε₁ among their scores."""
    return flip_round(acceptance_chances(mechanism, histogram))


def acceptance_chances(mechanism: Auto, histogram: Histogram) -> list[arb]:
    """e^(−ε₁ (score − smallest score) / 2Δ) of each candidate."""
    rate = mechanism.choice_epsilon / (2 * mechanism.neighbours.sensitivity)
    raised = []
    for each in mechanism.candidates.values():
        score = stated_score(each, histogram)
        # By type, and not by `round_rate`: the audit states independently which scores are changed.
        if isinstance(each, PNFPeel | CDPPeel | NoisyCounts):
            score = score * ball(candidates.DISCOUNT) + ball(candidates.HANDICAP / each.rate)
        raised.append(score)
    least = reduce(lambda one, other: other if other < one else one, raised)
    return [(-ball(rate) * (score - least)).exp() for score in raised]


def stated_score(mechanism: Mechanism, histogram: Histogram) -> arb:
    """The score of a candidate by brute force."""
    k, top = mechanism.k, sorted(histogram, reverse=True)
    if mechanism.name == "margin-joint":
        places = [log_sum(losses(histogram, k), mechanism.rate)] * k
    elif isinstance(mechanism, Subset):
        places = [log_sum([max(loss, 0) for loss in set_losses(histogram, mechanism.sizes)], mechanism.rate)] * k
    else:
        rate = mechanism.round_rate
        assert rate is not None
        places = [log_sum([top[j] - count for count in top[j:]], rate) for j in range(k)]
    return sum((each.min(arb(count)) for each, count in zip(places, top, strict=False)), arb(0)) / k


def log_sum(numbers: Iterable[int], rate: Fraction) -> arb:
    """(1/rate) ln Σ e^(−rate · number)."""
    return sum((enclose_exp_minus(rate * number) for number in numbers), arb(0)).log() / ball(rate)
