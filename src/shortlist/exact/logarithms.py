"""Logarithms of floats with a proven error.

The log of a library has no proven error. This one uses arithmetic of IEEE 754 and exact scaling by powers of two only.
"""

from __future__ import annotations

import math

import numpy as np

from shortlist.array_types import FloatArray

LOG_ERROR = 2.0**-42
"""How far `negative_logs` may be off, for numbers from 2^-200 to 1."""

_LOG_2 = math.log(2)  # checked to be the float nearest to ln 2 by a test with balls
_TERMS = 20


def hazards(chances: FloatArray) -> FloatArray:
    """Compute −ln(1 − p) for 0 ≤ p ≤ 1/2, off by at most 48 roundings of itself.

    −ln(1 − p) = 2 artanh(z) = 2 Σ z^(2i+1) / (2i + 1) with z = p / (2 − p) ≤ 1/3. All terms are positive. Those from
    i = 20 on are less than 9^(−20) of the sum.
    """
    z = chances / (2 - chances)
    square = z * z
    series = np.zeros_like(z)
    for i in range(_TERMS - 1, -1, -1):
        series = series * square + 1 / (2 * i + 1)
    return 2 * z * series


def negative_logs(numbers: FloatArray) -> FloatArray:
    """Compute −ln x for numbers from 2^-200 to 1, off by less than `LOG_ERROR`.

    Proof   x = m · 2^e with 1/2 ≤ m < 1, and −ln x = −ln(1 − (1 − m)) − e ln 2. The difference 1 − m is exact. The
            first part is at most ln 2 and off by 48 roundings. The second is at most 201 ln 2 and off by two
            roundings. The sum is rounded once. Together this is less than 800 · 2^-53.

    >>> [round(float(each), 6) for each in negative_logs(np.array([0.5, 0.1]))]
    [0.693147, 2.302585]
    """
    mantissa, exponent = np.frexp(numbers)
    logs: FloatArray = hazards(1 - mantissa) - exponent * _LOG_2
    return logs
