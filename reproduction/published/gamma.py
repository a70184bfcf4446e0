"""The Gamma mechanism of Steinke and Ullman ("Between pure and approximate differential privacy", 2016).

Noise with density proportional to exp(−ε‖z‖∞) on all counts together: a radius from Gamma(d + 1, 1/ε) times
a uniform point of the cube [−1, 1]^d. One person moves the counts by at most 1 in ℓ∞, so all noisy counts
could be released; the k largest are named. Research: floating point, so it cannot make a secure release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.published.inputs import read_arguments
from reproduction.published.ranking import find_best

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from shortlist.array_types import IntArray


def gamma(counts: ArrayLike, k: int, epsilon: float, *, rng: np.random.Generator) -> IntArray:
    """Add ℓ∞ noise to the counts and name the k largest, best first.

    Claim  epsilon-DP when one person changes each count by at most 1.
    Cost   O(d), and noise of size d/epsilon whatever k is.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    d = len(histogram)
    radius = rng.gamma(shape=d + 1, scale=1 / epsilon)
    return find_best(histogram + radius * rng.uniform(-1, 1, size=d), k)
