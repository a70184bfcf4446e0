"""Margin-Joint: the true list has a bonus, and every other list is treated as Joint does."""

from fractions import Fraction

import numpy as np
import pytest
from contract import RELATIONS, LawContract, MechanismContract, Subject
from flint import arb, ctx
from laws import exponential, losses, margin, margin_losses, neighbours, random_histograms, small_histograms
from mixtures import GIANT, ZIPF, check_balls_agree, every_doubt, mixture_law, rate, treat_as_large

from shortlist import prepare, top_k
from shortlist.mechanisms import Joint, MarginJoint
from shortlist.mechanisms.joint import blocks
from shortlist.mechanisms.joint.margin_joint import BonusMixture
from shortlist.profile import Profile
from shortlist.testing import SeededBits


class MarginJointLaw(Subject):
    sampled = (((5, 3, 3, 0), 2), ((9, 6, 4, 1, 0), 3), ((4, 2, 1), 3), ((7, 4), 1))

    def make(self, k, epsilon, relation="add-remove"):
        return MarginJoint(k=k, epsilon=epsilon, neighbours=relation)

    def law(self, histogram, k, epsilon, relation="add-remove"):
        return exponential(margin_losses(histogram, k), rate(epsilon, relation))

    def implied_law(self, mechanism, histogram):
        prepared = mechanism.prepare(Profile.of(np.array(histogram)))
        plain = losses(histogram, mechanism.k)
        bonus = prepared.enclose_chance(12) if margin(histogram, mechanism.k) else arb(0)
        shares = zip(mixture_law(prepared._joint, plain), plain, strict=True)
        return [(1 - bonus) * share + (0 if loss else bonus) for share, loss in shares]


class TestMarginJoint(MarginJointLaw, MechanismContract):
    """Margin-Joint as it is."""


class TestMarginJointInWideBlocks(MarginJointLaw, LawContract):
    """With at most three blocks almost all of them hold several losses, so sequences are rejected."""

    draws = 3_000

    @pytest.fixture(autouse=True)
    def few_blocks(self, monkeypatch):
        monkeypatch.setattr(blocks, "_MOST_BLOCKS", 3)
        monkeypatch.setattr(blocks, "_STEEP_BITS", 5)


class TestMarginJointAsIfLarge(MarginJointLaw, LawContract):
    """The law, with losses cut and sequences counted as for a large k."""

    draws = 3_000

    @pytest.fixture(autouse=True)
    def as_if_large(self, monkeypatch):
        treat_as_large(monkeypatch)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_loss_of_a_list_moves_by_the_sensitivity_at_most(relation):
    """The step of the proof that the guarantee stands on, for all neighbours; the largest change occurs."""
    moves = set()
    for here in [*small_histograms(), *random_histograms(60, 5, seed=23)]:
        for k in range(1, min(3, len(here)) + 1):
            ours = margin_losses(here, k)
            for there in neighbours(here, relation):
                moves |= {abs(a - b) for a, b in zip(ours, margin_losses(there, k), strict=True)}
    assert max(moves) == (1 if relation == "add-remove" else 2)


def test_the_true_list_gains_and_every_other_loses():
    """Joint is dominated: no other list is likelier than with Joint, and the true list is not less likely."""
    gained = 0
    with ctx.workprec(200):
        for histogram in [*small_histograms(), *random_histograms(100, 5, seed=29)]:
            for k in range(1, min(3, len(histogram)) + 1):
                ours = exponential(margin_losses(histogram, k), Fraction(1, 2))
                joint = exponential(losses(histogram, k), Fraction(1, 2))
                true = [loss == 0 for loss in losses(histogram, k)]
                gained += any(p > q for p, q in zip(ours, joint, strict=True))
                assert not any(p > q for p, q, best in zip(ours, joint, true, strict=True) if not best)
                assert not any(p < q for p, q, best in zip(ours, joint, true, strict=True) if best)
    assert gained > 100


GAPS = np.arange(400) * 3
FAR = np.array([2**63 - 1, 2**62, 2**61, 2**60, 2**59, 2**58, 0])


@pytest.mark.parametrize("counts", [GAPS, ZIPF, GIANT, FAR], ids=["gaps", "zipf", "giant", "far"])
@pytest.mark.parametrize("k", [1, 6])
@every_doubt
def test_a_wide_error_bound_changes_no_answer(counts, k, doubt, monkeypatch):
    """Balls find the block that floats find."""
    check_balls_agree(MarginJoint(k=k, epsilon=1), counts, doubt, monkeypatch, lists=20)


def test_without_a_lead_it_is_joint():
    """With a tie among the top k + 1 counts, the same bits give the list of Joint."""
    counts = np.arange(100) // 2
    for seed in range(10):
        ours = top_k(counts, k=4, epsilon=1, mechanism="margin-joint", bits=SeededBits(seed))
        assert (ours == top_k(counts, mechanism=Joint(k=4, epsilon=1), bits=SeededBits(seed))).all()


@pytest.mark.parametrize("counts", [GAPS, ZIPF, GIANT, FAR], ids=["gaps", "zipf", "giant", "far"])
def test_balls_decide_about_the_bonus_as_floats_do(counts, monkeypatch):
    """The same bits give the same lists if every decision about the bonus is left to balls."""

    def draw_lists():
        prepared = prepare(counts, mechanism=MarginJoint(k=6, epsilon="0.3"))
        single = [prepared.draw(SeededBits(seed)).tolist() for seed in range(20)]
        return single + [each.tolist() for each in prepared.draw_many(20, SeededBits(7))]

    answers = draw_lists()
    monkeypatch.setattr(BonusMixture, "_bounds", (-1.0, 2.0))
    assert draw_lists() == answers


class Partial:
    """Levels that show no more than is asked for."""

    def __init__(self, counts):
        self.counts, self.d = np.sort(counts)[::-1], len(counts)

    def above(self, k, depth):
        return Profile.of(self.counts[self.counts >= self.counts[k - 1] - depth], d=self.d)


@pytest.mark.parametrize("lead", [1, 30, 300, 10**6])
@pytest.mark.parametrize("gap", [2, 40, 10**7])
def test_a_profile_that_stops_early_changes_no_chance(lead, gap):
    """If h_(k+1) is out of reach, the bonus is enclosed all the same, and exactly with all levels."""
    counts = np.array([gap + lead + 3, lead + 3, 3, 2, 0])
    with ctx.workprec(200):
        whole, part = (MarginJoint(k=2, epsilon=1).prepare(each) for each in (Profile.of(counts), Partial(counts)))
        exact = whole.enclose_chance(6)
        assert part.enclose_chance(0).contains(exact)
        assert part.enclose_chance(0).rad() < 2.0**-30
        assert part.enclose_chance(6).overlaps(exact)
        assert part.enclose_chance(6).rad() < 1e-30


@pytest.mark.parametrize("epsilon", ["1e-12", "1e-3", "100", "1e6"])
def test_extreme_epsilons_work(epsilon):
    """Tiny and huge epsilons give a list, on wide and on narrow counts."""
    for counts in (np.array([2**62, 2**40, 10**6, 5, 3, 0]), 2 * np.arange(3000), np.zeros(10, dtype=int)):
        chosen = top_k(counts, k=4, epsilon=epsilon, mechanism="margin-joint", bits=SeededBits(1))
        assert len(set(chosen.tolist())) == 4
