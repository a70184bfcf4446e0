"""Exact geometric variables, and coins that show heads with a given probability."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from shortlist.exact.balls import ball, exp_minus, working_precision
from shortlist.exact.bits import Bits
from shortlist.exact.choice import Table
from shortlist.exact.scaled import powers
from shortlist.exact.uniform import Uniform, draw_words

_LONGEST_TABLE = 1 << 14
_FEW = 4
_STEPS = 1 << 30
_FLOAT_ERROR = 2.0**-50
_NATS = 45
"""e^(−45) is below 2^−64: a table that long decides almost every draw."""


def flip(enclose: Callable[[], arb], bits: Bits, *, least: float = 0.0) -> bool:
    """Return True with the probability that a function encloses at the working precision. It is `least` or more.

    >>> from shortlist.exact.bits import SeededBits
    >>> flip(lambda: arb(1) / 3, SeededBits(1))
    False
    """
    number = Uniform(bits)
    return number.approximate() < least - _FLOAT_ERROR or _is_below(number, enclose)


def flip_exp_each(numerators: list[int], denominator: int, bits: Bits) -> list[bool]:
    """For each x = numerator / denominator ≥ 0 return True with probability e^(−x), independently.

    With j = ⌊x / s⌋ for a small step s, e^(−x) lies between e^(−sj) (1 − s) and e^(−sj), which floats know.

    >>> from shortlist.exact.bits import SeededBits
    >>> flip_exp_each([0, 1, 200], 2, SeededBits(3))
    [True, True, False]
    """
    if len(numerators) <= _FEW:
        return [flip(lambda x=Fraction(n, denominator): exp_minus(x), bits) for n in numerators]  # type: ignore[misc]
    words = draw_words(len(numerators), bits)
    last = _NATS * _STEPS
    steps = np.array([min(n * _STEPS // denominator, last) for n in numerators], dtype=np.int64)
    order = np.argsort(steps)
    upper = np.empty(len(steps))
    upper[order] = powers(Fraction(1, _STEPS), steps[order]).align(0)
    numbers = words * 2.0**-64
    heads = numbers < upper * (1 - 2 / _STEPS) * (steps < last) - _FLOAT_ERROR
    doubtful = np.flatnonzero(~heads & (numbers < upper * (1 + 2 / _STEPS) + _FLOAT_ERROR))
    for i in doubtful.tolist():
        x = Fraction(numerators[i], denominator)
        heads[i] = _is_below(Uniform(bits, int(words[i])), lambda x=x: exp_minus(x))  # type: ignore[misc]
    decided: list[bool] = heads.tolist()
    return decided


def draw_geometric(rate: Fraction, count: int, bits: Bits) -> list[int]:
    """Draw independent G ≥ 0 with P(G ≥ g) = e^(−rate · g), by inversion: G = ⌊−ln(1 − U) / rate⌋.

    >>> from shortlist.exact.bits import SeededBits
    >>> draw_geometric(Fraction(1, 10), 5, SeededBits(1))
    [3, 4, 0, 18, 1]
    """
    if count <= _FEW or not 1 / Fraction(_LONGEST_TABLE) < rate / _NATS < 1:
        return [_invert(Uniform(bits), rate) for _ in range(count)]
    words = draw_words(count, bits)
    drawn: list[int] = _tabulate(rate).locate_each(words).tolist()
    return [g if g >= 0 else _invert(Uniform(bits, int(words[i])), rate) for i, g in enumerate(drawn)]


def _is_below(number: Uniform, enclose: Callable[[], arb]) -> bool:
    """Decide with certainty whether a number is below the one that a function encloses.

    Rounds  The n-th draw of 64 bits is undecided with probability O(2^(−64 n)), as the numbers must be that close.
    """
    while True:
        with working_precision(number.known + 64):
            position, bound = number.ball(), enclose()
            if position < bound:
                return True
            if position >= bound:
                return False
        number.extend()


def _invert(number: Uniform, rate: Fraction) -> int:
    """Find ⌊−ln(1 − U) / rate⌋ with certainty.

    Rounds  After n draws of 64 bits the quotient is known to O(2^(−64 n) / rate), and it lies that close to an integer
            with probability of the same order. About 1 + log₂(1/rate)/64 draws are expected.
    """
    while True:
        with working_precision(number.known + 64):
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
