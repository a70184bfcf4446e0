"""Between zero-concentrated and approximate differential privacy: ρ to (ε, δ) and back, rounded to the safe side.

ρ-zCDP implies (ε, δ)-DP for every α > 1 with ε ≥ ρα + ln((α−1)/α) − (ln δ + ln α)/(α−1) (Canonne, Kamath and Steinke
2020, Proposition 12). So any α proves a statement. Floats look for a good one; balls evaluate it, and what is stated
has nine digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from flint import arb

from shortlist.exact.balls import ball, working_precision

_DIGITS = 9
_PRECISION = 256
_LARGE = Fraction(10**100)
_GOLDEN = (math.sqrt(5) - 1) / 2


@lru_cache(maxsize=256)
def epsilon_from(rho: Fraction, delta: Fraction) -> Fraction:
    """Find an epsilon, as small as is known and rounded up, such that ρ-zCDP implies (ε, δ)-DP.

    >>> float(epsilon_from(Fraction(1, 8), Fraction(1, 10**6)))
    2.41909318
    """
    log_delta, slope = _log(delta), float(min(rho, _LARGE))
    order = _least(lambda a: slope * (1 + a) - _float_saving(a, log_delta))
    with working_precision(_PRECISION):
        return round_up(ball(rho) * (1 + ball(order)) - _saving(order, delta))


@lru_cache(maxsize=256)
def rho_from(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find a rho, as large as is known and rounded down, such that ρ-zCDP implies (ε, δ)-DP.

    >>> float(rho_from(Fraction(1), Fraction(1, 10**6)))
    0.0243559703
    """
    log_delta, spent = _log(delta), float(min(epsilon, _LARGE))
    order = _least(lambda a: -(spent + _float_saving(a, log_delta)) / (1 + a))
    with working_precision(_PRECISION):
        return round_down((ball(epsilon) + _saving(order, delta)) / (1 + ball(order)))


def round_up(number: arb) -> Fraction:
    """Round up to nine digits from everything that a ball holds; a negative one becomes 0.

    >>> round_up(ball(Fraction(2, 3)))
    Fraction(666666667, 1000000000)
    """
    return max(Fraction(0), _nine_digits(number.upper(), ROUND_CEILING))


def round_down(number: arb) -> Fraction:
    """Round down to nine digits from everything that a ball holds; a negative one becomes 0.

    >>> round_down(ball(Fraction(2, 3)))
    Fraction(333333333, 500000000)
    """
    return max(Fraction(0), _nine_digits(number.lower(), ROUND_FLOOR))


def _nine_digits(point: arb, rounding: str) -> Fraction:
    mantissa, exponent = (int(part) for part in point.man_exp())
    exact = Fraction(mantissa) * Fraction(2) ** exponent
    context = Context(prec=_DIGITS, rounding=rounding)
    return Fraction(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def _saving(order: Fraction, delta: Fraction) -> arb:
    """Enclose −ln((α−1)/α) + (ln δ + ln α)/(α−1), where `order` is α − 1."""
    a = ball(order)
    return (1 / a).log1p() + (ball(delta).log() + a.log1p()) / a


def _float_saving(a: float, log_delta: float) -> float:
    return math.log1p(1 / a) + (log_delta + math.log1p(a)) / a


def _least(objective: Callable[[float], float]) -> Fraction:
    """Look for the α − 1 that makes something least: its logarithm by whole steps, then by golden sections."""
    near = min(range(-500, 501), key=lambda step: objective(math.exp(step)))
    low, high = near - 1.0, near + 1.0
    for _ in range(60):
        step = _GOLDEN * (high - low)
        if objective(math.exp(high - step)) < objective(math.exp(low + step)):
            high = low + step
        else:
            low = high - step
    return Fraction(math.exp(low))


def _log(number: Fraction | float) -> float:
    """ln of a number whose numerator and denominator may be beyond the range of floats; of 0, something far off."""
    exact = Fraction(number)
    if Fraction(1, 2) < exact < 2:
        return math.log1p(float(exact - 1))
    return math.log(exact.numerator) - math.log(exact.denominator) if exact else -1000.0
