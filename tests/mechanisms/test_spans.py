"""Weights of ranges of losses, as floats with a proven error."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from shortlist.exact.balls import enclose_shortfall
from shortlist.mechanisms import spans
from shortlist.mechanisms.spans import compute_lengths


@pytest.mark.parametrize("rate", ["1e-12", "5e-7", "0.001", "0.5", "3", "700"])
def test_many_lengths_are_off_by_their_roundings_at_most(rate):
    """1 − q^width lies within the stated error, for widths of one digit and of several, near 0 and near 1."""
    rng = np.random.default_rng(5)
    widths = np.concatenate([np.arange(1, 70), rng.integers(1, 2**31, size=60), 2 ** np.arange(10, 50), [2**50 - 1]])
    lengths = compute_lengths(Fraction(rate), widths)
    assert lengths.roundings > 2
    with ctx.workprec(200):
        for i, width in enumerate(widths.tolist()):
            exact = enclose_shortfall(Fraction(rate) * width)
            found = arb(float(lengths.mantissa[i])) * arb(2) ** int(lengths.exponent[i])
            assert abs(found - exact) <= exact * arb(lengths.error), (rate, width)


def test_lengths_below_the_range_of_floats_are_computed_by_balls():
    """A rate far below the range of floats gives lengths with two roundings."""
    lengths = compute_lengths(Fraction(1, 2**2000), np.arange(1, 50))
    assert lengths.roundings == 2
    assert (lengths.exponent < -1990).all()


def test_many_widths_need_few_balls(monkeypatch):
    """Ten thousand different widths take balls for the powers of two only."""
    asked = []
    monkeypatch.setattr(
        spans, "_compute_length", lambda *given, real=spans._compute_length: asked.append(given) or real(*given)
    )
    compute_lengths(Fraction(1, 1234567), np.arange(1, 10_000) ** 2)
    assert len(asked) < 30
