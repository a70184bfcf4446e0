"""Noisy counts: the list and its counts, from noise on all counts."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
import pytest
from contract import ALARM, RELATIONS, MechanismContract, item_names
from divergences import ball, renyi
from flint import arb, ctx, fmpq
from laws import neighbour_pairs, p_value, sequences, small_histograms
from levels import UpperLevels
from noisy import capped_neighbours, gaussian_law, laplace_law, output_chance, outputs

from shortlist import top_k
from shortlist.errors import ParameterError
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace
from shortlist.mechanisms import NoisyCounts
from shortlist.mechanisms.noisy_counts import NoisyDraws
from shortlist.privacy.zcdp import find_rho, find_rho_of_pure
from shortlist.profile import Profile
from shortlist.testing import SeededBits

SMALL = [h for h in small_histograms() if len(h) <= 3]


def law_of(noise):
    return laplace_law(noise.b) if isinstance(noise, DiscreteLaplace) else gaussian_law(noise.variance)


def list_events(d, k, values):
    """Every list of k items with its noisy counts."""
    return list(itertools.product(sequences(d, k), outputs(k, values)))


@cache
def cached_law_of(noise):
    """The law of noise for floats: its balls keep the precision at which they were asked for first."""
    return law_of(noise)


@cache
def law_of_samples(contract, factor):
    """The law of noise with which a contract compares its samples, once for all its tests."""
    return contract().noise(contract.epsilon * factor, 1)


@lru_cache(maxsize=1000)
def list_chances(histogram, k, law):
    """The probabilities of all lists with noisy counts in a wide window. Items with equal counts have the same."""
    chances = {}
    events = [
        (items, noisy, (tuple(histogram[item] for item in items), noisy))
        for items, noisy in list_events(len(histogram), k, range(-3, 15))
    ]
    with ctx.workprec(64):
        for items, noisy, counts in events:
            if counts not in chances:
                chances[counts] = float(output_chance(histogram, items, noisy, law).mid())
    return [chances[counts] for _, _, counts in events]


def sampled_p_values(sampler, histogram, k, laws, draws, *, at_once=False):
    """How well sampled lists with counts fit some laws of the noise; counts out of sight are one event together."""
    bits, drawn = SeededBits(8), Counter()
    for picks in sampler.draw_many(draws, bits) if at_once else (sampler.draw(bits) for _ in range(draws)):
        drawn[tuple(zip(picks.levels.tolist(), picks.ranks.tolist(), picks.counts.tolist(), strict=True))] += 1
    names, events = item_names(histogram), list_events(len(histogram), k, range(-3, 15))
    observed = [
        drawn[tuple((*names[item], value) for item, value in zip(items, noisy, strict=True))] for items, noisy in events
    ]
    expected = [list_chances(histogram, k, law) for law in laws]
    rest = draws - sum(observed)
    return [p_value([*observed, rest], [*law, max(1e-9, 1 - sum(law))]) for law in expected]


class TestPureNoisyCounts(MechanismContract):
    """An output is a list with its counts. Counts in a window are looked at, and few votes keep the noise small."""

    cap = 1
    window = range(-1, 5)
    largest_d = 3
    random_cases, private_cases = (60, 4), (12, 3)
    sampled = (((5, 3, 3, 0), 1), ((2, 2, 1), 2))
    draws = 4_000

    def make(self, k, epsilon, relation="add-remove"):
        return NoisyCounts(k=k, epsilon=epsilon, votes_per_person=self.cap, neighbours=relation)

    def law(self, histogram, k, epsilon, relation="add-remove"):
        return self.law_in_window(histogram, k, self.noise(epsilon, 1 if relation == "add-remove" else 2))

    def test_the_window_shows_the_stated_law(self):
        """Every output that the mechanism states has the probability that the other tests use."""
        with ctx.workprec(96):
            for relation, histogram in itertools.product(RELATIONS, [(2, 0), (3, 1, 1)]):
                mechanism = self.make(2, self.epsilon, relation)
                noise = self.noise(self.epsilon, 1 if relation == "add-remove" else 2)
                for output, chance in mechanism.state_law(histogram, reach=3):
                    assert chance.overlaps(output_chance(histogram, output.items, output.counts, noise))

    def noise(self, epsilon, sensitivity):
        return laplace_law(self.cap * sensitivity / epsilon)

    def implied_law(self, mechanism, histogram):
        return self.law_in_window(histogram, mechanism.k, law_of(mechanism.noise))

    def law_in_window(self, histogram, k, law):
        return [output_chance(histogram, *event, law) for event in list_events(len(histogram), k, self.window)]

    def pairs(self, histograms, relation):
        """Neighbours respect the cap."""
        return neighbour_pairs(histograms, relation, lambda each, among: capped_neighbours(each, among, self.cap))

    def sampled_p_values(self, histogram, k):
        prepared = self.make(k, self.epsilon).prepare(Profile.of(np.array(histogram)))
        laws = [law_of_samples(type(self), factor) for factor in (Fraction(1), Fraction(7, 10), Fraction(13, 10))]
        return sampled_p_values(prepared, histogram, k, laws, self.draws, at_once=self.at_once)


class TestPureNoisyCountsOfTwoVotes(TestPureNoisyCounts):
    cap = 2


class TestGaussianNoisyCounts(TestPureNoisyCounts):
    sampled = (((5, 3, 3, 0), 1), ((9, 5, 1), 2))

    def make(self, k, epsilon, relation="add-remove"):
        return NoisyCounts(k=k, epsilon=epsilon, delta="0.2", votes_per_person=self.cap, neighbours=relation)

    def noise(self, epsilon, sensitivity):
        return gaussian_law(self.cap * sensitivity / (2 * find_rho(epsilon, Fraction(1, 5))))


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(2, 3)), DiscreteGaussian(Fraction(1))], ids=str)
def test_all_outputs_together_are_certain(noise):
    """The probabilities of all lists with counts in a wide window sum to almost 1."""
    with ctx.workprec(96):
        law = law_of(noise)
        for histogram in SMALL:
            for k in range(1, min(len(histogram), 2) + 1):
                events = itertools.product(sequences(len(histogram), k), outputs(k, range(-9, 13)))
                total = sum((output_chance(histogram, *event, law) for event in events), arb(0))
                assert 1 - arb(1) / 10**4 < total <= 1 + arb(2) ** -60


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cap", [1, 2])
def test_the_noise_is_not_larger_than_it_must_be(relation, cap):
    """Some list with counts almost reaches e^epsilon, for a person who moves all three counts or as many as allowed."""
    mechanism, here = NoisyCounts(k=3, epsilon=1, votes_per_person=cap, neighbours=relation), (1, 1, 1)
    events = list_events(3, 3, range(-1, 5))
    with ctx.workprec(96):
        law = law_of(mechanism.noise)
        largest = max(
            output_chance(here, *event, law) / output_chance(there, *event, law)
            for there in capped_neighbours(here, relation, cap)
            for event in events
        )
        assert largest > (arb("0.9") * min(mechanism.moved, 3) / mechanism.moved).exp()


def test_order_by_true_count_would_tell_neighbours_apart():
    """The check above has power: without the random order of equal noisy counts it fails."""
    with ctx.workprec(96):
        at, _ = law_of(NoisyCounts(k=2, epsilon=1, votes_per_person=1).noise)
        # Both noisy counts are 1, and item 1 comes first: in (0, 1) it does for certain, in (0, 0) half of the time.
        assert at(1) * at(0) > arb("1.6").exp() * at(1) * at(1) / 2


@pytest.mark.parametrize("relation", RELATIONS)
def test_gaussian_lists_and_counts_are_within_rho(relation):
    """Rényi divergences of lists with counts are at most rho times their order; hockey sticks at most delta."""
    cap = 1
    mechanism = NoisyCounts(k=1, epsilon=2, delta="0.1", votes_per_person=cap, neighbours=relation)
    with ctx.workprec(96):
        law = law_of(mechanism.noise)
        rho, delta = ball(mechanism.guarantee.rho), ball(mechanism.guarantee.delta)
        for histogram in SMALL:
            events = list(itertools.product(sequences(len(histogram), 1), outputs(1, range(-12, 16))))
            here = [output_chance(histogram, *event, law) for event in events]
            for other in capped_neighbours(histogram, relation, cap):
                there = [output_chance(other, *event, law) for event in events]
                for order in (fmpq(11, 10), fmpq(2), fmpq(6)):
                    # The window leaves out little, and leaving out makes the sum smaller.
                    assert not renyi(here, there, order) > rho * order
                gaps = [p - arb(2).exp() * q for p, q in zip(here, there, strict=True)]
                assert not sum((gap for gap in gaps if gap > 0), arb(0)) > delta


NOISES = [DiscreteLaplace(Fraction(2)), DiscreteGaussian(Fraction(9)), DiscreteGaussian(Fraction(3, 4))]


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize(
    ("histogram", "k"), [((6, 3, 3, 0, 0, 0), 1), ((6, 3, 3, 0, 0), 2), ((5, 3, 3, 3, 2), 2), ((3, 3, 3), 2)]
)
def test_any_threshold_gives_the_law(noise, histogram, k):
    """Whatever the threshold, lists with counts have their law, and not that of noise 30 % wider or narrower.

    They have it if all items are far, and if too few items reach the threshold, so that the rest is drawn.
    """
    laws = [cached_law_of(widened(noise, stretch)) for stretch in (Fraction(1), Fraction(7, 10), Fraction(13, 10))]
    for height, at_once in itertools.product((-2, 0, 4), (False, True)):
        sampler = NoisyDraws(Profile.of(np.array(histogram)), k=k, noise=noise, near=0.49, height=height)
        p_values = sampled_p_values(sampler, histogram, k, laws, 1_500, at_once=at_once)
        assert p_values[0] > ALARM, height
        assert min(p_values[1:]) < ALARM, height


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_where_levels_are_near_does_not_matter(noise):
    """A level is near or far for the sake of speed: the law is the same, with a profile that stops early, too."""
    counts = np.array([8, 6, 6, 5, 5, 5, *([2] * 60), *([0] * 40)])
    for levels in (Profile.of(counts), UpperLevels(counts)):
        drawn = []
        for near in (0.49, 0.1, 1e-6):
            sampler = NoisyDraws(levels, k=2, noise=noise, near=near)
            drawn.append([int(picks.counts[0]) for picks in sampler.draw_many(3000, SeededBits(2))])
        for other in drawn[1:]:
            values = sorted({*drawn[0], *other})
            tables = [[each.count(value) for value in values] for each in (drawn[0], other)]
            assert homogeneity(tables) > ALARM


def homogeneity(tables):
    """The p-value of the hypothesis that two samples have one law, with rare values taken together."""
    from scipy.stats import chi2_contingency

    first, second = np.array(tables)
    common = first + second >= 20
    columns = np.array([[*each[common], each[~common].sum()] for each in (first, second)])
    return chi2_contingency(columns[:, columns.sum(axis=0) > 0]).pvalue


SMALL_NOISES = [
    DiscreteGaussian(Fraction(1, 40)),
    DiscreteGaussian(Fraction(1, 10**6)),
    DiscreteLaplace(Fraction(1, 50)),
]


@pytest.mark.parametrize("noise", [*NOISES, *SMALL_NOISES], ids=str)
@pytest.mark.parametrize("k", [1, 20])
def test_enough_items_reach_the_threshold(noise, k):
    """On average, k + 6√k + 30 items or more reach it, or each of the k largest counts almost surely does.

    So fewer than k do with a probability below 10⁻⁷. This holds for very small noise and very many equal counts, too.
    """
    rng = np.random.default_rng(1)
    for counts in (np.full(100_000, 7), rng.poisson(20.0, 5_000), np.append(np.zeros(400, dtype=int), 9)):
        sampler = NoisyDraws(Profile.of(counts), k=k, noise=noise)
        heights, sizes = np.unique(counts - int(np.sort(counts)[-k]), return_counts=True)
        with ctx.workprec(96):
            _, below = law_of(noise)
            chances = [1 - float(below(sampler.threshold - 1 - int(height)).mid()) for height in heights]
            missed = k * float(below(sampler.threshold - 1).mid())
        assert sizes @ chances >= k + 6 * math.isqrt(k) + 30 - 1e-6 or missed < 2.0**-29


@pytest.mark.slow
def test_very_many_ties_are_equally_likely():
    """Of 200,000 equal counts with noise that is nearly always 0, all are equally likely."""
    counts = np.append(np.full(200_000, 7), [9, 5])
    for parameters in ({}, {"delta": "1e-6"}):
        mechanism = NoisyCounts(k=20, epsilon=1000, votes_per_person=1, **parameters)
        draws = mechanism.prepare(Profile.of(counts)).draw_many(5, SeededBits(3))
        for picks in draws:
            assert picks.levels.tolist() == picks.counts.tolist() == [9] + [7] * 19
        ranks = np.concatenate([picks.ranks[1:] for picks in draws])
        assert p_value(np.bincount(ranks // 50_000, minlength=4).tolist(), [0.25] * 4) > ALARM


def test_a_row_in_which_no_far_item_exists_is_completed():
    """If all items are near and too few reach the threshold, their noisy counts are the answer."""
    sampler = NoisyDraws(Profile.of(np.full(60, 10)), k=2, noise=DiscreteGaussian(Fraction(1, 4)), height=1)
    drawn = np.array([picks.counts for picks in sampler.draw_many(2000, SeededBits(5))])
    assert drawn.dtype == np.int64
    assert drawn.min() < 11 <= drawn.max()


def widened(noise, stretch):
    if isinstance(noise, DiscreteLaplace):
        return DiscreteLaplace(noise.b * stretch)
    return DiscreteGaussian(noise.variance * stretch**2)


@pytest.mark.parametrize("parameters", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}], ids=["pure", "gaussian"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_intervals_hold_for_all_counts_at_once(parameters, relation):
    """All k released counts are within the bound in 95 % of the draws, but not within a bound that is a third less."""
    counts = np.random.default_rng(1).poisson(4.0, 3000)
    mechanism = NoisyCounts(k=20, votes_per_person=3, neighbours=relation, **parameters)
    prepared, bits = mechanism.prepare(Profile.of(counts)), SeededBits(2)
    bound = mechanism.count_bound(len(counts))
    worst = []
    for _ in range(400):
        picks = prepared.draw(bits)
        worst.append(int(np.abs(picks.counts - picks.levels).max()))
        stated = mechanism.state_counts(picks.counts, len(counts))
        inside = [low <= true <= high for low, true, high in zip(stated.low, picks.levels, stated.high, strict=True)]
        assert all(inside) == (worst[-1] <= bound)
    assert sum(error > bound for error in worst) <= 40
    assert sum(error > bound * 2 // 3 for error in worst) > 40


def test_noise_is_as_large_as_it_must_be():
    """Scale mΔ/ε, or variance mΔ/2ρ; the guarantee is that of mΔ counts."""
    pure = NoisyCounts(k=5, epsilon="0.5", votes_per_person=10)
    assert pure.noise == DiscreteLaplace(Fraction(20))
    assert pure.guarantee.rho == 10 * find_rho_of_pure(Fraction(1, 20))
    assert NoisyCounts(k=5, epsilon="0.5", votes_per_person=10, neighbours="replace").noise.b == 40
    gaussian = NoisyCounts(k=5, epsilon=1, delta="1e-6", votes_per_person=10)
    rho = find_rho(Fraction(1), Fraction(1, 10**6))
    assert gaussian.noise == DiscreteGaussian(10 / (2 * rho))
    assert (gaussian.guarantee.rho, gaussian.guarantee.delta) == (rho, Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"epsilon": 1}, "needs votes_per_person"),
        ({"votes_per_person": 3}, "epsilon, or rho"),
        ({"epsilon": 1, "votes_per_person": 0}, "votes_per_person must be a whole number from 1, not 0"),
        ({"epsilon": 1, "votes_per_person": 1.5}, "votes_per_person"),
        ({"epsilon": 1, "votes_per_person": True}, "votes_per_person"),
        ({"rho": "0.1", "delta": "1e-6", "epsilon": 1, "votes_per_person": 3}, "must not both be given"),
        ({"epsilon": 1, "delta": 0, "votes_per_person": 3}, "delta"),
    ],
)
def test_refuses_wrong_parameters(parameters, words):
    """What cannot be promised is refused, and the error says what is missing."""
    with pytest.raises(ParameterError, match=words):
        top_k([3, 2, 1], k=1, mechanism="noisy-counts", **parameters)


@pytest.mark.parametrize("epsilon", ["1e-6", "1e-200", "1e-300", "1000000"])
@pytest.mark.parametrize("delta", [None, "1e-6"])
@pytest.mark.parametrize("cap", [2, 2**62])
def test_extreme_epsilons_work(epsilon, delta, cap):
    """Counts close and far, any epsilon and any cap: a list comes out."""
    parameters = {} if delta is None else {"delta": delta}
    for counts in (np.array([2**63 - 1, 10**6, 900, 5, 5, 0]), np.arange(500), np.zeros(400, dtype=int)):
        chosen = top_k(
            counts,
            k=4,
            epsilon=epsilon,
            votes_per_person=cap,
            mechanism="noisy-counts",
            bits=SeededBits(1),
            **parameters,
        )
        assert len(set(chosen.tolist())) == 4


@pytest.mark.parametrize("noise", [{"epsilon": 1}, {"epsilon": "0.01"}, {"rho": "0.1", "delta": "1e-6"}])
@pytest.mark.parametrize("offset", [2**62 + 12345, 2**63 - 2**30])
def test_the_size_of_the_counts_does_not_matter(noise, offset):
    """With the same number added to all counts, the same bits give the same items, and that number more votes."""
    counts = np.random.default_rng(3).poisson(1000, 20_000) + np.arange(20_000) // 100
    lists = []
    for added in (0, offset):
        prepared = NoisyCounts(k=20, votes_per_person=2, **noise).prepare(Profile.of(counts + added))
        bits = CountedBits(SeededBits(7))
        picks = prepared.draw(bits)
        lists.append(
            [(picks.levels - added).tolist(), picks.ranks.tolist(), (picks.counts - added).tolist(), bits.drawn]
        )
    assert lists[0] == lists[1]


@pytest.mark.parametrize("k", [1, 2, 5])
def test_one_count_may_be_far_above_the_others(k):
    """Distances between counts up to 2^63 do not overflow: the largest comes first, and the others as without it."""
    counts = np.append(np.arange(0, 400_000, 1000), 2**63 - 1)
    prepared = NoisyCounts(k=k, epsilon=1, votes_per_person=1).prepare(Profile.of(counts))
    levels = prepared.draw(SeededBits(1)).levels.tolist()
    assert levels == [2**63 - 1, *(399_000 - 1000 * place for place in range(k - 1))]


@pytest.mark.parametrize("parameters", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"epsilon": "1e-16"}])
def test_counts_at_both_ends_of_64_bits_keep_their_order(parameters):
    """A count of 0 that is 2^63 − 1 below another one stays below it, whatever the sign of its noise."""
    for counts, k in (([2**63 - 1, 0], 1), ([2**63 - 1] * 3 + [0] * 400, 3), ([2**63 - 1] * 3 + [0] * 4, 2)):
        prepared = NoisyCounts(k=k, votes_per_person=1, **parameters).prepare(Profile.of(np.array(counts)))
        for picks in prepared.draw_many(200, SeededBits(2)):
            assert picks.levels.tolist() == [2**63 - 1] * k
    sampler = NoisyDraws(
        Profile.of(np.array([2**63 - 1] + [0] * 5)), k=1, noise=DiscreteLaplace(Fraction(9)), height=30
    )
    assert all(picks.levels.tolist() == [2**63 - 1] for picks in sampler.draw_many(300, SeededBits(3)))


class CountedBits:
    """Bits that count the bytes that were drawn."""

    def __init__(self, bits):
        self._bits, self.drawn = bits, 0

    def draw(self, count):
        self.drawn += count
        return self._bits.draw(count)
