"""Uniform draws: integers by rejection, shuffles of them, and real numbers whose bits are drawn when needed."""

from __future__ import annotations

import numpy as np
from flint import arb, fmpq

from shortlist.array_types import IntArray, WordArray
from shortlist.exact.bits import Bits

_WORD = 64


def draw_below(bound: int, bits: Bits) -> int:
    """Draw a uniform integer in [0, bound), for a bound of any size.

    Rounds  A candidate is below 2^width < 2 bound, so it is rejected with probability below 1/2.

    >>> from shortlist.exact.bits import SeededBits
    >>> 0 <= draw_below(10**40, SeededBits(1)) < 10**40
    True
    """
    width = (bound - 1).bit_length()
    size = (width + 7) // 8
    while True:
        candidate = int.from_bytes(bits.draw(size)) >> (8 * size - width)
        if candidate < bound:
            return candidate


def draw_words(count: int, bits: Bits) -> WordArray:
    """Draw independent 64-bit words. Each is a uniform integer, or the leading bits of a uniform real number."""
    # Little-endian on every machine, so that a seed means the same everywhere.
    return np.frombuffer(bytearray(bits.draw(8 * count)), dtype="<u8").astype(np.uint64, copy=False)


def draw_below_each(bounds: IntArray, bits: Bits) -> IntArray:
    """Draw one uniform integer in [0, bound) for each bound, all independent.

    A 64-bit word is reduced modulo its bound. Words in the incomplete last cycle are rejected first, so every
    residue is equally likely.

    Rounds  A word is rejected with probability below bound / 2^64, which is at most 1/2. After n rounds, one of m
            words is missing with probability at most m / 2^n. So at most log₂ m + 2 rounds are expected.
    """
    divisors = bounds.astype(np.uint64)
    words = draw_words(len(divisors), bits)
    cycle = np.uint64(0) - divisors  # 2^64 − bound, in 64-bit arithmetic
    last = ~(cycle % divisors)  # 2^64 − 1 − (2^64 mod bound): the last word of the last whole cycle
    while (rejected := words > last).any():
        words[rejected] = draw_words(int(np.count_nonzero(rejected)), bits)
    return (words % divisors).astype(np.int64)


def draw_distinct_below(bounds: IntArray, bits: Bits) -> IntArray:
    """Draw distinct integers. The j-th of a row is uniform among those in [0, bounds[row, j]) that are not drawn yet.

    In each row the bounds must not fall, and bounds[row, j] > j. Rows are independent.

    This is a Fisher–Yates shuffle of 0, 1, 2, … for each row. Step j takes the integer at a uniform place p_j ≥ j, and
    puts the integer at place j there. Only places where another integer was put are kept.

    >>> from shortlist.exact.bits import SeededBits
    >>> drawn = draw_distinct_below(np.full((1000, 5), 5), SeededBits(1))
    >>> bool((np.sort(drawn) == np.arange(5)).all())
    True
    """
    steps = np.arange(bounds.shape[1])
    places = draw_below_each((bounds - steps).ravel(), bits).reshape(bounds.shape) + steps
    drawn = []
    for row in places.tolist():
        moved: dict[int, int] = {}
        for step, place in enumerate(row):
            drawn.append(moved.get(place, place))
            moved[place] = moved.get(step, step)
    return np.array(drawn, dtype=np.int64).reshape(bounds.shape)


class Uniform:
    """A uniform real number in [0, 1), of which only the leading bits have been drawn.

    Its bits are drawn once and never change. A decision that needs more bits is about the same number.
    """

    __slots__ = ("_bits", "known", "numerator")

    def __init__(self, bits: Bits, leading: int | None = None) -> None:
        """Draw the leading 64 bits, or take those given."""
        self._bits = bits
        self.numerator = int.from_bytes(bits.draw(_WORD // 8)) if leading is None else leading
        self.known = _WORD

    def extend(self) -> None:
        """Draw 64 bits more."""
        self.numerator = (self.numerator << _WORD) | int.from_bytes(self._bits.draw(_WORD // 8))
        self.known += _WORD

    def ball(self) -> arb:
        """Enclose the number as narrowly as the bits drawn so far allow."""
        scale = 1 << self.known
        return arb(fmpq(self.numerator, scale)).union(arb(fmpq(self.numerator + 1, scale)))
