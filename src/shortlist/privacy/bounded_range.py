"""Rounds of bounded range: from the (ε, δ) of all rounds to the ε′ of one round, by optimal composition.

A round has range ε′ if, for two neighbours, ln(P/P′) of all its outcomes lies in an interval of length ε′. Let
y = e^(ε − loss so far), and let V_j(y) be the largest δ that j more rounds of range ε′ can reach from there. Then

    V_0(y) = max(0, 1 − y),     V_j(y) = max over y e^(−ε′) ≤ u ≤ y of the chord of V_(j−1) from u to u e^ε′, at y,

and k rounds are (ε, V_k(e^ε))-DP (Dong, Durfee and Rogers 2020; bounded_range.proof.md, Theorem 2). Every V_j is
convex, and it falls in y. So chords between the points of a grid bound it from above, and a programme on the grid
bounds V_k.

Every ε′ returned here is proven: it is rounded down, and the bound that it must satisfy was evaluated for it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray
from shortlist.exact.balls import ball, round_outwards, use_precision
from shortlist.privacy.numbers import Choice
from shortlist.privacy.zcdp import compute_log, find_largest_epsilon, find_rho, round_down

_PRECISION = 256
_MOST_ROUNDS = 1000
"""For more rounds the dynamic programme takes many seconds, and zCDP loses about 7 %."""
_COARSER = 6
_NEAR = 3e-4
_STEP = Fraction(21, 20)
"""ε′ is raised by this factor to measure the slope."""
_LARGEST = Fraction(10**9)
"""Above every ε′ that is searched for."""
_MARGIN = 1 + Fraction(1, 2**28)
"""A larger factor than all roundings of 2^20 rounds together."""
_TINY = Fraction(1, 2**1040)
"""Larger than the sum of what numbers below the range of floats lose in 2^20 rounds."""
_NEGLIGIBLE = 14.0
"""States that add less than about e^(−14) of δ may lie outside the grid."""


class Calibration(Choice):
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
    with use_precision(_PRECISION):
        if calibration is Calibration.PUBLISHED:
            unlikely = -8 * ball(delta).log()
            return max(pure, round_down(((unlikely + 8 * ball(epsilon)) / k).sqrt() - (unlikely / k).sqrt()))
        least = max(pure, round_down((8 * ball(find_rho(epsilon, delta)) / k).sqrt()))
    if calibration is Calibration.TIGHT or k > _MOST_ROUNDS:
        return least
    cells, log = count_cells(k, delta), compute_log(delta)
    bound = partial(bound_delta, k, epsilon, unlikely=-log)
    # A coarse grid finds where to begin, and a fine one proves.
    rough = partial(bound, cells=cells // _COARSER)
    if rough(least) > delta:
        return least
    near = find_largest_epsilon(rough, delta, most=_LARGEST, start=least, slope=2 - 2 * log, close=0.01)
    slope = max(1.0, (compute_log(rough(near * _STEP)) - compute_log(rough(near))) / math.log(_STEP))
    proven = partial(bound, cells=cells)
    return max(least, find_largest_epsilon(proven, delta, most=_LARGEST, start=near, slope=slope, close=_NEAR))


def count_cells(k: int, delta: Fraction) -> int:
    """Choose how fine the grid is: its cost is about the same for all k, and 24 cells are within 0.1 % of ε′."""
    return min(256, max(24, int(32 * (200 / k) ** 0.75 * (28 / (14 - compute_log(delta))) ** 0.25)))


def bound_delta(k: int, epsilon: Fraction, round_epsilon: Fraction, *, cells: int, unlikely: float) -> Fraction:
    """Bound from above the δ at which k adaptive rounds of range ε′ are (ε, δ)-DP.

    A round moves ln y by ε′ at most, which is `cells` cells of the grid. `unlikely` is about ln(1/δ). It decides how
    far the grid reaches. Both numbers change how close the bound is, and never whether it holds.
    """
    step = round_epsilon / cells
    below, above = _choose_extent(k, epsilon, round_epsilon, cells, unlikely)
    points = [epsilon + i * step for i in range(-below, above + 1)]
    with use_precision(_PRECISION):
        values = np.array([_above(-ball(point).expm1()) if point < 0 else 0.0 for point in points])  # V_0
        chords = [_weigh_chord(step, cells, offset) for offset in range(cells + 1)]
        controls = [_weigh_control(step, cells, offset) for offset in range(cells)]
        # Left of the grid, the chord from V(0) = 1 to the first point is a bound.
        shares = np.array([_above((-ball(step) * n).exp()) for n in range(cells + 1, 0, -1)])
        complements = np.array([_above(-(-ball(step) * n).expm1()) for n in range(cells + 1, 0, -1)])
        curvature = _above(1 / (1 + 1 / (ball(step) / 2).cosh()))
    for _ in range(k):
        # Right of the grid, the last value is a bound, as V falls.
        padded = np.concatenate([complements + shares * values[0], values, np.full(cells, values[-1])])
        values = _advance(padded, chords, controls, curvature)
    return Fraction(float(values[below])) * _MARGIN + _TINY


def _choose_extent(k: int, epsilon: Fraction, round_epsilon: Fraction, cells: int, unlikely: float) -> tuple[int, int]:
    """Choose how many points the grid has left and right of ln y = ε.

    The loss behaves like a normal variable of variance kε′²/4. A path that leaves the grid and comes back to ln y = 0
    is as long as `spread`, which has a probability of about e^(−unlikely − 14).
    """
    spread = math.sqrt(k / 2 * (unlikely + _NEGLIGIBLE)) * cells
    start = float(epsilon / round_epsilon) * cells
    left, right = (spread + start) / 2, max(0.0, (spread - start) / 2)
    most = k * cells + 1
    return min(int(left), most) + cells, min(int(right), most) + cells


def _weigh_chord(step: Fraction, cells: int, offset: int) -> tuple[float, float]:
    """Return the weights of u and of u e^ε′ in the chord at y, where ln u is `offset` points left of ln y."""
    width = (ball(step) * cells).expm1()
    upper = (ball(step) * offset).expm1() / width
    lower = (ball(step) * offset).exp() * (ball(step) * (cells - offset)).expm1() / width
    return _above(lower), _above(upper)


def _weigh_control(step: Fraction, cells: int, offset: int) -> tuple[float, float, float, float]:
    """Return the weights of four points in the control value of all chords between two neighbouring ones.

    The chords start between u_0, which is offset + 1 points left of ln y, and u_1, the next point. The weights belong
    to u_0, u_1, u_0 e^ε′ and u_1 e^ε′ (bounded_range.proof.md, Theorem 2, Step 4).
    """
    nearer, farther = ball(step) * offset, ball(step) * (offset + 1)
    total = ((-nearer).exp() + (-farther).exp()) * (ball(step) * cells).expm1()
    reach_near = (ball(step) * (cells - offset)).expm1()  # u_1 e^ε′ / y − 1
    reach_far = (ball(step) * (cells - offset - 1)).expm1()  # u_0 e^ε′ / y − 1
    weights = (reach_near, reach_far, -(-nearer).expm1(), -(-farther).expm1())
    first, second, third, fourth = (_above(weight / total) for weight in weights)
    return first, second, third, fourth


def _advance(
    padded: FloatArray,
    chords: list[tuple[float, float]],
    controls: list[tuple[float, float, float, float]],
    curvature: float,
) -> FloatArray:
    """Bound V_j from above on the grid, given bounds of V_(j−1) on the grid and `cells` points beyond it."""
    cells = len(controls)
    count = len(padded) - 2 * cells - 1
    largest, control = np.zeros(count), np.zeros(count)
    for offset, (lower, upper) in enumerate(chords):
        near = cells + 1 - offset
        value = lower * padded[near : near + count]
        value += upper * padded[near + cells : near + cells + count]
        np.maximum(largest, value, out=largest)
    for offset, (first, second, third, fourth) in enumerate(controls):
        near = cells + 1 - offset
        value = first * padded[near - 1 : near - 1 + count]
        value += second * padded[near : near + count]
        value += third * padded[near + cells - 1 : near + cells - 1 + count]
        value += fourth * padded[near + cells : near + cells + count]
        np.maximum(control, value, out=control)
    bound: FloatArray = largest + curvature * np.maximum(control - largest, 0)
    return bound


def _above(number: arb) -> float:
    """Return a float that is not below a number in [0, 1]."""
    return round_outwards(number)[1]
