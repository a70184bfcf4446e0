"""Votes with weights: whatever a person gives to items, a release keeps its guarantee, by enumeration."""

import itertools
from fractions import Fraction
from functools import cache

import pytest
from contract import RELATIONS
from divergences import Law, keeps, keeps_epsilon
from flint import ctx

from shortlist.errors import ParameterError
from shortlist.exact.noise import DiscreteLaplace
from shortlist.mechanisms import MECHANISMS
from shortlist.terms import Terms

LARGEST = 2
PURE = ["joint", "fastjoint", "margin-joint", "pnf-joint", "pnf-peel", "subset", "noisy-counts", "auto"]
STARTS = [(0, 0, 0), (1, 0, 2), (2, 2, 0)]


def read_terms(name, relation="add-remove", *, k=1, **options):
    """The terms of a release with weights."""
    needed = {"votes_per_person": 2} if name == "noisy-counts" else {}
    given = {"max_weight": LARGEST, "weight_unit": "minutes", "persons_counted": True, "neighbours": relation}
    return Terms.read(name, k, Fraction(2), **{**needed, **given, **options})


def list_gifts(cap):
    """All that one person can give to three items."""
    given = itertools.product(range(LARGEST + 1), repeat=3)
    return [each for each in given if cap is None or sum(map(bool, each)) <= cap]


def pairs_of(start, relation, cap):
    """All neighbours on top of what others gave, one of them with the person's gift."""
    gifts = list_gifts(cap)
    others = [(0, 0, 0)] if relation == "add-remove" else gifts
    for one, two in itertools.product(gifts, others):
        yield tuple(map(sum, zip(start, one, strict=True))), tuple(map(sum, zip(start, two, strict=True)))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", PURE)
def test_no_person_with_weights_is_told_apart(name, relation):
    """For all that one person can give, alone or in place of anything else; and noise is not too large."""
    terms, tight = read_terms(name, relation), False

    @cache
    def law(histogram):
        return dict(terms.mechanism.state_law(histogram, reach=3))

    with ctx.workprec(96):
        for start in STARTS:
            for one, two in pairs_of(start, relation, terms.votes_per_person):
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


def test_what_is_not_proven_with_weights_is_refused():
    """A delta does not scale, and without a catalogue one person alone would give an item more than 1."""
    for options, found in (
        ({"delta": "1e-6"}, "max_weight above 1 must go with a mechanism that has no delta"),
        ({"counts_rho": "0.1", "counts_delta": "1e-6"}, "counts_delta must go with a max_weight of 1"),
        ({"delta": "1e-6", "without_domain": True}, "domain must be given with weight"),
        ({"persons_counted": False}, "weight must go with person"),
        ({"weight_unit": "no unit; at all"}, "weight_unit must be a word"),
    ):
        with pytest.raises(ParameterError, match=found):
            read_terms("auto", k=100, **options)
