"""Limited-domain: a peel among the most-voted items, with a stop."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from contract import RELATIONS
from flint import arb, ctx
from noisy import capped_neighbours
from peels import decay
from unlisted import UnlistedContract, hockey_stick

from shortlist.audits.unknown_domain_laws import limited_domain_law
from shortlist.errors import ParameterError
from shortlist.exact.balls import ball
from shortlist.mechanisms import LimitedDomain
from shortlist.mechanisms.stated import rank_items
from shortlist.mechanisms.unknown_domain.limited_domain import place_stop
from shortlist.mechanisms.unknown_domain.stopped_peel import Stop
from shortlist.profile import Profile
from shortlist.testing import SeededBits


class TestLimitedDomain(UnlistedContract):
    k_bar = 2

    def make(self, k, epsilon, relation="add-remove"):
        k_bar = max(k, self.k_bar)
        cap = self.cap
        return LimitedDomain(
            k=k, epsilon=epsilon, delta=self.delta, k_bar=k_bar, votes_per_person=cap, neighbours=relation
        )

    def law(self, mechanism, histogram):
        return limited_domain_law(mechanism, histogram)


class TestLimitedDomainWithCap(TestLimitedDomain):
    cap = 1
    delta = Fraction(1, 20)
    histograms = tuple(itertools.product(range(3), repeat=4))

    def check_worst(self, worst):
        assert worst > ball(self.delta) / 30


class TestLimitedDomainWithFewItems(TestLimitedDomain):
    """k_bar is above the number of items in every histogram."""

    k_bar = 5


def test_an_order_of_the_engine_would_tell_neighbours_apart():
    """The check has power: with ties at the cut-off in another order on each side, delta is exceeded."""
    mechanism = LimitedDomain(k=1, epsilon=Fraction(1, 4), delta="0.01", k_bar=8, votes_per_person=1)
    here, there = (1,) * 16, (1,) * 17
    with ctx.workprec(64):
        factor = ball(mechanism.epsilon).exp()
        law = limited_domain_law(mechanism, here)
        right = hockey_stick(law, limited_domain_law(mechanism, there), factor)
        turned = limited_domain_law(mechanism, there, ranked=rank_items(there)[::-1])
        wrong = hockey_stick(law, turned, factor)
    assert not right > ball(mechanism.delta)
    assert wrong > ball(mechanism.delta) * 2


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cap", [1, 2])
def test_few_candidates_differ(relation, cap):
    """Steps 2 and 3 of the proof on all small neighbours: how many candidates differ, and by how many votes."""
    step = 1 if relation == "add-remove" else 2
    for here, k_bar in itertools.product(itertools.product(range(3), repeat=4), (1, 2, 3)):
        for there in capped_neighbours(here, relation, cap):
            ranked, others = rank_items(here), rank_items(there)
            left, come = set(ranked[:k_bar]) - set(others[:k_bar]), set(others[:k_bar]) - set(ranked[:k_bar])
            assert max(len(left), len(come)) <= min(cap, k_bar)
            cut = here[ranked[k_bar]] if len(ranked) > k_bar else 0
            assert all(here[item] <= cut + step for item in left)
            assert all(abs(there[new] - here[old]) <= 1 for new in come for old in left)
            if len(left) > len(come):
                assert all(there[item] == 0 and here[item] == 1 for item in left)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_stop_weighs_what_the_proof_needs(relation):
    """At least c/δ₁ items that are Δ above the cut-off, and hardly more."""
    for delta, epsilon, cap in itertools.product(["0.1", "1e-6", "1e-30"], ["0.01", "50"], [None, 3]):
        mechanism = LimitedDomain(k=1, epsilon=epsilon, delta=delta, votes_per_person=cap, neighbours=relation)
        needed = min(cap or 1000, 1000) / mechanism.hidden_delta
        step = mechanism.neighbours.sensitivity
        with ctx.workprec(200):
            weight = mechanism.stop.copies * decay(mechanism.rate, step - mechanism.stop.height)
            assert weight > ball(needed) * (1 - arb(2) ** -150)
            rounded_up = decay(mechanism.rate, step - mechanism.stop.height)
            assert weight < ball(needed) * (1 + arb(2) ** -30) + rounded_up


def test_a_stop_that_no_count_reaches_is_always_drawn():
    """Then the list is empty, whatever the counts."""
    assert place_stop(Fraction(10**60), Fraction(1, 10**30), height=1) is None
    assert place_stop(Fraction(5, 2), Fraction(1), height=2) == Stop(height=2, copies=3)
    mechanism = LimitedDomain(k=2, epsilon="1e-40", delta="1e-60")
    assert len(mechanism.prepare(Profile.of(np.array([10**18, 3]))).draw(SeededBits(1)).levels) == 0


def test_parameters_are_public_numbers():
    """k_bar is 20 k and at least 1,000, and is written down; too small a one is refused."""
    assert LimitedDomain(k=10, epsilon=1, delta="1e-6").parameters["k_bar"] == 1000
    assert LimitedDomain(k=100, epsilon=1, delta="1e-6").k_bar == 2000
    several = LimitedDomain(k=10, epsilon=1, delta="1e-6")
    assert several.round_epsilon > Fraction(1, 10)
    assert several.hidden_delta == several.delta / 2
    single = LimitedDomain(k=1, epsilon=1, delta="1e-6")
    assert (single.round_epsilon, single.hidden_delta) == (1, single.delta)
    with pytest.raises(ParameterError, match="k_bar must be at least k, which is 10, not 9"):
        LimitedDomain(k=10, epsilon=1, delta="1e-6", k_bar=9)
    with pytest.raises(ParameterError, match="delta must be above 0"):
        LimitedDomain(k=10, epsilon=1, delta=0)
