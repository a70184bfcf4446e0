"""Laws of peeling by brute force, and how far apart two laws are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from contract import Subject
from divergences import ball
from flint import arb
from laws import Histogram, sequences

from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.peel.peeling import PeelRun
from shortlist.mechanisms.peel.ranges import LevelRange
from shortlist.mechanisms.stated import decay, exponential_round, flip_round, peel_law
from shortlist.profile import Profile
from shortlist.testing import SeededBits

__all__ = ["PeelLaw", "ball", "decay", "exponential_round", "flip_round", "peel_law"]


class PeelLaw(Subject):
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
        peeling = mechanism.prepare(profile).peeling
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


def single_levels(levels: LevelRange) -> Iterable[LevelRange]:
    """Split a range until every level stands alone."""
    parts = levels.split()
    if parts is None:
        yield levels
    else:
        for part in parts:
            yield from single_levels(part)
