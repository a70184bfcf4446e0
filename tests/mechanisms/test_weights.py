"""Votes with weights: whatever a person gives to items, a release keeps its guarantee, by enumeration."""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from contract import RELATIONS
from divergences import Law, keeps, keeps_epsilon
from flint import ctx

from shortlist.errors import ParameterError
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace
from shortlist.mechanisms import MECHANISMS
from shortlist.mechanisms.stated import neighbours
from shortlist.privacy import Guarantee
from shortlist.privacy.zcdp import find_epsilon
from shortlist.terms import Terms

LARGEST = 2
PURE = ["joint", "fastjoint", "margin-joint", "pnf-joint", "pnf-peel", "subset", "noisy-counts", "auto"]
STARTS = [(0, 0, 0), (1, 0, 2), (2, 2, 0), (3, 2, 1), (4, 2, 4)]


def read_terms(name, relation="add-remove", *, k=1, **options):
    """The terms of a release with weights."""
    needed = {"votes_per_person": 2} if name == "noisy-counts" else {}
    given = {"max_weight": LARGEST, "weight_unit": "minutes", "persons_counted": True, "neighbours": relation}
    return Terms.read(name, k, Fraction(2), **{**needed, **given, **options})


def list_gifts(cap):
    """All that one person can give to three items."""
    given = itertools.product(range(LARGEST + 1), repeat=3)
    return [each for each in given if cap is None or sum(map(bool, each)) <= cap]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", PURE)
def test_no_person_with_weights_is_told_apart(name, relation):
    """For all that one person can give, alone or in place of anything else; and noise is not too large."""
    terms, tight = read_terms(name, relation), False

    @cache
    def law(histogram):
        return dict(terms.mechanism.state_law(histogram, reach=3))

    with ctx.workprec(96):
        for one in STARTS:
            for two in neighbours(one, relation, terms.votes_per_person, LARGEST):
                here, there = law(one), law(two)
                common = sorted(here.keys() & there.keys(), key=repr)
                laws = [Law(each[output] for output in common) for each in (here, there)]
                # Noisy counts are enumerated in part, so only their epsilon is compared.
                compare = keeps if len(common) == len(here) == len(there) else keeps_epsilon
                assert compare(terms.guarantee, *laws), (one, two)
                tight = tight or max(abs(laws[0].logs - laws[1].logs)) > 0.2 * float(terms.guarantee.epsilon)
    assert tight
    assert terms.guarantee.epsilon == 2


def test_a_person_with_weights_would_be_told_apart_without_the_scale():
    """The property has the power to find what it is for."""
    scaled = read_terms("noisy-counts", votes_per_person=1)
    unscaled = MECHANISMS["noisy-counts"](k=1, epsilon=2, votes_per_person=1)
    for mechanism, right in ((scaled.mechanism, True), (unscaled, False)):
        with ctx.workprec(96):
            one, two = (dict(mechanism.state_law(each)) for each in ((2, 0, 0), (0, 0, 0)))
            common = sorted(one.keys() & two.keys(), key=repr)
            laws = [Law(each[output] for output in common) for each in (one, two)]
        assert keeps_epsilon(scaled.guarantee, *laws) == right


def test_a_family_is_scaled_once():
    """Noise on all cells is m times the largest weight; people of groups are counted without it."""
    options = {"groups": 3, "votes_per_person": 4, "people_epsilon": 1, "counts_epsilon": None}
    terms = read_terms("noisy-counts", **options)
    assert terms.mechanism.noise == DiscreteLaplace(Fraction(4 * LARGEST, 2))
    assert terms.group_people.noise == DiscreteLaplace(Fraction(3))
    assert terms.guarantee.epsilon == 3
    assert terms.parameters["people_epsilon"] == 1


@pytest.mark.parametrize("cap", [None, 1])
@pytest.mark.parametrize("relation", RELATIONS)
def test_counts_with_a_rho_hide_weights(relation, cap):
    """The noisy counts of a list move by up to the largest weight each, and keep the rho that was asked for."""
    terms = read_terms("joint", relation, k=2, counts_rho="0.5", counts_delta="1e-3", votes_per_person=cap)
    counts, promised = terms.counts, Guarantee(epsilon=find_epsilon(Fraction(1, 2), Fraction(1, 1000)), rho="1/2")
    assert terms.parameters["counts_rho"] == Fraction(1, 2)
    assert terms.guarantee.epsilon == 2 + promised.epsilon
    assert terms.guarantee.rho == read_terms("joint", relation, k=2).guarantee.rho + promised.rho
    largest = 0.0
    for gift, other in itertools.product(list_gifts(cap), list_gifts(cap) if relation == "replace" else [(0, 0, 0)]):
        moves = np.subtract(gift[:2], other[:2])
        divergence = spread_divergence(counts.noise, moves)
        assert divergence <= float(promised.rho) * (1 + 1e-12)
        largest = max(largest, divergence)
    assert largest > 0.5 * float(promised.rho)


@pytest.mark.parametrize("relation", RELATIONS)
def test_gaussian_noise_on_all_counts_hides_weights(relation):
    """With a rho and a delta, the variance is the number of counts that move, times the square of the weight, by 2ρ."""
    rho, largest = Fraction(1, 2), 7
    options = {"votes_per_person": 2, "rho": rho, "delta": "1e-6", "max_weight": largest, "persons_counted": True}
    terms = Terms.read("noisy-counts", 1, weight_unit="minutes", neighbours=relation, **options)
    moved = 2 if relation == "add-remove" else 4
    assert float(terms.mechanism.noise.variance) == pytest.approx(moved * largest**2 / (2 * rho), rel=1e-6)
    divergence = spread_divergence(terms.mechanism.noise, [largest] * moved)
    assert divergence <= float(terms.guarantee.rho) * (1 + 1e-12) <= float(rho)
    assert terms.guarantee.epsilon == find_epsilon(terms.guarantee.rho, Fraction(1, 10**6))


def spread_divergence(noise, moves):
    """The rho of Gaussian noise on counts that move: half of the moves by the inverse of their covariance.

    Discrete noise on counts that move by whole numbers has at most the rho of continuous noise. Shared noise is of
    half-integers: its variances are those of twice the counts.
    """
    if isinstance(noise, DiscreteGaussian):
        return sum(move**2 for move in moves) / (2 * float(noise.variance))
    covariance = np.eye(len(moves)) * float(noise.own) / 4 + float(noise.shared) / 4
    return float(moves @ np.linalg.solve(covariance, moves)) / 2


def test_what_is_not_proven_with_weights_is_refused():
    """A delta does not scale, and without a catalogue one person alone would give an item more than 1."""
    for options, found in (
        ({"delta": "1e-6"}, "max_weight above 1 must go with a mechanism that has no delta"),
        ({"delta": "1e-6", "without_domain": True}, "domain must be given with weight"),
        ({"persons_counted": False}, "weight must go with person"),
        ({"weight_unit": "no unit; at all"}, "weight_unit must be a word"),
    ):
        with pytest.raises(ParameterError, match=found):
            read_terms("auto", k=100, **options)
