"""Mechanisms as measurements of OpenDP."""

import itertools
import math

import pytest

from shortlist.bridges.opendp import make_top_k
from shortlist.errors import ParameterError
from shortlist.exact.balls import use_precision
from shortlist.mechanisms import Auto, CDPPeel, Joint, LimitedDomain, NoisyCounts, PNFPeel, Subset, stated

dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed: pip install opendp")

RELATIONS = ("add-remove", "replace")
COUNTS = [40, 30, 20, 2, 1, 0]


def find_distance(one, other, relation):
    """The ℓ∞ distance; None where it is monotonic and differences have both signs."""
    moves = [a - b for a, b in zip(one, other, strict=True)]
    if relation == "add-remove" and min(moves) < 0 < max(moves):
        return None
    return max(map(abs, moves))


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_metric_has_the_neighbours_of_the_relation(relation):
    """Vectors at a distance of at most 1 are the neighbours that every law is enumerated on, no more and no fewer."""
    every = list(itertools.product(range(4), repeat=3))
    for histogram in itertools.product(range(1, 3), repeat=3):
        near = {each for each in every if (find_distance(each, histogram, relation) or 9) <= 1} | {histogram}
        assert near == set(stated.neighbours(histogram, relation))


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_privacy_map_is_that_of_the_guarantee(relation):
    """The largest loss between vectors at a distance of 1 and 2 is at most what the map says, and near it."""
    measurement = make_top_k(PNFPeel(k=1, epsilon=1, neighbours=relation))
    assert measurement.input_metric == dp.linf_distance(T="u32", monotonic=relation == "add-remove")
    every, worst = list(itertools.product(range(4), repeat=2)), {1: 0.0, 2: 0.0}
    with use_precision(64):
        laws = {each: stated.collect_law(PNFPeel(k=1, epsilon=1, neighbours=relation), each) for each in every}
        for one, other in itertools.permutations(every, 2):
            if (distance := find_distance(one, other, relation)) in worst:
                losses = [float((laws[one][output] / laws[other][output]).log()) for output in laws[one]]
                worst[distance] = max(worst[distance], *losses)
    for distance, loss in worst.items():
        assert 0.6 * measurement.map(distance) < loss <= measurement.map(distance)
    assert measurement.map(0) == 0


def test_the_map_of_a_delta_and_of_rho():
    """A delta makes the measure approximate, rho is zero-concentrated, and floats are never below the number."""
    peel = CDPPeel(k=3, epsilon="0.3", delta="1e-6")
    epsilon, delta = make_top_k(peel).map(1)
    assert epsilon >= peel.epsilon
    assert delta >= peel.delta
    rho = make_top_k(peel, concentrated=True)
    assert rho.map(1) >= peel.guarantee.rho
    assert math.isclose(make_top_k(Joint(k=3, epsilon=1), concentrated=True).map(2), 0.5)
    epsilon, delta = make_top_k(peel).map(2)
    assert epsilon >= peel.guarantee.scale(2, unit="person").epsilon > 2 * peel.epsilon
    assert delta >= peel.delta


def test_opendp_composes_our_mechanisms():
    """OpenDP adds up what ours promise, runs them together, and converts their rho."""
    pure = [make_top_k(kind(k=2, epsilon="0.5")) for kind in (Joint, PNFPeel, Subset, Auto)]
    both = dp.c.make_composition(pure)
    assert both.map(1) == 2.0
    lists = both(COUNTS)
    assert [len(each) for each in lists] == [2] * 4
    assert all(index < len(COUNTS) for each in lists for index in each)
    peels = [make_top_k(CDPPeel(k=2, epsilon=1, delta="1e-6"), concentrated=True)] * 3
    spent = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.c.make_composition(peels)), delta=1e-6)
    epsilon, delta = spent.map(1)
    assert delta == 1e-6
    assert 1 < epsilon < 6  # three releases at (1, 1e-6), by OpenDP's conversion


def test_what_the_metric_does_not_describe_is_refused():
    """A limit on votes, an unknown domain and a family have other neighbours than ℓ∞."""
    wrong = (
        NoisyCounts(k=2, epsilon=1, votes_per_person=3),
        LimitedDomain(k=2, epsilon=1, delta="1e-6"),
        Joint(k=2, epsilon=1, groups_per_person=2),
    )
    for mechanism in wrong:
        with pytest.raises(ParameterError, match="mechanism must"):
            make_top_k(mechanism)
    with pytest.raises(ParameterError, match="mechanism must be a mechanism object"):
        make_top_k("joint")
