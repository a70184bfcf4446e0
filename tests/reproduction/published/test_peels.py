"""The two peeling mechanisms have the law of k rounds without replacement."""

import math
from functools import partial
from itertools import permutations

import numpy as np
import pytest

from reproduction.published import cdp_peel, pnf_peel
from reproduction.published.cdp_peel import round_epsilon


@pytest.mark.parametrize(
    ("counts", "k", "epsilon"),
    [
        ([5, 3, 3, 2, 0], 3, 2.0),
        ([1, 4, 4, 0, 2, 0], 2, 1.2),
        ([14, 0, 6, 5], 2, 0.5),
        ([4, 2, 0, 2], 4, 2.5),
    ],
)
def test_pnf_peel_has_the_law_of_permute_and_flip(counts, k, epsilon, assert_law):
    """Sampled frequencies match the exact law, and miss it when epsilon is 30 % off."""
    assert_law(pnf_peel, pnf_law, counts, k, epsilon, runs=8000)


@pytest.mark.parametrize(
    ("counts", "k", "epsilon", "delta"),
    [
        ([5, 3, 3, 2, 0], 3, 2.0, 1e-6),
        ([1, 4, 4, 0, 2, 0], 2, 1.2, 1e-6),
        ([14, 0, 6, 5], 2, 0.5, 1e-6),
        ([4, 2, 0, 2], 4, 2.0, 0.2),
        ([6, 3, 3, 1, 0], 3, 1.5, 0.1),
    ],
)
def test_cdp_peel_has_the_law_of_the_exponential_mechanism(counts, k, epsilon, delta, assert_law):
    """Sampled frequencies match the enumerated law, and miss it when epsilon is 30 % off."""
    assert_law(cdp_peel, partial(cdp_law, delta=delta), counts, k, epsilon, runs=8000, delta=delta)


def test_round_epsilon_is_the_published_one():
    """At k = 100 a round gets the published ε′; at small k it gets ε/k, which is more."""
    slack = math.log(1e6)
    assert round_epsilon(100, 1.0) == pytest.approx(math.sqrt((8 * slack + 8) / 100) - math.sqrt(8 * slack / 100))
    assert round_epsilon(3, 1.0) == 1 / 3


def pnf_law(counts, k, epsilon):
    """Multiply, over the rounds, P(item) = p_i ∫₀¹ ∏_{j≠i} (1 − p_j t) dt with p = exp(−(ε/k)·loss)."""

    def first(item, remaining):
        best = max(counts[other] for other in remaining)
        accept = {other: math.exp(epsilon / k * (counts[other] - best)) for other in remaining}
        product = np.polynomial.Polynomial([1.0])
        for other in remaining - {item}:
            product *= np.polynomial.Polynomial([1.0, -accept[other]])
        return accept[item] * product.integ()(1.0)

    return _rounds(counts, k, first)


def cdp_law(counts, k, epsilon, delta):
    """Multiply, over the rounds, weights exp(ε′h) normalised over what remains."""
    slack = 8 * math.log(1 / delta)
    share = max(math.sqrt((slack + 8 * epsilon) / k) - math.sqrt(slack / k), epsilon / k)

    def first(item, remaining):
        return 1 / sum(math.exp(share * (counts[other] - counts[item])) for other in remaining)

    return _rounds(counts, k, first)


def _rounds(counts, k, first):
    law = {}
    for sequence in permutations(range(len(counts)), k):
        remaining, probability = set(range(len(counts))), 1.0
        for item in sequence:
            probability *= first(item, remaining)
            remaining.discard(item)
        law[sequence] = probability
    return law
