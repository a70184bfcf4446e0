"""Discrete Laplace and discrete Gaussian noise have exactly their laws."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from laws import p_value

from shortlist.exact.balls import enclose_exp_minus
from shortlist.exact.choice import is_below
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace, bound_noise, draw_geometric, flip_exp
from shortlist.exact.noise import _invert as invert
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.testing import SeededBits

ALARM = 1e-9
SCALES = ["0.5", "1", "7/3", "20"]
NOISES = [
    *(DiscreteLaplace(Fraction(scale)) for scale in SCALES),
    *(DiscreteGaussian(Fraction(scale) ** 2) for scale in SCALES),
]
every_noise = pytest.mark.parametrize("noise", NOISES, ids=str)


def scale_of(noise):
    return float(noise.b) if isinstance(noise, DiscreteLaplace) else float(noise.variance) ** 0.5


def weight(noise, x, stretch, largest):
    """The probability of x over that of `largest` as a float, for a law that is wider by a factor."""
    if isinstance(noise, DiscreteLaplace):
        return float(np.exp((abs(largest) - abs(x)) / (float(noise.b) * stretch)))
    return float(np.exp((largest**2 - x**2) / (2 * float(noise.variance) * stretch**2)))


def frequencies(drawn, noise, least=None):
    """What was drawn, and the weights for three widths, over all values that matter."""
    reach = int(15 * scale_of(noise)) + 3 if isinstance(noise, DiscreteGaussian) else int(60 * scale_of(noise)) + 3
    values = range(-reach if least is None else least, reach + (least or 0))
    counts = Counter(drawn)
    assert set(counts) <= set(values)
    return [counts[x] for x in values], [
        [weight(noise, x, stretch, least or 0) for x in values] for stretch in (1.0, 0.7, 1.3)
    ]


@every_noise
def test_noise_follows_its_law_and_no_other(noise):
    """Drawn frequencies match the law, and miss it when the scale is 30 % off."""
    observed, (right, low, high) = frequencies(noise.draw(20_000, SeededBits(5)).tolist(), noise)
    assert p_value(observed, right) > ALARM
    assert p_value(observed, low) < ALARM
    assert p_value(observed, high) < ALARM


@every_noise
@pytest.mark.parametrize("least", [1, 3, 40])
def test_a_tail_follows_its_law_and_no_other(noise, least):
    """Noise from `least` on has the law of noise given that it is that large, and p says how often a draw is one."""
    if scale_of(noise) < 1 < least:
        pytest.skip("the law has one value there")
    drawn, there = noise.draw_from(np.full(12_000, least), SeededBits(6))
    kept = drawn[there].tolist()
    observed, (right, low, high) = frequencies(kept, noise, least)
    assert p_value(observed, right) > ALARM
    if scale_of(noise) >= 1 and least < 3 * scale_of(noise):
        assert p_value(observed, low) < ALARM
        assert p_value(observed, high) < ALARM
    with ctx.workprec(200):
        share = tail(noise, least) / noise.enclose_tail(least)
    chance = float(share.mid())
    assert abs(len(kept) / 12_000 - chance) < 6.2 * np.sqrt(chance * (1 - chance) / 12_000) + 1e-12


SMALL_NOISE = DiscreteGaussian(Fraction(1, 40))


@pytest.mark.parametrize("noise", [*NOISES, SMALL_NOISE], ids=str)
def test_the_bound_of_a_tail_holds(noise):
    """p(a) is at least P(noise ≥ a) and at most twice that; floats know it within their error."""
    with ctx.workprec(200):
        least = np.array([1, 2, 3, 5, 17, 40, 90])
        floats = noise.tails(least)
        for a, mantissa, exponent in zip(least.tolist(), floats.mantissa, floats.exponent, strict=True):
            bound = noise.enclose_tail(a)
            assert not tail(noise, a) > bound
            assert bound < 2 * tail(noise, a)
            assert abs(arb(float(mantissa)) * arb(2) ** int(exponent) / bound - 1) < arb(floats.error)


def tail(noise, least):
    """P(noise ≥ least), by summing terms until they do not matter."""
    if isinstance(noise, DiscreteLaplace):
        rate = -arb(noise.b.denominator) / noise.b.numerator
        return (rate * least).exp() / (1 + rate.exp())
    rate = -arb(noise.variance.denominator) / (2 * noise.variance.numerator)
    terms = [(rate * x**2).exp() for x in range(least + 60 * int(scale_of(noise) + 2))]
    return sum(terms[least:], arb(0)) / (2 * sum(terms[1:], arb(0)) + 1)


@pytest.mark.parametrize("noise", [*NOISES, SMALL_NOISE], ids=str)
def test_estimates_of_tails_are_a_little_low(noise):
    """An estimate is at most P(noise ≥ a), and a third of it or more."""
    least = np.array([1, 2, 3, 5, 17, 40])
    with ctx.workprec(200):
        for a, estimate in zip(least.tolist(), noise.estimate_tails(least).tolist(), strict=True):
            exact = float(tail(noise, a).mid())
            assert exact / 3 - 1e-300 <= estimate <= exact * (1 + 1e-9)


@every_noise
def test_the_bound_of_a_difference_holds(noise):
    """It is at least the convolution of two laws; for discrete Laplace it is the convolution."""
    reach = int(60 * scale_of(noise)) + 30
    law = np.array([weight(noise, x, 1.0, 0) for x in range(-reach, reach + 1)])
    difference = np.convolve(law, law) / law.sum() ** 2
    for least in (1, 2, 5, 30):
        exact = difference[2 * reach + least :].sum()
        bound = float(noise.enclose_difference(least).mid())
        assert exact * (1 - 1e-9) <= bound
        if isinstance(noise, DiscreteLaplace) and exact > 1e-12:
            assert bound == pytest.approx(exact, rel=1e-6)


RATES = [Fraction(1, 3), Fraction(1, 40), Fraction(1, 2**21), Fraction(1, 2**23), Fraction(1, 2**70), Fraction(50)]


@pytest.mark.parametrize("rate", RATES)
def test_geometric_variables_follow_their_law(rate):
    """By floats and by balls, within 64 bits and beyond; not if the rate is 30 % off."""
    drawn = draw_geometric(rate / 3, np.full(20_000, 3), SeededBits(4))
    scaled = np.array([float(x * rate) for x in drawn.tolist()])
    edges = np.unique([float(int(1 / rate * share)) for share in (Fraction(1, 9), Fraction(1, 3), 1, 2, 3)])
    observed = np.bincount(np.searchsorted(edges - 0.5, scaled / float(rate), side="right"), minlength=len(edges) + 1)
    p_values = []
    for factor in (1.0, 0.7, 1.3):
        tails = np.concatenate([[1.0], np.exp(-float(rate) * factor * edges), [0.0]])
        p_values.append(p_value(observed, np.maximum(tails[:-1] - tails[1:], 1e-12)))
    assert p_values[0] > ALARM
    if rate < 1:
        assert max(p_values[1:]) < ALARM


@pytest.mark.parametrize(
    "rate", [Fraction(1, 2**41), Fraction(1, 2**19), Fraction(1, 100), Fraction(2, 3), Fraction(9), Fraction(10**9)]
)
def test_inversion_by_floats_is_never_wrong(rate):
    """Inversion with balls gives what floats give, for the same bits, also for different multiples of a unit."""
    multiples = np.arange(2000) % 7 + 1
    words = draw_words(2000, SeededBits(1)).tolist()
    exact = [
        invert(Uniform(SeededBits(9), word), rate * int(multiple))
        for word, multiple in zip(words, multiples, strict=True)
    ]
    assert draw_geometric(rate, multiples, SeededBits(1)).tolist() == exact


def test_numbers_near_zero_are_decided_by_balls():
    """Where the leading bits are 0, the others decide."""

    class Zeros:
        """A word of zeros, and then sixteen zeros and ones."""

        def __init__(self):
            self.left = bytes(8) + b"\x00\x00" + b"\xff" * 6

        def draw(self, count):
            drawn, self.left = self.left[:count], self.left[count:]
            return drawn

    # −ln U is a little above ln 2^80, which is 55.45.
    for rate, wanted in ((Fraction(45), 1), (Fraction(5545, 100), 1), (Fraction(5546, 100), 0), (Fraction(10**9), 0)):
        assert draw_geometric(rate, np.ones(1, dtype=np.int64), Zeros()).tolist() == [wanted]


def test_coins_follow_their_chances():
    """Each shows heads with probability e^(−x), and not with one that is 30 % off."""
    exponents = np.tile([0.0, 0.25, 1.0, 3.0], 5_000)
    heads = flip_exp(exponents, lambda i: Fraction(exponents[i]), SeededBits(5)).reshape(-1, 4).sum(axis=0)
    assert heads[0] == 5_000
    for shown, x in zip(heads[1:].tolist(), (0.25, 1.0, 3.0), strict=True):
        assert p_value([shown, 5_000 - shown], [np.exp(-x), -np.expm1(-x)]) > ALARM
        assert p_value([shown, 5_000 - shown], [np.exp(-0.7 * x), -np.expm1(-0.7 * x)]) < ALARM


def test_coins_by_floats_are_never_wrong():
    """Deciding every coin with balls gives what floats give, for the same bits."""
    exact = [Fraction(x, 10) for x in [0, 1, 5, 30, 440, 1000, 10**6, 10**30]] * 100
    quick = flip_exp(np.array([float(x) for x in exact]), lambda i: exact[i], SeededBits(2)).tolist()
    bits = SeededBits(2)
    words = draw_words(len(exact), bits).tolist()
    for x, word, heads in zip(exact, words, quick, strict=True):
        assert heads == is_below(Uniform(bits, word), lambda _, x=x: enclose_exp_minus(x))


@pytest.mark.parametrize("scale", [Fraction(10**9), Fraction(10**200), Fraction(1, 10**6), Fraction(1, 10**200)])
def test_extreme_scales_work(scale):
    """Noise of any scale is drawn, and it is about that large."""
    for noise in (DiscreteLaplace(scale), DiscreteGaussian(scale**2)):
        drawn = noise.draw(20, SeededBits(4)).tolist()
        assert max(map(abs, drawn)) <= 100 * scale
        assert scale < 1 or max(map(abs, drawn)) > scale / 4
        if isinstance(noise, DiscreteGaussian) and scale > 2**50:
            continue  # tails are asked for where they fit into 64 bits
        leasts = np.array([5, 7] * 10)
        found, there = noise.draw_from(leasts, SeededBits(4))
        beyond = (found - leasts)[there].tolist()
        assert len(beyond) >= 5
        assert 0 <= min(beyond) <= max(beyond) <= 100 * scale
        assert scale < 1 or max(beyond) > scale / 4


@every_noise
@pytest.mark.parametrize("count", [1, 1000, 10**7])
def test_the_bound_of_all_noises_is_the_smallest_that_is_proven(noise, count):
    """All noises are within T with 95 %, by the union bound; T − 2 would not be enough for it."""
    bound = bound_noise(noise, count, Fraction(1, 20))
    with ctx.workprec(200):
        assert 2 * count * tail(noise, bound + 1) <= arb(1) / 20
        slack = 0 if isinstance(noise, DiscreteLaplace) else max(1, int(scale_of(noise) / 3))
        if bound > slack:
            assert 2 * count * tail(noise, bound - slack) > arb(1) / 20
