"""From the (ε, δ) of all rounds to the ε′ of one round of CDP-Peel.

Every ε′ returned here is proven: it is rounded down, and the bound that it must satisfy was evaluated for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache

from shortlist.exact.balls import ball, use_precision
from shortlist.mechanisms.peel.composition import bound_delta
from shortlist.privacy.zcdp import compute_log, find_rho, round_down

_PRECISION = 256
_MOST_ROUNDS = 1000
"""For more rounds the dynamic programme takes many seconds, and zCDP loses about 7 %."""
_COARSER = 6
_NEAR = 3e-4
_SAFE = 1 - 1e-4
"""The search aims this far below the root of a straight line, so that the first try is likely to be proven."""


class Calibration(StrEnum):
    """How the epsilon of one round follows from that of all."""

    OPTIMAL = "optimal"
    """By optimal composition of rounds of bounded range. It allows the largest ε′."""
    TIGHT = "tight"
    """By the best known conversion from zCDP."""
    PUBLISHED = "published"
    """As in the paper, by ρ + 2 √(ρ ln(1/δ)). It allows the smallest ε′."""


@lru_cache(maxsize=1024)
def calibrate(k: int, epsilon: Fraction, delta: Fraction, calibration: Calibration) -> Fraction:
    """Find the ε′ of one of k rounds such that all of them are (ε, δ)-DP. It is ε/k or more.

    >>> [float(calibrate(100, Fraction(1), Fraction(1, 10**6), each)) for each in Calibration]
    [0.0473..., 0.0441415634, 0.0373833168]
    """
    pure = epsilon / k
    if calibration is Calibration.PUBLISHED:
        return max(pure, _invert_published(k, epsilon, delta))
    with use_precision(_PRECISION):
        least = max(pure, round_down((8 * ball(find_rho(epsilon, delta)) / k).sqrt()))
    if calibration is Calibration.TIGHT or k > _MOST_ROUNDS:
        return least
    return max(least, _search(k, epsilon, delta, least))


def count_cells(k: int, delta: Fraction) -> int:
    """Choose how fine the grid is: its cost is about the same for all k, and 24 cells are within 0.1 % of ε′."""
    return min(256, max(24, int(32 * (200 / k) ** 0.75 * (28 / (14 - compute_log(delta))) ** 0.25)))


def _invert_published(k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    with use_precision(_PRECISION):
        unlikely = -8 * ball(delta).log()
        return round_down(((unlikely + 8 * ball(epsilon)) / k).sqrt() - (unlikely / k).sqrt())


def _search(k: int, epsilon: Fraction, delta: Fraction, least: Fraction) -> Fraction:
    """Search for the largest ε′ whose bound is at most δ. Return 0 if the search finds nothing above `least`.

    ln(bound) is almost a straight line in ln ε′. A coarse grid gives its slope, and a fine one the proof.
    """
    log_delta = compute_log(delta)

    def excess(round_epsilon: Fraction, cells: int) -> float:
        bound = bound_delta(k, epsilon, round_epsilon, cells=cells, unlikely=-log_delta)
        gap = compute_log(bound) - log_delta
        return min(gap, 0.0) if bound <= delta else max(gap, 5e-324)  # rationals decide the sign

    cells = count_cells(k, delta)
    coarse = cells // _COARSER
    if excess(least, coarse) > 0:
        return Fraction(0)
    round_epsilon, slope = _find_root(lambda round_epsilon: excess(round_epsilon, coarse), least)
    best, before = Fraction(0), None
    for _ in range(8):
        gap = excess(round_epsilon, cells)
        best = round_epsilon if gap <= 0 else best
        if before is not None:
            slope = max((gap - before[1]) / math.log(round_epsilon / before[0]), 1.0)
            if -_NEAR * slope < gap <= 0:
                break
        before = round_epsilon, gap
        round_epsilon = _scale(round_epsilon, math.exp(min(max(-gap / slope, -0.1), 0.1)) * _SAFE)
    return best


def _find_root(excess: Callable[[Fraction], float], low: Fraction) -> tuple[Fraction, float]:
    """Find where an excess becomes positive, within 1 %, and its slope there as a function of ln ε′.

    Rounds  The bound grows to 1 with ε′, and δ < 1. So a factor that squares itself ends above the root, and
            halving its logarithm ends.
    """
    factor = 1.04
    while excess(high := _scale(low, factor)) <= 0:
        low, factor = high, factor**2
    while high > low * Fraction(101, 100):
        middle = _scale(low, math.sqrt(high / low))
        low, high = (middle, high) if excess(middle) <= 0 else (low, middle)
    return low, (excess(high) - excess(low)) / math.log(high / low)


def _scale(round_epsilon: Fraction, factor: float) -> Fraction:
    """Multiply ε′ and cut it off after nine digits."""
    with use_precision(_PRECISION):
        return round_down(ball(round_epsilon * Fraction(factor)))
