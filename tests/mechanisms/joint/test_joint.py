"""Joint and FastJoint: one sampler, two laws."""

from fractions import Fraction

import numpy as np
import pytest
from contract import LawContract, MechanismContract, Subject
from laws import exponential, losses, neighbours, random_histograms, sequences
from mixtures import check_balls_agree, check_borders, every_doubt, every_shape, mixture_law, rate, treat_as_large
from scipy.special import logsumexp

from shortlist import top_k
from shortlist.errors import ParameterError
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import FastJoint, Joint
from shortlist.mechanisms.joint import blocks
from shortlist.profile import Profile
from shortlist.testing import SeededBits


class JointLaw(Subject):
    def make(self, k, epsilon, relation="add-remove"):
        return Joint(k=k, epsilon=epsilon, neighbours=relation)

    def law(self, histogram, k, epsilon, relation="add-remove"):
        return exponential(losses(histogram, k), rate(epsilon, relation))

    def implied_law(self, mechanism, histogram):
        return mixture_law(mechanism.prepare(Profile.of(np.array(histogram))), losses(histogram, mechanism.k))


class TestJoint(JointLaw, MechanismContract):
    """Joint as it is."""


class TestFastJoint(MechanismContract):
    def make(self, k, epsilon, relation="add-remove"):
        return FastJoint(k=k, epsilon=epsilon, neighbours=relation, beta=Fraction(1, 4))

    def law(self, histogram, k, epsilon, relation="add-remove"):
        tau = self.make(k, epsilon, relation).tau(len(histogram))
        return exponential([min(loss, tau) for loss in losses(histogram, k)], rate(epsilon, relation))

    def implied_law(self, mechanism, histogram):
        return mixture_law(mechanism.prepare(Profile.of(np.array(histogram))), losses(histogram, mechanism.k))


class TestJointInWideBlocks(JointLaw, LawContract):
    """With at most three blocks almost all of them hold several losses, so sequences are rejected."""

    draws = 3_000

    @pytest.fixture(autouse=True)
    def few_blocks(self, monkeypatch):
        monkeypatch.setattr(blocks, "_MOST_BLOCKS", 3)
        monkeypatch.setattr(blocks, "_STEEP_BITS", 5)


class TestJointAsIfLarge(JointLaw, LawContract):
    """The law, with losses cut and sequences counted as for a large k."""

    draws = 3_000

    @pytest.fixture(autouse=True)
    def as_if_large(self, monkeypatch):
        treat_as_large(monkeypatch)


def log_laws(histograms, k, rate, tau):
    """The logarithms of all probabilities, a row for each histogram; in floats, for many histograms at once."""
    order = np.array(sequences(histograms.shape[1], k))
    top = -np.sort(-histograms, axis=1)[:, None, :k]
    scores = -float(rate) * np.minimum((top - histograms[:, order]).max(axis=2), np.inf if tau is None else tau)
    return scores - logsumexp(scores, axis=1, keepdims=True)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("mechanism", [Joint, FastJoint])
def test_no_neighbour_of_larger_histograms_is_told_apart(mechanism, relation):
    """All neighbours of 60 random histograms with d up to 7 stay within e^epsilon, and some come near it."""
    widest = 0.0
    for histogram in random_histograms(60, 7, seed=17):
        chosen = mechanism(k=min(3, len(histogram)), epsilon=1, neighbours=relation)
        tau = chosen.tau(len(histogram)) if mechanism is FastJoint else None
        laws = log_laws(np.array([histogram, *neighbours(histogram, relation)]), chosen.k, chosen.rate, tau)
        widest = max(widest, float(np.abs(laws[1:] - laws[0]).max()))
    assert 0.5 < widest <= 1 + 1e-9


