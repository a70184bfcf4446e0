"""Approximate zCDP of mechanisms without a domain: the measures of the proofs on all small neighbours."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from contract import RELATIONS
from flint import arb, ctx
from laws import neighbours
from noisy import find_neighbours

from shortlist.exact.balls import ball
from shortlist.exact.noise import DiscreteLaplace
from shortlist.mechanisms import MECHANISMS, LimitedDomain, Stable, Threshold, stated

ORDERS = [Fraction(each) for each in ("1.01", "3/2", "2", "5", "20")]
CASES = [(name, options) for name in ("limited-domain", "threshold", "stable") for options in MECHANISMS[name].audited]
TINY = arb(2) ** -60

every_case = pytest.mark.parametrize(
    ("name", "options"), CASES, ids=[f"{n}-{'-'.join(map(str, o.values()))}" for n, o in CASES]
)
every_relation = pytest.mark.parametrize("relation", RELATIONS)


@cache
def state(mechanism, histogram):
    return dict(mechanism.state_law(histogram))


def exhibit(mechanism, here, there):
    """The measures of the proof for two neighbours, and their masses."""
    if isinstance(mechanism, LimitedDomain):
        return exhibit_clean_lists(mechanism, here, there)
    return (exhibit_sets if isinstance(mechanism, Stable) else exhibit_common_items)(mechanism, here, there)


def exhibit_clean_lists(mechanism, *both):
    """Lists without a label: each round also weighs the labels, which stand for the candidates of one side only."""
    rate, stop = mechanism.rate, mechanism.stop
    found = [stated.rank_items(each)[: mechanism.k_bar] for each in both]
    common = [item for item in found[0] if item in found[1]]
    labels = max(len(each) - len(common) for each in found)
    measures = []
    for histogram, candidates in zip(both, found, strict=True):
        ranked = stated.rank_items(histogram)
        cut = histogram[ranked[len(candidates)]] if len(ranked) > len(candidates) else 0
        weights = {item: stated.decay(rate, -histogram[item]) for item in candidates}
        halt = stop.copies * stated.decay(rate, -(cut + stop.height))
        own = [weights[item] for item in candidates if item not in common]
        rest = sum(own, halt) + (labels - len(own))  # a dummy has the score 0
        measure = {}
        for chosen in stated.sequences_up_to(common, mechanism.k):
            chance, left = arb(1), set(common)
            for item in chosen:
                chance *= weights[item] / sum((weights[other] for other in left), rest)
                left.remove(item)
            if len(chosen) < mechanism.k:
                chance *= halt / sum((weights[other] for other in left), rest)
            measure[stated.Output(chosen)] = chance
        measures.append(measure)
    return [(measure, sum(measure.values(), arb(0))) for measure in measures]


def exhibit_common_items(mechanism, *both):
    """Outputs of items that both sides have, as if there were no others. The masses are those of no other item showing.

    The measures of the proof are these times the smaller mass of the two, in all groups together.
    """
    law = mechanism.law
    _, below = stated.laplace_law(law.b) if isinstance(law, DiscreteLaplace) else stated.gaussian_law(law.variance)
    hides = below(mechanism.threshold - 2)  # an item with one vote does not show
    own = [{item for item, count in enumerate(each) if count} for each in both]
    common, measures = own[0] & own[1], []
    for histogram, items in zip(both, own, strict=True):
        mass = hides ** len(items - common)
        kept = {o: p / mass for o, p in state(mechanism, histogram).items() if common.issuperset(o.items)}
        measures.append((kept, mass))
    return measures


def exhibit_sets(mechanism, *both):
    """For each size: both outcomes if the set is the same, else the smaller probability of nothing."""
    step, sides = mechanism.neighbours.sensitivity, []
    _, below = stated.laplace_law(mechanism.law.b)
    for histogram in both:
        ranked = stated.rank_items(histogram)
        counts = [*(histogram[item] for item in ranked), *[0] * (mechanism.k + 1)]
        gaps = {size: counts[size - 1] - counts[size] for size in mechanism.sizes}
        weights = {size: stated.decay(mechanism.size_epsilon / (2 * step), -gap) for size, gap in gaps.items()}
        total = sum(weights.values(), arb(0))
        passes = {n: 1 - below(mechanism.threshold - 1 - gap) if gap else arb(0) for n, gap in gaps.items()}
        sets = {n: tuple(sorted(ranked[:n])) if gap else () for n, gap in gaps.items()}
        sides.append((sets, passes, {n: weight / total for n, weight in weights.items()}))
    measures = []
    for sets, passes, chances in sides:
        measure = {stated.Output(()): arb(0)}
        for n in mechanism.sizes:
            if sets[n] and sides[0][0][n] == sides[1][0][n]:
                measure[stated.Output(sets[n])] = chances[n] * passes[n]
                measure[stated.Output(())] += chances[n] * (1 - passes[n])
            else:
                measure[stated.Output(())] += chances[n] * min(1 - side[1][n] for side in sides)
        measures.append((measure, sum(measure.values(), arb(0))))
    return measures


def compare(mechanism, here, there):
    """The masses, and ln Σ μ^α μ′^(1−α) for each order in both directions. μ ≤ P and μ′ ≤ P′ are checked."""
    (mu, mass), (other, other_mass) = exhibit(mechanism, here, there)
    for measure, most, histogram in ((mu, mass, here), (other, other_mass, there)):
        law, scale = state(mechanism, histogram), most if isinstance(mechanism, Threshold) else 1
        assert all(chance * scale <= law.get(output, arb(0)) * (1 + TINY) + TINY for output, chance in measure.items())
    moments = []
    for one, two in ((mu, other), (other, mu)):
        shared = [(p, two[output]) for output, p in one.items() if output in two]
        moments += [sum((p * (p / q) ** ball(a - 1) for p, q in shared), arb(0)).log() for a in ORDERS]
    return (mass, other_mass), moments


def find_worst(mechanism, pairs):
    """The largest missing mass, and the largest ln Σ divided by α(α − 1), over pairs of families."""
    missing, rho = 0.0, 0.0
    for here, there in pairs:
        masses, moments = [arb(1), arb(1)], [arb(0)] * (2 * len(ORDERS))
        for one, two in zip(here, there, strict=True):
            if one != two:  # lists of other groups have the same law
                found, logs = compare(mechanism, one, two)
                masses = [a * b for a, b in zip(masses, found, strict=True)]
                moments = [a + b for a, b in zip(moments, logs, strict=True)]
        if isinstance(mechanism, Threshold):
            masses = [min(masses)] * 2
        missing = max(missing, *(float((1 - mass).upper()) for mass in masses))
        orders = [float(a * (a - 1)) for a in ORDERS * 2]
        rho = max(rho, *(float(each.upper()) / order for each, order in zip(moments, orders, strict=True)))
    return missing, rho


def pair_single(histograms, relation, cap):
    for here in histograms:
        for there in neighbours(here, relation, cap):
            if here < there:
                yield (here,), (there,)


@every_case
@every_relation
def test_the_measures_of_the_proof_keep_rho_and_its_delta(name, options, relation):
    """On all small neighbours, also with other items, the measures have mass 1 − δ₁ and moments within ρ."""
    noisy = name == "threshold"
    base = MECHANISMS[name](k=2, epsilon=2, neighbours=relation, **options)
    histograms = list(itertools.product(range(6) if noisy else range(4), repeat=2 if noisy else 3))
    with ctx.workprec(96):
        for mechanism in (
            (base,) if noisy else (base, replace(base, k=1, **({"at_least": 1} if name == "stable" else {})))
        ):
            promise = mechanism.guarantee
            missing, rho = find_worst(mechanism, pair_single(histograms, relation, options.get("votes_per_person")))
            assert missing <= float(promise.rho_delta) * (1 + 1e-12)
            assert rho <= float(promise.rho) * (1 + 1e-9)
            assert missing > float(promise.rho_delta) / 20
            assert rho > float(promise.rho) / 12


@every_case
@every_relation
def test_a_budget_in_rho_is_kept(name, options, relation):
    """The measures keep the rho that was given in place of epsilon."""
    mechanism = MECHANISMS[name](k=2, rho=1, neighbours=relation, **options)
    histograms = list(itertools.product(range(5) if name == "threshold" else range(4), repeat=2))
    with ctx.workprec(96):
        missing, rho = find_worst(mechanism, pair_single(histograms, relation, options.get("votes_per_person")))
    assert missing <= float(mechanism.guarantee.rho_delta) * (1 + 1e-12)
    assert 1 / 20 < rho <= 1 + 1e-9


@pytest.mark.slow
@every_case
@every_relation
def test_families_keep_rho_and_its_delta(name, options, relation):
    """The same for two groups, with a person in one of them or in both, who may leave one and enter the other."""
    for groups_per_person in (1, 2):
        given = dict(options)
        if "votes_per_person" in given:
            given["votes_per_person"] *= groups_per_person
        mechanism = MECHANISMS[name](
            k=1 if name != "threshold" else 2,
            epsilon=2,
            neighbours=relation,
            groups_per_person=groups_per_person,
            **given,
        )
        histograms = [(0, 0), (1, 0), (2, 1)] if name == "threshold" else list(itertools.product(range(3), repeat=2))
        pairs = [
            (family, other)
            for family in itertools.combinations_with_replacement(histograms, 2)
            for other in find_neighbours(family, relation, groups_per_person, given.get("votes_per_person"))
        ]
        with ctx.workprec(96):
            missing, rho = find_worst(mechanism, pairs)
        assert missing <= float(mechanism.guarantee.rho_delta) * (1 + 1e-12)
        assert rho <= float(mechanism.guarantee.rho) * (1 + 1e-9)


@pytest.mark.parametrize("name", ["limited-domain", "stable"])
def test_half_of_rho_or_of_its_delta_is_seen(name):
    """With the numbers of half the epsilon, or of half the delta, the same check fails."""
    mechanism = MECHANISMS[name](
        k=1, epsilon=2, delta=Fraction(1, 5), **({"k_bar": 2} if name == "limited-domain" else {})
    )
    histograms = list(itertools.product(range(4), repeat=3))
    with ctx.workprec(96):
        missing, rho = find_worst(mechanism, pair_single(histograms, "add-remove", None))
    smaller = replace(mechanism, epsilon=Fraction(1), delta=Fraction(1, 50)).guarantee
    assert missing > smaller.rho_delta
    assert rho > smaller.rho
    assert math.isfinite(rho)
