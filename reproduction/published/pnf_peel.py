"""PNF-Peel: k rounds of permute-and-flip (McKenna and Sheldon, NeurIPS 2020) by exponential noise.

Permute-and-flip is report-noisy-max with exponential noise (Ding et al., 2021); a round gets ε/k. Counts are
monotone when one person is added or removed, so a round needs noise of mean k/ε, without the factor 2.
Research: floating point, so it cannot make a secure release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from reproduction.published.inputs import read_arguments

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from shortlist.array_types import IntArray


def pnf_peel(counts: ArrayLike, k: int, epsilon: float, *, rng: np.random.Generator) -> IntArray:
    """Choose the item with the largest noisy count, remove it, and repeat k times with fresh noise.

    Claim  epsilon-DP when one person raises each count by 0 or 1.
    Cost   O(dk): one noise per item and round.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    remaining = histogram.astype(np.float64)
    chosen = np.empty(k, dtype=np.int64)
    for position in range(k):
        noisy = remaining + rng.exponential(scale=k / epsilon, size=len(remaining))
        chosen[position] = noisy.argmax()
        remaining[chosen[position]] = -np.inf
    return chosen
