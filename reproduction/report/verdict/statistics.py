"""The tests behind the verdicts: exact sign tests for times, rank tests for errors, and Holm's correction for many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

ALPHA = 1e-3
"""The chance that a true claim is contradicted anywhere, over all comparisons of the claim together."""


def sign_test(above: int, rounds: int) -> float:
    """The chance of so many rounds or more above a threshold, if each is above it with probability at most one half.

    >>> sign_test(3, 3), sign_test(0, 3)
    (0.125, 1.0)
    """
    return float(sum(math.comb(rounds, count) for count in range(above, rounds + 1)) / 2**rounds)


def rank_test(one: NDArray[np.generic], other: NDArray[np.generic]) -> float:
    """The chance of ranks like these if `one` is not larger than `other`: Mann and Whitney, corrected for ties.

    >>> round(rank_test(np.arange(50), np.arange(50)), 2), rank_test(np.arange(50) + 100, np.arange(50)) < 1e-15
    (0.5, True)
    """
    n, m = len(one), len(other)
    if not n or not m:
        return 1.0
    _, places, sizes = np.unique(np.concatenate((one, other)), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(sizes) - (sizes - 1) / 2)[places]
    larger = float(ranks[:n].sum()) - n * (n + 1) / 2
    total = n + m
    ties = float((sizes.astype(np.float64) ** 3 - sizes).sum()) / (total * (total - 1)) if total > 1 else 0.0
    variance = n * m / 12 * (total + 1 - ties)
    if variance <= 0:
        return 1.0
    # Half a rank is taken off: the sum of ranks is discrete.
    return NormalDist().cdf(-(larger - n * m / 2 - 0.5) / math.sqrt(variance))


def smallest_rank_test(lists: int, others: int) -> float:
    """The smallest chance that `rank_test` can give for so many lists: all of one are larger than all of the other.

    >>> smallest_rank_test(200, 200) < 1e-60, smallest_rank_test(5, 5) > 1e-3
    (True, True)
    """
    return rank_test(np.arange(lists) + others, np.arange(others))


def reject(chances: Sequence[float], alpha: float = ALPHA) -> list[bool]:
    """Which of many hypotheses to reject, so that any true one is rejected with chance at most alpha: Holm.

    >>> reject([0.0001, 0.9, 0.0004], alpha=1e-3)
    [True, False, True]
    """
    rejected = [False] * len(chances)
    for rank, index in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if chances[index] > alpha / (len(chances) - rank):
            break
        rejected[index] = True
    return rejected
