"""Integer noise with exact laws: discrete Laplace and discrete Gaussian (Canonne, Kamath and Steinke 2020).

Parameters are rationals, and noise is an integer. Each law is built from two exact steps, `draw_geometric` and a coin
that shows heads with probability e^(−x), `flip_exp`. Both compare −ln U for a uniform number U with something: by
floats with a proven error, or by balls.

Each law also has a tail, to find the largest of very many noisy counts. For a ≥ 1, it is a number p(a) ≥ P(noise ≥ a)
and a draw. The draw returns a noise x ≥ a or nothing, such that p(a) · P(the draw is x) = P(noise = x). `enclose_tail`
and `tails` compute p(a), and `draw_from` draws. `estimate_tails` gives a number that is at most P(noise ≥ a), and a
third of it or more. No decision depends on it. `enclose_difference` bounds P(Z − Z′ ≥ a) for two independent noises.

Noise that may be far beyond 64 bits comes in arrays of Python integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, partial

import numpy as np
from flint import arb, ctx

from shortlist.array_types import BoolArray, FloatArray, IntArray
from shortlist.exact.balls import ball, enclose_exp_minus, enclose_shortfall, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.choice import are_below, is_below
from shortlist.exact.scaled import Scaled, draw_exponentials, powers, scale
from shortlist.exact.uniform import Uniform, draw_words

_LARGEST_ROOT = 1 << 30
_WIDE = 1 << 62
"""The sum of two smaller numbers has 64 bits."""


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(x) ∝ e^(−|x| / b).

    >>> from shortlist.exact.bits import SeededBits
    >>> DiscreteLaplace(Fraction(10)).draw(5, SeededBits(2)).tolist()
    [-9, 39, 6, -20, 8]
    """

    b: Fraction

    def estimate_tails(self, least: IntArray) -> FloatArray:
        """Estimate P(noise ≥ a)."""
        tails: FloatArray = np.exp(-float(self._rate) * least) / (1 + math.exp(-float(self._rate)))
        return tails

    def draw(self, count: int, bits: Bits) -> IntArray:
        """Draw independent noises: differences of two geometric variables.

        With q = e^(−1/b), the difference is x ≥ 0 with probability Σ_y (1−q)² q^y q^(x+y) = (1−q)/(1+q) q^x.
        """
        ones = np.ones(count, dtype=np.int64)
        return draw_geometric(self._rate, ones, bits) - draw_geometric(self._rate, ones, bits)

    def draw_from(self, leasts: IntArray, bits: Bits) -> tuple[IntArray, BoolArray]:
        """For each a draw noise x ≥ a. The tail has no memory, and p is P(noise ≥ a)."""
        magnitudes = draw_geometric(self._rate, np.ones(len(leasts), dtype=np.int64), bits)
        return leasts + magnitudes, np.ones(len(leasts), dtype=bool)

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
        return scale([lambda: 1 / (1 + enclose_exp_minus(self._rate))])


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(x) ∝ e^(−x² / 2σ²), given σ².

    >>> from shortlist.exact.bits import SeededBits
    >>> DiscreteGaussian(Fraction(100)).draw(5, SeededBits(2)).tolist()
    [-18, -7, 2, 8, 7]
    """

    variance: Fraction

    def estimate_tails(self, least: IntArray) -> FloatArray:
        """Estimate half of p, which is at most P(noise ≥ a)."""
        variance, tangent = float(self.variance), np.maximum(least, self._floor + 1)
        tails: FloatArray = (
            np.exp((tangent / 2 - least) * (tangent / variance)) * (1 + variance / tangent) / self._total
        )
        return tails / 2

    def draw(self, count: int, bits: Bits) -> IntArray:
        """Draw independent noises by rejection sampling from a discrete Laplace law of scale t = ⌊σ⌋ + 1.

        A proposal x is accepted with probability e^(−(|x| − σ²/t)² / 2σ²). The product of the two is ∝ e^(−x² / 2σ²).
        With z = |x|/t and w = σ²/t², the exponent is (z − w)² / 2w. As w is 1/4 or more if t > 1, roundings move
        exponents below 46 by 2^-44 at most. If t = 1, z is exact. A w below the range of floats makes the exponent 0
        for x = 0 and infinite for any other x.

        Rounds  A proposal is accepted with probability Θ e^(−σ²/2t²) tanh(1/2t), where Θ = Σ e^(−x² / 2σ²) is at
                least 1 and at least σ√(2π). As σ < t ≤ σ + 1, this is above 1/4.
        """
        t = self._floor + 1
        proposal, w = DiscreteLaplace(Fraction(t)), max(float(self.variance / t**2), 2.0**-1000)
        parts, missing = [np.zeros(0, dtype=np.int64)], count
        while missing:
            proposed = proposal.draw(2 * missing + 8, bits)
            with np.errstate(over="ignore"):
                exponents = ((np.abs(proposed) / t).astype(np.float64) - w) ** 2 / (2 * w)

            def find_exponent(i: int, proposed: IntArray = proposed) -> Fraction:
                return (abs(int(proposed[i])) - self.variance / t) ** 2 / (2 * self.variance)

            parts.append(proposed[flip_exp(exponents, find_exponent, bits)][:missing])
            missing -= len(parts[-1])
        return np.concatenate(parts)

    def draw_from(self, leasts: IntArray, bits: Bits) -> tuple[IntArray, BoolArray]:
        """For each a draw noise x ≥ a by one proposal of rejection sampling.

        With τ the larger of a and ⌊σ⌋ + 1, e^(−x²/2σ²) = e^(τ²/2σ²) e^(−τx/σ²) e^(−(x−τ)²/2σ²). The second factor is a
        geometric law of rate r = τ/σ² from a on. The third is a coin. The weights e^(−ri) sum to 1/(1 − e^(−r)). The
        tail p has the larger 1 + 1/r in its place. A second coin corrects this. It shows heads with a
        probability of 3/4 or more.
        """
        tangents = np.maximum(leasts, self._floor + 1)
        proposed = leasts + draw_geometric(1 / self.variance, tangents, bits)
        factor = 1 / (2 * self.variance)
        with np.errstate(over="ignore"):
            exponents = (proposed - tangents).astype(np.float64) ** 2 * float(min(factor, Fraction(2**1000)))
        kept = flip_exp(exponents, lambda i: int(proposed[i] - tangents[i]) ** 2 * factor, bits)

        def enclose_coin(i: int, _: int) -> arb:
            """Enclose r / ((1 − e^(−r)) (1 + r)). It is least near r = 1.8, where it is 0.77."""
            rate = int(tangents[i]) / self.variance
            return ball(rate / (1 + rate)) / enclose_shortfall(rate)

        return proposed, kept & are_below(draw_words(len(leasts), bits), enclose_coin, bits, least=0.75, most=1.0)

    def enclose_tail(self, least: int) -> arb:
        """Enclose p(least) = e^(τ²/2σ² − τ least/σ²) (1 + σ²/τ) / Θ, which is at least P(noise ≥ least)."""
        tangent = max(least, self._floor + 1)
        exponent = (least - Fraction(tangent, 2)) * tangent / self.variance
        return enclose_exp_minus(exponent) * ball(1 + self.variance / tangent) / self.enclose_total()

    def enclose_difference(self, least: int) -> arb:
        """Enclose e^(−n²/4σ²). It is at least P(Z − Z′ ≥ n), as E e^(tZ) ≤ e^(t²σ²/2)."""
        return enclose_exp_minus(least**2 / (4 * self.variance))

    def tails(self, least: IntArray) -> Scaled:
        """Compute p for rising integers as floats with a proven error.

        The exponent of e^(−1/2σ²) in p is a² from t = ⌊σ⌋ + 1 on, and 2at − t² before. Adding t² makes it positive.
        """
        tangent, (rate, constant) = self._floor + 1, self._first_tail
        if max([tangent, *least[-1:].tolist()]) >= _LARGEST_ROOT:
            return scale([partial(self.enclose_tail, a) for a in least.tolist()])
        exponents = np.where(least < tangent, 2 * least * tangent, least * least + tangent**2)
        mantissa, shift = np.frexp(1 + float(self.variance) / np.maximum(least, tangent))
        widths = Scaled(mantissa=mantissa, exponent=shift.astype(np.int64), roundings=4)
        return powers(rate, exponents) * widths * constant

    @cached_property
    def _first_tail(self) -> tuple[Fraction, Scaled]:
        """1/2σ², and e^(t²/2σ²) / Θ with t = ⌊σ⌋ + 1."""
        rate = 1 / (2 * self.variance)
        return rate, scale([lambda: ball(rate * (self._floor + 1) ** 2).exp() / self.enclose_total()])

    @cached_property
    def _total(self) -> float:
        """Θ, about."""
        with use_precision():
            return float(self.enclose_total().mid())

    @cached_property
    def _floor(self) -> int:
        return math.isqrt(math.floor(self.variance))

    def enclose_total(self) -> arb:
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


Noise = DiscreteLaplace | DiscreteGaussian
"""A symmetric law on the integers."""


@dataclass(frozen=True)
class SharedGaussian:
    """Noise (Z_i + η) / 2, where Z_i is drawn for each count, and η once for all of them.

    Z_i and η are discrete Gaussian, with the variances `own` and `shared`. A half is rounded up or down at random, with
    the same probability for each. So noise is whole, and its law is symmetric.

    >>> from shortlist.exact.bits import SeededBits
    >>> SharedGaussian(Fraction(100), Fraction(2500)).draw(5, SeededBits(2)).tolist()
    [-43, -37, -33, -30, -30]
    """

    own: Fraction
    shared: Fraction

    @property
    def variance(self) -> Fraction:
        """What the variance of one noise is at most.

        A half has the probability (1 − E (−1)^(Z + η)) / 2, and is rounded by 1/2. The expectation is positive, by its
        Poisson sum. So rounding adds 1/8 at most.
        """
        return (self.own + self.shared) / 4 + Fraction(1, 8)

    def draw(self, count: int, bits: Bits) -> IntArray:
        """Draw the noises of some counts that share η."""
        doubled = DiscreteGaussian(self.own).draw(count, bits) + DiscreteGaussian(self.shared).draw(1, bits)
        # An even number is halved whatever the bit is.
        rounded: IntArray = (doubled + (np.frombuffer(bits.draw(count), dtype=np.uint8) & 1)) >> 1
        return rounded

    def enclose_tail(self, least: int) -> arb:
        """Enclose a number that is at least P(noise ≥ least), for least ≥ 1.

        With v = σ_Z² + σ_η² and w = σ_Z² σ_η² / v, P(Z + η = n) is e^(−n²/2v) / (Θ_Z Θ_η) times a sum of e^(−x²/2w)
        over shifted integers, which is at most Θ_w. So it is at most Θ_w Θ_v / (Θ_Z Θ_η) times the probability of n
        under the discrete Gaussian law of variance v. Noise is `least` or more if Z + η is 2 least or more, and with
        probability 1/2 if it is 2 least − 1.
        """
        total = self.own + self.shared
        own, shared, both = map(DiscreteGaussian, (self.own, self.shared, total))
        inner = DiscreteGaussian(self.own * self.shared / total)
        excess = inner.enclose_total() * both.enclose_total() / (own.enclose_total() * shared.enclose_total())
        return excess * (both.enclose_tail(2 * least) + both.enclose_tail(2 * least - 1)) / 2


def draw_geometric(unit: Fraction, multiples: IntArray, bits: Bits) -> IntArray:
    """Draw independent G ≥ 0 with P(G ≥ g) = e^(−rate · g), where each rate is a multiple of a unit.

    By inversion, G = ⌊−ln U / rate⌋. Floats decide unless the quotient is too near a whole number: it is off by the
    error of the logarithm divided by the rate, and by four roundings. For rates below 2^-40 balls decide.

    >>> from shortlist.exact.bits import SeededBits
    >>> draw_geometric(Fraction(1, 10), np.ones(5, dtype=np.int64), SeededBits(1)).tolist()
    [12, 11, 28, 1, 23]
    """
    words = draw_words(len(multiples), bits)
    # A rate that is cut off gives 0 as well.
    rates = float(min(unit, Fraction(2**1000))) * multiples.astype(np.float64)
    logs, errors = draw_exponentials(words)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        quotients = logs / rates
        slack = errors / rates * 1.01 + quotients * 2.0**-50
        low, high = np.floor(quotients - slack), np.floor(quotients + slack)
    sure = low == high
    drawn, unsure = np.where(sure, low, 0.0).astype(np.int64), np.flatnonzero(~sure).tolist()
    exact = [_invert(Uniform(bits, int(words[i])), unit * int(multiples[i])) for i in unsure]
    if max(exact, default=0) >= _WIDE:
        drawn = drawn.astype(object)
    drawn[unsure] = exact
    return drawn


def _invert(number: Uniform, rate: Fraction) -> int:
    """Find ⌊−ln U / rate⌋ with certainty.

    Rounds  After n draws of 64 bits the quotient is known to O(2^(−64 n) / rate), and it lies that close to an integer
            with probability of the same order. About 1 + log₂(1/rate)/64 draws are expected.
    """
    while True:
        with use_precision(number.known + 64):
            quotient = -number.ball().log() / ball(rate)
            if quotient.is_finite() and (whole := quotient.floor().unique_fmpz()) is not None:
                return int(whole)
        number.extend()


def flip_exp(exponents: FloatArray, exact: Callable[[int], Fraction], bits: Bits) -> BoolArray:
    """For each x ≥ 0 return True with probability e^(−x), independently: −ln V is above x for a uniform V.

    `exponents` are the x as floats. Those below 46 are off by at most 2^-42. `exact` returns an x without error.

    >>> from shortlist.exact.bits import SeededBits
    >>> flip_exp(np.array([0.0, 0.5, 100.0]), lambda i: Fraction([0, 1, 200][i], 2), SeededBits(3)).tolist()
    [True, True, False]
    """
    words = draw_words(len(exponents), bits)
    logs, errors = draw_exponentials(words)
    heads: BoolArray = logs > exponents
    for i in np.flatnonzero(np.abs(logs - exponents) <= errors + 2.0**-42).tolist():
        heads[i] = is_below(Uniform(bits, int(words[i])), lambda _, i=i: enclose_exp_minus(exact(i)))  # type: ignore[misc]
    return heads


@lru_cache(maxsize=256)
def bound_noise(noise: Noise | SharedGaussian, count: int, failure: Fraction) -> int:
    """Find a T such that `count` noises all lie in [−T, T] with a probability of at least 1 − failure.

    Claim   2 · count · P(noise ≥ T + 1) ≤ failure. The noises need not be independent.
    """
    return _search(lambda bound: 2 * count * noise.enclose_tail(bound + 1), failure)


@lru_cache(maxsize=256)
def bound_difference(noise: Noise, count: int, failure: Fraction) -> int:
    """Find a B such that `count` differences of two noises are all at most B, with probability 1 − failure or more.

    Claim   count · P(Z − Z′ ≥ B + 1) ≤ failure.
    """
    return _search(lambda bound: count * noise.enclose_difference(bound + 1), failure)


def _search(chance: Callable[[int], arb], failure: Fraction) -> int:
    """Find the smallest integer from 0 on with a probability of at most `failure`.

    Rounds  The probability falls to 0, so doubling ends. Halving an interval of integers ends, too.
    """
    with use_precision():
        low, high = -1, 0
        while not chance(high) <= ball(failure):
            low, high = high, 2 * high + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if chance(middle) <= ball(failure) else (middle, high)
    return high
