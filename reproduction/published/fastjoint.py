"""FastJoint, as Wu and Zhang publish it (NeurIPS 2024, Section 4 and Appendix B, Algorithms 1 to 3).

The loss of a sequence s of k items is L(s) = max_j (h_(j) − h[s_j]), and P(s) ∝ exp(−ε·min(L(s), τ)/2).
Sequences are grouped into S̄_{r,i}: those of loss r whose first position to reach it is i, with all losses
from τ on merged. One subset is drawn by Gumbel noise, then a uniform sequence inside it. Positions i and j
count from 0 here, from 1 in the paper. Research: floating point, so it cannot make a secure release.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from reproduction.published.inputs import read_arguments, read_fraction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from shortlist.array_types import IntArray

BETA = 2.0**-10


def fastjoint(counts: ArrayLike, k: int, epsilon: float, *, beta: float = BETA, rng: np.random.Generator) -> IntArray:
    """Draw a sequence of k items with probability falling in its largest loss, counting losses above τ as τ.

    Claim  epsilon-DP when one person raises each count by 0 or 1 (Theorem 4.1).
    Cost   O(d + kτ) time and space.
    """
    histogram, k, epsilon = read_arguments(counts, k, epsilon)
    tau = compute_truncation(len(histogram), k, epsilon, beta)
    groups = group_items(histogram, k)
    r, i = draw_subset(groups, epsilon, tau, rng)
    return draw_sequence(groups, tau, r, i, rng)


def compute_truncation(d: int, k: int, epsilon: float, beta: float = BETA) -> int:
    """Compute τ = ⌈(2/ε)·ln(d!/(d−k)!/β)⌉, which a loss passes with probability at most β.

    >>> compute_truncation(5155, 100, 1)
    1722
    """
    log_sequences = math.fsum(math.log(d - taken) for taken in range(k))
    return math.ceil(2 / epsilon * (log_sequences - math.log(read_fraction(beta, name="beta"))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The items by count, which is the paper's f_h, and the k largest counts in order."""

    items: dict[int, list[int]]
    top: list[int]
    d: int


def group_items(histogram: IntArray, k: int) -> Groups:
    """Hash the items by count.

    >>> group_items(np.array([5, 3, 5]), k=2)
    Groups(items={5: [0, 2], 3: [1]}, top=[5, 5], d=3)
    """
    items: defaultdict[int, list[int]] = defaultdict(list)
    for item, count in enumerate(histogram.tolist()):
        items[count].append(item)
    d = len(histogram)
    top = np.sort(np.partition(histogram, d - k)[d - k :])[::-1]
    return Groups(items=dict(items), top=top.tolist(), d=d)


def draw_subset(groups: Groups, epsilon: float, tau: int, rng: np.random.Generator) -> tuple[int, int]:
    """Draw (r, i) with weight |S̄_{r,i}|·exp(−εr/2): Algorithm 1."""
    log_sizes = compute_log_sizes(count_table(groups, tau))
    return draw_noisy_subset(log_sizes, epsilon, rng)


def count_table(groups: Groups, tau: int) -> IntArray:
    """Count C̄_{r,j}, the items with count at least h_(j) − r, for r < τ; the last row is d.

    >>> count_table(group_items(np.array([5, 4, 2]), k=2), tau=3)
    array([[1, 2],
           [2, 2],
           [2, 3],
           [3, 3]])
    """
    sizes = {count: len(items) for count, items in groups.items.items()}
    table = np.empty((tau + 1, len(groups.top)), dtype=np.int64)
    table[0] = np.cumsum([sizes[count] * (j == 0 or count != groups.top[j - 1]) for j, count in enumerate(groups.top)])
    for j, count in enumerate(groups.top):
        below = range(count - 1, count - tau, -1)
        table[1:tau, j] = np.fromiter(map(sizes.get, below, repeat(0)), dtype=np.int64, count=tau - 1)
    np.cumsum(table[:tau], axis=0, out=table[:tau])
    table[tau] = groups.d
    return table


