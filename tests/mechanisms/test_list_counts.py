"""Noisy counts of a released list: independent noise, noise that the counts share, and the votes for other items."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from contract import RELATIONS
from divergences import Law, ball, keeps, renyi
from flint import arb, arb_mat, ctx, fmpq
from laws import p_value
from noisy import capped_neighbours, gaussian_law, laplace_law

from shortlist.errors import ParameterError
from shortlist.exact.noise import DiscreteGaussian, SharedGaussian
from shortlist.mechanisms.noisy_counts import ListCounts
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.testing import SeededBits


def list_law_of(counts):
    """The law of independent noise, from formulas of epsilon and rho."""
    if counts.rho is None:
        return laplace_law(counts.moved / Fraction(counts.epsilon))
    return gaussian_law(counts.moved / (2 * Fraction(counts.rho)))


def chances(at, histogram, k, window):
    """The law of the noisy counts of the first k items."""
    law = []
    for noisy in itertools.product(window, repeat=k):
        chance = arb(1)
        for value, count in zip(noisy, histogram, strict=False):
            chance *= at(value - count)
        law.append(chance)
    return law


GAUSSIAN = {"rho": "0.4", "delta": "0.01"}
INDEPENDENT = [
    *itertools.product([{"epsilon": "1"}], RELATIONS, [(1, None), (2, None), (2, 1), (3, 1), (3, 2)]),
    *itertools.product([GAUSSIAN], RELATIONS, [(1, None), (2, 1), (3, 1)]),
    *itertools.product([GAUSSIAN], ["replace"], [(2, None), (3, 2)]),
]


@pytest.mark.parametrize(("numbers", "relation", "sizes"), INDEPENDENT)
def test_no_neighbour_of_a_released_list_is_told_apart(numbers, relation, sizes):
    """For a list of k of 3 items, and every neighbour that respects the cap; and the noise is not too large."""
    k, cap = sizes
    counts = ListCounts(k=k, votes_per_person=cap, neighbours=relation, **numbers)
    guarantee, largest = counts.guarantee, arb(0)
    with ctx.workprec(96):
        at, _ = list_law_of(counts)
        for histogram in ((2, 1, 1), (3, 0, 2)):
            here = chances(at, histogram, k, range(-1, 5))
            for other in capped_neighbours(histogram, relation, cap or 3):
                there = chances(at, other, k, range(-1, 5))
                if not guarantee.delta:
                    ratios = [(p / q).log() for p, q in zip(here, there, strict=True)]
                    assert not any(ratio > 1 + arb(2) ** -60 for ratio in ratios)
                    largest = max(largest, *ratios)
                for order in (fmpq(11, 10), fmpq(3)):
                    assert not renyi(here, there, order) > ball(guarantee.rho) * order
    assert guarantee.delta or largest > arb("0.99")


@pytest.mark.parametrize("numbers", [{"epsilon": "0.5"}, {"rho": "0.05", "delta": "1e-6"}], ids=["pure", "gaussian"])
def test_counts_follow_their_law_and_no_other(numbers):
    """Each noisy count has its law, and misses it when the noise is 30 % off; intervals hold for 95 % of them."""
    counts = ListCounts(k=3, votes_per_person=1, **numbers)
    bits, errors, inside = SeededBits(4), Counter(), 0
    for _ in range(3000):
        drawn = counts.state_counts(counts.add_noise([100, 50, 50], bits))
        errors.update(value - true for value, true in zip(drawn.values, (100, 50, 50), strict=True))
        inside += sum(low <= true <= high for low, true, high in zip(drawn.low, (100, 50, 50), drawn.high, strict=True))
    values = range(-60, 61)
    for factor, right in ((Fraction(1), True), (Fraction(7, 10), False), (Fraction(13, 10), False)):
        scaled = {name: Fraction(value) * factor for name, value in numbers.items() if name != "delta"}
        with ctx.workprec(64):
            at, _ = list_law_of(ListCounts(k=3, votes_per_person=1, **{**numbers, **scaled}))
            law = [float(at(x).mid()) for x in values]
        value = p_value([errors[x] for x in values], law)
        assert value > 1e-9 if right else value < 1e-9
    assert 0.94 < inside / 9000 <= 1


def test_one_person_moves_as_many_counts_as_the_cap_allows():
    """c is the smaller of k and mΔ; k without a cap."""
    moved = {
        (cap, relation): ListCounts(k=5, epsilon=1, votes_per_person=cap, neighbours=relation).moved
        for cap in (None, 2, 3, 9)
        for relation in RELATIONS
    }
    assert list(moved.values()) == [5, 5, 2, 4, 3, 5, 5, 5]
    assert ListCounts(k=5, epsilon=1).guarantee.rho == 5 * find_rho_of_pure(Fraction(1, 5))


def test_counts_below_zero_have_intervals_from_zero():
    """A noisy count may be negative; what it says about the true count may not."""
    counts = ListCounts(k=400, epsilon="0.1")
    drawn = counts.state_counts(counts.add_noise([0] * 400, SeededBits(1)))
    width = drawn.high[0] - drawn.values[0]
    assert width > 0
    assert min(drawn.values) < -width < width < max(drawn.values)
    assert list(drawn.low) == [max(0, value - width) for value in drawn.values]
    assert list(drawn.high) == [max(0, value + width) for value in drawn.values]
    assert drawn.confidence == Fraction(19, 20)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({}, "counts_epsilon or counts_rho"),
        ({"epsilon": 1, "rho": 1, "delta": "1e-6"}, "must not both be given"),
        ({"rho": 1, "delta": 2}, "try counts_delta=1e-6"),
        ({"epsilon": 10**7}, "counts_epsilon must be at most 1000000"),
        ({"rho": 1}, "counts_rho must go with counts_delta"),
        ({"epsilon": 1, "delta": "1e-6"}, "counts_rho must go with counts_delta"),
        ({"epsilon": 0}, "counts_epsilon must be above 0"),
        ({"epsilon": 1, "votes_per_person": 0}, "votes_per_person"),
        ({"epsilon": 1, "neighbours": "x"}, "neighbours"),
        ({"epsilon": 1, "others": True}, "others must go with votes_per_person"),
        ({"others": True, "votes_per_person": 2}, "others is a count, too"),
        ({"epsilon": 1, "others": "yes", "votes_per_person": 2}, "others must be True or False"),
    ],
)
def test_refuses_wrong_parameters_of_list_counts(parameters, words):
    """Errors name the parameter under which the counts are asked for."""
    with pytest.raises(ParameterError, match=words):
        ListCounts(k=3, **parameters)


ORDERS = (fmpq(11, 10), fmpq(2), fmpq(4))
REACH = 14
"""Shared noise that is farther from 0 has a probability below 10^-30 in the laws below."""


@cache
def shared_law(k, own, shared, moved, window):
    """The probabilities of moved + Z + η on a window of k numbers, where Z has the variance `own` and η `shared`."""
    at_own, at_shared = gaussian_law(own)[0], gaussian_law(shared)[0]
    common = range(-REACH, REACH + 1)
    rows = [[arb(1)] * len(common)]
    for shift in moved[:-1]:
        columns = [[at_own(y - shift - e) for e in common] for y in window]
        rows = [[p * q for p, q in zip(row, column, strict=True)] for row in rows for column in columns]
    last = [[at_shared(e) * at_own(y - moved[-1] - e) for y in window] for e in common]
    return Law(p for row in (arb_mat(rows) * arb_mat(last)).table() for p in row)


def find_ratios(k, own, shared, rho, scale, window):
    """The largest Rényi divergence of neighbours for each order, divided by what rho allows. Items are alike."""
    found = []
    for ones in range(1, k + 1):
        moved = (scale,) * ones + (0,) * (k - ones)
        here, there = (shared_law(k, own, shared, each, window) for each in ((0,) * k, moved))
        found += [
            float((renyi(*pair, order) / (ball(rho) * order)).mid())
            for order in ORDERS
            for pair in ((here, there), (there, here))
        ]
    return found


SHARED = [(2, Fraction(1), range(-16, 19)), (2, Fraction(2), range(-12, 15)), (3, Fraction(2), range(-11, 14))]


@pytest.mark.parametrize(("k", "rho", "window"), SHARED)
def test_no_neighbour_with_shared_noise_is_told_apart(k, rho, window):
    """On halves, every neighbour keeps rho, and epsilon and delta; and the noise is not larger than it must be."""
    counts = ListCounts(k=k, rho=rho, delta="0.01")
    root = Fraction(math.isqrt(k * 10**12), 10**6)
    own, shared = k * (1 + 1 / root) / (2 * rho), (1 + root) / (2 * rho)
    assert (float(counts.noise.own), float(counts.noise.shared)) == pytest.approx((own, shared), rel=1e-5)
    with ctx.workprec(128):
        for moved in itertools.product((0, 2), repeat=k):
            if list(moved) == sorted(moved):  # items are alike
                laws = [
                    shared_law(k, counts.noise.own, counts.noise.shared, each, window) for each in ((0,) * k, moved)
                ]
                assert float(sum(laws[0], arb(0))) > 0.9999
                assert keeps(counts.guarantee, *laws)
        assert 0.95 < max(find_ratios(k, counts.noise.own, counts.noise.shared, rho, 2, window)) <= 1


@pytest.mark.parametrize(("k", "rho", "window"), SHARED[1:])
def test_shared_noise_on_whole_numbers_is_told_apart(k, rho, window):
    """The same variances on whole numbers break rho: without halves, the common part cannot pay for half a vote."""
    noise = ListCounts(k=k, rho=rho, delta="0.01").noise
    with ctx.workprec(128):
        assert max(find_ratios(k, noise.own / 4, noise.shared / 4, rho, 1, window)) > 1.2


def released_law(noise, values):
    """The law of two counts of 0 with shared noise, after halves were rounded at random, as floats."""
    window = range(2 * values[0] - 1, 2 * values[-1] + 2)
    with ctx.workprec(64):
        chances = shared_law(2, noise.own, noise.shared, (0, 0), window)
    table = np.array([float(each.mid()) for each in chances]).reshape(len(window), -1)
    for _ in range(2):
        table = (table[1::2] + (table[:-1:2] + table[2::2]) / 2).T
    return table


def test_shared_noise_follows_its_law_and_no_other():
    """Pairs of noises have the stated law, and miss it when rho is 30 % off, or when the noise is independent."""
    values, bits = range(-6, 7), SeededBits(5)
    counts = ListCounts(k=2, rho="0.5", delta="1e-6")
    drawn = Counter(tuple(counts.add_noise([70, 30], bits)) for _ in range(8000))
    observed = np.array([[drawn[70 + x, 30 + y] for y in values] for x in values])
    assert observed.sum() > 7900
    laws = [released_law(ListCounts(k=2, rho=rho, delta="1e-6").noise, values) for rho in ("0.5", "0.35", "0.65")]
    laws.append(np.outer(laws[0].sum(axis=0), laws[0].sum(axis=0)))
    fits = [p_value(observed.ravel(), law.ravel()) for law in laws]
    assert fits[0] > 1e-9 > max(fits[1:])


def test_shared_noise_is_taken_where_it_is_less():
    """Under add-remove, unless one person moves few counts, or noise is so small that halves matter."""

    def find(k, cap=None, rho="0.1", **more):
        return ListCounts(k=k, rho=rho, delta="1e-6", votes_per_person=cap, **more).noise

    spread = {
        (k, cap): float(find(k, cap).variance * Fraction("0.2")) for k in (1, 10, 100) for cap in (None, 3, 20, 40)
    }
    for (k, cap), variance in spread.items():
        assert variance == pytest.approx(min(k, cap or k, (math.sqrt(k) + 1) ** 2 / 4 + 0.025), rel=1e-5)
    assert isinstance(find(10), SharedGaussian)
    assert (
        find(10, neighbours="replace")
        == find(10, 10, rho="0.1", neighbours="replace")
        == DiscreteGaussian(Fraction(50))
    )
    assert find(10, rho=50) == DiscreteGaussian(Fraction(1, 10))
    # A family has shared noise in each list, for the lists of one person.
    assert find(10, groups_per_person=3, groups=7) == find(10, rho=Fraction(1, 30))
    assert find(10, groups_per_person=3, groups=2) == find(10, rho=Fraction(1, 20))
    assert find(10, 12, groups_per_person=3) == DiscreteGaussian(Fraction(60))


@pytest.mark.parametrize("rho", ["0.02", "0.5", "2"])
@pytest.mark.parametrize("k", [2, 10, 100])
def test_intervals_of_shared_noise_hold_and_are_narrow(k, rho):
    """An interval misses the count with a probability of 0.05 at most, and is at most 5 % and one vote too wide."""
    counts = ListCounts(k=k, rho=rho, delta="1e-6")
    bound = counts.state_counts([0]).high[0]
    with ctx.workprec(64):
        laws = [gaussian_law(each)[0] for each in (counts.noise.own, counts.noise.shared)]
        reach = 6 * bound + 20
        own, shared = (np.array([float(at(x).mid()) for x in range(-reach, reach + 1)]) for at in laws)
    doubled = np.convolve(own, shared)
    size = np.abs(np.arange(-2 * reach, 2 * reach + 1))
    assert doubled.sum() == pytest.approx(1)

    def miss(ends):
        return np.where(size == 2 * ends + 1, doubled / 2, np.where(size > 2 * ends, doubled, 0)).sum()

    assert miss(bound) <= 0.05
    assert miss(math.floor(bound / 1.05) - 1) > 0.05


def test_the_smallest_and_the_largest_rho_have_counts():
    """Noise that is far beyond 64 bits, and noise that is almost always 0."""
    for rho in ("1e-200", "1e-20", "1e6"):
        counts = ListCounts(k=3, rho=rho, delta="1e-6", votes_per_person=5, others=True)
        drawn = counts.state_counts(
            counts.add_noise([5, 6, 7], SeededBits(1)), others=counts.add_noise_to_others(9, SeededBits(2))
        )
        assert len(drawn.values) == 3
        assert 0 <= drawn.others_low <= drawn.others_high
    assert (drawn.values, drawn.others) == ((5, 6, 7), 9)


def find_ballots(groups, k, others, cap):
    """Every way to vote: how many of the k listed items and of some others, in each group."""
    one = [*itertools.product(range(k + 1), range(others + 1))]
    return [each for each in itertools.product(one, repeat=groups) if sum(map(sum, each)) <= cap]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(
    ("k", "cap", "groups"), [(1, 1, 1), (1, 3, 1), (2, 1, 1), (2, 2, 1), (2, 3, 1), (2, 4, 1), (1, 2, 2), (1, 3, 2)]
)
def test_one_person_moves_listed_counts_and_others_by_no_more(relation, k, cap, groups):
    """x/A + y/B is at most 1 for every person, and 1 for some, where A and B are the scales of the noise."""
    family = {} if groups == 1 else {"groups_per_person": groups, "groups": groups}
    counts = ListCounts(k=k, epsilon=1, votes_per_person=cap, neighbours=relation, others=True, **family)
    scales = counts.noise.b, counts.others_noise.b
    ballots, largest = find_ballots(groups, k, cap, cap), Fraction(0)
    for old, new in itertools.product(ballots, ballots if relation == "replace" else [((0, 0),) * groups]):
        # Listed votes may be for the same items or not: as many as possible are different.
        moved = [(min(k, left[0] + come[0]), abs(left[1] - come[1])) for left, come in zip(old, new, strict=True)]
        assert all(others <= cap for _, others in moved)
        lost = sum(listed / scales[0] + others / scales[1] for listed, others in moved)
        assert lost <= 1
        largest = max(largest, lost)
    assert largest == 1


OTHERS = [
    ({"epsilon": "2"}, 1, 1),
    ({"epsilon": "2"}, 1, 2),
    ({"epsilon": "3"}, 1, 3),
    ({"rho": "1", "delta": "0.01"}, 1, 2),
    ({"rho": "1", "delta": "0.01"}, 2, 1),
    ({"rho": "2", "delta": "0.01"}, 2, 3),
]
WINDOW = range(-7, 8)


def law_with_others(counts, moved, others, *, less=1):
    """The law of the listed counts and of others, with the noise on others divided by a number."""
    noise, rest = counts.noise, counts.others_noise
    at = laplace_law(noise.b)[0] if counts.rho is None else gaussian_law(noise.variance)[0]
    noises = itertools.product(*([y - x for y in WINDOW] for x in moved))
    listed = [math.prod(map(at, each), start=arb(1)) for each in noises]
    at = laplace_law(rest.b / less)[0] if counts.rho is None else gaussian_law(rest.variance / less**2)[0]
    window = range(-3 * WINDOW.stop, 4 * WINDOW.stop)
    tail = [at(y - others) for y in window]
    return Law(p * q for p in listed for q in tail)


def find_moves(k, cap, relation):
    """Every change that one person can make to k listed counts and to others; listed items are alike."""
    votes = range(cap + 1)
    for up, down in itertools.product(range(k + 1), repeat=2):
        if up + down <= k and max(up, down) <= cap and (relation == "replace" or not down):
            for left, come in itertools.product(votes, votes):
                if left + down <= cap and come + up <= cap and (relation == "replace" or not left):
                    yield (1,) * up + (-1,) * down + (0,) * (k - up - down), come - left


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("numbers", "k", "cap"), OTHERS)
def test_no_neighbour_with_a_count_of_others_is_told_apart(numbers, k, cap, relation):
    """Listed counts and others together keep epsilon, delta and rho for every change that one person can make."""
    counts = ListCounts(k=k, votes_per_person=cap, neighbours=relation, others=True, **numbers)
    with ctx.workprec(96):
        here = law_with_others(counts, (0,) * k, 0)
        for moved, others in {*find_moves(k, cap, relation)}:
            assert keeps(counts.guarantee, here, law_with_others(counts, moved, others))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("numbers", "k", "cap"), OTHERS)
def test_less_noise_on_others_is_told_apart(numbers, k, cap, relation):
    """With two thirds of the noise on others, some change is seen."""
    counts = ListCounts(k=k, votes_per_person=cap, neighbours=relation, others=True, **numbers)
    with ctx.workprec(96):
        here = law_with_others(counts, (0,) * k, 0, less=Fraction(3, 2))
        moves = {*find_moves(k, cap, relation)}
        assert not all(
            keeps(counts.guarantee, here, law_with_others(counts, *each, less=Fraction(3, 2))) for each in moves
        )


@pytest.mark.parametrize(("less", "kept"), [(1, True), (Fraction(3, 2), False)])
def test_shared_noise_leaves_half_of_rho_to_others(less, kept):
    """The counts have the noise of half of rho, and others keep the other half; two thirds of the noise do not."""
    counts = ListCounts(k=2, rho=2, delta="0.01", votes_per_person=20, others=True)
    half = ListCounts(k=2, rho=1, delta="0.01")
    assert isinstance(counts.noise, SharedGaussian)
    assert counts.noise == half.noise
    with ctx.workprec(96):
        at, _ = gaussian_law(counts.others_noise.variance / less**2)
        laws = [Law(at(y - moved) for y in range(-150, 200)) for moved in (0, 1, 19, 20)]
        assert all(keeps(half.guarantee, laws[0], each) for each in laws[1:]) == kept


def test_others_are_free_where_the_cap_is_at_most_k():
    """Listed counts have the same noise with and without others; with a larger cap at most twice the scale."""
    for cap, factor in ((1, 1), (7, 1), (10, 1), (15, Fraction(3, 2)), (20, 2), (500, 2)):
        alone, both = (ListCounts(k=10, epsilon=1, votes_per_person=cap, others=each) for each in (False, True))
        assert both.noise.b == factor * alone.noise.b
        assert both.others_noise.b == max(cap, 2 * cap - 20)
