"""Laws of peeling by brute force, and how far apart two laws are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np
from contract import MechanismContract
from flint import arb, fmpq
from laws import Histogram, sequences

from shortlist import SeededBits
from shortlist.audits.laws import decay, exponential_round, flip_round, hockey_stick
from shortlist.audits.round_laws import peel_law
from shortlist.mechanisms import Mechanism
from shortlist.mechanisms.peel.peeling import Peel
from shortlist.mechanisms.peel.ranges import LevelRange
from shortlist.profile import Profile

__all__ = ["PeelContract", "ball", "decay", "exponential_round", "flip_round", "hockey_stick", "peel_law", "renyi"]


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
        """Peel along every sequence, and ask the run itself how much what is left weighs."""
        profile = Profile.of(np.array(histogram))
        peeling = mechanism.prepare(profile)._peeling
        order = sorted(range(len(histogram)), key=lambda item: -histogram[item])
        law = []
        for sequence in sequences(len(histogram), mechanism.k):
            peel, probability = Peel(peeling, SeededBits(0)), arb(1)
            for item in sequence:
                level = int(np.flatnonzero(profile.values == histogram[item])[0])
                probability *= self._chance(level, list(single_levels(peel.left())))
                peel.take(level, order.index(item))
            law.append(probability)
        return law

    def _chance(self, level: int, ranges: list[LevelRange]) -> arb:
        decays = [each.decay() for each in ranges for _ in range(each.members)]
        levels = [each.level() for each in ranges for _ in range(each.members)]
        return self.round_law(decays)[levels.index(level)]

    def check_pair(self, mechanism: Mechanism, here: list[arb], there: list[arb], factor: arb) -> None:
        """The hockey-stick divergence is at most delta, and Rényi divergences are at most rho times their order."""
        guarantee = mechanism.guarantee
        assert not hockey_stick(here, there, factor) > ball(guarantee.delta)
        assert not hockey_stick(there, here, factor) > ball(guarantee.delta)
        for order in (fmpq(11, 10), fmpq(2), fmpq(20)):
            assert not renyi(here, there, order) > ball(guarantee.rho) * order


def renyi(here: Iterable[arb], there: Iterable[arb], order: fmpq) -> arb:
    """The Rényi divergence of an order above 1."""
    return sum((p**order * q ** (1 - order) for p, q in zip(here, there, strict=True)), arb(0)).log() / (order - 1)


def ball(number: Fraction | None) -> arb:
    assert number is not None
    return arb(fmpq(number.numerator, number.denominator))


def single_levels(levels: LevelRange) -> Iterable[LevelRange]:
    """Split a range until every level stands alone."""
    parts = levels.split()
    if parts is None:
        yield levels
    else:
        for part in parts:
            yield from single_levels(part)
