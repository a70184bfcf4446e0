"""Exact geometric variables, and coins that show heads with a given probability."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.balls import ball, enclose_exp_minus, enclose_shortfall, use_precision
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table, are_below, is_below, quantile
from shortlist.exact.scaled import powers
from shortlist.exact.uniform import Uniform, draw_words

_LONGEST_TABLE = 1 << 14
_FEW = 4
_STEPS = 1 << 30
_LARGEST_WORD = 2**64 - 1
_NATS = 45
"""e^(−45) is below 2^−64: a table that long decides almost every draw."""


def flip(enclose: Callable[[], arb], bits: Bits, *, least: float = 0.0) -> bool:
    """Return True with the probability that a function encloses at the working precision. It is `least` or more.

    >>> from shortlist.exact.bits import SeededBits
    >>> flip(lambda: arb(1) / 3, SeededBits(1))
    False
    """
    return is_below(Uniform(bits), lambda _: enclose(), least=least)


def flip_exp_each(numerators: list[int], denominator: int, bits: Bits) -> list[bool]:
    """For each x = numerator / denominator ≥ 0 return True with probability e^(−x), independently.

    With j = ⌊x / s⌋ for a small step s, e^(−x) lies between e^(−sj) (1 − s) and e^(−sj). Floats give both.

    >>> from shortlist.exact.bits import SeededBits
    >>> flip_exp_each([0, 1, 200], 2, SeededBits(3))
    [True, True, False]
    """
    if len(numerators) <= _FEW:
        return [flip(lambda x=Fraction(n, denominator): enclose_exp_minus(x), bits) for n in numerators]  # type: ignore[misc]
    steps = np.array([min(n * _STEPS // denominator, _NATS * _STEPS) for n in numerators], dtype=np.int64)
    decided: list[bool] = _flip_each(steps, lambda i: Fraction(numerators[i], denominator), bits).tolist()
    return decided


def flip_exp_array(exponents: FloatArray, exact: Callable[[int], Fraction], bits: Bits) -> NDArray[np.bool_]:
    """For each x ≥ 0 return True with probability e^(−x), independently.

    `exponents` are the x as floats. Those below 46 are off by at most 2^-40. `exact` returns an x without error.
    """
    steps = np.minimum(np.floor(exponents * _STEPS), _NATS * _STEPS).astype(np.int64)
    return _flip_each(steps, exact, bits)


def _flip_each(steps: IntArray, exact: Callable[[int], Fraction], bits: Bits) -> NDArray[np.bool_]:
    """Flip coins, given j = ⌊x / s⌋ for each, or 45 / s if x is above 45. An error of 2^-8 of a step does no harm."""
    last = _NATS * _STEPS
    words = draw_words(len(steps), bits)
    order = np.argsort(steps)
    upper = np.empty(len(steps))
    upper[order] = powers(Fraction(1, _STEPS), steps[order]).align(0)
    least, most = upper * (1 - 2 / _STEPS) * (steps < last), upper * (1 + 2 / _STEPS)
    return are_below(words, lambda i, _: enclose_exp_minus(exact(i)), bits, least=least, most=most)


def draw_geometric(rate: Fraction, count: int, bits: Bits) -> list[int]:
    """Draw independent G ≥ 0 with P(G ≥ g) = e^(−rate · g), by inversion: G = ⌊−ln(1 − U) / rate⌋.

    >>> from shortlist.exact.bits import SeededBits
    >>> draw_geometric(Fraction(1, 10), 5, SeededBits(1))
    [3, 4, 0, 18, 1]
    """
    if rate >= _NATS:
        rare: list[int] = _draw_rare(rate, count, bits).tolist()
        return rare
    if count <= _FEW or rate * _LONGEST_TABLE <= _NATS:
        return [_invert(Uniform(bits), rate) for _ in range(count)]
    words = draw_words(count, bits)
    drawn: list[int] = _tabulate(rate).locate_each(words).tolist()
    return [g if g >= 0 else _invert(Uniform(bits, int(words[i])), rate) for i, g in enumerate(drawn)]


def draw_geometric_array(rate: Fraction, count: int, bits: Bits) -> IntArray:
    """Draw as `draw_geometric` does, with tables for small rates as well.

    For any M, G = M A + B with independent A and B, where P(A ≥ a) = e^(−rate M a), and B has the law of G on [0, M).
    """
    if rate >= _NATS:
        return _draw_rare(rate, count, bits)
    words = draw_words(count, bits)
    if rate * _LONGEST_TABLE > _NATS:
        drawn = _tabulate(rate).locate_each(words)
        for i in np.flatnonzero(drawn < 0).tolist():
            drawn[i] = _invert(Uniform(bits, int(words[i])), rate)
        return drawn
    table = _tabulate_first(rate)
    low = table.locate_each(words)
    for i in np.flatnonzero(low < 0).tolist():
        cells = [_Powers(rate=rate, start=0, end=_LONGEST_TABLE)]
        low[i] = quantile(Uniform(bits, int(words[i])), cells).start
    return low + _LONGEST_TABLE * draw_geometric_array(rate * _LONGEST_TABLE, count, bits)


def _draw_rare(rate: Fraction, count: int, bits: Bits) -> IntArray:
    """Draw G for a rate of 45 or more: it is 0 if U < 1 − 2^-64, which is below 1 − e^(−45)."""
    words = draw_words(count, bits)
    drawn = np.zeros(count, dtype=np.int64)
    for i in np.flatnonzero(words == _LARGEST_WORD).tolist():
        drawn[i] = _invert(Uniform(bits, int(words[i])), rate)
    return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class _Powers:
    """The weights e^(−rate · g) of the g in [start, end)."""

    rate: Fraction
    start: int
    end: int

    def weight(self) -> arb:
        return enclose_exp_minus(self.rate * self.start) * enclose_shortfall(self.rate * (self.end - self.start))

    def split(self) -> tuple[_Powers, _Powers] | None:
        if self.end - self.start == 1:
            return None
        middle = (self.start + self.end) // 2
        return replace(self, end=middle), replace(self, start=middle)


def _invert(number: Uniform, rate: Fraction) -> int:
    """Find ⌊−ln(1 − U) / rate⌋ with certainty.

    Rounds  After n draws of 64 bits the quotient is known to O(2^(−64 n) / rate), and it lies that close to an integer
            with probability of the same order. About 1 + log₂(1/rate)/64 draws are expected.
    """
    while True:
        with use_precision(number.known + 64):
            quotient = -(-number.ball()).log1p() / ball(rate)
            if quotient.is_finite() and (whole := quotient.floor().unique_fmpz()) is not None:
                return int(whole)
        number.extend()


@lru_cache(maxsize=64)
def _tabulate(rate: Fraction) -> Table:
    """Tabulate the weights e^(−rate · g) of the first g."""
    weights = powers(rate, np.arange(math.ceil(_NATS / rate) + 1))
    floats = weights.align(0)
    # The omitted weights sum to e^(−rate) / (1 − e^(−rate)) times the last one. The listed ones sum to almost
    # 1 / (1 − e^(−rate)).
    return Table(floats, error=weights.error, omitted=2 * float(floats[-1] * floats.sum()))


@lru_cache(maxsize=16)
def _tabulate_first(rate: Fraction) -> Table:
    """Tabulate the weights e^(−rate · g) of the first g, as if there were no others."""
    weights = powers(rate, np.arange(_LONGEST_TABLE))
    return Table(weights.align(0), error=weights.error, omitted=0.0)
