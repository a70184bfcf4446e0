"""CDP-Peel: the peeling exponential mechanism in one shot (Durfee and Rogers, NeurIPS 2019).

Adding Gumbel noise once and reading off the top k has the law of k rounds of the exponential mechanism
without replacement. Each round gets ε′, calibrated through the bounded range of the exponential mechanism as
the paper's baseline is. Counts are monotone when one person is added or removed, so an item weighs e^(ε′h),
without the factor 2. Research: floating point, so it cannot make a secure release.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reproduction.published.inputs import read_arguments, read_fraction
from reproduction.published.ranking import find_best

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from shortlist.array_types import IntArray

DELTA = 1e-6


def cdp_peel(counts: ArrayLike, k: int, epsilon: float, *, delta: float = DELTA, rng: np.random.Generator) -> IntArray:
    """Add Gumbel noise to every count times ε′ and name the k largest, best first.

    Claim  (epsilon, delta)-DP when one person raises each count by 0 or 1.
    Cost   O(d): one noise per item and a partial sort.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    share = round_epsilon(k, epsilon, delta)
    return find_best(share * histogram + rng.gumbel(size=len(histogram)), k)


def round_epsilon(k: int, epsilon: float, delta: float = DELTA) -> float:
    """Compute the published ε′ of one round, or ε/k where pure composition allows more.

    >>> round(round_epsilon(100, 1), 5), round_epsilon(2, 1)
    (0.03738, 0.5)
    """
    slack = 8 * math.log(1 / read_fraction(delta, name="delta"))
    return max(math.sqrt((slack + 8 * epsilon) / k) - math.sqrt(slack / k), epsilon / k)
