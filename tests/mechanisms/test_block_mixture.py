"""The floats and the decisions that all mixtures over losses share."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from shortlist.exact.balls import enclose_shortfall
from shortlist.exact.choice import quantile
from shortlist.exact.scaled import compute_shortfalls
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.mechanisms.block_mixture import draw_reaches, enclose_span
from shortlist.testing import SeededBits


def check_numbers(numbers, exact):
    """Each float with its exponent is within the proven error of the exact number."""
    with ctx.workprec(300):
        for mantissa, exponent, each in zip(numbers.mantissa, numbers.exponent, exact, strict=True):
            found = arb(float(mantissa)) * arb(2) ** int(exponent)
            assert abs(found - each()) <= each() * arb(numbers.error)


@pytest.mark.parametrize("rate", ["1e-12", "5e-7", "0.001", "0.5", "3", "700"])
def test_lengths_are_off_by_their_roundings_at_most(rate):
    """1 − q^width lies within the stated error, for widths of one digit and of several, near 0 and near 1."""
    rng, rate = np.random.default_rng(5), Fraction(rate)
    widths = np.concatenate([np.arange(1, 70), rng.integers(1, 2**31, size=60), 2 ** np.arange(10, 50), [2**50 - 1]])
    for each in (widths, np.ones(3, dtype=np.int64), np.array([7])):
        exact = [lambda width=width: enclose_shortfall(rate * width) for width in each.tolist()]
        check_numbers(compute_shortfalls(rate, each), exact)


def test_lengths_may_be_below_the_range_of_floats():
    """A rate far below the range of floats gives lengths with exponents of their own."""
    lengths = compute_shortfalls(Fraction(1, 2**2000), np.arange(1, 50))
    assert (lengths.exponent < -1990).all()


@dataclass
class Span:
    """A range of losses as a cell."""

    rate: Fraction
    start: int
    end: int

    def weight(self):
        return enclose_span(self.rate, self.start, self.end)

    def split(self):
        return None


@pytest.mark.parametrize("rate", ["1e-25", "1e-18", "0.5", "0.7", "9"])
def test_floats_reach_the_losses_that_balls_reach(rate):
    """For the same numbers, in spans with a near end, a far end and no end."""
    rate = Fraction(rate)
    steps = sorted({min(2**62, int(part / rate) + 1) for part in (0, 0.1, 0.7, 3, 40, 1000)})
    spans = [(7, end, 7 + step) for step in steps for end in (8 + step, 2**63 - 1, -1)] * 40
    starts, ends, losses = np.array(spans).T
    reached = draw_reaches(rate, starts, ends, losses, SeededBits(5)).tolist()
    bits = SeededBits(5)
    for (start, end, loss), ours, word in zip(spans, reached, draw_words(len(spans), bits).tolist(), strict=True):
        below = Span(rate, start, loss)
        above = Span(rate, loss, end)
        assert ours == (quantile(Uniform(bits, word), [below, above]) is above)


def test_a_loss_outside_a_span_needs_no_bits():
    """A loss at the start is always reached, and one at the end never."""
    starts, ends, losses = np.array([3, 3, 3]), np.array([9, 9, -1]), np.array([3, 9, 2])
    assert draw_reaches(Fraction(1, 2), starts, ends, losses, SeededBits(1)).tolist() == [True, False, True]
