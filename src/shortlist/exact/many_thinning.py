"""The quick decisions of permute-and-flip (see thinning.py) for many draws at once, with floats of proven error.

Each number is given by its leading 64 bits, so U lies in [u, u + 2^-64) and V in [v, v + 2^-64). With A = 1 − V and
B = (1 − c) V, the threshold x* = (1 − V) / (1 − cV) is A / (A + B), and 1 − x* is B / (A + B). Neither loses digits.

A proposal is accepted if S(x*) > −ln U, where S(x) = Σ_m p_m x^m / m and p_m = Σ c^m over the candidates. With
J = POWERS and r = p_J / p_(J−1), p_J r^(m−J) ≤ p_m ≤ p_J for all m ≥ J. The second holds as no c is above 1, and the
first by Jensen: under weights c^(J−1) / p_(J−1), the mean of c is r, and that of c^(m−J+1) is at least its power.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.logarithms import LOG_ERROR, compute_negative_logs

Words = NDArray[np.uint64]
Mask = NDArray[np.bool_]

POWERS = 6
"""How many of the sums p_m are used: the J above."""
_TERMS = 24
_MARGIN = 2.0**-36
"""Larger than the relative error of the bounds: 200 roundings, and a logarithm that is multiplied by 2^5 at most."""


def accept_each_by_integers(heights: Words, coins: Words, magnitudes: IntArray) -> Mask:
    """Do what `accept_by_integers` does. False leaves a proposal open.

    The last 11 bits of a word are cut off, so that the rest is a float without rounding. Cutting makes 1 − V and U
    smaller, which accepts less.
    """
    tails, lows = ((each >> np.uint64(11)).astype(np.float64) for each in (~coins, heights))
    tail_bits = np.frexp(tails)[1] + 11
    halvings = 65 - (np.frexp(lows)[1] + 11)
    sure: Mask = magnitudes + tail_bits - 65 >= np.frexp(halvings.astype(np.float64))[1]
    return sure & (tails > 0) & (lows > 0)


def accept_each_by_sums(
    heights: Words, coins: Words, decays: FloatArray, decay_error: float, below: FloatArray, above: FloatArray
) -> tuple[Mask, Mask]:
    """Return which proposals are surely accepted, and which are surely rejected.

    `decays` are the c of the proposals, each off by `decay_error` at most. Row m of `below` and of `above` bounds
    p_(m+1), for each draw.

    Proof   Both bounds of S grow with x* and with every p_m, so the ends of their intervals suffice. For the lower
            bound, the inequality above holds for every smaller r as well. The bounds are sums and products of positive
            numbers. They are moved outwards by more than their error.
    """
    low, high, rest = _bound_thresholds(coins, decays, decay_error)
    ratio = np.minimum(below[-1] / above[-2], 1.0) * (1 - _MARGIN)
    least = _sum_powers(below[:-1], low) + below[-1] * _bound_tail(ratio, low)
    small = rest < 2.0**-100
    logs = compute_negative_logs(np.where(small, 1.0, rest))
    tail = np.maximum(logs - _sum_powers(np.ones((POWERS - 1, 1)), high), 0.0)
    most = np.where(small, np.inf, _sum_powers(above[:-1], high) + above[-1] * (tail + _MARGIN))
    known = heights > 0
    lows = heights.astype(np.float64) * 2.0**-64
    targets = compute_negative_logs(np.where(known, np.minimum(lows, 1.0), 0.5))
    # U may be larger than its leading bits say by 2^-64, so −ln U may be smaller by 2^-64 / u.
    slack = _MARGIN + np.where(known, 2.0**-62 / np.maximum(lows, 2.0**-64), np.inf)
    sure, never = least * (1 - _MARGIN) > targets + _MARGIN, most * (1 + _MARGIN) < targets - slack
    return known & sure, known & never


def _bound_thresholds(
    coins: Words, decays: FloatArray, decay_error: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Bound x* from below and from above, and 1 − x* from below."""
    shortfalls = 1 - decays
    tails, values = (~coins).astype(np.float64), coins.astype(np.float64)  # in units of 2^-64
    wide = (shortfalls + decay_error) * (values + 1)
    narrow = np.maximum(shortfalls - decay_error, 0.0) * values
    below = tails / (tails + wide) * (1 - _MARGIN)
    whole = tails + 1 + narrow
    return below, np.minimum((tails + 1) / whole * (1 + _MARGIN), 1.0), narrow / whole * (1 - _MARGIN)


def _sum_powers(sums: FloatArray, x: FloatArray) -> FloatArray:
    """Compute Σ p_m x^m / m for m from 1 on."""
    total = np.zeros_like(x)
    for m in range(len(sums), 0, -1):
        total = (total + sums[m - 1] / m) * x
    return total


def _bound_tail(ratio: FloatArray, x: FloatArray) -> FloatArray:
    """Bound Σ_(m ≥ J) r^(m−J) x^m / m from below.

    For r x ≤ 1/2, the first terms are enough. Else it is (−ln(1 − r x) − Σ_(m < J) (r x)^m / m) / r^J, and r > 1/2.
    """
    y = ratio * x
    terms = np.zeros_like(x)
    for m in range(POWERS + _TERMS - 1, POWERS - 1, -1):
        terms = terms * y + 1 / m
    terms = terms * _power(x)
    large = np.flatnonzero(y > 0.5)
    logs = compute_negative_logs(1 - y[large] + 2.0**-50) - LOG_ERROR
    tails = logs - _sum_powers(np.ones((POWERS - 1, 1)), y[large]) - LOG_ERROR
    terms[large] = np.maximum(terms[large], tails / _power(ratio[large]))
    return terms


def _power(x: FloatArray) -> FloatArray:
    """Compute x^J by multiplication, whose error is proven."""
    square = x * x
    return square * square * square
