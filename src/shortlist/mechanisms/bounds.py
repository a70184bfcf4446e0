"""Bounds on the error of a list that depend on public numbers only, so that they may be published."""

from __future__ import annotations

from fractions import Fraction

from flint import arb, fmpq

from shortlist.exact.balls import use_precision


def ceil_log(number: Fraction, rate: Fraction) -> int:
    """Compute ⌈ln(number) / rate⌉ exactly, for a number of at least 1.

    The logarithm of a rational other than 1 is irrational, so rising precision decides the integer.

    >>> ceil_log(Fraction(20), Fraction(1, 2))
    6
    """
    if number == 1:
        return 0
    precision = 64
    while True:
        with use_precision(precision):
            logarithm = arb(fmpq(number.numerator, number.denominator)).log()
            whole = (logarithm * fmpq(rate.denominator, rate.numerator)).ceil().unique_fmpz()
        if whole is not None:
            return int(whole)
        precision *= 2


def bound_loss(candidates: int, rate: Fraction, failure: Fraction) -> int:
    """Find the smallest B with candidates · e^(−rate · (B + 1)) ≤ failure.

    The loss is a whole number. It is t or more with a probability of at most candidates · e^(−rate · t). So it is above
    B with a probability of at most `failure`.

    >>> bound_loss(1000, Fraction(1, 2), Fraction(1, 20))
    19
    """
    return max(0, ceil_log(candidates / failure, rate) - 1)
