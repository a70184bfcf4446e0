"""Uniform draws: integers by rejection, and real numbers known as far as they have been asked for."""

from __future__ import annotations

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from shortlist.exact.bits import Bits

_WORD = 64


def below(bound: int, bits: Bits) -> int:
    """Draw a uniform integer in [0, bound), of any size.

    >>> from shortlist.exact.bits import SeededBits
    >>> 0 <= below(10**40, SeededBits(1)) < 10**40
    True
    """
    width = (bound - 1).bit_length()
    size = (width + 7) // 8
    while True:
        candidate = int.from_bytes(bits.draw(size)) >> (8 * size - width)
        if candidate < bound:
            return candidate


def leading_words(count: int, bits: Bits) -> NDArray[np.uint64]:
    """Draw independent 64-bit words: each a uniform integer, or the leading bits of a uniform real number."""
    # Little-endian on every machine, so that a seed means the same everywhere.
    return np.frombuffer(bytearray(bits.draw(8 * count)), dtype="<u8").astype(np.uint64, copy=False)


def below_each(bounds: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
    """Draw one uniform integer in [0, bound) for each bound, all independent.

    A 64-bit word is reduced modulo its bound after the incomplete last cycle of words is rejected, so every
    residue is equally likely. For bounds below 2^40 a rejection is a one-in-ten-million event.
    """
    divisors = bounds.astype(np.uint64)
    words = leading_words(len(divisors), bits)
    cycle = np.uint64(0) - divisors  # 2^64 − bound, in 64-bit arithmetic
    last = ~(cycle % divisors)  # 2^64 − 1 − (2^64 mod bound): the last word of the last whole cycle
    while (rejected := words > last).any():
        words[rejected] = leading_words(int(np.count_nonzero(rejected)), bits)
    return (words % divisors).astype(np.int64)


def distinct_below(bounds: NDArray[np.int64], bits: Bits) -> NDArray[np.int64]:
    """Draw distinct integers, the j-th uniform among those in [0, bounds[j]) not drawn yet.

    The bounds must not fall, and bounds[j] > j. It is a Fisher–Yates shuffle of virtual cards: cards 0, 1, 2, … lie
    on the table in order, step j swaps the card at place j with one at a uniform place in [j, bounds[j]), and only
    the cards that have moved are kept in memory.
    """
    first = np.arange(len(bounds))
    places = (below_each(bounds - first, bits) + first).tolist()
    moved: dict[int, int] = {}
    drawn = []
    for j, place in enumerate(places):
        drawn.append(moved.get(place, place))
        moved[place] = moved.get(j, j)
    return np.array(drawn)


class Uniform:
    """A uniform real number in [0, 1), of which only the leading bits have been drawn.

    Its bits are drawn once and never change: a decision that waits for more of them decides about the same number.
    """

    __slots__ = ("_bits", "known", "numerator")

    def __init__(self, bits: Bits, leading: int | None = None) -> None:
        """Draw the leading 64 bits, or take them if they have been drawn already."""
        self._bits = bits
        self.numerator = int.from_bytes(bits.draw(_WORD // 8)) if leading is None else leading
        self.known = _WORD

    def approximate(self) -> float:
        """A float within 2^-52 of the number."""
        return (self.numerator >> (self.known - _WORD)) * 2.0**-_WORD

    def extend(self) -> None:
        """Draw 64 bits more."""
        self.numerator = (self.numerator << _WORD) | int.from_bytes(self._bits.draw(_WORD // 8))
        self.known += _WORD

    def ball(self) -> arb:
        """A ball that holds the number, as narrow as the bits drawn so far allow."""
        scale = 1 << self.known
        return arb(fmpq(self.numerator, scale)).union(arb(fmpq(self.numerator + 1, scale)))
