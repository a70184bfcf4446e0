"""PNF-Joint: permute-and-flip over sequences."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from contract import MechanismContract
from flint import arb, arb_poly, ctx
from laws import losses, random_histograms

from shortlist import top_k
from shortlist.exact import thinning
from shortlist.exact.uniform import Uniform
from shortlist.mechanisms import PNFJoint
from shortlist.mechanisms.joint import pnf_joint
from shortlist.mechanisms.stated import decay, flip_round, permute_and_flip
from shortlist.profile import Profile
from shortlist.testing import SeededBits


def singles(crowds):
    """Split crowds until each has one loss."""
    while any(crowd.first != crowd.last for crowd in crowds):
        crowds = [part for crowd in crowds for part in (crowd.split() or [crowd])]
    return crowds


class TestPNFJoint(MechanismContract):
    random_cases = (120, 5)
    private_cases = (12, 4)

    def make(self, k, epsilon, relation="add-remove"):
        return PNFJoint(k=k, epsilon=epsilon, neighbours=relation)

    def law(self, histogram, k, epsilon, relation="add-remove"):
        rate = epsilon / (2 if relation == "add-remove" else 4)
        return permute_and_flip(losses(histogram, k), rate)

    def implied_law(self, mechanism, histogram):
        """Thin Joint's law at height X: ∫ G(x) c_i / (1 − c_i x) dx, with G and the c_i from the mechanism's crowds."""
        crowds = mechanism.prepare(Profile.of(np.array(histogram))).crowds
        crowds = singles(crowds)
        heights = arb_poly([1])
        for crowd in crowds:
            heights *= arb_poly([1, -crowd.decay()]) ** crowd.members
        law = {}
        for crowd in crowds:
            quotient = arb_poly([1])
            for other in crowds:
                quotient *= arb_poly([1, -other.decay()]) ** (other.members - (other is crowd))
            law[crowd.first] = crowd.decay() * quotient.integral()(arb(1))
        return [law[loss] for loss in losses(histogram, mechanism.k)]


class TestPNFJointByBalls(TestPNFJoint):
    """Sums decide nothing, so balls decide what integers leave open."""

    random_cases = (20, 4)
    private_cases = (2, 3)

    @pytest.fixture(autouse=True)
    def without_sums(self, monkeypatch):
        monkeypatch.setattr(pnf_joint, "accept_by_sums", lambda *given: None)
        monkeypatch.setattr(pnf_joint.ThinnedMixture, "_power_sums", None)


def test_flip_law_is_the_process_itself():
    """The integral is permute-and-flip: a uniform order, and a coin for each until one shows heads."""
    with ctx.workprec(200):
        decays = [decay(Fraction(1, 2), loss) for loss in (0, 1, 1, 3)]
        law = [arb(0)] * 4
        for order in itertools.permutations(range(4)):
            reached = arb(1) / 24
            for item in order:
                law[item] = law[item] + reached * decays[item]
                reached *= 1 - decays[item]
        assert all(ours.overlaps(theirs) for ours, theirs in zip(flip_round(decays), law, strict=True))


def test_surely_kept_is_never_wrong(monkeypatch):
    """Deciding every proposal with balls gives the lists that integers give, for the same bits."""
    counts = np.arange(120) % 9
    answers = [top_k(counts, k=5, epsilon=1, mechanism="pnf-joint", bits=SeededBits(s)).tolist() for s in range(40)]
    monkeypatch.setattr("shortlist.mechanisms.joint.pnf_joint.accept_by_integers", lambda *arguments: False)
    again = [top_k(counts, k=5, epsilon=1, mechanism="pnf-joint", bits=SeededBits(s)).tolist() for s in range(40)]
    assert again == answers


@pytest.mark.parametrize("epsilon", ["0.5", "1", "1.5"])
def test_sums_decide_what_balls_decide(epsilon, monkeypatch):
    """Many draws with all doubtful proposals left to balls give the same lists, for the same bits."""
    prepared = PNFJoint(k=3, epsilon=epsilon).prepare(Profile.of(6 * np.arange(20)))
    lists = prepared.draw_many(300, SeededBits(7)).levels.tolist()
    asked = []

    def doubt(heights, *others):
        asked.append(len(heights))
        return np.zeros(len(heights), dtype=bool), np.zeros(len(heights), dtype=bool)

    monkeypatch.setattr("shortlist.mechanisms.joint.pnf_joint.accept_each_by_sums", doubt)
    assert prepared.draw_many(300, SeededBits(7)).levels.tolist() == lists
    assert sum(asked) > 10


@pytest.mark.parametrize(("k", "epsilon", "nats"), [(1, "1", 1), (3, "1", 2), (3, "0.001", 2), (10, "0.1", 5)])
def test_two_sums_decide_almost_every_single_draw(k, epsilon, nats, monkeypatch):
    """Single draws on spread counts need few balls. With balls alone they give the same lists, for the same bits."""
    counts = (200 * nats / float(epsilon) * np.exp(-np.arange(400) / 100)).astype(np.int64)
    prepared = PNFJoint(k=k, epsilon=epsilon).prepare(Profile.of(counts))
    asked = []

    def count(*arguments):
        asked.append(len(arguments))
        return thinning.accept_by_balls(*arguments)

    def draw_lists():
        bits = SeededBits(2)
        return [prepared.draw(bits).levels.tolist() for _ in range(40)]

    monkeypatch.setattr("shortlist.mechanisms.joint.pnf_joint.accept_by_balls", count)
    lists = draw_lists()
    assert len(asked) <= 6
    monkeypatch.setattr("shortlist.mechanisms.joint.pnf_joint.accept_by_sums", lambda *arguments: None)
    assert draw_lists() == lists
    assert len(asked) > 12


def test_balls_look_at_few_losses():
    """A decision by balls counts the sequences of some dozens of losses, where 150,000 losses are within reach."""
    counts = (150_000 * np.exp(-np.arange(1000) / 100)).astype(np.int64)
    prepared = PNFJoint(k=3, epsilon="0.001").prepare(Profile.of(counts))
    bits = SeededBits(4)
    for _ in range(20):
        prepared._joint.all_sequences._known.clear()
        thinning.accept_by_balls(Uniform(bits), Uniform(bits), Fraction(1, 2), prepared.crowds)
        assert len(prepared._joint.all_sequences._known) < 300


def test_sums_of_powers_hold_the_exact_sums():
    """Bounds of Σ c^m over all sequences, compared with the crowds of single losses."""
    for histogram in [*random_histograms(30, 6, seed=8), (900, 700, 400, 30, 2)]:
        prepared = PNFJoint(k=2, epsilon="0.8").prepare(Profile.of(np.array(histogram)))
        with ctx.workprec(200):
            for m, (below, above) in enumerate(zip(*prepared._power_sums, strict=True), start=1):
                total = sum((crowd.members * crowd.decay() ** m for crowd in singles(prepared.crowds)), arb(0))
                assert arb(below) < total * (1 + arb(2) ** -60)
                assert total * (1 - arb(2) ** -60) < arb(above)
                assert above < below * (1 + 1e-9)


def test_surely_kept_bounds_both_numbers():
    """A height near 0 or a coin near 1 is never waved through."""

    class Fixed:
        def __init__(self, byte):
            self.byte = byte

        def draw(self, count):
            return self.byte * count

    low, high, middle = (Uniform(Fixed(byte)) for byte in (b"\x00", b"\xff", b"\x80"))
    assert not thinning.accept_by_integers(low, middle, 10**6)
    assert not thinning.accept_by_integers(middle, high, 10**6)
    assert thinning.accept_by_integers(middle, middle, 3)
    assert not thinning.accept_by_integers(middle, middle, 2)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "1.38629436", "1.3862943611", "2.7725887", "20"])
def test_the_magnitude_is_a_lower_bound(epsilon):
    """All sequences together weigh at least 2^magnitude, also where e^(−ε/2) is close to a power of two."""
    cases = [*random_histograms(60, 6, seed=3), (16,) + (1,) * 4000 + (0,), (40,) + (9,) * 500]
    for histogram in cases:
        for k in (1, 2):
            prepared = PNFJoint(k=k, epsilon=epsilon).prepare(Profile.of(np.array(histogram)))
            with ctx.workprec(200):
                total = sum((crowd.members * crowd.decay() for crowd in singles(prepared.crowds)), arb(0))
                assert total * (1 + arb(2) ** -100) > arb(2) ** prepared._joint.magnitude, (histogram, k)


def test_sampling_near_a_power_of_two():
    """Where the weight of all sequences is easily overrated, the law is still the stated one."""
    counts = np.array([16] + [1] * 65536 + [0])
    prepared = PNFJoint(k=1, epsilon="1.38629436").prepare(Profile.of(counts))
    bits = SeededBits(5)
    best = sum(int(prepared.draw(bits).levels[0]) == 16 for _ in range(4000))
    assert abs(best / 4000 - 0.4323) < 0.03


@pytest.mark.parametrize("epsilon", ["1e-6", "0.01", "10"])
def test_extreme_epsilons_work(epsilon):
    """Few sequences of small loss, or very many, and any epsilon: a list comes out."""
    for counts in (np.array([10**9, 10**6, 900, 5, 5, 0]), np.arange(500)):
        chosen = top_k(counts, k=4, epsilon=epsilon, mechanism="pnf-joint", bits=SeededBits(1))
        assert len(set(chosen.tolist())) == 4
