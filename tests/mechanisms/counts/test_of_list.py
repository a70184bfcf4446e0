"""Noisy counts of a list that is released already."""

import itertools
from collections import Counter
from fractions import Fraction

import pytest
from divergences import ball, renyi
from flint import arb, ctx, fmpq
from laws import p_value
from noisy import capped_neighbours, gaussian_law, laplace_law

from shortlist.errors import ParameterError
from shortlist.mechanisms.counts.of_list import ListCounts
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.testing import SeededBits

RELATIONS = ("add-remove", "replace")


def law_of(counts):
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


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize(("k", "cap"), [(1, None), (2, None), (2, 1), (3, 1), (3, 2)])
@pytest.mark.parametrize("numbers", [{"epsilon": "1"}, {"rho": "0.4", "delta": "0.01"}], ids=["pure", "gaussian"])
def test_no_neighbour_is_told_apart(relation, k, cap, numbers):
    """For a list of k of 3 items, and every neighbour that respects the cap; and the noise is not too large."""
    counts = ListCounts(k=k, votes_per_person=cap, neighbours=relation, **numbers)
    guarantee, largest = counts.guarantee, arb(0)
    with ctx.workprec(96):
        at, _ = law_of(counts)
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
    counts = ListCounts(k=3, votes_per_person=2, **numbers)
    bits, errors, inside = SeededBits(4), Counter(), 0
    for _ in range(3000):
        drawn = counts.state_counts(counts.add_noise([100, 50, 50], bits))
        errors.update(value - true for value, true in zip(drawn.values, (100, 50, 50), strict=True))
        inside += sum(low <= true <= high for low, true, high in zip(drawn.low, (100, 50, 50), drawn.high, strict=True))
    values = range(-60, 61)
    for factor, right in ((Fraction(1), True), (Fraction(7, 10), False), (Fraction(13, 10), False)):
        scaled = {name: Fraction(value) * factor for name, value in numbers.items() if name != "delta"}
        with ctx.workprec(64):
            at, _ = law_of(ListCounts(k=3, votes_per_person=2, **{**numbers, **scaled}))
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
    ],
)
def test_refuses_wrong_parameters(parameters, words):
    """Errors name the parameter under which the counts are asked for."""
    with pytest.raises(ParameterError, match=words):
        ListCounts(k=3, **parameters)
