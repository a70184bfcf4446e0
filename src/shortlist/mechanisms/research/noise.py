"""Noise on all counts in one shot, in floating point: the k largest noisy counts, from the profile.

Noise is given as a function of its upper tail: the chance of more noise than that. Of a level with n items only the
k largest noises matter, so only the k smallest of n uniform tails are drawn there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.uniform import distinct_below, leading_words
from shortlist.mechanisms.mechanism import Prepared
from shortlist.profile import EVERY_LEVEL, Levels, Picks

Noise = Callable[[FloatArray, Bits], FloatArray]
"""What turns upper tails into noise; anything that all counts share is drawn from the bits."""


class OneShot(Prepared):
    """The law of the k largest noisy counts on given levels."""

    def __init__(self, levels: Levels, *, k: int, noise: Noise) -> None:
        self._profile = levels.above(k, EVERY_LEVEL)
        self._k = k
        self._noise = noise

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        levels, tails = self._tails(bits)
        noisy = self._profile.values[levels] + self._noise(tails, bits)
        largest = np.argpartition(noisy, len(noisy) - self._k)[len(noisy) - self._k :]
        chosen = levels[largest[np.argsort(-noisy[largest])]]
        return Picks(levels=self._profile.values[chosen], ranks=self._ranks(chosen, bits))

    def _tails(self, bits: Bits) -> tuple[IntArray, FloatArray]:
        """Draw the k smallest of as many uniform numbers as a level has items, for every level."""
        sizes = self._profile.sizes
        small, large = np.flatnonzero(sizes <= self._k), np.flatnonzero(sizes > self._k)
        levels, tails = [np.repeat(small, sizes[small])], [uniform_floats(int(sizes[small].sum()), bits)]
        for level in large.tolist():
            # Rényi: the gaps between ordered exponentials are independent exponentials, the i-th of n of mean 1/(n−i).
            gaps = -np.log(uniform_floats(self._k, bits)) / (sizes[level] - np.arange(self._k))
            levels.append(np.full(self._k, level))
            tails.append(np.minimum(-np.expm1(-np.cumsum(gaps)), 1 - 2.0**-53))
        return np.concatenate(levels), np.concatenate(tails)

    def _ranks(self, levels: IntArray, bits: Bits) -> IntArray:
        """Draw distinct uniform ranks inside each level: noise knows no item from another."""
        ranks = np.empty_like(levels)
        for level in np.unique(levels).tolist():
            asked = np.flatnonzero(levels == level)
            ranks[asked] = distinct_below(np.full(len(asked), self._profile.sizes[level]), bits)
        return ranks


def uniform_floats(count: int, bits: Bits) -> FloatArray:
    """Draw uniform floats strictly between 0 and 1, odd multiples of 2^-53."""
    return ((leading_words(count, bits) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
