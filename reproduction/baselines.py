"""The other mechanisms that the paper compares with, each as its authors publish it.

PNF-Peel    k rounds of permute-and-flip (McKenna and Sheldon, NeurIPS 2020), by exponential noise (Ding et al., 2021)
CDP-Peel    k rounds of the exponential mechanism, in one shot by Gumbel noise (Durfee and Rogers, NeurIPS 2019)
Truncated   k rounds of the exponential mechanism, with low counts taken as equal (Bhaskar et al., KDD 2010)
Laplace     noise on each count (Bhaskar et al., KDD 2010; in one shot, Qiao, Su and Zhang, ICML 2021)
Gamma       noise on all counts together (Steinke and Ullman, "Between pure and approximate differential privacy", 2016)

Counts are monotone when one person is added or removed, so no rate and no noise needs the factor 2. Research: floating
point, so it cannot make a secure release.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from reproduction.fastjoint import BETA, array_sampler, read_arguments
from shortlist.array_types import FloatArray, IntArray
from shortlist.privacy.numbers import read_probability

DELTA = 1e-6


def pnf_peel(counts: ArrayLike, k: int, epsilon: float, *, rng: np.random.Generator) -> IntArray:
    """Choose the item with the largest noisy count, remove it, and repeat k times with fresh noise of mean k/ε.

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


def cdp_peel(counts: ArrayLike, k: int, epsilon: float, *, delta: float = DELTA, rng: np.random.Generator) -> IntArray:
    """Add Gumbel noise to every count times ε′ and name the k largest, best first.

    Claim  (epsilon, delta)-DP when one person raises each count by 0 or 1.
    Cost   O(d): one noise per item and a partial sort.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    share = compute_round_epsilon(k, epsilon, delta)
    return find_best(share * histogram + rng.gumbel(size=len(histogram)), k)


def compute_round_epsilon(k: int, epsilon: float, delta: float = DELTA) -> float:
    """Compute the published ε′ of one round, or ε/k where pure composition allows more.

    >>> round(compute_round_epsilon(100, 1), 5), compute_round_epsilon(2, 1)
    (0.03738, 0.5)
    """
    slack = 8 * math.log(1 / read_probability(delta, name="delta"))
    return max(math.sqrt((slack + 8 * epsilon) / k) - math.sqrt(slack / k), epsilon / k)


def truncated_peel(
    counts: ArrayLike, k: int, epsilon: float, *, beta: float = BETA, rng: np.random.Generator
) -> IntArray:
    """Draw k items one after another, each with weight exp((ε/k)·max(h, h_(k) − γ)), where γ = (k/ε)·ln(dk/β).

    Items with counts of at most h_(k) − γ are drawn as one group, so their counts need not be known.

    Claim  epsilon-DP when one person raises each count by 0 or 1.
    Proof  baselines.proof.md, Theorem 4.
    Cost   O(d + km) for m items above h_(k) − γ.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    d, share = len(histogram), epsilon / k
    low = np.partition(histogram, d - k)[d - k] - math.log(d * k / read_probability(beta, name="beta")) / share
    above, below = np.flatnonzero(histogram > low), np.flatnonzero(histogram <= low).tolist()
    log_weights = share * histogram[above]
    chosen = np.empty(k, dtype=np.int64)
    for position in range(k):
        # The group weighs as much as all items that are left in it.
        group = share * low + math.log(len(below)) if below else -math.inf
        drawn = int(np.argmax(np.append(log_weights, group) + rng.gumbel(size=len(above) + 1)))
        if drawn == len(above):
            chosen[position] = array_sampler(below, rng)
        else:
            chosen[position] = above[drawn]
            log_weights[drawn] = -math.inf
    return chosen


def laplace(counts: ArrayLike, k: int, epsilon: float, *, rng: np.random.Generator) -> IntArray:
    """Add Laplace noise of scale k/epsilon to every count and name the k largest, best first.

    Claim  epsilon-DP when one person raises each count by 0 or 1.
    Proof  baselines.proof.md, Theorem 1.
    Cost   O(d): one noise per item and a partial sort.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    return find_best(histogram + rng.laplace(scale=k / epsilon, size=len(histogram)), k)


def gamma(counts: ArrayLike, k: int, epsilon: float, *, rng: np.random.Generator) -> IntArray:
    """Add noise of density ∝ exp(−ε‖z‖∞) to all counts together and name the k largest, best first.

    Claim  epsilon-DP when one person changes each count by at most 1.
    Proof  baselines.proof.md, Theorems 2 and 3.
    Cost   O(d), and noise of size d/epsilon whatever k is.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    d = len(histogram)
    radius = rng.gamma(shape=d + 1, scale=1 / epsilon)
    return find_best(histogram + radius * rng.uniform(-1, 1, size=d), k)


def find_best(noisy: FloatArray, k: int) -> IntArray:
    """Name the k largest entries, best first.

    >>> find_best(np.array([0.5, 2.5, 1.5]), 2)
    array([1, 2])
    """
    chosen = np.argpartition(noisy, len(noisy) - k)[len(noisy) - k :]
    return chosen[np.argsort(-noisy[chosen])].astype(np.int64)
