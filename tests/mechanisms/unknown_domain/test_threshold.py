"""Threshold: noisy counts of the observed items that reach a threshold."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from contract import RELATIONS
from flint import arb, ctx
from unlisted import FAR, UnlistedContract, find_worst

from shortlist.audits.unknown_domain_laws import threshold_law
from shortlist.errors import ParameterError
from shortlist.exact.balls import ball
from shortlist.mechanisms import Threshold
from shortlist.privacy.zcdp import find_excess_order
from shortlist.profile import Profile
from shortlist.testing import SeededBits


def whole_law(mechanism, histogram, *, threshold=None, reach=6):
    """The law of all lists with their noisy counts. Those that are not enumerated are one output."""
    law = threshold_law(mechanism, histogram, threshold=threshold, reach=reach)
    return {**law, FAR: 1 - sum(law.values(), arb(0))}


class TestGaussianThreshold(UnlistedContract):
    noise = "gaussian"
    cap = 1
    delta = Fraction(1, 5)
    histograms = tuple(itertools.product(range(3), repeat=2))
    sampled = ((5, 0, 3), (0, 9, 4))

    def make(self, k, epsilon, relation="add-remove"):
        return Threshold(
            k=k, epsilon=epsilon, delta=self.delta, votes_per_person=self.cap, noise=self.noise, neighbours=relation
        )

    def law(self, mechanism, histogram):
        return whole_law(mechanism, histogram)

    def read(self, picks, items):
        return tuple(items), tuple(picks.counts.tolist())

    def test_probabilities_sum_to_one(self):
        """The stated law is a law, if noisy counts are enumerated far enough."""
        with ctx.workprec(96):
            law = threshold_law(self.make(2, self.epsilon), (2, 0, 3), reach=40)
            assert abs(sum(law.values(), arb(0)) - 1) < arb(10) ** -6

    def stretched_law(self, histogram, factor):
        """The threshold stays where it is; only the noise changes."""
        stated = self.make(2, self.epsilon)
        stretched = self.make(2, self.epsilon * factor)
        return whole_law(stretched, histogram, threshold=stated.threshold)


class TestLaplaceThreshold(TestGaussianThreshold):
    noise = "laplace"


class TestLaplaceThresholdWithTwoVotes(TestGaussianThreshold):
    noise = "laplace"
    cap = 2


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_one_less_or_more_than_instead_of_at_least_is_seen(noise, relation):
    """The check has power: Laplace with T − 1 exceeds delta, and `> T` in place of `≥ T` is one more than needed."""
    mechanism = Threshold(k=2, epsilon=1, delta="0.05", votes_per_person=1, noise=noise, neighbours=relation)
    histograms = tuple(itertools.product(range(3), repeat=2))
    with ctx.workprec(96):
        at_least, more, fewer = (
            find_worst(lambda h, t=t: whole_law(mechanism, h, threshold=t, reach=9), histograms, relation, 1, 1)
            for t in (mechanism.threshold, mechanism.threshold + 1, mechanism.threshold - 1)
        )
        assert not at_least > ball(mechanism.delta)
        assert more < at_least < fewer
        assert noise == "gaussian" or fewer > ball(mechanism.delta)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "0.3"), ("20", "1e-9"), ("0.001", "0.9")])
def test_the_threshold_hides_items_of_one_person(noise, relation, epsilon, delta):
    """m items with one vote show with probability δ₂ at most, and one with less than 1 − e^(−x).

    For Gaussian noise δ₂ is found here from ρ-zCDP of all but m of the counts that one person moves, in floats.
    """
    mechanism = Threshold(k=2, epsilon=epsilon, delta=delta, votes_per_person=5, noise=noise, neighbours=relation)
    law, moved = mechanism.law, 5 * mechanism.neighbours.sensitivity
    hidden = mechanism.delta
    if noise == "gaussian":
        rho, excess = moved / (2 * law.variance), find_excess_order(mechanism.epsilon, mechanism.delta)
        hidden -= Fraction(float(mechanism.delta) * math.exp(-excess * (excess + 1) * rho * 5 / moved))
    loss = mechanism.epsilon / moved if noise == "laplace" else 1 / (2 * law.variance)
    with ctx.workprec(160):
        chances = [law.enclose_tail(mechanism.threshold - 1 - step) for step in (0, 1)]
        fits = [5 * p < ball(hidden) and p < -(-ball(loss)).expm1() for p in chances]
    assert fits == [True, False]


def test_takes_the_noise_with_the_lower_threshold():
    """Laplace noise for few votes a person, Gaussian noise for many; the record says which."""
    few, many = (Threshold(k=5, epsilon=1, delta="1e-6", votes_per_person=m) for m in (1, 20))
    assert (few.parameters["noise"], many.parameters["noise"]) == ("laplace", "gaussian")
    for mechanism in (few, many):
        others = [Threshold(**{**mechanism.parameters, "noise": each}).threshold for each in ("gaussian", "laplace")]
        assert mechanism.threshold == min(others)
        assert Threshold(**mechanism.parameters) == mechanism


def test_the_list_is_in_the_order_of_the_noisy_counts():
    """Largest first, k at most, and all at or above the threshold."""
    counts = np.random.default_rng(3).poisson(60, 400)
    mechanism = Threshold(k=30, epsilon=1, delta="1e-6", votes_per_person=4)
    prepared, bits = mechanism.prepare(Profile.of(counts)), SeededBits(4)
    for _ in range(20):
        noisy = prepared.draw(bits).counts.tolist()
        assert noisy == sorted(noisy, reverse=True)
        assert len(noisy) <= 30
        assert all(each >= mechanism.threshold for each in noisy)


def test_refuses_wrong_parameters():
    """A cap is needed, and the noise has two laws."""
    with pytest.raises(ParameterError, match="noise must be 'gaussian' or 'laplace', not 'normal'"):
        Threshold(k=1, epsilon=1, delta="1e-6", votes_per_person=1, noise="normal")
    with pytest.raises(ParameterError, match="votes_per_person must be a whole number from 1"):
        Threshold(k=1, epsilon=1, delta="1e-6", votes_per_person=None)
