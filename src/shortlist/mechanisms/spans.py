"""Weights q^start − q^end of a range of losses, with q = e^(−rate): as balls, and as floats with a proven error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import enclose_exp_minus, enclose_shortfall, round_to_float
from shortlist.exact.bits import Bits
from shortlist.exact.choice import quantile
from shortlist.exact.scaled import Scaled, first_powers, power, powers
from shortlist.exact.uniform import Uniform, draw_words
from shortlist.profile import EVERY_LEVEL

BITS_PER_NAT = 1.4426950408889634
_CLOSE = 2.0**-40
_NEGLIGIBLE = 45
"""e^(−45) is below 2^-64."""
_FEW_WIDTHS = 32
"""Up to this many widths, balls for each are faster than tables."""
_SMALLEST_RATE = Fraction(1, 2**500)
_DIGIT_BITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The weight q^start − q^end of the losses in [start, end), or q^start without an end."""

    rate: Fraction
    start: int
    end: int | None

    def weight(self) -> arb:
        """Enclose the weight."""
        length = arb(1) if self.end is None else enclose_shortfall(self.rate * (self.end - self.start))
        return enclose_exp_minus(self.rate * self.start) * length

    def split(self) -> None:
        """Return None: there are no smaller parts."""


def draw_reaches(span: Span, loss: int, bits: Bits, number: Uniform | None = None) -> bool:
    """Draw a loss r of a span with probability ∝ q^r, by a number if one is given. Return whether r ≥ loss."""
    if loss <= span.start:
        return True
    below = Span(rate=span.rate, start=span.start, end=loss)
    above = Span(rate=span.rate, start=loss, end=span.end)
    return quantile(number or Uniform(bits), [below, above]) is above


def draw_reaches_each(
    rate: Fraction, starts: IntArray, ends: IntArray, losses: IntArray, bits: Bits
) -> NDArray[np.bool_]:
    """Do what `draw_reaches` does for many spans, none of which is empty. An end of −1 stands for no end.

    A number U reaches the loss if U (1 − q^(end − start)) ≥ 1 − q^(loss − start). Without an end, q^(end − start) is 0.
    Floats decide that unless both sides are closer than 2^-40. Each power is off by less than 2^-44. It may be below
    2^-64. Then its exponent is cut off.
    """
    reached = losses <= starts
    asked = np.flatnonzero(~reached & (losses < ends) | ~reached & (ends < 0))
    words = draw_words(len(asked), bits)
    endless = ends[asked] < 0
    widths = np.where(endless, 0, ends[asked] - starts[asked])
    farthest = min(EVERY_LEVEL, math.ceil(_NEGLIGIBLE / rate))
    depths = np.minimum(np.append(losses[asked] - starts[asked], widths), farthest)
    depths, place = np.unique(depths, return_inverse=True)
    shares = 1 - powers(rate, depths).align(0)[place]
    gaps = words * 2.0**-64 * np.where(endless, 1.0, shares[len(asked) :]) - shares[: len(asked)]
    reached[asked] = gaps > _CLOSE
    for i in np.flatnonzero(np.abs(gaps) <= _CLOSE).tolist():
        start, end, loss = int(starts[asked[i]]), int(ends[asked[i]]), int(losses[asked[i]])
        span = Span(rate=rate, start=start, end=None if end < 0 else end)
        reached[asked[i]] = draw_reaches(span, loss, bits, Uniform(bits, int(words[i])))
    return reached


def count_bits(rate: Fraction, losses: IntArray | int) -> FloatArray:
    """Return −log₂ q^r for each loss r. Its three roundings change it by far less than one bit."""
    return np.asarray(losses, dtype=np.float64) * (float(rate) * BITS_PER_NAT)


def weigh_spans(rate: Fraction, starts: IntArray, ends: IntArray, *, single: bool) -> Scaled:
    """Compute q^start − q^end for spans one after the other, at least one. `single` says that each has one loss."""
    if single:
        (first, exponent), (length, shift) = power(rate, int(starts[0])), _compute_length(rate, 1)
        # Each of the two numbers has two roundings, and their product one more.
        return first_powers(rate, len(starts)).scale(first * length, exponent + shift, roundings=5)
    return powers(rate, starts) * compute_lengths(rate, ends - starts)


def compute_lengths(rate: Fraction, widths: IntArray) -> Scaled:
    """Compute 1 − q^width for every width."""
    if (widths == widths[0]).all():
        mantissa, exponent = _compute_length(rate, int(widths[0]))
        return Scaled(mantissa=np.full(len(widths), mantissa), exponent=np.full(len(widths), exponent), roundings=2)
    distinct, index = np.unique(widths, return_inverse=True)
    if len(distinct) > _FEW_WIDTHS and rate > _SMALLEST_RATE:
        return _compute_many_lengths(rate, distinct).take(index)
    mantissas, exponents = np.array([_compute_length(rate, width) for width in distinct.tolist()]).T
    return Scaled(mantissa=mantissas[index], exponent=exponents[index].astype(np.int64), roundings=2)


@lru_cache(maxsize=4096)
def _compute_length(rate: Fraction, width: int) -> tuple[float, int]:
    return round_to_float(lambda: enclose_shortfall(rate * width))


def _compute_many_lengths(rate: Fraction, widths: IntArray) -> Scaled:
    """Compute 1 − q^width for rising widths, digit by digit: 1 − q^(a+b) = (1 − q^a) + q^a (1 − q^b).

    Proof   No term is negative, so nothing cancels. The sum of the lower digits has r roundings, and q^a at most 30.
            Their product has r + 31. Its sum with 1 − q^a, which has at most 40, has r + 32 if r ≥ 20. One more allows
            for a product below the range of floats: 1 − q^b is above 2^-501 or 0, so then q^a is below 2^-500, and the
            product is less than half a rounding of 1 − q^a.
    """
    lengths, roundings, most = np.zeros(len(widths)), 20, int(widths[-1]).bit_length()
    for shift in range(0, most, _DIGIT_BITS):
        parts, decays = _tabulate_lengths(rate, shift, min(_DIGIT_BITS, most - shift))
        digits = widths >> shift & (1 << _DIGIT_BITS) - 1
        lengths, roundings = parts[digits] + decays[digits] * lengths, roundings + 33
    mantissa, exponent = np.frexp(lengths)
    return Scaled(mantissa=mantissa, exponent=exponent.astype(np.int64), roundings=roundings)


@lru_cache(maxsize=64)
def _tabulate_lengths(rate: Fraction, shift: int, bits: int) -> tuple[FloatArray, FloatArray]:
    """Tabulate 1 − q^w and q^w for w = 2^shift · n, n below 2^bits, by doubling.

    For each bit, a power takes 3 roundings at most, and a length 4.
    """
    parts, decays = np.zeros(1), np.ones(1)
    for bit in range(shift, shift + bits):
        # An exponent that is cut off is below the range of floats anyway.
        part, decay = (
            math.ldexp(mantissa, max(exponent, -2000))
            for mantissa, exponent in (_compute_length(rate, 1 << bit), power(rate, 1 << bit))
        )
        parts = np.concatenate([parts, part + decay * parts])
        decays = np.concatenate([decays, decays * decay])
    return parts, decays
