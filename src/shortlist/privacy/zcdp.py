"""Conversions between zero-concentrated (ρ), approximate (ε, δ) and pure (ε) differential privacy.

ρ-zCDP implies (ε, δ)-DP for every α > 1 with ε ≥ ρα + ln((α−1)/α) − (ln δ + ln α)/(α−1) (Canonne, Kamath and Steinke
2020, Proposition 12). So any α proves a statement. Floats search for a good α, and balls evaluate it. ε-DP implies
ρ-zCDP with ρ = ε tanh(ε/2) (zcdp.proof.md). Results have nine digits and are rounded so that the statement holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from flint import arb

from shortlist.exact.balls import ball, use_precision

_DIGITS = 9
_PRECISION = 256
_LARGE = Fraction(10**100)
_GOLDEN = (math.sqrt(5) - 1) / 2
_MOST_TRIES = 60


@lru_cache(maxsize=256)
def find_rho_of_pure(epsilon: Fraction, parts: int | Fraction = 1) -> Fraction:
    """Find the smallest rho, rounded up, such that every ε-DP mechanism is ρ-zCDP: ε tanh(ε/2).

    With `parts`, it is the sum of their rhos, where each has an equal part of epsilon.

    >>> float(find_rho_of_pure(Fraction(1)))
    0.462117158
    """
    part = epsilon / parts
    with use_precision(_PRECISION):
        bound = round_up(ball(part) * (ball(part) / 2).tanh())
    # tanh x < x and tanh x < 1. For very small or large ε, one of these is the smaller bound after rounding.
    return parts * min(bound, part**2 / 2, part)


@lru_cache(maxsize=256)
def find_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Find an epsilon, rounded up, such that ρ-zCDP implies (ε, δ)-DP.

    >>> float(find_epsilon(Fraction(1, 8), Fraction(1, 10**6)))
    2.41909318
    """
    log_delta, slope = compute_log(delta), float(min(rho, _LARGE))
    excess = _minimise(lambda a: slope * (1 + a) - _compute_saving(a, log_delta))
    with use_precision(_PRECISION):
        return round_up(ball(rho) * (1 + ball(excess)) - _enclose_saving(excess, delta))


@lru_cache(maxsize=256)
def find_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find a rho, rounded down, such that ρ-zCDP implies (ε, δ)-DP.

    >>> float(find_rho(Fraction(1), Fraction(1, 10**6)))
    0.0243559703
    """
    excess = find_excess_order(epsilon, delta)
    with use_precision(_PRECISION):
        return round_down((ball(epsilon) + _enclose_saving(excess, delta)) / (1 + ball(excess)))


@lru_cache(maxsize=256)
def find_excess_order(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Find α − 1 for the Rényi order α with which `find_rho` proves its rho."""
    log_delta, spent = compute_log(delta), float(min(epsilon, _LARGE))
    return _minimise(lambda a: -(spent + _compute_saving(a, log_delta)) / (1 + a))


def find_largest_epsilon(
    state: Callable[[Fraction], Fraction],
    bound: Fraction,
    *,
    most: Fraction,
    start: Fraction | None = None,
    slope: float = 2.0,
    close: float = 5e-9,
) -> Fraction:
    """Find an epsilon of nine digits, up to `most`, whose stated rho or delta is at most a bound: almost the largest.

    Return 0 if none is found. `state` states the number of an epsilon. It grows with epsilon, but for steps. `start`
    and `slope` are guesses. The search ends when ln ε is about `close`, or nearer, to the largest.

    Rounds  ln of the number is almost a straight line in ln ε. Floats follow the line. Where it is flat or points
            outside, they halve the interval between a right and a wrong epsilon. Only an epsilon whose number was
            stated is returned.

    >>> float(find_largest_epsilon(find_rho_of_pure, Fraction(1, 100), most=Fraction(10)))
    0.14153...
    """
    low, high, before, steepest = Fraction(0), 2 * most, None, 2 * slope
    with use_precision(_PRECISION):
        epsilon = min(most, round_down((8 * ball(bound)).sqrt()) if start is None else start)
        for _ in range(_MOST_TRIES):
            found = state(epsilon)
            low, high = (epsilon, high) if found <= bound else (low, epsilon)
            place = compute_log(epsilon), compute_log(found)
            if before is not None and before[0] != place[0]:
                slope = (place[1] - before[1]) / (place[0] - before[0])
            is_flat = slope < steepest / 16
            slope = min(max(slope, steepest / 16), steepest)
            before, step = place, (compute_log(bound) - place[1]) / slope
            if low == most or (found <= bound and step <= close) or high <= low * Fraction(1 + close):
                break
            epsilon = round_down(ball(epsilon * Fraction(math.exp(min(max(step, -50.0), 50.0)) * (1 - close / 4))))
            if is_flat or not low < epsilon < high:
                epsilon = round_down((ball(low) * ball(high)).sqrt()) if low else high / 2
            epsilon = min(epsilon, most)
    return low


def round_up(number: arb) -> Fraction:
    """Round the upper end of a ball up to nine digits. A negative number becomes 0.

    >>> round_up(ball(Fraction(2, 3)))
    Fraction(666666667, 1000000000)
    """
    return max(Fraction(0), _round_to_nine_digits(number.upper(), ROUND_CEILING))


def round_down(number: arb) -> Fraction:
    """Round the lower end of a ball down to nine digits. A negative number becomes 0.

    >>> round_down(ball(Fraction(2, 3)))
    Fraction(333333333, 500000000)
    """
    return max(Fraction(0), _round_to_nine_digits(number.lower(), ROUND_FLOOR))


def to_fraction(point: arb) -> Fraction:
    """Return the exact value of a ball without a radius, such as an end of another ball."""
    mantissa, exponent = (int(part) for part in point.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def _round_to_nine_digits(point: arb, rounding: str) -> Fraction:
    exact = to_fraction(point)
    context = Context(prec=_DIGITS, rounding=rounding)
    return Fraction(context.divide(Decimal(exact.numerator), Decimal(exact.denominator)))


def _enclose_saving(order: Fraction, delta: Fraction) -> arb:
    """Enclose −ln((α−1)/α) + (ln δ + ln α)/(α−1), where `order` is α − 1."""
    a = ball(order)
    return (1 / a).log1p() + (ball(delta).log() + a.log1p()) / a


def _compute_saving(a: float, log_delta: float) -> float:
    return math.log1p(1 / a) + (log_delta + math.log1p(a)) / a


def _minimise(objective: Callable[[float], float]) -> Fraction:
    """Search for the α − 1 that minimises an objective: its logarithm by whole steps, then by golden sections."""
    near = min(range(-500, 501), key=lambda step: objective(math.exp(step)))
    low, high = near - 1.0, near + 1.0
    for _ in range(60):
        step = _GOLDEN * (high - low)
        if objective(math.exp(high - step)) < objective(math.exp(low + step)):
            high = low + step
        else:
            low = high - step
    return Fraction(math.exp(low))


def compute_log(number: Fraction | float) -> float:
    """Compute ln of a number whose parts may be beyond the range of floats. For 0 return a very small number."""
    exact = Fraction(number)
    if Fraction(1, 2) < exact < 2:
        return math.log1p(float(exact - 1))
    return math.log(exact.numerator) - math.log(exact.denominator) if exact else -1000.0
