"""Uniform draws: integers by rejection, shuffles of them, and real numbers whose bits are drawn when needed."""

from __future__ import annotations

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from shortlist.array_types import IntArray
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


def draw_words(count: int, bits: Bits) -> NDArray[np.uint64]:
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

    In each row the bounds must not fall, and bounds[row, j] > j. Rows are independent. One row may be given as it is.

    This is a Fisher–Yates shuffle of 0, 1, 2, … for each row. Step j takes the integer at a uniform place p_j ≥ j, and
    puts the integer at place j there. Let v_j be the integer at place j when step j begins: v_i for the last i < j
    with p_i = j, or j itself if there is none. Step j takes v_i for the last i < j with p_i = p_j, or p_j itself if
    there is none. So all steps are known once the places of each row are sorted, and no step has to wait for another.

    >>> from shortlist.exact.bits import SeededBits
    >>> drawn = draw_distinct_below(np.full((1000, 5), 5), SeededBits(1))
    >>> bool((np.sort(drawn) == np.arange(5)).all())
    True
    """
    steps = np.arange(bounds.shape[-1])
    places = draw_below_each((bounds - steps).ravel(), bits).reshape(-1, len(steps)) + steps
    # Steps of all rows are numbered through: step j of row i is number i · length + j.
    length = len(steps)
    shift = length.bit_length()
    ordered = np.sort(places << shift | steps, axis=1)
    place = ordered >> shift
    repeated = np.zeros(places.shape, dtype=bool)
    np.equal(place[:, 1:], place[:, :-1], out=repeated[:, :-1])
    pairs = np.flatnonzero(repeated)
    if not len(pairs):  # then no step takes an integer that has moved
        return places.reshape(bounds.shape)
    step = ordered & ((1 << shift) - 1)
    firsts = length * np.arange(len(places))[:, None]
    numbers = (step + firsts).ravel()
    integers = _find_integers(place, step, repeated, firsts)
    drawn = places.copy()
    drawn.reshape(-1)[numbers[pairs + 1]] = integers[numbers[pairs]]
    return drawn.reshape(bounds.shape)


def _find_integers(place: IntArray, step: IntArray, repeated: NDArray[np.bool_], firsts: IntArray) -> IntArray:
    """Compute v_j for all steps, given the places in rising order and the step that took each.

    Rounds  A link leads from j to a smaller step. Each round doubles the length of all links, so log₂ of the number
            of steps is enough.
    """
    length = place.shape[1]
    linked = (step < place) & (place < length)
    # Of several steps that took place j, the last before step j counts.
    linked[:, :-1] &= ~(linked[:, 1:] & repeated[:, :-1])
    chosen = np.flatnonzero(linked)
    links = np.arange(place.size)
    links[(place + firsts).reshape(-1)[chosen]] = (step + firsts).reshape(-1)[chosen]
    while not np.array_equal(following := links[links], links):
        links = following
    return (links.reshape(place.shape) - firsts).reshape(-1)


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
