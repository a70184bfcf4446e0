"""The adaptive mechanism of Zhu and Wang (AISTATS 2022), made to list k items in order, as Section 6 suggests.

Zhu and Wang choose a size n by the gap after the n-th largest count, test in private whether the gap is wide, and then
name the n items as a set, without noise. The paper suggests to apply this again until k items are found, and to order
them by FastJoint or CDP-Peel. Here a round looks at the items that were not found yet, and at sizes from half of the
missing items to all of them. So a round that finds a set at least halves what is missing. The ordering step draws
what is missing in the end from all other items. Research: floating point, so it cannot make a secure release.

report/related_work.py compares it with other mechanisms.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from reproduction.baselines import DELTA, compute_round_epsilon
from reproduction.fastjoint import fastjoint, read_arguments
from shortlist.array_types import IntArray
from shortlist.errors import DataError
from shortlist.privacy.numbers import read_probability

ROUNDS = 4
"""How often a set is looked for. With fewer rounds, fewer than k items are found even where all gaps are wide."""
_APART = 2**50
"""More than any count and any τ, so that a list with an item outside its set has a loss of τ or more."""


def adaptive_fastjoint(
    counts: ArrayLike, k: int, epsilon: float, *, delta: float = DELTA, rng: np.random.Generator
) -> IntArray:
    """Find sets with half of epsilon and all of delta, then order them by FastJoint with the other half.

    Claim  (epsilon, delta)-DP when one person raises each count by 0 or 1.
    Proof  adaptive.proof.md, Theorem 3.
    Cost   O(d log d), and that of FastJoint.
    """
    h, k, epsilon = read_arguments(counts, k, epsilon)
    if h.max() >= _APART:
        raise DataError("`counts` must be below 2**50 for sets in order, and some are not.")
    sets = find_sets(h, k, epsilon / 2, float(read_probability(delta, name="delta")), rng)
    return fastjoint(h + _APART * sets, k, epsilon / 2, rng=rng)


def adaptive_cdp_peel(
    counts: ArrayLike, k: int, epsilon: float, *, delta: float = DELTA, rng: np.random.Generator
) -> IntArray:
    """Find sets with half of epsilon and of delta, then order them by CDP-Peel with the other halves.

    Claim  (epsilon, delta)-DP when one person raises each count by 0 or 1.
    Proof  adaptive.proof.md, Theorem 3.
    Cost   O(d log d).
    """
    h, k, epsilon = read_arguments(counts, k, epsilon)
    half = float(read_probability(delta, name="delta")) / 2
    sets = find_sets(h, k, epsilon / 2, half, rng)
    noisy = compute_round_epsilon(k, epsilon / 2, half) * h + rng.gumbel(size=len(h))
    return np.lexsort((-noisy, -sets))[:k].astype(np.int64)


def find_sets(h: IntArray, k: int, epsilon: float, delta: float, rng: np.random.Generator) -> IntArray:
    """Find up to `ROUNDS` sets: items of an earlier set get a larger number, and items outside all sets get 0.

    Claim  (epsilon, delta)-DP when one person raises each count by 0 or 1.
    Proof  adaptive.proof.md, Lemma 2.
    """
    order = np.argsort(-h, kind="stable")
    gaps = -np.diff(h[order], append=0)
    sets, found, share = np.zeros(len(h), dtype=np.int64), 0, epsilon / (2 * ROUNDS)
    wide = 1 + math.log(ROUNDS / (2 * delta)) / share
    for number in range(ROUNDS, 0, -1):
        missing = k - found
        if missing:
            gap = gaps[found + (missing + 1) // 2 - 1 : k]
            place = int(np.argmax(share / 2 * gap + rng.gumbel(size=len(gap))))
            if gap[place] >= 1 and gap[place] + rng.laplace(scale=1 / share) >= wide:
                end = k - len(gap) + 1 + place
                sets[order[found:end]] = number
                found = end
    return sets
