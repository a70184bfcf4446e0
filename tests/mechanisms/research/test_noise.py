"""Laplace and Gamma: the law of the k largest noisy counts, by numerical integration."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from contract import ALARM, RELATIONS, item_names
from laws import neighbours, p_value, sequences, small_histograms
from scipy.integrate import cumulative_trapezoid
from scipy.stats import gamma as gamma_distribution
from scipy.stats import kstest
from scipy.stats import laplace as laplace_distribution

from shortlist import Gamma, Laplace, SeededBits, SystemBits, top_k
from shortlist.errors import ParameterError
from shortlist.mechanisms.research.gamma import draw_gamma
from shortlist.mechanisms.research.noise import OneShot
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import Profile

ROUNDING = 2e-3
CASES = [((5, 3, 3, 0), 2), ((9, 4, 4, 1, 0), 1), ((6, 2, 3), 3), ((4, 4, 4, 4, 1), 1)]
both = pytest.mark.parametrize("kind", [Laplace, Gamma])


def law(kind, histogram, k, epsilon, relation="add-remove"):
    """The probability of every sequence, in the order of `laws.sequences`."""
    if kind is Laplace:
        scale = (1 if relation == "add-remove" else 2) * k / epsilon
        return laplace_law(histogram, k, scale)
    return gamma_law(histogram, k, epsilon)


@cache
def laplace_law(histogram, k, scale):
    step = 1 / math.ceil(50 / scale)  # so that the kinks are on the grid
    reach = step * math.ceil(14 * scale / step)
    grid = np.arange(min(histogram) - reach, max(histogram) + reach + step, step)
    density = [laplace_distribution.pdf(grid, count, scale) for count in histogram]
    below = [laplace_distribution.cdf(grid, count, scale) for count in histogram]
    return [nested(each, grid, density, below) for each in sequences(len(histogram), k)]


@cache
def gamma_law(histogram, k, epsilon):
    """Average, over equally likely radii, the law of uniform noise of that radius."""
    chances = np.zeros(len(sequences(len(histogram), k)))
    for radius in gamma_distribution.ppf((np.arange(60) + 0.5) / 60, len(histogram) + 1, scale=1 / epsilon):
        grid = np.linspace(min(histogram) - radius, max(histogram) + radius, 1001)
        below = [np.clip((grid - count + radius) / (2 * radius), 0, 1) for count in histogram]
        density = [np.gradient(each, grid) for each in below]
        chances += [nested(each, grid, density, below) / 60 for each in sequences(len(histogram), k)]
    return chances.tolist()


def nested(sequence, grid, density, below):
    """Integrate from the last chosen item upwards: the others are below it, each chosen above the next."""
    others = set(range(len(below))) - set(sequence)
    chance = np.prod([below[other] for other in others], axis=0) * np.ones_like(grid)
    for item in reversed(sequence):
        chance = cumulative_trapezoid(density[item] * chance, grid, initial=0)
    return float(chance[-1])


@both
def test_sampling_follows_the_law_and_no_other(kind):
    """Sampled frequencies match the integrated law, and miss it when epsilon is 30 % off."""
    for histogram, k in CASES:
        epsilon = 0.6 * k if kind is Laplace else 1.5
        prepared = kind(k=k, epsilon=epsilon).prepare(Profile.of(np.array(histogram)))
        bits, names = SeededBits(3), item_names(histogram)
        seen = Counter(
            tuple(zip(picks.levels.tolist(), picks.ranks.tolist(), strict=True))
            for picks in (prepared.draw(bits) for _ in range(6000))
        )
        observed = [seen[tuple(names[item] for item in each)] for each in sequences(len(histogram), k)]
        assert sum(observed) == 6000
        assert p_value(observed, law(kind, histogram, k, epsilon)) > ALARM
        assert p_value(observed, law(kind, histogram, k, 0.7 * epsilon)) < ALARM
        assert p_value(observed, law(kind, histogram, k, 1.3 * epsilon)) < ALARM


@both
@pytest.mark.parametrize("relation", RELATIONS)
def test_no_neighbour_is_told_apart(kind, relation):
    """On small histograms and all their neighbours, probabilities differ by at most e^epsilon, up to integration."""
    for here in small_histograms():
        if len(here) > (3 if kind is Laplace else 2):
            continue
        for k in range(1, len(here) + 1):
            for there in neighbours(here, relation):
                pairs = zip(law(kind, here, k, 1.0, relation), law(kind, there, k, 1.0, relation), strict=True)
                assert all(p <= math.e * q + ROUNDING and q <= math.e * p + ROUNDING for p, q in pairs)


def test_laplace_is_calibrated_to_the_relation():
    """Under replace, noise of scale k/ε would not do: the check of neighbours sees it."""
    near, far = laplace_law((2, 2), 1, 1.0)[0], laplace_law((1, 3), 1, 1.0)[0]
    assert near > math.e * far + ROUNDING


def test_a_large_level_has_its_largest_noises():
    """The k smallest of n uniform numbers have the law of order statistics."""
    shot = OneShot(Profile.of(np.zeros(50, dtype=int)), k=3, noise=lambda tails, bits: -tails)
    bits = SeededBits(6)
    tails = np.array([shot._draw_tails(bits)[1] for _ in range(3000)])
    for place in range(3):
        assert kstest(tails[:, place], "beta", args=(place + 1, 50 - place)).pvalue > ALARM
        assert kstest(tails[:, place], "beta", args=(place + 1, 35 - place)).pvalue < ALARM


@pytest.mark.parametrize("shape", [2, 11, 5156])
def test_radius_has_the_gamma_law(shape):
    """Marsaglia and Tsang's method draws the stated law, and not one of another shape."""
    bits = SeededBits(8)
    radii = [draw_gamma(shape, bits) for _ in range(4000)]
    assert kstest(radii, "gamma", args=(shape,)).pvalue > ALARM
    assert kstest(radii, "gamma", args=(0.7 * shape,)).pvalue < ALARM


@both
@pytest.mark.parametrize("counts", [[3], [5, 5, 5, 5], [0, 10**6, 0, 0], [2**63 - 1, 0], [9, 8, 7, 6, 5]])
def test_names_k_distinct_items(kind, counts):
    """A selection names k different items, whatever the counts and the noise."""
    for k in range(1, len(counts) + 1):
        chosen = top_k(counts, mechanism=kind(k=k, epsilon=1), bits=SeededBits(k))
        assert len(set(chosen.tolist())) == k
        assert chosen.dtype == np.int64


@both
@pytest.mark.parametrize("bits", [None, SystemBits()])
def test_no_secure_release_in_floating_point(kind, bits):
    """Asking for one is refused before data is read, and the error says why."""
    with pytest.raises(
        ParameterError, match=f"{kind.name} computes in floating point and must not make a secure release"
    ):
        top_k("not even counts", mechanism=kind(k=1, epsilon=1), bits=bits)


@both
def test_guarantee_is_pure(kind):
    """ε-DP implies ρ = ε tanh(ε/2)."""
    guarantee = kind(k=3, epsilon="0.5", neighbours="replace").guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.rho) == (Fraction(1, 2), 0, find_rho_of_pure(Fraction(1, 2)))
    assert guarantee.neighbours == "replace"
