"""Laplace and Gamma have the law of the k largest noisy counts, computed by numerical integration."""

from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import gamma as gamma_distribution
from scipy.stats import laplace as laplace_distribution

from reproduction.published import gamma, laplace

CASES = [([5, 3, 3, 0], 2), ([0, 4, 4, 9], 1), ([6, 2, 3], 3), ([7, 5, 2, 1, 0], 2)]


@pytest.mark.parametrize(("counts", "k"), CASES)
def test_laplace_has_the_integrated_law(counts, k, assert_law):
    """Sampled frequencies match the law of Laplace noise, and miss it when epsilon is 30 % off."""
    assert_law(laplace, laplace_law, counts, k, 0.6 * k, runs=8000)


@pytest.mark.parametrize(("counts", "k"), CASES)
def test_gamma_has_the_integrated_law(counts, k, assert_law):
    """Sampled frequencies match the law of ℓ∞ noise, and miss it when epsilon is 30 % off."""
    assert_law(gamma, gamma_law, counts, k, 1.5, runs=8000)


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
