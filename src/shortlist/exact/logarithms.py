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

LOG_2 = math.log(2)  # checked to be the float nearest to ln 2 by a test with balls
_TERMS = 16


def compute_hazards(chances: FloatArray) -> FloatArray:
    """Compute −ln(1 − p) for 0 ≤ p ≤ 1/2, off by at most 48 roundings of itself.

    −ln(1 − p) = 2 artanh(z) = 2 Σ z^(2i+1) / (2i + 1) with z = p / (2 − p) ≤ 1/3. All terms are positive. Those from
    i = 16 on are less than 9^(−16) / 29 of the sum, which is half a rounding.
    """
    z = chances / (2 - chances)
    square = z * z
    series = np.full_like(z, 1 / (2 * _TERMS - 1))
    for i in range(_TERMS - 2, -1, -1):
        series *= square
        series += 1 / (2 * i + 1)
    series *= 2 * z
    return series


def compute_negative_logs(numbers: FloatArray) -> FloatArray:
    """Compute −ln x for numbers from 2^-200 to 1, off by less than `LOG_ERROR`.

    Proof   x = m · 2^e with 1/2 ≤ m < 1, and −ln x = −ln(1 − (1 − m)) − e ln 2. The difference 1 − m is exact. The
            first part is at most ln 2 and off by 48 roundings. The second is at most 201 ln 2 and off by two
            roundings. The sum is rounded once. Together this is less than 800 · 2^-53.

    >>> [round(float(each), 6) for each in compute_negative_logs(np.array([0.5, 0.1]))]
    [0.693147, 2.302585]
    """
    mantissa, exponent = np.frexp(numbers)
    logs: FloatArray = compute_hazards(1 - mantissa) - exponent * LOG_2
    return logs


def compute_exponentials(words: NDArray[np.uint64]) -> tuple[FloatArray, FloatArray]:
    """Compute E = −ln(1 − U) for numbers U, given by their leading 64 bits, and bound what the other bits add to ln E.

    Claim   A result is off by less than 2^-41 of itself, apart from the bits that are not drawn.
    Proof   Let U be in [u, u + 2^-64). For u ≤ 1/2, E is off by 50 roundings, and the other bits add less than 2^-63 to
            E, which is at least u. Otherwise 1 − u is known as well as u, E is at least ln 2, and it is off by less
            than `LOG_ERROR` and one rounding. The other bits add less than 2^-64 / (1 − u − 2^-64).

    >>> compute_exponentials(np.array([2**63, 2**64 - 2**60], dtype=np.uint64))[0].round(6)
    array([0.693147, 2.772589])
    """
    low, high = words.astype(np.float64) * 2.0**-64, (~words).astype(np.float64) * 2.0**-64
    small = low <= 0.5
    mantissa, exponent = np.frexp(high)
    waits: FloatArray = compute_hazards(np.where(small, low, 1 - mantissa)) - np.where(small, 0, exponent) * LOG_2
    with np.errstate(divide="ignore"):
        return waits, 2.0**-62 / np.minimum(low, high)
