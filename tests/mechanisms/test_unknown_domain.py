"""Mechanisms without a public list of items: limited-domain, threshold and stable."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from contract import RELATIONS
from flint import arb, ctx
from laws import same
from noisy import capped_neighbours
from peels import ask_run, decay, exponential_round
from unlisted import FAR, UnlistedContract, find_worst, hockey_stick, observe

from shortlist.errors import ParameterError
from shortlist.exact.balls import ball
from shortlist.mechanisms import LimitedDomain, Stable, Threshold
from shortlist.mechanisms.stated import rank_items
from shortlist.mechanisms.unknown_domain import Stop, place_stop
from shortlist.privacy.zcdp import find_excess_order
from shortlist.profile import Profile
from shortlist.testing import SeededBits


class TestLimitedDomain(UnlistedContract):
    k_bar = 2
    groups_per_person = None

    def make(self, k, epsilon, relation="add-remove"):
        return LimitedDomain(
            k=k,
            epsilon=epsilon,
            delta=self.delta,
            k_bar=max(k, self.k_bar),
            votes_per_person=self.cap,
            neighbours=relation,
            groups_per_person=self.groups_per_person,
        )

    @pytest.mark.parametrize("relation", RELATIONS)
    @pytest.mark.parametrize("k", [1, 2, 3])
    def test_the_run_implies_the_stated_law(self, k, relation):
        """The run that draws weighs items and the stop as the law states, as certified balls, on all histograms."""
        with ctx.workprec(300):
            mechanism = self.make(k, self.epsilon, relation)
            for histogram in self.histograms:
                if any(histogram):
                    stated = self.law(mechanism, histogram)
                    implied = ask_stopped_run(mechanism.prepare(observe(histogram)), histogram, k)
                    assert same([implied[each] for each in stated], list(stated.values()))


class TestLimitedDomainWithCap(TestLimitedDomain):
    cap = 1
    delta = Fraction(1, 20)
    histograms = tuple(itertools.product(range(3), repeat=4))

    def check_worst(self, worst):
        assert worst > ball(self.delta) / 30


class TestLimitedDomainWithFewItems(TestLimitedDomain):
    """k_bar is above the number of items in every histogram."""

    k_bar = 5


class TestLimitedDomainOfAFamily(TestLimitedDomain):
    """One of the lists that two groups of a person share epsilon and delta for."""

    groups_per_person = 2

    def check_worst(self, worst):
        assert worst > ball(self.delta) / 40


def ask_stopped_run(prepared, histogram, k):
    """The law of all lists of candidates, from what the run says about the items that are left after some."""
    next_chances, stop = ask_run(prepared.peeling, exponential_round), prepared.stop_level
    cut, values = prepared.cut, prepared.candidates.values.tolist()
    candidates = rank_items(histogram)[: int(prepared.candidates.d - prepared.copies)]
    levels, law = {item: values.index(histogram[item] - cut) for item in candidates}, {}

    def peel(chosen, chance):
        if len(chosen) == k:
            law[chosen] = chance
            return
        chances = next_chances(tuple(levels[item] for item in chosen))
        law[chosen] = chance * prepared.copies * chances[stop]
        for item in candidates:
            if item not in chosen:
                peel((*chosen, item), chance * chances[levels[item]])

    peel((), arb(1))
    return law


def test_an_order_of_the_engine_would_tell_neighbours_apart():
    """The check has power: with ties at the cut-off in another order on each side, delta is exceeded."""
    mechanism = LimitedDomain(k=1, epsilon=Fraction(1, 4), delta="0.01", k_bar=8, votes_per_person=1)
    here, there = (1,) * 16, (1,) * 17
    with ctx.workprec(64):
        factor = ball(mechanism.epsilon).exp()
        law, other = ({output.items: p for output, p in mechanism.state_law(each)} for each in (here, there))
        right = hockey_stick(law, other, factor)
        turned = {tuple(16 - item for item in items): p for items, p in other.items()}
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


def test_the_number_of_candidates_is_public():
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


def whole_law(mechanism, histogram, *, reach=6):
    """The law of all lists with their noisy counts. Those that are not enumerated are one output."""
    law = {(output.items, output.counts): p for output, p in mechanism.state_law(histogram, reach=reach)}
    return {**law, FAR: 1 - sum(law.values(), arb(0))}


def move_threshold(mechanism, threshold):
    """The same mechanism with another threshold."""
    kind = type("Moved", (type(mechanism),), {"__slots__": (), "threshold": threshold})
    return kind(**mechanism.parameters)


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
            law = whole_law(self.make(2, self.epsilon), (2, 0, 3), reach=40)
            assert abs(law[FAR]) < arb(10) ** -6

    def stretched_law(self, histogram, factor):
        """The threshold stays where it is; only the noise changes."""
        stated = self.make(2, self.epsilon)
        stretched = self.make(2, self.epsilon * factor)
        return whole_law(move_threshold(stretched, stated.threshold), histogram)


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
            find_worst(lambda h, t=t: whole_law(move_threshold(mechanism, t), h, reach=9), histograms, relation, 1, 1)
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


def test_threshold_refuses_wrong_parameters():
    """A cap is needed, and the noise has two laws."""
    with pytest.raises(ParameterError, match="noise must be 'gaussian' or 'laplace', not 'normal'"):
        Threshold(k=1, epsilon=1, delta="1e-6", votes_per_person=1, noise="normal")
    with pytest.raises(ParameterError, match="votes_per_person must be a whole number from 1"):
        Threshold(k=1, epsilon=1, delta="1e-6", votes_per_person=None)


class TestStable(UnlistedContract):
    epsilon = Fraction(1)
    delta = Fraction(1, 5)
    histograms = tuple(itertools.product(range(6), repeat=2)) + tuple(itertools.product(range(3), repeat=3))
    sampled = ((9, 2, 0, 1), (0, 14, 4, 4))
    draws = 4000
    at_least = 1

    def make(self, k, epsilon, relation="add-remove"):
        at_least = self.at_least
        return Stable(k=k, epsilon=epsilon, delta=self.delta, at_least=at_least, neighbours=relation)

    def read(self, picks, items):
        assert picks.unordered
        return tuple(sorted(items))


class TestStableOfOneSize(TestStable):
    at_least = None

    def make(self, k, epsilon, relation="add-remove"):
        return Stable(k=(k, k), epsilon=epsilon, delta=self.delta, neighbours=relation)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("k", [1, 2])
def test_a_threshold_of_one_less_is_seen(k, relation):
    """The check has power: with a threshold of one less, delta is exceeded."""
    mechanism = Stable(k=(k, k), epsilon=1, delta="0.05", neighbours=relation)
    histograms = tuple(itertools.product(range(5), repeat=k + 1))
    with ctx.workprec(96):
        right, wrong = (
            find_worst(
                lambda h, t=t: {each.items: p for each, p in move_threshold(mechanism, t).state_law(h)},
                histograms,
                relation,
                None,
                1,
            )
            for t in (mechanism.threshold, mechanism.threshold - 1)
        )
        assert not right > ball(mechanism.delta)
        assert wrong > ball(mechanism.delta)


def test_epsilon_is_split_where_there_is_a_choice():
    """Half of epsilon chooses the size; a single size needs no choice."""
    several, single = Stable(k=10, epsilon=1, delta="1e-6"), Stable(k=(10, 10), epsilon=1, delta="1e-6")
    assert (several.sizes, several.size_epsilon, several.law.b) == (range(5, 11), Fraction(1, 2), 2)
    assert (single.sizes, single.size_epsilon, single.law.b) == (range(10, 11), 0, 1)
    assert Stable(**several.parameters) == several
    assert Stable(k=1, epsilon=1, delta="1e-6", neighbours="replace").law.b == 2


def test_stable_refuses_wrong_parameters():
    """Sizes must be a range."""
    with pytest.raises(ParameterError, match="at_least must be at most k, not 4 and 3"):
        Stable(k=3, at_least=4, epsilon=1, delta="1e-6")
    with pytest.raises(ParameterError, match="two numbers"):
        Stable(k=(1, 2, 3), epsilon=1, delta="1e-6")
