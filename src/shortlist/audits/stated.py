"""What each mechanism states about its outputs: the law on a histogram, output by output.

An output is what a release shows: the items in the order in which they are published, the noisy counts and the name of
the chosen mechanism, where there are any. Rates are computed here from epsilon, as the formulas state them.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from flint import arb

from shortlist.audits.auto_laws import choice_law
from shortlist.audits.unknown_domain_laws import limited_domain_law, stable_law, threshold_law
from shortlist.exact.balls import ball
from shortlist.mechanisms import Auto, Mechanism
from shortlist.mechanisms.stated import (
    Histogram,
    Output,
    Stated,
    exponential,
    exponential_round,
    falling_counts,
    find_rate,
    flip_round,
    gaussian_law,
    laplace_law,
    losses,
    margin_losses,
    output_chance,
    peel_law,
    permute_and_flip,
    sequences,
    set_losses,
    subsets,
)

_REACH = 6
"""How far beyond the counts of a histogram the noisy counts are enumerated."""


Law = dict[Output, arb]
"""The probability of each output; where noisy counts are far away, outputs are left out."""


def state_law(mechanism: Mechanism, histogram: Histogram, *, reach: int = _REACH) -> Law:
    """Enumerate the law of a mechanism on a histogram, at the working precision.

    Noisy counts are enumerated up to `reach` beyond the counts of the histogram.
    """
    law: Law = defaultdict(lambda: arb(0))
    for output, chance in _state(mechanism, histogram, reach):
        items = tuple(sorted(output.items)) if mechanism.unordered else output.items
        law[Output(items, output.counts, output.chosen)] += chance
    return dict(law)


def _state(mechanism: Mechanism, histogram: Histogram, reach: int) -> Stated:
    """Take the law that the mechanism states, or that of the list below."""
    if type(mechanism).state_law is Mechanism.state_law and mechanism.name in LAWS:
        return LAWS[mechanism.name](mechanism, histogram, reach)
    return mechanism.state_law(histogram, reach=reach)


def _joint(mechanism: Mechanism, histogram: Histogram, reach: int) -> Stated:
    return _lists(mechanism, histogram, exponential(losses(histogram, mechanism.k), _rate(mechanism)))


def _fastjoint(mechanism: Any, histogram: Histogram, reach: int) -> Stated:
    rate, d, k = _rate(mechanism), len(histogram), mechanism.k
    tau = math.inf
    if mechanism.beta:
        # The least whole number with e^(−rate · tau) ≤ β / (d!/(d−k)!).
        bound = ball(mechanism.beta / math.perm(d, k)).log()
        tau = next(t for t in itertools.count() if -ball(rate) * t <= bound)
    return _lists(mechanism, histogram, exponential([int(min(loss, tau)) for loss in losses(histogram, k)], rate))


def _margin_joint(mechanism: Mechanism, histogram: Histogram, reach: int) -> Stated:
    return _lists(mechanism, histogram, exponential(margin_losses(histogram, mechanism.k), _rate(mechanism)))


def _pnf_joint(mechanism: Mechanism, histogram: Histogram, reach: int) -> Stated:
    return _lists(mechanism, histogram, permute_and_flip(losses(histogram, mechanism.k), _rate(mechanism)))


def _pnf_peel(mechanism: Mechanism, histogram: Histogram, reach: int) -> Stated:
    rate = mechanism.epsilon / (mechanism.k * mechanism.neighbours.sensitivity)
    return _lists(mechanism, histogram, peel_law(histogram, mechanism.k, rate, flip_round))


def _cdp_peel(mechanism: Any, histogram: Histogram, reach: int) -> Stated:
    rate = mechanism.round_epsilon / mechanism.neighbours.sensitivity
    return _lists(mechanism, histogram, peel_law(histogram, mechanism.k, rate, exponential_round))


def _subset(mechanism: Any, histogram: Histogram, reach: int) -> Stated:
    law = exponential(set_losses(histogram, mechanism.sizes), _rate(mechanism))
    return zip(map(Output, subsets(len(histogram), mechanism.sizes)), law, strict=True)


def _noisy_counts(mechanism: Any, histogram: Histogram, reach: int) -> Stated:
    moved = mechanism.votes_per_person * mechanism.neighbours.sensitivity
    pure = mechanism.guarantee.delta == 0
    noise = laplace_law(moved / mechanism.epsilon) if pure else gaussian_law(moved / (2 * mechanism.guarantee.rho))
    values = range(min(histogram) - reach, max(histogram) + reach + 1)
    for items in sequences(len(histogram), mechanism.k):
        for noisy in falling_counts(mechanism.k, values):
            yield Output(items, noisy), output_chance(histogram, items, noisy, noise)


def _auto(mechanism: Mechanism, histogram: Histogram, reach: int) -> Stated:
    assert isinstance(mechanism, Auto)
    chances = choice_law(mechanism, histogram)
    for chance, (name, each) in zip(chances, mechanism.candidates.items(), strict=True):
        for output, p in _state(each, histogram, reach):
            yield Output(output.items, output.counts, name), chance * p


def _limited_domain(mechanism: Any, histogram: Histogram, reach: int) -> Stated:
    for items, chance in limited_domain_law(mechanism, histogram).items():
        yield Output(items), chance


def _threshold(mechanism: Any, histogram: Histogram, reach: int) -> Stated:
    for (items, noisy), chance in threshold_law(mechanism, histogram, reach=reach).items():
        yield Output(items, noisy), chance


def _stable(mechanism: Any, histogram: Histogram, reach: int) -> Stated:
    for items, chance in stable_law(mechanism, histogram).items():
        yield Output(items), chance


LAWS: dict[str, Callable[[Any, Histogram, int], Stated]] = {
    "auto": _auto,
    "joint": _joint,
    "margin-joint": _margin_joint,
    "subset": _subset,
    "fastjoint": _fastjoint,
    "pnf-joint": _pnf_joint,
    "pnf-peel": _pnf_peel,
    "cdp-peel": _cdp_peel,
    "noisy-counts": _noisy_counts,
    "limited-domain": _limited_domain,
    "threshold": _threshold,
    "stable": _stable,
}
"""The stated laws, by the name of the mechanism."""


def _lists(mechanism: Mechanism, histogram: Histogram, law: list[arb]) -> Stated:
    return zip(map(Output, sequences(len(histogram), mechanism.k)), law, strict=True)


def _rate(mechanism: Mechanism) -> Any:
    return find_rate(mechanism.epsilon, str(mechanism.neighbours))