def compute_log_sizes(table: IntArray) -> NDArray[np.float64]:
    """Compute ln|S̄_{r,i}| from the C̄_{r,j} by prefix and suffix sums; −inf where the subset is empty.

    >>> np.exp(compute_log_sizes(np.array([[1, 2], [2, 2], [2, 3], [3, 3]]))).round()
    array([[1., 0.],
           [1., 0.],
           [0., 2.],
           [2., 0.]])
    """
    rows, k = table.shape
    log_choices = np.log(table - np.arange(k))
    prefix = np.zeros((rows, k))
    np.cumsum(log_choices[:-1, :-1], axis=1, out=prefix[1:, 1:])
    # The corner case C̄_{−1,j} = 0: every position reaches loss 0, so the first to do so is the first.
    prefix[0, 1:] = -np.inf
    suffix = np.zeros((rows, k))
    suffix[:, :-1] = np.cumsum(log_choices[:, :0:-1], axis=1)[:, ::-1]
    with np.errstate(divide="ignore"):
        reaching = np.log(np.diff(table, axis=0, prepend=0))
    return prefix + reaching + suffix


def draw_noisy_subset(log_sizes: NDArray[np.float64], epsilon: float, rng: np.random.Generator) -> tuple[int, int]:
    """Draw (r, i) by the largest of the log weights with Gumbel noise (Fact 3.4)."""
    rows, k = log_sizes.shape
    noisy = log_sizes - epsilon / 2 * np.arange(rows)[:, None] + rng.gumbel(size=log_sizes.shape)
    r, i = divmod(int(noisy.argmax()), k)
    return r, i


def draw_sequence(groups: Groups, tau: int, r: int, i: int, rng: np.random.Generator) -> IntArray:
    """Draw a uniform sequence of S̄_{r,i}: Algorithm 2, with the nested candidate sets of Algorithm 3."""
    nested = _Nested(groups, tau)
    chosen = []
    for count in groups.top[:i]:
        nested.widen(above=count - r)
        chosen.append(take(nested.candidates, rng))
    reached = groups.top[i] - r
    if r == tau:
        far = chain.from_iterable(items for count, items in groups.items.items() if count <= reached)
        chosen.append(take(list(far), rng))
        taken = set(chosen)
        candidates = [item for item in range(groups.d) if item not in taken]
        chosen.extend(take(candidates, rng) for _ in groups.top[i + 1 :])
    else:
        nested.widen(above=reached)
        chosen.append(nested.take_next_group(rng))
        for count in groups.top[i + 1 :]:
            nested.widen(above=count - r - 1)
            chosen.append(take(nested.candidates, rng))
    return np.array(chosen, dtype=np.int64)


def take(array: list[int], rng: np.random.Generator) -> int:
    """Draw one entry uniformly and remove it, in O(1): the array sampler of Algorithm 3."""
    index = int(rng.integers(len(array)))
    array[index], array[-1] = array[-1], array[index]
    return array.pop()


class _Nested:
    """The items whose count is above a falling threshold, without those already taken."""

    def __init__(self, groups: Groups, tau: int) -> None:
        self._items = groups.items
        floor = groups.top[-1] - tau
        self._levels: Sequence[int] = sorted((count for count in groups.items if count > floor), reverse=True)
        self._position = 0
        self.candidates: list[int] = []

    def widen(self, *, above: int) -> None:
        while self._position < len(self._levels) and self._levels[self._position] > above:
            self.candidates.extend(self._items[self._levels[self._position]])
            self._position += 1

    def take_next_group(self, rng: np.random.Generator) -> int:
        """Draw from the first group that is not in yet; what is left of it joins the candidates."""
        group = list(self._items[self._levels[self._position]])
        self._position += 1
        drawn = take(group, rng)
        self.candidates.extend(group)
        return drawn
