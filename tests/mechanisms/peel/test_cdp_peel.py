"""CDP-Peel: the exponential mechanism, round after round."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from contract import MechanismContract, PrivacyContract
from divergences import ball, hockey_stick
from flint import arb, ctx
from laws import neighbours, small_histograms
from peels import PeelLaw, decay, exponential_round

from shortlist import top_k
from shortlist.errors import ParameterError
from shortlist.mechanisms import CDPPeel
from shortlist.testing import SeededBits


class CDPPeelLaw(PeelLaw):
    private_cases = (12, 4)
    delta = Fraction(1, 5)
    calibration = "optimal"
    round_law = staticmethod(exponential_round)

    def make(self, k, epsilon, relation="add-remove"):
        return CDPPeel(k=k, epsilon=epsilon, delta=self.delta, calibration=self.calibration, neighbours=relation)

    def rate(self, mechanism):
        return mechanism.round_epsilon / (1 if mechanism.neighbours == "add-remove" else 2)


class TestCDPPeel(CDPPeelLaw, MechanismContract):
    """With the calibration that is the default."""


class TestTightCDPPeel(CDPPeelLaw, PrivacyContract):
    """The calibration changes one number, the epsilon of a round, and what it promises."""

    calibration = "tight"
    private_cases = (6, 4)


class TestPublishedCDPPeel(CDPPeelLaw, PrivacyContract):
    """The calibration of the paper."""

    calibration = "published"
    private_cases = (6, 4)


class TestPureCDPPeel(CDPPeelLaw, PrivacyContract):
    """With a delta this small and few items, ε/k is more than what composition gives. Then no delta is stated."""

    delta = Fraction(1, 10**100)
    private_cases = (6, 4)

    def test_a_round_spends_its_part(self):
        """Then a round gets ε/k, and the guarantee is pure."""
        assert all(self.make(k, Fraction(1)).round_epsilon == Fraction(1, k) for k in range(1, 7))
        assert not self.make(3, Fraction(1)).guarantee.delta


def test_twice_the_epsilon_of_a_round_is_seen():
    """The check of the divergence has teeth: at twice ε′ it passes delta."""
    with ctx.workprec(128):
        rate = 2 * CDPPeel(k=1, epsilon=1, delta=Fraction(1, 5)).round_epsilon
        factor = arb(1).exp()
        laws = {
            histogram: exponential_round([decay(rate, max(histogram) - count) for count in histogram])
            for histogram in itertools.product(range(5), repeat=3)
        }
        assert any(
            hockey_stick(laws[here], laws[there], factor) > ball(Fraction(1, 5))
            for here in small_histograms()
            if len(here) == 3
            for there in neighbours(here, "add-remove")
        )


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_a_round_has_bounded_range(relation):
    """Log-ratios of one round lie in an interval of length ε′, which is what ρ = ε′²/8 needs."""
    share = Fraction(3, 4)
    rate = share if relation == "add-remove" else share / 2
    with ctx.workprec(128):
        for here in small_histograms():
            law = exponential_round([decay(rate, 9 - count) for count in here])
            for there in neighbours(here, relation):
                other = exponential_round([decay(rate, 9 - count) for count in there])
                ratios = [(p / q).log() for p, q in zip(law, other, strict=True)]
                assert not any(a - b > ball(share) for a, b in itertools.product(ratios, repeat=2))
                assert not any(abs(a) > ball(share) for a in ratios)


@pytest.mark.parametrize("delta", [0, 1, -1, 2, "x", float("nan"), True])
def test_refuses_a_wrong_delta(delta):
    """Delta lies strictly between 0 and 1."""
    with pytest.raises(ParameterError, match="delta"):
        CDPPeel(k=1, epsilon=1, delta=delta)


def test_refuses_a_missing_delta():
    """Without delta nothing can be promised, and the error says what is missing."""
    with pytest.raises(ParameterError, match="cdp-peel needs delta"):
        top_k([3, 2, 1], k=1, epsilon=1, mechanism="cdp-peel")


@pytest.mark.parametrize("name", ["joint", "fastjoint", "pnf-joint", "pnf-peel"])
def test_pure_mechanisms_refuse_delta(name):
    """A pure mechanism has no delta, and the error names it."""
    with pytest.raises(ParameterError, match=r"does not take delta[^!]*pure"):
        top_k([3, 2, 1], k=1, epsilon=1, mechanism=name, delta=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [("1e-6", "1e-300"), ("1000000", "0.999999"), ("0.001", "1e-6")])
def test_extreme_parameters_work(epsilon, delta):
    """Any epsilon and delta, counts close and far: a list comes out."""
    for counts in (np.array([10**18, 10**6, 900, 5, 5, 0]), np.arange(500), np.zeros(40, dtype=int)):
        chosen = top_k(counts, k=4, epsilon=epsilon, delta=delta, mechanism="cdp-peel", bits=SeededBits(1))
        assert len(set(chosen.tolist())) == 4
