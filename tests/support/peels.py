"""Laws of peeling by brute force, and how far apart two laws are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from contract import MechanismContract
from divergences import ball
from flint import arb, arb_poly
from laws import Histogram, sequences

from shortlist import SeededBits
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.peel.peeling import PeelRun
from shortlist.mechanisms.peel.ranges import LevelRange
from shortlist.profile import Profile

Round = Callable[[tuple[int, ...]], list[arb]]


class PeelContract(MechanismContract):
    """A mechanism of rounds: subclasses say the law of one, and the rate of a mechanism."""

    @staticmethod
    def round_law(decays: Sequence[arb]) -> list[arb]:
        """Who wins a round, given e^(−rate · loss) of each."""
        raise NotImplementedError

    def rate(self, mechanism: Mechanism) -> Fraction:
        raise NotImplementedError

    def law(self, histogram: Histogram, k: int, epsilon: Fraction, relation: str = "add-remove") -> list[arb]:
        rate = self.rate(self.make(k, epsilon, relation))
        return peel_law(histogram, k, rate, self.round_law)

    def implied_law(self, mechanism: Mechanism, histogram: Histogram) -> list[arb]:
        """Peel along every sequence of levels, and ask the run itself how much what is left weighs."""
        profile = Profile.of(np.array(histogram))
        peeling = mechanism.prepare(profile)._peeling
        values = profile.values.tolist()
        firsts = (profile.ends - profile.sizes).tolist()

        @cache
        def next_chances(path: tuple[int, ...]) -> dict[int, arb]:
            """The chance of one item of each level that is left after items of some levels."""
            peel = PeelRun(peeling, SeededBits(0))
            for place, level in enumerate(path):
                peel.take(level, firsts[level] + path[:place].count(level))
            ranges = list(single_levels(peel.left()))
            levels = [each.level() for each in ranges for _ in range(each.members)]
            chances = self.round_law([each.decay() for each in ranges for _ in range(each.members)])
            return dict(zip(levels, chances, strict=True))

        law = []
        for sequence in sequences(len(histogram), mechanism.k):
            path, probability = tuple(values.index(histogram[item]) for item in sequence), arb(1)
            for place, level in enumerate(path):
                probability *= next_chances(path[:place])[level]
            law.append(probability)
        return law


def peel_law(
    histogram: Histogram, k: int, rate: Fraction, round_law: Callable[[Sequence[arb]], list[arb]]
) -> list[arb]:
    """The law of k rounds, over `laws.sequences`."""

    @cache
    def first(counts: tuple[int, ...]) -> list[arb]:
        best = max(counts)
        return round_law([decay(rate, best - count) for count in counts])

    return [_product_of_rounds(histogram, sequence, first) for sequence in sequences(len(histogram), k)]


def exponential_round(decays: Sequence[arb]) -> list[arb]:
    """The exponential mechanism."""
    total = sum(decays, arb(0))
    return [each / total for each in decays]


def flip_round(decays: Sequence[arb]) -> list[arb]:
    """Permute-and-flip: P(i) = c_i ∫_0^1 ∏_{t≠i} (1 − c_t x) dx."""
    chances = []
    for index, each in enumerate(decays):
        product = arb_poly([1])
        for other in (*decays[:index], *decays[index + 1 :]):
            product *= arb_poly([1, -other])
        chances.append(each * product.integral()(arb(1)))
    return chances


def decay(rate: Fraction, loss: int) -> arb:
    return (-ball(rate) * loss).exp()


def single_levels(levels: LevelRange) -> Iterable[LevelRange]:
    """Split a range until every level stands alone."""
    parts = levels.split()
    if parts is None:
        yield levels
    else:
        for part in parts:
            yield from single_levels(part)


def _product_of_rounds(histogram: Histogram, sequence: tuple[int, ...], first: Round) -> arb:
    left, probability = list(range(len(histogram))), arb(1)
    for item in sequence:
        probability *= first(tuple(histogram[other] for other in left))[left.index(item)]
        left.remove(item)
    return probability
