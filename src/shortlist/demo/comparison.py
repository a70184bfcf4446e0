"""What one listener changes: lists with and without this person, and the probabilities of one list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shortlist.array_types import IntArray
from shortlist.demo.playlog import PlayLog
from shortlist.mechanisms import Joint
from shortlist.selection import Selector, prepare

_DRAWS = 200


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The lists with the most active listener and those without."""

    person: int
    tracks: int
    """How many different tracks this person played."""
    draws: int
    agreement_with: float
    """In how many places two lists with the person agree, on average."""
    agreement_without: float
    """In how many places a list with the person and one without agree, on average."""
    chance_with: float
    chance_without: float
    limit: float
    """e^ε: the largest ratio of the two probabilities that the guarantee allows."""

    @property
    def ratio(self) -> float:
        """The larger probability of the list over the smaller one."""
        return max(self.chance_with, self.chance_without) / min(self.chance_with, self.chance_without)


def compare(log: PlayLog, items: Sequence[str], *, epsilon: int, draws: int = _DRAWS) -> Comparison:
    """Compare the log with the log without its most active listener. Both logs are invented, so draws cost nothing."""
    person = log.find_most_active()
    without = log.remove_person(person)
    joint = Joint(k=len(items), epsilon=epsilon)
    ours, theirs = prepare(log.counts, mechanism=joint), prepare(without.counts, mechanism=joint)
    numbers = {name: number for number, name in enumerate(log.names)}
    chosen = np.array([numbers[item] for item in items])
    return Comparison(
        person=person,
        tracks=int(np.sum(log.counts != without.counts)),
        draws=draws,
        agreement_with=_average_agreement(ours, ours, draws),
        agreement_without=_average_agreement(ours, theirs, draws),
        chance_with=math.exp(compute_log_probability(log.counts, chosen, epsilon)),
        chance_without=math.exp(compute_log_probability(without.counts, chosen, epsilon)),
        limit=math.exp(epsilon),
    )


def compute_log_probability(counts: IntArray, chosen: IntArray, epsilon: float) -> float:
    """Compute the logarithm of the probability that Joint chooses this list, for the add-remove relation.

    Joint chooses s with probability q^L(s) / Σ q^L. The sum is (1 − q) Σ_r q^r N_r, where N_r is the number of lists
    with a loss of at most r. Floats are exact enough here: the number is shown, and nothing is decided by it.

    >>> counts = np.array([3, 1, 0])
    >>> chances = [math.exp(compute_log_probability(counts, np.array([item]), 1.0)) for item in range(3)]
    >>> round(sum(chances), 9)
    1.0
    """
    k, d = len(chosen), len(counts)
    rising = np.sort(counts)
    top = rising[::-1][:k]
    loss = int(np.max(top - counts[chosen]))
    largest = int(top[0] - rising[0])
    floors = top[:, None] - np.arange(largest + 1)
    allowed = d - np.searchsorted(rising, floors) - np.arange(k)[:, None]
    rate = epsilon / 2
    terms = np.log(allowed).sum(axis=0) - rate * np.arange(largest + 1)
    # From the largest loss on, N_r is the number of all lists, and the terms are a geometric series.
    terms[:-1] += math.log(-math.expm1(-rate))
    return float(-rate * loss - np.logaddexp.reduce(terms))


def _average_agreement(left: Selector[IntArray], right: Selector[IntArray], draws: int) -> float:
    """Average the number of places in which two lists name the same item."""
    return float(np.mean([np.sum(left.draw() == right.draw()) for _ in range(draws)]))
