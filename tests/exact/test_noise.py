"""Discrete Laplace and discrete Gaussian noise have exactly their laws."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from laws import p_value

from shortlist.exact import choice, coins
from shortlist.exact.coins import draw_geometric, draw_geometric_array, flip_exp_each
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace, bound_noise
from shortlist.exact.uniform import Uniform
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
    observed, (right, low, high) = frequencies(noise.draw(20_000, SeededBits(5)), noise)
    assert p_value(observed, right) > ALARM
    assert p_value(observed, low) < ALARM
    assert p_value(observed, high) < ALARM


@every_noise
@pytest.mark.parametrize("least", [1, 3, 40])
def test_a_tail_follows_its_law_and_no_other(noise, least):
    """Noise from `least` on has the law of noise given that it is that large, and p says how often a draw is one."""
    if scale_of(noise) < 1 < least:
        pytest.skip("the law has one value there")
    drawn = noise.draw_from([least] * 12_000, SeededBits(6))
    kept = [x for x in drawn if x is not None]
    observed, (right, low, high) = frequencies(kept, noise, least)
    assert p_value(observed, right) > ALARM
    if scale_of(noise) >= 1 and least < 3 * scale_of(noise):
        assert p_value(observed, low) < ALARM
        assert p_value(observed, high) < ALARM
    with ctx.workprec(200):
        share = tail(noise, least) / noise.enclose_tail(least)
    chance = float(share.mid())
    assert abs(len(kept) / 12_000 - chance) < 6.2 * np.sqrt(chance * (1 - chance) / 12_000) + 1e-12


@every_noise
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


def test_rare_geometric_variables_are_never_wrong():
    """At a rate of 45 or more, only the largest word needs balls, and its bits are kept."""

    class Words:
        """Three words, of which the second is the largest. The next 64 bits of that number begin with sixteen ones."""

        def __init__(self):
            self.left = b"\xfe" + b"\xff" * 7 + b"\xff" * 8 + bytes(8) + b"\xff\xff" + bytes(6)

        def draw(self, count):
            drawn, self.left = self.left[:count], self.left[count:]
            return drawn

    # −ln(1 − U) is a little above ln 2^80, which is 55.45.
    for rate, wanted in ((Fraction(45), 1), (Fraction(5545, 100), 1), (Fraction(5546, 100), 0), (Fraction(10**9), 0)):
        assert draw_geometric_array(rate, 3, Words()).tolist() == [0, wanted, 0]
        assert draw_geometric(rate, 3, Words()) == [0, wanted, 0]


def test_a_table_of_geometric_weights_is_never_wrong():
    """Inversion with balls gives what the table gives, for the same bits."""
    for rate in (Fraction(1, 100), Fraction(2, 3), Fraction(9)):
        words = np.frombuffer(SeededBits(1).draw(8 * 2000), dtype="<u8")
        exact = [coins._invert(Uniform(SeededBits(9), int(word)), rate) for word in words]
        assert draw_geometric(rate, 2000, SeededBits(1)) == exact


def test_coins_by_floats_are_never_wrong(monkeypatch):
    """Deciding every coin with balls gives what floats give, for the same bits."""
    numerators = [0, 1, 5, 30, 1000, 10**6, 10**30] * 100
    quick = flip_exp_each(numerators, 10, SeededBits(2))
    monkeypatch.setattr(choice, "_FLOAT_ERROR", 2.0)
    assert flip_exp_each(numerators, 10, SeededBits(2)) == quick


@pytest.mark.parametrize("scale", [Fraction(10**9), Fraction(10**200), Fraction(1, 10**6), Fraction(1, 10**200)])
def test_extreme_scales_work(scale):
    """Noise of any scale is drawn, and it is about that large."""
    for noise in (DiscreteLaplace(scale), DiscreteGaussian(scale**2)):
        drawn = noise.draw(20, SeededBits(4))
        assert max(map(abs, drawn)) <= 100 * scale
        assert scale < 1 or max(map(abs, drawn)) > scale / 4
        leasts = [5, 7] * 10
        beyond = [
            x - least for x, least in zip(noise.draw_from(leasts, SeededBits(4)), leasts, strict=True) if x is not None
        ]
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
