"""The adaptive mechanism has the law that its proof is about, and that law keeps its promise."""

import math
from functools import cache, partial
from itertools import permutations, product

import numpy as np
import pytest

from reproduction.adaptive import _APART, ROUNDS, adaptive_cdp_peel, adaptive_fastjoint, find_sets
from reproduction.fastjoint import compute_tau

DELTA = 0.3
CASES = [([9, 5, 1, 0], 2, 5.0), ([3, 14, 8, 13], 3, 4.0), ([3, 3, 4], 1, 2.0), ([7, 6, 6, 1, 0], 3, 5.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("counts", "k", "epsilon"), CASES)
@pytest.mark.parametrize("order", ["fastjoint", "cdp-peel"])
def test_law_is_the_stated_one(order, counts, k, epsilon, assert_law, joint_law):
    """Sampled frequencies match the enumerated law, and miss it when epsilon is 30 % off."""
    mechanism = adaptive_fastjoint if order == "fastjoint" else adaptive_cdp_peel
    law = partial(adaptive_law, order=order, joint_law=joint_law)
    assert_law(mechanism, law, counts, k, epsilon, runs=12_000, delta=DELTA)


@pytest.mark.parametrize(("counts", "k"), [([9, 5, 1, 0], 2), ([3, 14, 8, 13], 3), ([12, 3], 1)])
def test_sets_have_the_stated_law(counts, k, assert_law):
    """The sets that are found have the law of choices and tests, and another one when epsilon is 30 % off."""

    def find(counts, k, epsilon, *, rng):
        return find_sets(np.array(counts), k, epsilon, DELTA, rng)

    assert_law(find, lambda counts, k, epsilon: set_law(np.array(counts), k, epsilon, DELTA), counts, k, 4.0, runs=8000)


@pytest.mark.parametrize("order", ["fastjoint", "cdp-peel"])
def test_no_neighbour_is_told_apart(order, joint_law):
    """On small histograms and all who may join, no event is more likely by more than e^ε and δ."""
    epsilon = 8.0  # With a small epsilon the test of a gap hardly ever passes.
    law = cache(lambda counts, k: adaptive_law(counts, k, epsilon, order=order, joint_law=joint_law))
    for here, votes in product(product(range(5), repeat=3), product(range(2), repeat=3)):
        there = tuple(count + vote for count, vote in zip(here, votes, strict=True))
        for k in (1, 2, 3):
            one, other = law(here, k), law(there, k)
            for first, second in ((one, other), (other, one)):
                assert sum(max(0.0, first[s] - math.exp(epsilon) * second[s]) for s in first) <= DELTA + 1e-12


def test_a_set_is_found_only_if_its_gap_passes_the_test():
    """Without the margin ln(1/2δ), one person alone would decide which set is named: the check above has power."""
    epsilon = 8.0
    near, far = (set_law(np.array(counts), 1, epsilon, 1e-6) for counts in ((2, 2), (3, 2)))
    assert near[0, 0] == 1
    assert 0 < far[ROUNDS, 0] < 1e-6
    assert sum(probability for sets, probability in far.items() if any(sets)) <= 1e-6


def test_sets_come_best_first():
    """Where gaps are wide, all k items are found, in sets of falling counts."""
    counts = np.array([5, 40_000, 30_000, 900_000, 7, 20_000_000])
    sets = find_sets(counts, 4, 1.0, 1e-6, np.random.default_rng(1))
    assert np.count_nonzero(sets) == 4
    assert (np.diff(sets[np.argsort(-counts)]) <= 0).all()


def adaptive_law(counts, k, epsilon, *, order, joint_law):
    """Sum, over all sets that may be found, the probability of the sets times that of the list given them."""
    law = dict.fromkeys(permutations(range(len(counts)), k), 0.0)
    spent = DELTA if order == "fastjoint" else DELTA / 2
    for sets, chance in set_law(np.array(counts), k, epsilon / 2, spent).items():
        shifted = [count + _APART * number for count, number in zip(counts, sets, strict=True)]
        if order == "fastjoint":
            given = joint_law(shifted, k, epsilon / 2, tau=compute_tau(len(counts), k, epsilon / 2))
        else:
            given = peel_in_sets(counts, sets, k, epsilon / 2, DELTA / 2)
        for s, probability in given.items():
            law[s] += chance * probability
    return law


def set_law(h, k, epsilon, delta):
    """Follow every choice of a size and every result of a test, by the definitions in adaptive.proof.md."""
    share, order = epsilon / (2 * ROUNDS), np.argsort(-h, kind="stable")
    falling = [*h[order].tolist(), 0]
    least = 1 + math.log(ROUNDS / (2 * delta)) / share
    states = {(0, (0,) * len(h)): 1.0}
    for number in range(ROUNDS, 0, -1):
        following: dict[tuple[int, tuple[int, ...]], float] = {}
        for (found, sets), chance in states.items():
            ends = range(found + max(1, math.ceil((k - found) / 2)), k + 1)
            weights = {end: math.exp(share / 2 * (falling[end - 1] - falling[end])) for end in ends}
            nothing = 1.0 if not weights else 0.0
            for end, weight in weights.items():
                gap = falling[end - 1] - falling[end]
                x = (gap - least) * share  # P(Laplace ≥ −x)
                passes = 0.0 if gap < 1 else 1 - math.exp(-x) / 2 if x > 0 else math.exp(x) / 2
                chosen = weight / sum(weights.values())
                nothing += chosen * (1 - passes)
                named = {int(item) for item in order[found:end]}
                after = end, tuple(number if item in named else old for item, old in enumerate(sets))
                following[after] = following.get(after, 0.0) + chance * chosen * passes
            following[found, sets] = following.get((found, sets), 0.0) + chance * nothing
        states = following
    law: dict[tuple[int, ...], float] = {}
    for (_, sets), chance in states.items():
        law[sets] = law.get(sets, 0.0) + chance
    return law


def peel_in_sets(counts, sets, k, epsilon, delta):
    """The law of a peel whose rounds choose among what is left of the first set, as long as there is one."""
    slack = 8 * math.log(1 / delta)
    share = max(math.sqrt((slack + 8 * epsilon) / k) - math.sqrt(slack / k), epsilon / k)
    law = {}
    for s in permutations(range(len(counts)), k):
        left, probability = set(range(len(counts))), 1.0
        for item in s:
            among = {other for other in left if sets[other] == max(sets[each] for each in left)}
            weights = {other: math.exp(share * counts[other]) for other in among}
            probability *= weights.get(item, 0.0) / sum(weights.values())
            left.discard(item)
        law[s] = probability
    return law
