"""The peels have the law of k rounds; Laplace and Gamma have the integrated law of the k largest noisy counts."""

import math
from functools import cache, partial
from itertools import permutations, product

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import gamma as gamma_distribution
from scipy.stats import laplace as laplace_distribution

from reproduction.baselines import cdp_peel, compute_round_epsilon, gamma, laplace, pnf_peel, truncated_peel

INTEGRATION = 2e-3
"""How far an integrated probability may be off."""
CASES = [([5, 3, 3, 0], 2), ([0, 4, 4, 9], 1), ([6, 2, 3], 3), ([7, 5, 2, 1, 0], 2)]


@pytest.mark.parametrize(("counts", "k"), CASES)
def test_laplace_has_the_integrated_law(counts, k, assert_law):
    """Sampled frequencies match the law of Laplace noise, and miss it when epsilon is 30 % off."""
    assert_law(laplace, laplace_law, counts, k, 0.6 * k, runs=8000)


@pytest.mark.parametrize(("counts", "k"), CASES)
def test_gamma_has_the_integrated_law(counts, k, assert_law):
    """Sampled frequencies match the law of ℓ∞ noise, and miss it when epsilon is 30 % off."""
    assert_law(gamma, gamma_law, counts, k, 1.5, runs=8000)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "gamma", "truncated"])
def test_no_neighbour_is_told_apart(name):
    """On small histograms and all who may join, probabilities differ by at most e^ε, up to the integration."""
    truncated = partial(truncated_law, beta=0.9)
    law, most = {"laplace": (laplace_law, 3), "gamma": (gamma_law, 2), "truncated": (truncated, 3)}[name]
    law = cache(partial(law, epsilon=1.0))
    for d in range(1, most + 1):
        for here, votes in product(product(range(4), repeat=d), product(range(2), repeat=d)):
            there = tuple(count + vote for count, vote in zip(here, votes, strict=True))
            for k in range(1, d + 1):
                one, other = law(here, k), law(there, k)
                assert all(
                    one[s] <= math.e * other[s] + INTEGRATION and other[s] <= math.e * one[s] + INTEGRATION for s in one
                )


def test_laplace_noise_is_not_too_large():
    """If a person could be replaced, noise of scale k/ε would not do: the check of neighbours has power."""
    near, far = laplace_law((2, 2), 1, 1.0)[(0,)], laplace_law((1, 3), 1, 1.0)[(0,)]
    assert near > math.e * far + INTEGRATION


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


@pytest.mark.parametrize(
    ("counts", "k", "epsilon", "beta"),
    [
        ([5, 3, 3, 2, 0], 3, 2.0, 0.9),  # the lowest count is raised
        ([1, 5, 4, 0, 2, 0], 2, 3.0, 0.9),
        ([14, 0, 6, 5], 2, 0.5, 2.0**-10),  # nothing is
        ([9, 7, 0, 0, 0], 2, 1.2, 0.9),  # all but two are
    ],
)
def test_truncated_peel_has_the_law_of_truncated_scores(counts, k, epsilon, beta, assert_law):
    """Sampled frequencies match the enumerated law, and miss it when epsilon is 30 % off."""
    assert_law(truncated_peel, partial(truncated_law, beta=beta), counts, k, epsilon, runs=8000, beta=beta)


def test_truncation_shows():
    """In the cases with a large beta, another law comes out than without truncation: their test has power."""
    given = [0, 9, 0, 0, 0], 1, 1.2
    assert truncated_law(*given, beta=0.9)[(0,)] > 1.5 * truncated_law(*given, beta=1e-9)[(0,)]


def test_the_epsilon_of_a_round_is_the_published_one():
    """At k = 100 a round gets the published ε′; at small k it gets ε/k, which is more."""
    slack = math.log(1e6)
    assert compute_round_epsilon(100, 1.0) == pytest.approx(
        math.sqrt((8 * slack + 8) / 100) - math.sqrt(8 * slack / 100)
    )
    assert compute_round_epsilon(3, 1.0) == 1 / 3


def laplace_law(counts, k, epsilon):
    scale = k / epsilon
    grid = np.linspace(-30 * scale, max(counts) + 30 * scale, 40_001)
    density = [laplace_distribution.pdf(grid, count, scale) for count in counts]
    below = [laplace_distribution.cdf(grid, count, scale) for count in counts]
    return {s: _nested(s, grid, density, below) for s in permutations(range(len(counts)), k)}


def gamma_law(counts, k, epsilon):
    """Average, over equally likely radii, the law of uniform noise of that radius."""
    law = dict.fromkeys(permutations(range(len(counts)), k), 0.0)
    levels = (np.arange(100) + 0.5) / 100
    for radius in gamma_distribution.ppf(levels, len(counts) + 1, scale=1 / epsilon):
        grid = np.linspace(-radius, max(counts) + radius, 4001)
        below = [np.clip((grid - count + radius) / (2 * radius), 0, 1) for count in counts]
        # A difference quotient instead of the density: the jumps at the ends then cost nothing.
        density = [np.gradient(each, grid) for each in below]
        for sequence in law:
            law[sequence] += _nested(sequence, grid, density, below) / len(levels)
    return law


def _nested(sequence, grid, density, below):
    """Integrate from the last chosen item upwards: the others are below it, each chosen above the next."""
    others = set(range(len(below))) - set(sequence)
    probability = np.prod([below[other] for other in others], axis=0) * np.ones_like(grid)
    for item in reversed(sequence):
        probability = cumulative_trapezoid(density[item] * probability, grid, initial=0)
    return float(probability[-1])


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


def truncated_law(counts, k, epsilon, beta):
    """Multiply, over the rounds, weights exp((ε/k)·max(h, h_(k) − γ)) normalised over what remains."""
    least = sorted(counts)[-k] - k / epsilon * math.log(len(counts) * k / beta)
    scores = [epsilon / k * max(count, least) for count in counts]

    def first(item, remaining):
        return 1 / sum(math.exp(scores[other] - scores[item]) for other in remaining)

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
