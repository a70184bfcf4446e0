"""The k largest noisy counts in floating point, from the profile.

A noise is a function of its upper tail, the probability of a larger noise. On a level with n items only the k largest
noises matter. So only the k smallest of n uniform tails are drawn.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from shortlist.array_types import FloatArray, IntArray
from shortlist.exact.bits import Bits
from shortlist.exact.shuffles import draw_distinct_below
from shortlist.exact.uniform import draw_words
from shortlist.mechanisms.mechanism import Mechanism, Prepared
from shortlist.privacy import Guarantee
from shortlist.privacy.zcdp import find_rho_of_pure
from shortlist.profile import EVERY_LEVEL, Levels, Picks

Noise = Callable[[FloatArray, Bits], FloatArray]
"""A function from upper tails to noise. It draws from the bits what all counts share."""


class NoisyMechanism(Mechanism):
    """A mechanism that chooses the k largest noisy counts, in floating point."""

    __slots__ = ()

    when: ClassVar[str] = "you do research: it computes in floating point, and makes no secure release"
    rho_in_words: ClassVar[str] = "ε·tanh(ε/2)"
    research: ClassVar[bool] = True

    @property
    def guarantee(self) -> Guarantee:
        """What one draw promises. Every epsilon-DP mechanism has this rho."""
        return Guarantee(epsilon=self.epsilon, rho=find_rho_of_pure(self.epsilon), neighbours=self.neighbours)

    def _prepare(self, levels: Levels) -> OneShot:
        return OneShot(levels, k=self.k, noise=self._make_noise(levels.d))

    @abstractmethod
    def _make_noise(self, d: int) -> Noise:
        """Return the noise on the counts of d items."""


class OneShot(Prepared):
    """The law of the k largest noisy counts on given levels."""

    def __init__(self, levels: Levels, *, k: int, noise: Noise) -> None:
        self._profile = levels.above(k, EVERY_LEVEL)
        self._k = k
        self._noise = noise

    def draw(self, bits: Bits) -> Picks:
        """Choose k items."""
        levels, tails = self._draw_tails(bits)
        noisy = self._profile.values[levels] + self._noise(tails, bits)
        largest = np.argpartition(noisy, len(noisy) - self._k)[len(noisy) - self._k :]
        picked = levels[largest[np.argsort(-noisy[largest])]]
        return Picks(levels=self._profile.values[picked], ranks=self._draw_ranks(picked, bits))

    def _draw_tails(self, bits: Bits) -> tuple[IntArray, FloatArray]:
        """Draw the k smallest of as many uniform numbers as a level has items, for every level."""
        sizes = self._profile.sizes
        small, large = np.flatnonzero(sizes <= self._k), np.flatnonzero(sizes > self._k)
        levels, tails = [np.repeat(small, sizes[small])], [draw_uniform_floats(int(sizes[small].sum()), bits)]
        for level in large.tolist():
            # Rényi: the gaps between ordered exponentials are independent exponentials, the i-th of n of mean 1/(n−i).
            gaps = -np.log(draw_uniform_floats(self._k, bits)) / (sizes[level] - np.arange(self._k))
            levels.append(np.full(self._k, level))
            tails.append(np.minimum(-np.expm1(-np.cumsum(gaps)), 1 - 2.0**-53))
        return np.concatenate(levels), np.concatenate(tails)

    def _draw_ranks(self, levels: IntArray, bits: Bits) -> IntArray:
        """Draw distinct uniform ranks inside each level, because the noise of all its items has the same law."""
        ranks = np.empty_like(levels)
        for level in np.unique(levels).tolist():
            asked = np.flatnonzero(levels == level)
            ranks[asked] = draw_distinct_below(np.full(len(asked), self._profile.sizes[level]), bits)
        return ranks


def draw_uniform_floats(count: int, bits: Bits) -> FloatArray:
    """Draw uniform floats strictly between 0 and 1, odd multiples of 2^-53."""
    return ((draw_words(count, bits) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
