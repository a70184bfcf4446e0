"""Logarithms of floats with a proven error.

The log of a library has no proven error. This one uses arithmetic of IEEE 754 and exact scaling by powers of two only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shortlist.array_types import FloatArray

LOG_ERROR = 2.0**-42
"""How far `compute_negative_logs` may be off, for numbers from 2^-200 to 1."""

_LOG_2 = math.log(2)  # checked to be the float nearest to ln 2 by a test with balls
_STEP = 2.0**-10


def draw_exponentials(words: NDArray[np.uint64]) -> tuple[FloatArray, FloatArray]:
    """Compute −ln U for uniform numbers U, given by their leading 64 bits, and how far it may be off.

    If all leading bits are 0, it may be infinitely far off.

    Proof   U is in [u, u + 2^-64). The middle of this interval is computed with two roundings, which change its
            logarithm by less than 2^-51. The logarithms of it and of U differ by at most 2^-64 / u.

    >>> exponentials, errors = draw_exponentials(np.array([2**63, 2**60], dtype=np.uint64))
    >>> exponentials.round(6), bool((errors < 1e-12).all())
    (array([0.693147, 2.772589]), True)
    """
    with np.errstate(divide="ignore"):
        errors: FloatArray = 2 * LOG_ERROR + 1 / words
    return compute_negative_logs(words.astype(np.float64) * 2.0**-64 + 2.0**-65), errors


def compute_negative_logs(numbers: FloatArray) -> FloatArray:
    """Compute −ln x for numbers from 2^-200 to 1, off by less than `LOG_ERROR`.

    Proof   x = m · 2^e with 1/2 ≤ m < 1, and −ln x = −ln(1 − (1 − m)) − e ln 2. The difference 1 − m is exact. The
            first part is at most ln 2 and off by 48 roundings. The second is at most 201 ln 2 and off by two
            roundings. The sum is rounded once. Together this is less than 800 · 2^-53.

    >>> [round(float(each), 6) for each in compute_negative_logs(np.array([0.5, 0.1]))]
    [0.693147, 2.302585]
    """
    mantissa, exponent = np.frexp(numbers)
    logs: FloatArray = compute_hazards(1 - mantissa) - exponent * _LOG_2
    return logs


def compute_hazards(chances: FloatArray) -> FloatArray:
    """Compute −ln(1 − p) for 0 ≤ p ≤ 1/2, off by at most 48 roundings of itself.

    Proof   Let a be the largest multiple of 2^-10 that is not above p. Then −ln(1 − p) = −ln(1 − a) + 2 artanh(z) with
            z = (p − a) / (2 − (p + a)) < 2^-10. The difference p − a is exact, as both are multiples of the last digit
            of p. So z has three roundings. 2 artanh(z) = 2z (1 + z²/3 + z⁴/5 + …) has fewer than 20 more, and the terms
            left out are less than 2^-60 of the sum. −ln(1 − a) is from a table, with at most 47. Neither part is
            negative, and their sum is rounded once.
    """
    steps = np.floor(chances * (1 / _STEP))
    below = steps * _STEP
    z = (chances - below) / (2 - (chances + below))
    square = z * z
    series: FloatArray = ((square * (2 / 5) + 2 / 3) * square + 2) * z
    return series + _HAZARDS.take(steps.astype(np.intp))


def _compute_hazards_by_series(chances: FloatArray) -> FloatArray:
    """Compute −ln(1 − p) for 0 ≤ p ≤ 1/2, off by at most 47 roundings of itself.

    −ln(1 − p) = 2 artanh(z) = 2 Σ z^(2i+1) / (2i + 1) with z = p / (2 − p) ≤ 1/3. All terms are positive. Those from
    i = 16 on are less than 9^(−16) / 29 of the sum, which is half a rounding.
    """
    z = chances / (2 - chances)
    square, series = z * z, np.zeros_like(z)
    for i in range(15, -1, -1):
        series = series * square + 1 / (2 * i + 1)
    return 2 * z * series


_HAZARDS = _compute_hazards_by_series(np.arange(0.0, 0.5 + _STEP, _STEP))
"""−ln(1 − a) for each multiple a of 2^-10 up to 1/2."""
