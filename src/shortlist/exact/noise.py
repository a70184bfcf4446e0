"""Integer noise with exact laws: discrete Laplace and discrete Gaussian (Canonne, Kamath and Steinke 2020).

Parameters are rationals, and noise is an integer. Each law is built from two exact steps: a geometric variable, and a
coin that shows heads with probability e^(−x).

Each law also has a tail, to find the largest of very many noisy counts. For a ≥ 1, it is a number p(a) ≥ P(noise ≥ a)
and a draw. The draw returns a noise x ≥ a or None, such that p(a) · P(the draw is x) = P(noise = x).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from flint import arb, ctx

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import ball, enclose_exp_minus, enclose_shortfall, round_to_float, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.coins import draw_geometric, draw_geometric_array, flip, flip_exp_array, flip_exp_each
from shortlist.exact.scaled import Scaled, powers

_PRECISION = 128
_LARGEST_ROOT = 1 << 30


class Noise(Hashable, Protocol):
    """A symmetric law on the integers."""

    def estimate_reach(self, odds: float) -> float:
        """Estimate a number that noise exceeds once in `odds` draws. No decision depends on it."""

    def estimate_tails(self, least: IntArray) -> FloatArray:
        """Estimate P(noise ≥ a) for any integers. No decision depends on it."""

    def draw(self, count: int, bits: Bits) -> list[int]:
        """Draw independent noises."""

    def draw_array(self, count: int, bits: Bits) -> IntArray:
        """Draw independent noises that fit into 64 bits, many at once."""

    def draw_from(self, leasts: list[int], bits: Bits) -> list[int | None]:
        """For each a ≥ 1 draw noise x ≥ a, each with probability P(noise = x) / p(a), or None."""

    def enclose_tail(self, least: int) -> arb:
        """Enclose p(least), for least ≥ 1, at the working precision."""

    def tails(self, least: IntArray) -> Scaled:
        """Compute p for rising integers ≥ 1 as floats with a proven error."""

    def enclose_difference(self, least: int) -> arb:
        """Enclose a number that is at least P(Z − Z′ ≥ least) for two independent noises, least ≥ 1."""


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(x) ∝ e^(−|x| / b).

    >>> from shortlist.exact.bits import SeededBits
    >>> DiscreteLaplace(Fraction(10)).draw(5, SeededBits(2))
    [-11, 4, -10, -1, -6]
    """

    b: Fraction

    def estimate_reach(self, odds: float) -> float:
        """Estimate a number that noise exceeds once in `odds` draws."""
        return float(self.b) * math.log(odds)

    def estimate_tails(self, least: IntArray) -> FloatArray:
        """Estimate P(noise ≥ a) for any integers."""
        shifted, rate = least - 0.5, float(self._rate)
        tails: FloatArray = np.exp(-rate * (np.abs(shifted) + 0.5)) / (1 + math.exp(-rate))
        return np.where(shifted > 0, tails, 1 - tails)

    def draw(self, count: int, bits: Bits) -> list[int]:
        """Draw independent noises: a geometric magnitude and a sign each, without −0.

        Rounds  A pair is rejected with probability (1 − e^(−1/b)) / 2, which is below 1/2. So log₂(count) + 2 rounds
                are expected at most.
        """
        drawn: list[int] = []
        while (missing := count - len(drawn)) > 0:
            magnitudes, signs = draw_geometric(self._rate, missing, bits), bits.draw(missing)
            drawn += [x if sign & 1 else -x for x, sign in zip(magnitudes, signs, strict=True) if x or sign & 1]
        return drawn

    def draw_array(self, count: int, bits: Bits) -> IntArray:
        """Draw independent noises that fit into 64 bits, many at once."""
        parts, missing = [np.zeros(0, dtype=np.int64)], count
        while missing > 0:
            magnitudes = draw_geometric_array(self._rate, missing, bits)
            positive = np.frombuffer(bits.draw(missing), dtype=np.uint8) & 1 == 1
            parts.append(np.where(positive, magnitudes, -magnitudes)[positive | (magnitudes > 0)])
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def draw_from(self, leasts: list[int], bits: Bits) -> list[int | None]:
        """For each a draw noise x ≥ a. The tail has no memory, and p is P(noise ≥ a)."""
        magnitudes = draw_geometric(self._rate, len(leasts), bits)
        return [least + x for least, x in zip(leasts, magnitudes, strict=True)]

    def enclose_tail(self, least: int) -> arb:
        """Enclose P(noise ≥ least) = e^(−least/b) / (1 + e^(−1/b))."""
        return enclose_exp_minus(least / self.b) / (1 + enclose_exp_minus(self._rate))

    def enclose_difference(self, least: int) -> arb:
        """Enclose P(Z − Z′ ≥ n), which sums ((1−q)/(1+q))² q^n (n + (1+q²)/(1−q²)), where q = e^(−1/b)."""
        q, p = enclose_exp_minus(self._rate), enclose_shortfall(self._rate)
        odds = (1 + q**2) / (p * (1 + q))
        return enclose_exp_minus(least / self.b) * (p * (least + odds) + q) / (1 + q) ** 2

    def tails(self, least: IntArray) -> Scaled:
        """Compute P(noise ≥ a) for rising integers as floats with a proven error."""
        return powers(self._rate, least) * self._first_tail

    @cached_property
    def _rate(self) -> Fraction:
        return 1 / self.b

    @cached_property
    def _first_tail(self) -> Scaled:
        """The chance 1 / (1 + e^(−1/b)) that noise is 0 or more."""
        return _scale([round_to_float(lambda: 1 / (1 + enclose_exp_minus(self._rate)))], 2)


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(x) ∝ e^(−x² / 2σ²), given σ².

    >>> from shortlist.exact.bits import SeededBits
    >>> DiscreteGaussian(Fraction(100)).draw(5, SeededBits(2))
    [-13, 4, -11, -7, 1]
    """

    variance: Fraction

    def estimate_reach(self, odds: float) -> float:
        """Estimate a number that noise exceeds once in `odds` draws."""
        return math.sqrt(2 * self.variance * math.log(odds))

    def estimate_tails(self, least: IntArray) -> FloatArray:
        """Estimate P(noise ≥ a) for any integers, by that of a normal law."""
        shifted = (least - 0.5) / math.sqrt(self.variance)
        x = np.abs(shifted)
        tails: FloatArray = math.sqrt(2 / math.pi) * np.exp(-x * x / 2) / (x + np.sqrt(x * x + 8 / math.pi))
        return np.where(shifted > 0, tails, 1 - tails)

    def draw(self, count: int, bits: Bits) -> list[int]:
        """Draw independent noises by rejection sampling from a discrete Laplace law of scale t = ⌊σ⌋ + 1.

        A proposal x is accepted with probability e^(−(|x| − σ²/t)² / 2σ²). The product of the two is ∝ e^(−x² / 2σ²).

        Rounds  A proposal is accepted with probability Θ e^(−σ²/2t²) tanh(1/2t), where Θ = Σ e^(−x² / 2σ²) is at
                least 1 and at least σ√(2π). As σ < t ≤ σ + 1, this is above 1/4.
        """
        t, (p, q) = self._floor + 1, self.variance.as_integer_ratio()
        proposal = DiscreteLaplace(Fraction(t))
        drawn: list[int] = []
        while (missing := count - len(drawn)) > 0:
            proposed = proposal.draw(missing, bits)
            squares = [(abs(x) * t * q - p) ** 2 for x in proposed]
            accepted = flip_exp_each(squares, 2 * p * q * t * t, bits)
            drawn += [x for x, heads in zip(proposed, accepted, strict=True) if heads]
        return drawn

    def draw_array(self, count: int, bits: Bits) -> IntArray:
        """Draw independent noises that fit into 64 bits, many at once."""
        t, variance = self._floor + 1, float(self.variance)
        proposal = DiscreteLaplace(Fraction(t))
        parts, missing = [np.zeros(0, dtype=np.int64)], count
        while missing > 0:
            proposed = proposal.draw_array(missing, bits)
            # If the exponent is below 46, |x| is below 11 (σ + 1), and roundings move the exponent by 2^-44 at most.
            exponents = (np.abs(proposed) - variance / t) ** 2 / (2 * variance)
            heads = flip_exp_array(exponents, lambda i, x=proposed: self._exponent(int(x[i])), bits)  # type: ignore[misc]
            parts.append(proposed[heads])
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def _exponent(self, x: int) -> Fraction:
        return (abs(x) - self.variance / (self._floor + 1)) ** 2 / (2 * self.variance)

    def draw_from(self, leasts: list[int], bits: Bits) -> list[int | None]:
        """For each a draw noise x ≥ a by one proposal of rejection sampling, or return None.

        With τ the larger of a and ⌊σ⌋ + 1, e^(−x²/2σ²) = e^(τ²/2σ²) e^(−τx/σ²) e^(−(x−τ)²/2σ²). The second factor is a
        geometric law of rate r = τ/σ² from a on. The third is a coin. The weights e^(−ri) sum to 1/(1 − e^(−r)). The
        tail p has the larger 1 + 1/r in its place. A second coin corrects this. It shows heads with a
        probability of 3/4 or more.
        """
        tangents = [max(least, self._floor + 1) for least in leasts]
        rates = [tangent / self.variance for tangent in tangents]
        proposed = [least + draw_geometric(rate, 1, bits)[0] for least, rate in zip(leasts, rates, strict=True)]
        p, q = self.variance.as_integer_ratio()
        squares = [(x - tangent) ** 2 * q for x, tangent in zip(proposed, tangents, strict=True)]
        return [
            x if first and flip(lambda rate=rate: _enclose_coin(rate), bits, least=0.75) else None  # type: ignore[misc]
            for x, rate, first in zip(proposed, rates, flip_exp_each(squares, 2 * p, bits), strict=True)
        ]

    def enclose_tail(self, least: int) -> arb:
        """Enclose p(least) = e^(τ²/2σ² − τ least/σ²) (1 + σ²/τ) / Θ, which is at least P(noise ≥ least)."""
        tangent = max(least, self._floor + 1)
        exponent = (least - Fraction(tangent, 2)) * tangent / self.variance
        return enclose_exp_minus(exponent) * ball(1 + self.variance / tangent) / self._enclose_total()

    def enclose_difference(self, least: int) -> arb:
        """Enclose e^(−n²/4σ²). It is at least P(Z − Z′ ≥ n), as E e^(tZ) ≤ e^(t²σ²/2)."""
        return enclose_exp_minus(least**2 / (4 * self.variance))

    def tails(self, least: IntArray) -> Scaled:
        """Compute p for rising integers as floats with a proven error.

        The exponent of e^(−1/2σ²) in p is a² from t = ⌊σ⌋ + 1 on, and 2at − t² before. Adding t² makes it positive.
        """
        tangent, (rate, constant) = self._floor + 1, self._first_tail
        if max([tangent, *least[-1:].tolist()]) >= _LARGEST_ROOT:
            return _scale([round_to_float(lambda a=a: self.enclose_tail(a)) for a in least.tolist()], 2)  # type: ignore[misc]
        exponents = np.where(least < tangent, 2 * least * tangent, least * least + tangent**2)
        mantissa, shift = np.frexp(1 + float(self.variance) / np.maximum(least, tangent))
        widths = Scaled(mantissa=mantissa, exponent=shift.astype(np.int64), roundings=4)
        return powers(rate, exponents) * widths * constant

    @cached_property
    def _first_tail(self) -> tuple[Fraction, Scaled]:
        """1/2σ², and e^(t²/2σ²) / Θ with t = ⌊σ⌋ + 1."""
        rate = 1 / (2 * self.variance)
        tail = round_to_float(lambda: ball(rate * (self._floor + 1) ** 2).exp() / self._enclose_total())
        return rate, _scale([tail], 2)

    @cached_property
    def _floor(self) -> int:
        return math.isqrt(math.floor(self.variance))

    def _enclose_total(self) -> arb:
        """Enclose Θ = Σ e^(−x² / 2σ²) by its first terms, or by those of its Poisson sum σ√(2π) Σ e^(−2π²σ²x²).

        Of a sum of q^(x²) over all integers x, those with |x| ≥ n sum to at most 2q^(n²) / (1 − q). Here q < 1/20, so a
        few terms are enough.
        """
        variance = ball(self.variance)
        wide = self.variance > Fraction(1, 6)
        exponent = 2 * arb.pi() ** 2 * variance if wide else 1 / (2 * variance)
        total, n, term = arb(1), 1, (-exponent).exp()
        while term > arb(2) ** -ctx.prec:
            total += 2 * term
            n += 1
            term = (-exponent * n**2).exp()
        total += arb(0, 1) * (2 * term / (1 - (-exponent).exp()))
        return total * (2 * arb.pi() * variance).sqrt() if wide else total


def bound_noise(noise: Noise, count: int, failure: Fraction) -> int:
    """Find a T such that `count` noises all lie in [−T, T] with a probability of at least 1 − failure.

    Claim   2 · count · P(noise ≥ T + 1) ≤ failure. The noises need not be independent.
    """
    return _search(lambda bound: 2 * count * noise.enclose_tail(bound + 1), failure)


def bound_difference(noise: Noise, count: int, failure: Fraction) -> int:
    """Find a B such that `count` differences of two noises are all at most B, with probability 1 − failure or more.

    Claim   count · P(Z − Z′ ≥ B + 1) ≤ failure.
    """
    return _search(lambda bound: count * noise.enclose_difference(bound + 1), failure)


def _search(chance: Callable[[int], arb], failure: Fraction) -> int:
    """Find the smallest integer from 0 on with a probability of at most `failure`.

    Rounds  The probability falls to 0, so doubling ends. Halving an interval of integers ends, too.
    """
    with use_precision(_PRECISION):
        low, high = -1, 0
        while not chance(high) <= ball(failure):
            low, high = high, 2 * high + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if chance(middle) <= ball(failure) else (middle, high)
    return high


def _enclose_coin(rate: Fraction) -> arb:
    """Enclose r / ((1 − e^(−r)) (1 + r)). It is least near r = 1.8, where it is 0.77."""
    return ball(rate / (1 + rate)) / enclose_shortfall(rate)


def _scale(numbers: list[tuple[float, int]], roundings: int) -> Scaled:
    """Put mantissas and exponents into arrays."""
    mantissa = np.array([mantissa for mantissa, _ in numbers], dtype=np.float64)
    exponent = np.array([exponent for _, exponent in numbers], dtype=np.int64)
    return Scaled(mantissa=mantissa, exponent=exponent, roundings=roundings)
