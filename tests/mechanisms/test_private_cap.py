"""A private cap: its law, what one person can change of it, and what it costs with the list that follows."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from chi_square import p_value
from divergences import Law, keeps
from flint import arb, ctx

from shortlist.mechanisms.private_cap import CAPS, SHARE, PrivateCap
from shortlist.privacy.composition import compose, find_strongest_rho, find_weakest
from shortlist.terms import Terms
from shortlist.testing import SeededBits

QUANTILE = Fraction(9, 10)
RELATIONS = ("add-remove", "replace")
SIZES = (0, 1, 2, 3, 7, 5000)
"""How many votes a person may have: none, few, and more than the largest cap."""


def count_exceeding(sizes):
    """A_0, A_1 and so on, for people with so many votes, of which no more than the largest cap count."""
    return tuple(sum(size > cap for size in sizes) for cap in (0, *CAPS[:-1]))


def list_neighbours(sizes, relation):
    """All people with one more or less, or with one replaced."""
    fewer = [sizes[:place] + sizes[place + 1 :] for place in range(len(sizes))]
    if relation == "add-remove":
        return fewer + [(*sizes, size) for size in SIZES]
    return [(*left, size) for left in fewer for size in SIZES]


def find_range(here, there):
    """The smallest and the largest ln(P/P′)."""
    ratios = [(one / other).log() for one, other in zip(here, there, strict=True)]
    return min(float(each.lower()) for each in ratios), max(float(each.upper()) for each in ratios)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3)])
def test_no_neighbour_moves_the_choice_by_more_than_epsilon(relation, epsilon):
    """For all small tables of people, ln(P/P′) of all caps lies in an interval of length ε around 0."""
    cap, widest = PrivateCap(quantile=QUANTILE, epsilon=epsilon, neighbours=relation), 0.0
    with ctx.workprec(128):
        laws = {}
        for number in range(4):
            for sizes in itertools.combinations_with_replacement(SIZES, number):
                for other in list_neighbours(sizes, relation):
                    pair = [count_exceeding(each) for each in (sizes, other)]
                    for each in pair:
                        laws.setdefault(each, cap.state_law(each))
                    low, high = find_range(*(laws[each] for each in pair))
                    assert high - low <= float(epsilon) + 1e-12, (sizes, other)
                    assert max(high, -low) <= float(epsilon) + 1e-12, (sizes, other)
                    widest = max(widest, high - low)
    assert widest > 0.4 * float(epsilon)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_hostile_person_moves_a_miss_by_the_sensitivity_at_most(relation):
    """Even if an engine counted a person in any of the numbers, and not in all below, no miss moves by more."""
    cap, largest = PrivateCap(quantile=QUANTILE, epsilon=Fraction(1), neighbours=relation), 0
    sensitivity = int(cap.epsilon / (2 * cap.rate))
    people = list(itertools.product((0, 1), repeat=3))
    for before in itertools.product(range(4), repeat=3):
        for one, other in itertools.product(people, repeat=2):
            removed = one if relation == "replace" else (0, 0, 0)
            if any(n < gone for n, gone in zip(before, removed, strict=True)):
                continue
            after = [n - gone + new for n, gone, new in zip(before, removed, other, strict=True)]
            misses = cap.find_misses(before), cap.find_misses(after)
            largest = max(largest, *(abs(x - y) for x, y in zip(*misses, strict=True)))
    assert largest == sensitivity


def test_the_law_is_the_stated_one():
    """Sampled frequencies match the enumerated law, and miss it when epsilon is 30 % off."""
    exceeding, epsilon, bits = (
        count_exceeding([1] * 30 + [2] * 20 + [3] * 12 + [9] * 8 + [40] * 5),
        Fraction(2),
        SeededBits(25),
    )
    cap = PrivateCap(quantile=QUANTILE, epsilon=epsilon)
    found = Counter(cap.choose(exceeding, bits) for _ in range(6_000))
    observed = [found[each] for each in CAPS]
    for factor, fits in ((Fraction(1), True), (Fraction(13, 10), False), (Fraction(7, 10), False)):
        law = [float(each) for each in PrivateCap(quantile=QUANTILE, epsilon=epsilon * factor).state_law(exceeding)]
        assert (p_value(observed, law) > 1e-9) == fits, factor


def test_the_cap_is_near_the_quantile():
    """With many people, 90 % of them have at most the cap, and fewer have at most the cap before it."""
    bits = SeededBits(7)
    for sizes in ([1] * 20_000, [*range(1, 101)] * 100, [3] * 8000 + [70] * 1500 + [5000] * 500, [5000] * 9000):
        chosen = PrivateCap(quantile=QUANTILE, epsilon=Fraction(1, 10)).choose(count_exceeding(sizes), bits)
        place, quantile = CAPS.index(chosen), sorted(sizes)[int(0.9 * len(sizes)) - 1]
        assert (0, *CAPS)[place] < min(quantile, CAPS[-1]) <= chosen


@pytest.mark.parametrize("given", [{}, {"delta": "1e-6"}, {"delta": "1e-6", "without_domain": True}, {"groups": 9}])
@pytest.mark.parametrize("relation", RELATIONS)
def test_the_charge_is_the_largest_over_all_caps(given, relation):
    """Whichever cap is chosen, the release promises the same: what the choice and the weakest list promise together."""
    asked = {"persons_counted": True, "neighbours": relation, **given}
    terms = Terms.read("auto", 3, 1, votes_per_person="auto", **asked)
    lists = {cap: Terms.read("auto", 3, 1 - SHARE, votes_per_person=cap, **asked).guarantee for cap in CAPS}
    choice = terms.private_cap.guarantee
    assert (choice.epsilon, choice.neighbours) == (SHARE, relation)
    assert choice.rho == SHARE**2 / 8
    assert terms.guarantee == compose([choice, find_weakest(list(lists.values()))])
    assert terms.guarantee.epsilon == 1
    for cap, each in lists.items():
        assert terms.by_cap[cap].guarantee == terms.guarantee
        together = compose([choice, each])
        for name in ("epsilon", "delta", "rho", "rho_delta"):
            assert getattr(together, name) <= getattr(terms.guarantee, name), (cap, name)
    assert list(terms.by_cap) == list(CAPS)


ITEMS = 2


def list_tables(people):
    """All tables of so many people, each with votes in the order in which a cap keeps them."""
    ballots = [(), *itertools.permutations(range(ITEMS), 1), *itertools.permutations(range(ITEMS), 2)]
    return itertools.combinations_with_replacement(ballots, people), ballots


def state_release(terms, table):
    """The law of a whole release: a cap, and a list of the votes that it keeps."""
    law = {}
    caps = terms.private_cap.state_law(count_exceeding([len(ballot) for ballot in table]))
    for cap in (1, 2, 3, CAPS[-1]):
        chance = caps[CAPS.index(cap)]
        histogram = tuple(sum(item in ballot[:cap] for ballot in table) for item in range(ITEMS))
        for output, p in terms.by_cap[cap].mechanism.state_law(histogram, reach=4):
            law[cap, output] = law.get((cap, output), arb(0)) + chance * p
    return law


@pytest.mark.slow
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("budget", [{"epsilon": 2}, {"rho": "0.1"}], ids=str)
@pytest.mark.parametrize("mechanism", ["noisy-counts", "auto"])
def test_no_neighbour_is_told_apart_by_cap_and_list_together(relation, budget, mechanism):
    """On every small table and every neighbour, the laws of a cap and a list are as close as ε and ρ say."""
    terms = Terms.read(mechanism, 1, votes_per_person="auto", persons_counted=True, neighbours=relation, **budget)
    largest, laws = 0.0, {}
    with ctx.workprec(96):
        for people in range(3):
            tables, ballots = list_tables(people)
            for table in tables:
                left = [table[:place] + table[place + 1 :] for place in range(people)]
                others = left if relation == "add-remove" else [(*each, new) for each in left for new in ballots]
                for other in others:
                    pair = [tuple(sorted(each)) for each in (table, other)]
                    for each in pair:
                        if each not in laws:
                            laws[each] = state_release(terms, each)
                    # What only one of them states is out of reach of the other: without it, divergences are smaller.
                    common = sorted(laws[pair[0]].keys() & laws[pair[1]].keys(), key=repr)
                    here, there = (Law(laws[each][output] for output in common) for each in pair)
                    assert keeps(terms.guarantee, here, there), (table, other)
                    largest = max(largest, float(np.max(np.abs(here.logs - there.logs))))
    # A round of range ε has the rho ε²/8. The epsilon that goes with a rho is that of the largest cap.
    most = 2 if "epsilon" in budget else math.sqrt(8 * float(terms.guarantee.rho))
    assert largest > 0.3 * most


@pytest.mark.parametrize("given", [{}, {"delta": "1e-6"}, {"delta": "1e-6", "without_domain": True}, {"groups": 9}])
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_budget_in_rho_is_kept_whichever_cap_is_chosen(given, relation):
    """The choice has a twentieth of rho, and every list has the rest: together they have almost all, and no more."""
    asked = {"persons_counted": True, "neighbours": relation, "votes_per_person": "auto", **given}
    terms = Terms.read("auto", 3, rho="0.1", **asked)
    assert terms.parameters["rho"] == Fraction(1, 10)
    assert Fraction("0.0999") < terms.guarantee.rho <= Fraction(1, 10)
    assert Fraction("0.00499") < terms.private_cap.guarantee.rho <= Fraction("0.005")
    for each in terms.by_cap.values():
        rho, _ = find_strongest_rho(each.mechanism.guarantee)
        assert rho + terms.private_cap.rho <= Fraction(1, 10)
        assert rho > Fraction("0.0949")
