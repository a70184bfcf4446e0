"""Joint, as Gillenwater, Joseph, Muñoz Medina and Ribero publish it (ICML 2022, Section 3).

The loss of a sequence s of k items is L(s) = max_i (h_(i) − h[s_i]), and P(s) ∝ exp(−ε·L(s)/2). With the
counts in decreasing order, U_{i,j} holds the sequences of loss h_i − h_j whose first position to reach it is
i, with item j there. All k × d differences are made distinct by a tie-breaking term and merged in order;
along the order one factor of the size changes at a time. Research: floating point, so it cannot make a
secure release.

The tie-breaking term falls with i, as in its authors' code: the restatement in Appendix A of Wu and Zhang
(NeurIPS 2024) has the opposite sign, which fits the last position to reach the loss instead of the first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from reproduction.fastjoint import array_sampler, read_arguments
from shortlist.array_types import FloatArray, IntArray
from shortlist.errors import DataError


def joint(
    counts: ArrayLike,
    k: int,
    epsilon: float,
    *,
    rng: np.random.Generator,
    before_sequence: Callable[[], object] = lambda: None,
) -> IntArray:
    """Draw a sequence of k items with probability falling exponentially in its largest loss.

    `before_sequence` is called between its two steps, to tell their times apart.

    Claim  epsilon-DP when one person raises each count by 0 or 1.
    Cost   O(dk log k + d log d) time and O(dk) space.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    order = np.argsort(-histogram, kind="stable")
    decreasing = histogram[order]
    i, j = sample_subset(decreasing, k, epsilon, rng)
    before_sequence()
    return order[sample_sequence(decreasing, k, i, j, rng)]


def sample_subset(decreasing: IntArray, k: int, epsilon: float, rng: np.random.Generator) -> tuple[int, int]:
    """Draw (i, j) with weight |U_{i,j}|·exp(−ε(h_i − h_j)/2): the subset step, most of the time."""
    losses = decreasing[:k, None] - decreasing[None, :]
    noisy = compute_log_sizes(decreasing, k) - epsilon / 2 * losses
    noisy += rng.gumbel(size=noisy.shape)
    i, j = divmod(int(noisy.argmax()), len(decreasing))
    return i, j


def compute_log_sizes(decreasing: IntArray, k: int) -> FloatArray:
    """Compute the k × d matrix of ln|U_{i,j}| from the merged differences; −inf where the subset is empty.

    >>> np.exp(compute_log_sizes(np.array([5, 4, 2]), k=2)).round()
    array([[1., 1., 2.],
           [0., 0., 2.]])
    """
    d = len(decreasing)
    merged = merge_differences(decreasing, k)
    rows, columns = np.divmod(merged, d)
    # Row 0 is the last to have a candidate: before its first entry some position cannot be filled at all.
    start = int(np.flatnonzero(merged == 0)[0])
    candidates = np.bincount(rows[:start], minlength=k) - np.arange(k)
    candidates[0] = 1
    log_choices = np.log(candidates).tolist()
    total = sum(log_choices)
    sizes = []
    new_choices = np.log(columns[start:] + 1 - rows[start:]).tolist()
    for row, new in zip(rows[start:].tolist(), new_choices, strict=True):
        others = total - log_choices[row]
        sizes.append(others)
        log_choices[row] = new
        total = others + new
    matrix = np.full(k * d, -np.inf)
    matrix[merged[start:]] = sizes
    return matrix.reshape(k, d)


def merge_differences(decreasing: IntArray, k: int) -> IntArray:
    """Order the places (i, j), as i·d + j, by h_i − h_j, then by falling i, then by rising j.

    >>> merge_differences(np.array([5, 4, 4]), k=2)
    array([3, 4, 5, 0, 1, 2])
    """
    d = len(decreasing)
    if (int(decreasing[0] - decreasing[-1]) + 1) * d * k >= 2**62:
        raise DataError("`counts` must differ by less than 2**62 / (k * d) for Joint, and some do not.")
    # The published term (d(k − i) + j)/(2dk), times 2dk: integers stay distinct where floats collide.
    ties = np.arange(k)[::-1, None] * d + np.arange(d)
    keys = (decreasing[:k, None] - decreasing[None, :]) * (d * k) + ties
    # The rows are sorted runs, and the stable sort merges runs: O(dk log k).
    return np.argsort(keys, axis=None, kind="stable")


def sample_sequence(decreasing: IntArray, k: int, i: int, j: int, rng: np.random.Generator) -> IntArray:
    """Draw a uniform sequence of U_{i,j}, as places in the decreasing order: the sequence step, in O(d)."""
    thresholds = decreasing[:k] - (decreasing[i] - decreasing[j])
    # Before i the loss stays below that of (i, j); after i it may reach it.
    ends = np.where(
        np.arange(k) < i,
        np.searchsorted(-decreasing, -thresholds, side="left"),
        np.searchsorted(-decreasing, -thresholds, side="right"),
    )
    chosen, candidates, reached = [], list[int](), 0
    for position, end in enumerate(ends.tolist()):
        if position == i:
            chosen.append(j)
            continue
        candidates.extend(place for place in range(reached, end) if place != j)
        reached = end
        chosen.append(array_sampler(candidates, rng))
    return np.array(chosen, dtype=np.int64)
