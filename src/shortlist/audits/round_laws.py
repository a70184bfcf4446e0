"""The law of k rounds, each of which takes one of the items that are left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from flint import arb

from shortlist.audits.laws import Histogram, decay, sequences

RoundLaw = Callable[[Sequence[arb]], list[arb]]
"""Who wins a round, given e^(−rate · loss) of each."""


def peel_law(histogram: Histogram, k: int, rate: Fraction, round_law: RoundLaw) -> list[arb]:
    """The law of k rounds, over `laws.sequences`."""

    @cache
    def first(counts: tuple[int, ...]) -> list[arb]:
        decays = {count: decay(rate, max(counts) - count) for count in set(counts)}
        return round_law([decays[count] for count in counts])

    return [_product_of_rounds(histogram, sequence, first) for sequence in sequences(len(histogram), k)]


def _product_of_rounds(
    histogram: Histogram, sequence: tuple[int, ...], first: Callable[[tuple[int, ...]], list[arb]]
) -> arb:
    left, probability = list(range(len(histogram))), arb(1)
    for item in sequence:
        probability *= first(tuple(histogram[other] for other in left))[left.index(item)]
        left.remove(item)
    return probability
