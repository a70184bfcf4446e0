"""The quick decisions of permute-and-flip (see thinning.py) for one proposal, with floats of proven error.

They are those of many_thinning.py, which are for many proposals at once. Numbers are given by their leading 64 bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import FloatArray
from shortlist.exact.logarithms import LOG_ERROR, compute_exponentials, compute_negative_logs

_UNIT = 2.0**-64
_MARGIN = 2.0**-40
"""Larger than the relative error of the bounds: fewer than 100 roundings."""
_DOUBLINGS = 4
_TERMS = 2**_DOUBLINGS


def bound_targets(words: NDArray[np.uint64]) -> tuple[list[float], list[float]]:
    """Bound −ln U from below and from above, for each U. If all its bits are 0, the bounds say nothing.

    The slack is more than the error of `compute_exponentials`, for small and for large results.
    """
    logs = compute_exponentials(words)
    slack = (logs + 1) * 2.0**-45 + 1 / np.maximum(words, 2.0**-1000)
    return (logs - slack).tolist(), (logs + slack).tolist()


def accept_by_two_sums(
    least: float,
    most: float,
    coin: int,
    decay: float,
    error: float,
    below: tuple[float, float],
    above: tuple[float, float],
) -> bool | None:
    """Decide from bounds of p_1 = Σ c and p_2 = Σ c² whether a proposal with c = `decay` is accepted. None: undecided.

    `least` and `most` bound −ln U. Each bound of a sum may be off by a share `error`, and so may c. Bounds from below
    that have lost all digits may be negative.

    Proof   S(x) = Σ_m p_m x^m / m. By Cauchy and Schwarz p_3 ≥ p_2² / p_1, and as no c is above 1, p_m ≤ p_2 for m ≥ 3.
            Σ x^m / m from m = 3 on is at most x³ / 3(1 − x). The best c is 1, so no p_m is below 1. A bound of p_2 must
            not be negative where it is squared.
    """
    x = _bound_threshold(coin, decay, error)
    first, second = max(1.0, below[0]), max(1.0, below[1])
    sums = x * (first + x * (second / 2 + x * second * second / (3 * above[0])))
    if sums * (1 - 4 * error - _MARGIN) > most:
        return True
    x = _bound_threshold_above(coin, decay, error)
    if x >= 1:
        return None
    first, second = above
    sums = x * (first + x * second * (0.5 + x / (3 * (1 - x))))
    return False if sums * (1 + error + _MARGIN) < least else None


def accept_by_power_sums(
    least: float, most: float, coin: int, decay: float, error: float, sums: list[float]
) -> bool | None:
    """Decide from p_m = Σ c^m for m = 1, …, J whether a proposal with c = `decay` is accepted. None means undecided.

    `least` and `most` bound −ln U. Each p_m is off by `error` of itself at most, and so is c.

    Proof   x* = A / (A + B) with A = 1 − V and B = (1 − c) V, and S(x) = Σ_m p_m x^m / m grows with x and with each
            p_m. For m ≥ J, p_J r^(m−J) ≤ p_m ≤ p_J with r = p_J / p_(J−1) or less (many_thinning.py). The bounds are
            sums and products of positive numbers. They are moved outwards by more than their error.
    """
    low, high = _bound_threshold(coin, decay, error), _bound_threshold_above(coin, decay, error)
    ratio = min(1.0, sums[-1] / sums[-2] * (1 - 3 * error))
    if _sum_terms(sums, ratio, low) * (1 - error - _MARGIN) > most:
        return True
    if high >= 1:
        return None
    power = high
    for _ in range(_DOUBLINGS):
        power *= power
    rest = sums[-1] * power / (_TERMS * (1 - high))  # Σ x^m / m from m on is at most x^m / (m (1 − x))
    return False if (_sum_terms(sums, 1.0, high) + rest) * (1 + error + _MARGIN) < least else None


def accept_by_logs(
    least: float,
    most: float,
    coin: int,
    decay: float,
    error: float,
    decays: FloatArray,
    left: FloatArray,
    omitted: float,
) -> bool | None:
    """Decide as `accept_by_power_sums` does, from c and the number of candidates of each level. None means undecided.

    The c of candidates that are left out sum to `omitted` at most, and each of them is below 1/2.

    Proof   S(x) grows with x and with each c. A product c x is rounded a few times, and so is 1 − c x. A bound of it is
            moved by 2^-50, which is more. Each logarithm is off by `LOG_ERROR`, and a sum over l levels by less than
            2^-52 l of itself. Candidates that are left out add less than twice their c.
    """
    low, high = _bound_threshold(coin, decay, error), _bound_threshold_above(coin, decay, error)
    rounded, members = 2.0**-52 * (len(left) + 4), float(left.sum())
    logs = compute_negative_logs(np.minimum(1 - decays * ((1 - error) * low) + 2.0**-50, 1.0))
    if float((left * logs).sum()) * (1 - rounded) - members * LOG_ERROR > most:
        return True
    rest = 1 - np.minimum(decays * (1 + error), 1.0) * high - 2.0**-50
    if float(rest.min()) <= 2.0**-50:
        return None
    above = float((left * compute_negative_logs(rest)).sum()) * (1 + rounded) + members * LOG_ERROR + 2 * omitted
    return False if above < least else None


def _bound_threshold(coin: int, decay: float, error: float) -> float:
    """Bound x* from below."""
    tail, value = (2**64 - 1 - coin) * _UNIT, coin * _UNIT
    wide = (1 - decay + error) * (value + _UNIT)
    return tail / (tail + wide) * (1 - _MARGIN) if tail else 0.0


def _bound_threshold_above(coin: int, decay: float, error: float) -> float:
    """Bound x* from above."""
    tail, value = (2**64 - 1 - coin) * _UNIT, coin * _UNIT
    narrow = max(1 - decay - error, 0.0) * value
    return (tail + _UNIT) / (tail + _UNIT + narrow) * (1 + _MARGIN)


def _sum_terms(sums: list[float], ratio: float, x: float) -> float:
    """Compute Σ p_m x^m / m for m below `_TERMS`, where each sum that is not given is `ratio` of the one before."""
    total, power, last = 0.0, 1.0, 0.0
    for m in range(1, _TERMS):
        power *= x
        last = sums[m - 1] if m <= len(sums) else last * ratio
        total += last * power / m
    return total
