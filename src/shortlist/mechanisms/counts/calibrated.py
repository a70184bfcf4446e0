"""Noise for counts that one person can move: how much there must be, and what it promises."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from shortlist.array_types import IntArray
from shortlist.errors import ParameterError
from shortlist.exact.noise import DiscreteGaussian, DiscreteLaplace
from shortlist.mechanisms.accuracy import ReleasedCounts
from shortlist.privacy import Guarantee, Neighbours
from shortlist.privacy.zcdp import find_rho_of_pure

_LARGEST = 2**63 - 1


@lru_cache(maxsize=256)
def choose_noise(moved: int, epsilon: Fraction, rho: Fraction | None) -> DiscreteLaplace | DiscreteGaussian:
    """Choose the noise on each count, where one person moves `moved` counts by 1: Gaussian with a rho, else Laplace.

    >>> choose_noise(10, Fraction(1), None), choose_noise(10, Fraction(1), Fraction(1, 50))
    (DiscreteLaplace(b=Fraction(10, 1)), DiscreteGaussian(variance=Fraction(250, 1)))
    """
    if rho == 0:
        raise ParameterError("{epsilon} and {delta} must be larger", "their rho is 0", hint="try {delta=1e-6}")
    return DiscreteLaplace(moved / epsilon) if rho is None else DiscreteGaussian(moved / (2 * rho))


def state_guarantee(
    moved: int, epsilon: Fraction, delta: Fraction | None, rho: Fraction | None, neighbours: Neighbours
) -> Guarantee:
    """State what that noise promises.

    >>> print(state_guarantee(10, Fraction(1), None, None, Neighbours.ADD_REMOVE))
    1-DP (rho 0.049958375) for one person, add-remove
    """
    if rho is None:
        rho = moved * find_rho_of_pure(epsilon / moved)
    return Guarantee(epsilon=epsilon, delta=delta or Fraction(0), rho=rho, neighbours=neighbours)


def clip_counts(noisy: Sequence[int]) -> IntArray:
    """Cut noisy counts off where 64 bits end. This is a function of them alone, so it costs no privacy.

    >>> clip_counts([7, -(2**70)])
    array([                   7, -9223372036854775807])
    """
    return np.array([min(max(value, -_LARGEST), _LARGEST) for value in noisy], dtype=np.int64)


def add_intervals(values: Iterable[int], bound: int, confidence: Fraction) -> ReleasedCounts:
    """Put an interval around each noisy count that is off by `bound` at most. Counts are from 0 to 2^63 − 1.

    >>> add_intervals([7, -2], 3, Fraction(19, 20))
    ReleasedCounts(values=(7, -2), low=(4, 0), high=(10, 1), confidence=Fraction(19, 20))
    """
    noisy = tuple(values)
    low, high = (tuple(min(max(0, value + side * bound), _LARGEST) for value in noisy) for side in (-1, 1))
    return ReleasedCounts(values=noisy, low=low, high=high, confidence=confidence)
