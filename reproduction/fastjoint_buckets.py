"""FastJoint with vectorised buckets, which Wu and Zhang sketch in Appendix B.3 and do not implement.

The law is that of `fastjoint`. The items are grouped by one sort, and a sequence is drawn from prefixes of
at most k + τ buckets of equal count without replacement, so that after the sort nothing grows with d. One
more bucket holds all items below, which the merged subsets S̄_{τ,i} may name. Research: floating point, so
it cannot make a secure release.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from reproduction.fastjoint import BETA, compute_log_sizes, compute_tau, read_arguments, sample_subset
from shortlist.array_types import IntArray


def fastjoint_buckets(
    counts: ArrayLike, k: int, epsilon: float, *, beta: float = BETA, rng: np.random.Generator
) -> IntArray:
    """Draw a sequence of k items with the law of FastJoint.

    Claim  epsilon-DP when one person raises each count by 0 or 1.
    Cost   one sort of the counts, then O(kτ log(k + τ)) without d.
    """
    h, k, epsilon = read_arguments(counts, k, epsilon)
    tau = compute_tau(len(h), k, epsilon, beta)
    buckets = Buckets(h, k, tau)
    r, i = sample_subset(compute_log_sizes(buckets.count_items()), epsilon, rng)
    return buckets.sample_sequence(r, i, rng)


class Buckets:
    """The items from the largest count downwards, in buckets of equal count; drawing uses them up."""

    def __init__(self, h: IntArray, k: int, tau: int) -> None:
        self._items = np.argsort(-h, kind="stable")
        decreasing = h[self._items]
        self._top = decreasing[:k]
        self._tau = tau
        # Below this level only the merged subsets look, and they do not ask for counts.
        inside = int(np.searchsorted(-decreasing, tau - self._top[-1], side="left"))
        starts = np.flatnonzero(np.diff(decreasing[:inside], prepend=decreasing[0] + 1))
        self._values = decreasing[starts]
        self._bounds = np.concatenate((starts, [inside, len(h)]))
        self._left = np.diff(self._bounds)

    def count_items(self) -> IntArray:
        """Count C̄_{r,j}, the items with count at least h_(j) − r, for r < τ; the last row is d.

        >>> Buckets(np.array([2, 4, 5]), k=2, tau=3).count_items()
        array([[1, 2],
               [2, 2],
               [2, 3],
               [3, 3]])
        """
        losses = np.arange(self._tau)[:, None]
        table = np.empty((self._tau + 1, len(self._top)), dtype=np.int64)
        table[:-1] = self._bounds[self._count_above(self._top - losses - 1)]
        table[-1] = self._bounds[-1]
        return table

    def sample_sequence(self, r: int, i: int, rng: np.random.Generator) -> IntArray:
        """Draw a uniform sequence of S̄_{r,i}: Algorithm 2 on buckets."""
        merged = r == self._tau
        first = np.zeros(len(self._top), dtype=np.int64)
        last = self._count_above(self._top - r)
        first[i] = last[i]
        last[i:] = len(self._left) if merged else self._count_above(self._top[i:] - r - 1)
        return np.array(
            [self._draw(*ends, rng) for ends in zip(first.tolist(), last.tolist(), strict=True)],
            dtype=np.int64,
        )

    def _count_above(self, thresholds: IntArray) -> IntArray:
        """Count the buckets above each threshold."""
        return np.searchsorted(-self._values, -thresholds, side="left")

    def _draw(self, first: int, last: int, rng: np.random.Generator) -> int:
        """Choose one of the buckets by what is left in it, then any item of it, and remove that item."""
        ends = np.cumsum(self._left[first:last])
        bucket = first + np.searchsorted(ends, rng.integers(ends[-1]), side="right")
        start, left = self._bounds[bucket], self._left[bucket]
        place = start + rng.integers(left)
        drawn = int(self._items[place])
        self._items[place] = self._items[start + left - 1]
        self._left[bucket] -= 1
        return drawn
