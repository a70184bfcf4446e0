"""The Laplace mechanism for top-k (Bhaskar et al., KDD 2010; in one shot, Qiao, Su and Zhang, ICML 2021).

Scale k/ε is enough for pure ε, however many items there are: when a person joins, shifting the noise of the
k named items by at most 1 each keeps them on top and in order. Research: floating point, so it cannot make a
secure release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reproduction.published.inputs import read_arguments
from reproduction.published.ranking import find_best

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike

    from shortlist.array_types import IntArray


def laplace(counts: ArrayLike, k: int, epsilon: float, *, rng: np.random.Generator) -> IntArray:
    """Add Laplace noise of scale k/epsilon to every count and name the k largest, best first.

    Claim  epsilon-DP when one person raises each count by 0 or 1.
    Cost   O(d): one noise per item and a partial sort.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    return find_best(histogram + rng.laplace(scale=k / epsilon, size=len(histogram)), k)