def test_beta_zero_is_joint():
    """FastJoint with beta 0 has no threshold and draws what Joint draws."""
    counts = np.arange(50) ** 2 % 37
    assert FastJoint(k=5, epsilon=1, beta=0).tau(50) is None
    ours = top_k(counts, k=5, epsilon=1, mechanism="fastjoint", beta=0, bits=SeededBits(4))
    assert (ours == top_k(counts, k=5, epsilon=1, mechanism="joint", bits=SeededBits(4))).all()


def test_tau_is_the_papers():
    """τ = ⌈(2Δ/ε) ln(d!/(d−k)! / β)⌉, and replace doubles Δ."""
    exact = 2 * (np.log(np.arange(4901, 5001, dtype=float)).sum() + np.log(1024))
    assert FastJoint(k=100, epsilon=1).tau(5000) == int(np.ceil(exact))
    assert FastJoint(k=100, epsilon=1, neighbours="replace").tau(5000) == int(np.ceil(2 * exact))


@pytest.mark.parametrize("beta", [1, -0.1, float("nan"), "x", 2])
def test_refuses_a_wrong_beta(beta):
    """A failure probability lies in [0, 1)."""
    with pytest.raises(ParameterError, match="beta"):
        FastJoint(k=1, epsilon=1, beta=beta)


@every_shape
@every_doubt
@pytest.mark.parametrize("kind", [Joint, FastJoint])
def test_a_wide_error_bound_changes_no_answer(counts, kind, doubt, monkeypatch):
    """Balls find the block that floats find."""
    check_balls_agree(kind(k=6, epsilon=1), counts, doubt, monkeypatch)


@every_shape
def test_borders_are_within_their_bound(counts):
    """Every float border lies within the proven slack of the exact one."""
    check_borders(Joint(k=6, epsilon=1).prepare(Profile.of(counts)))


def test_floats_decide_almost_every_draw(monkeypatch):
    """In normal use no draw of thousands needs balls, and the proven doubt says why."""
    prepared = Joint(k=50, epsilon=1).prepare(Profile.of((10**5 / np.arange(1, 2000)).astype(int)))
    calls = []
    monkeypatch.setattr("shortlist.mechanisms.joint.mixture.quantile", lambda *arguments: calls.append(1))
    bits = SeededBits(8)
    for _ in range(3000):
        prepared.draw(bits)
    assert not calls
    assert prepared.escalation_bound < 1e-8


class Leading:
    """Some given bytes, then a seeded stream."""

    def __init__(self, first):
        self.first, self.rest = first, SeededBits(1)

    def draw(self, count):
        first, self.first = self.first[:count], self.first[count:]
        return first + self.rest.draw(count - len(first))


@pytest.mark.parametrize("low", [10, 10**5])
def test_a_draw_beyond_the_table_is_resolved(low):
    """A number that falls on losses left out of the table finds them with balls."""
    prepared = Joint(k=60, epsilon=1).prepare(Profile.of(np.array([10**5 + 300] * 60 + [low] * 2000)))
    number = Uniform(Leading(b"\xff" * 8))
    assert prepared._table.locate(number) is None
    found, start, end = prepared._choose(number)
    assert start > max(prepared.edges())
    assert found.number(start) == found.number(None if end is None else end - 1)


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-3", "0.1", "100", "1e6"])
def test_extreme_epsilons_work(epsilon):
    """Tiny and huge epsilons give a list, on wide and on narrow counts."""
    for counts in (np.array([2**62, 2**40, 10**6, 5, 5, 0]), np.arange(3000), np.zeros(10, dtype=int)):
        assert len(set(top_k(counts, k=4, epsilon=epsilon, bits=SeededBits(1)).tolist())) == 4


def test_a_huge_epsilon_gives_the_true_ranking():
    """With epsilon 1e6 the list is the true one."""
    counts = np.array([3, 1, 4, 15, 9, 2, 6, 5])
    assert top_k(counts, k=8, epsilon=10**6).tolist() == [3, 4, 6, 7, 2, 0, 5, 1]
