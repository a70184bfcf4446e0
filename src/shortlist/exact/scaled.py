"""Floats with an error that follows from IEEE 754 alone: positive numbers far beyond their range, and logarithms.

A `Scaled` array holds mantissa · 2^exponent. It uses multiplication, conversion of integers below 2^53 and exact
scaling by powers of two. It never uses the log or exp of a library, whose errors are not proven. Every operation
that rounds multiplies the value by 1 + δ with |δ| ≤ 2^-53. After n of them the value is off by a factor within
(1 ± 2^-53)^n, which is less than 1.01 · n · 2^-53 of itself while n < 2^40. `roundings` is that n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from flint import arb

from shortlist.array_types import FloatArray, IntArray, WordArray
from shortlist.exact.balls import enclose_exp_minus, enclose_shortfall, round_to_float, use_precision

_TABLE_BITS, _LARGE = 10, 40
_LARGEST_POWER = 1 << 61
ROUNDING = 1.01 * 2.0**-53
"""The largest relative error of a number for each of its roundings."""
FEW_ROUNDINGS = 2.0**-50
"""More than the relative error of a few roundings together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scaled:
    """Numbers mantissa · 2^exponent, mantissas in (0, 1], each off by at most `roundings` roundings."""

    mantissa: FloatArray
    exponent: IntArray
    roundings: int

    def __mul__(self, other: Scaled) -> Scaled:
        return Scaled(
            mantissa=self.mantissa * other.mantissa,
            exponent=self.exponent + other.exponent,
            roundings=self.roundings + other.roundings + 1,
        )

    def __truediv__(self, other: Scaled) -> Scaled:
        mantissa, shift = np.frexp(self.mantissa / other.mantissa)
        return Scaled(
            mantissa=mantissa,
            exponent=self.exponent - other.exponent + shift,
            roundings=self.roundings + other.roundings + 1,
        )

    @property
    def error(self) -> float:
        """The largest relative error of any of the numbers."""
        return self.roundings * ROUNDING

    def __getitem__(self, index: Any) -> Scaled:
        """Return some of the numbers, as of an array."""
        return Scaled(mantissa=self.mantissa[index], exponent=self.exponent[index], roundings=self.roundings)

    def align(self, ceiling: int) -> FloatArray:
        """Divide the numbers by 2^ceiling and return floats. Those below 2^-1022 may lose digits or become 0."""
        return np.ldexp(self.mantissa, np.maximum(self.exponent - ceiling, -2000).astype(np.int32))


def scale(numbers: Sequence[Callable[[], arb]]) -> Scaled:
    """Round numbers, each given by a function that encloses it. They are off by at most two roundings."""
    mantissas, exponents = np.array(list(map(round_to_float, numbers))).reshape(-1, 2).T
    return Scaled(mantissa=mantissas, exponent=exponents.astype(np.int64), roundings=2)


def powers(rate: Fraction, exponents: IntArray) -> Scaled:
    """Compute e^(−rate · n) for every n in an array of non-negative integers.

    Each rate · n must be below 2^61. Then every exponent of two fits into 64 bits.

    >>> powers(Fraction(1, 2), np.array([0, 2])).align(0).round(6)
    array([1.      , 0.367879])
    """
    if not len(exponents):
        return Scaled(mantissa=np.zeros(0), exponent=np.zeros(0, dtype=np.int64), roundings=0)
    first = int(exponents.min())
    spread = int(exponents.max()) - first
    assert rate.numerator * (first + spread) < _LARGEST_POWER * rate.denominator
    depths = exponents - first
    one, shift_of_one = power(rate, first)
    mantissa, exponent = np.array([one]), np.array([shift_of_one])
    roundings, width = 2, max(1, spread.bit_length())
    # The depth of a number below the first one has digits of ten bits.
    for shift in range(0, width, _TABLE_BITS):
        # A table for large digits has no more bits than needed, so that its exponents fit into 64 bits.
        table = _tabulate_powers(rate, shift, _TABLE_BITS if shift < _LARGE else min(_TABLE_BITS, width - shift))
        digits = depths >> shift & (1 << _TABLE_BITS) - 1
        mantissa, exponent = mantissa * table.mantissa.take(digits), exponent + table.exponent.take(digits)
        roundings += table.roundings + 1
    return Scaled(mantissa=mantissa, exponent=exponent, roundings=roundings)


