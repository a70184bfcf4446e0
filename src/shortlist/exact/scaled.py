"""Positive numbers far beyond the range of floats, with a relative error that follows from IEEE 754 alone.

A `Scaled` array holds mantissa · 2^exponent. It uses multiplication, conversion of integers below 2^53 and exact
scaling by powers of two. It never uses the log or exp of a library, whose errors are not proven. Every operation
that rounds multiplies the value by 1 + δ with |δ| ≤ 2^-53. After n of them the value is off by a factor within
(1 ± 2^-53)^n, which is less than 1.01 · n · 2^-53 of itself while n < 2^40. `roundings` is that n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import enclose_exp_minus, enclose_shortfall, round_to_float

_TABLE_BITS, _LARGE = 10, 40
_LARGEST_POWER = 1 << 61


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
        return count_error(self.roundings)

    def reshape(self, *shape: int) -> Scaled:
        """Return the numbers in another shape."""
        return replace(self, mantissa=self.mantissa.reshape(shape), exponent=self.exponent.reshape(shape))

    def take(self, index: IntArray | slice) -> Scaled:
        """Return some of the numbers."""
        return replace(self, mantissa=self.mantissa[index], exponent=self.exponent[index])

    def align(self, ceiling: int) -> FloatArray:
        """Divide the numbers by 2^ceiling and return floats. Those below 2^-1022 may lose digits or become 0."""
        return np.ldexp(self.mantissa, np.maximum(self.exponent - ceiling, -2000).astype(np.int32))


def count_error(roundings: int) -> float:
    """Return the largest relative error of a number after some roundings."""
    return 1.01 * roundings * 2.0**-53


def concatenate(parts: Sequence[Scaled]) -> Scaled:
    """Concatenate arrays."""
    return Scaled(
        mantissa=np.concatenate([part.mantissa for part in parts]),
        exponent=np.concatenate([part.exponent for part in parts]),
        roundings=max(part.roundings for part in parts),
    )


def powers(rate: Fraction, exponents: IntArray) -> Scaled:
    """Compute e^(−rate · n) for every n in a rising array of non-negative integers, of which some may be equal.

    Each rate · n must be below 2^61. Then every exponent of two fits into 64 bits.

    >>> powers(Fraction(1, 2), np.array([0, 2])).align(0).round(6)
    array([1.      , 0.367879])
    """
    if not len(exponents):
        return Scaled(mantissa=np.zeros(0), exponent=np.zeros(0, dtype=np.int64), roundings=0)
    first, spread = int(exponents[0]), int(exponents[-1]) - int(exponents[0])
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
    """Compute 1 − e^(−rate · n) for every n, or 1 for −1. Each different n is computed once by balls.

    >>> compute_shortfalls(Fraction(1, 2), np.array([2, -1])).align(0).round(6)
    array([0.632121, 1.      ])
    """
    ordered = np.sort(widths)  # np.unique would load numpy.ma
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