@lru_cache(maxsize=4096)
def power(rate: Fraction, n: int) -> tuple[float, int]:
    """Compute e^(−rate · n) as mantissa and exponent, at most two roundings off."""
    return round_to_float(lambda: enclose_exp_minus(rate * n))


def compute_shortfalls(rate: Fraction, widths: IntArray) -> Scaled:
    """Compute 1 − e^(−rate · n) for every n of an array, or 1 for −1. Each different n is computed once by balls.

    >>> compute_shortfalls(Fraction(1, 2), np.array([2, -1])).align(0).round(6)
    array([0.632121, 1.      ])
    """
    ordered = np.sort(widths, axis=None)  # np.unique would load numpy.ma
    distinct = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    index = distinct.searchsorted(widths)
    numbers = list(map(partial(_compute_shortfall, rate), distinct.tolist()))
    mantissas, exponents = np.array(numbers).reshape(-1, 2).T
    return Scaled(mantissa=mantissas[index], exponent=exponents[index].astype(np.int64), roundings=2)


@lru_cache(maxsize=4096)
def _compute_shortfall(rate: Fraction, n: int) -> tuple[float, int]:
    return (1.0, 0) if n < 0 else round_to_float(lambda: enclose_shortfall(rate * n))


@lru_cache(maxsize=256)
def _tabulate_powers(rate: Fraction, shift: int, bits: int) -> Scaled:
    """Tabulate e^(−rate · 2^shift · n) for n below 2^bits by doubling: a factor of three roundings for each bit."""
    mantissa, exponent = np.ones(1), np.zeros(1, dtype=np.int64)
    for bit in range(bits):
        factor, carry = power(rate, 1 << shift + bit)
        mantissa = np.concatenate([mantissa, mantissa * factor])
        exponent = np.concatenate([exponent, exponent + carry])
    return Scaled(mantissa=mantissa, exponent=exponent, roundings=3 * bits)


LOG_ERROR = 2.0**-42
"""How far `compute_negative_logs` may be off, for numbers from 2^-200 to 1."""

_LOG_2 = math.log(2)  # checked to be the float nearest to ln 2 by a test with balls
_STEP = 2.0**-10


def draw_exponentials(words: WordArray) -> tuple[FloatArray, FloatArray]:
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

    Proof   x = (1 − p) 2^e with 0 < p ≤ 1/2, which is exact. Let a be the largest multiple of 2^-10 that is not above
            p. Then −ln x = −ln(1 − a) + 2 artanh(z) − e ln 2 with z = (p − a) / (2 − (p + a)) < 2^-10. The difference
            p − a is exact, as both are multiples of the last digit of p. The first part is from a table, at most ln 2
            and off by eight roundings. The second part 2z (1 + z²/3 + z⁴/5 + …) is less than 2^-9 and has fewer than 25
            roundings, and the terms left out are less than 2^-60 of it. The third is at most 201 ln 2 and off by two
            roundings. The sums are rounded twice. Together this is less than 800 · 2^-53.

    >>> [round(float(each), 6) for each in compute_negative_logs(np.array([0.5, 0.1]))]
    [0.693147, 2.302585]
    """
    mantissa, exponent = np.frexp(numbers)
    chances = 1 - mantissa
    steps = np.floor(chances * (1 / _STEP))
    below = steps * _STEP
    z = (chances - below) / (2 - (chances + below))
    square = z * z
    series = ((square * (2 / 5) + 2 / 3) * square + 2) * z
    logs: FloatArray = series + _LOGS.take(steps.astype(np.intp)) - exponent * _LOG_2
    return logs


with use_precision():
    _LOGS = np.array([-float((1 - arb(_STEP) * n).log().mid()) for n in range(int(0.5 / _STEP) + 1)])
"""−ln(1 − a) for each multiple a of 2^-10 up to 1/2."""
