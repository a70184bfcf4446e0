"""FastJoint, as Wu and Zhang publish it (NeurIPS 2024, Section 4 and Appendix B), by their names and in their order.

h, h_(j)    the histogram, and its j-th largest count
loss(s)     max_j (h_(j) − h[s[j]]) of a sequence s of k items; P(s) ∝ exp(−ε·min(loss(s), τ)/2)         Theorem 4.1
f_h(t)      the items of count t
C̄_{r,j}     how many items have a count of at least h_(j) − r; for r = τ it is d, all items              Definition 4.2
S̄_{r,i}     the sequences of loss r whose first position to reach it is i; S̄_{τ,i} has all losses from τ on
σ⃗, σ⃖        the sums over the positions before i, and over those after i, that give ln|S̄_{r,i}|          Appendix B.1

Positions count from 0 here, and from 1 in the paper. Research: floating point, so it cannot make a secure release.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np
from numpy.typing import ArrayLike

from shortlist.array_types import FloatArray, IntArray
from shortlist.errors import DataError, ParameterError
from shortlist.privacy.numbers import quote, read_positive, read_probability, read_whole
from shortlist.votes.array_counts import read_counts

BETA = 2.0**-10
_MOST_SUBSETS = 20_000_000
"""The sampler without pruning has some tables with a number for each subset, together about 1 GB at this number."""


def fastjoint(counts: ArrayLike, k: int, epsilon: float, *, beta: float = BETA, rng: np.random.Generator) -> IntArray:
    """Draw a subset S̄_{r,i} of the sequences, then a sequence of it (Section 4.1, pruned as in Section 4.2).

    Claim  epsilon-DP when one person raises each count by 0 or 1 (Theorem 4.1).
    Cost   O(d + kτ) time and space.
    """
    h, k, epsilon = read_arguments(counts, k, epsilon)
    return _sample_both(group_items(h, k), compute_tau(len(h), k, epsilon, beta), epsilon, rng)


def group_by(counts: ArrayLike, k: int, epsilon: float, *, rng: np.random.Generator) -> IntArray:
    """Draw a subset S_{r,i} of the sequences, then a sequence of it, with the law of Joint (Section 4.1, not pruned).

    Claim  epsilon-DP when one person raises each count by 0 or 1.
    Cost   O(d + nk) time and space. Here n is the largest loss, not the number of people, so it may be smaller.
    """
    h, k, epsilon = read_arguments(counts, k, epsilon)
    n = int(h.max() - h.min())
    if n * k > _MOST_SUBSETS:
        raise DataError(f"`counts` must differ by at most {_MOST_SUBSETS:,} / k without pruning, and some do not.")
    # No loss reaches n + 1, so the merged subsets are empty.
    return _sample_both(group_items(h, k), n + 1, epsilon, rng)


def read_arguments(counts: ArrayLike, k: int, epsilon: float) -> tuple[IntArray, int, float]:
    """Read the three arguments that all published algorithms share.

    >>> read_arguments([3, 1, 2], 2, 1)
    (array([3, 1, 2]), 2, 1.0)
    """
    h, size = read_counts(counts)[0], read_whole(k, name="k")
    if h.min() < 0:
        raise DataError("`counts` must be at least 0, and some are below.")
    if size > len(h):
        raise ParameterError("`k` must be at most the number of items", f"not {quote(k)}")
    return h, size, float(read_positive(epsilon, name="epsilon"))


def _sample_both(groups: Groups, tau: int, epsilon: float, rng: np.random.Generator) -> IntArray:
    """Take the two steps of Section 4.1: Subset Sampling and Sequence Sampling."""
    r, i = sample_subset(compute_log_sizes(count_items(groups, tau)), epsilon, rng)
    return sample_sequence(groups, tau, r, i, rng)


def compute_tau(d: int, k: int, epsilon: float, beta: float = BETA) -> int:
    """Compute τ = ⌈(2/ε)·ln(d!/(d−k)!/β)⌉, which a loss reaches with probability at most β (Lemma 4.6).

    >>> compute_tau(5155, 100, 1)
    1722
    """
    log_sequences = math.fsum(math.log(d - taken) for taken in range(k))
    return math.ceil(2 / epsilon * (log_sequences - math.log(read_probability(beta, name="beta"))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The items by count, f_h, and the k largest counts h_(j) in falling order."""

    f_h: dict[int, list[int]]
    top: list[int]
    d: int


def group_items(h: IntArray, k: int) -> Groups:
    """Hash the items by count: Algorithm 1, line 1.

    >>> group_items(np.array([5, 3, 5]), k=2)
    Groups(f_h={5: [0, 2], 3: [1]}, top=[5, 5], d=3)
    """
    f_h: defaultdict[int, list[int]] = defaultdict(list)
    for item, count in enumerate(h.tolist()):
        f_h[count].append(item)
    d = len(h)
    top = np.sort(np.partition(h, d - k)[d - k :])[::-1]
    return Groups(f_h=dict(f_h), top=top.tolist(), d=d)


def count_items(groups: Groups, tau: int) -> IntArray:
    """Count C̄_{r,j} for all r ≤ τ and all j by the recursion of Appendix B.1: Algorithm 1, line 2.

    >>> count_items(group_items(np.array([5, 4, 2]), k=2), tau=3)
    array([[1, 2],
           [2, 2],
           [2, 3],
           [3, 3]])
    """
    top, sizes = groups.top, {count: len(items) for count, items in groups.f_h.items()}
    C = np.empty((tau + 1, len(top)), dtype=np.int64)
    C[0] = np.cumsum([sizes[count] * (j == 0 or count != top[j - 1]) for j, count in enumerate(top)])
    for j, count in enumerate(top):
        below = range(count - 1, count - tau, -1)
        C[1:tau, j] = np.fromiter(map(sizes.get, below, repeat(0)), dtype=np.int64, count=tau - 1)
    np.cumsum(C[:tau], axis=0, out=C[:tau])
    C[tau] = groups.d
    return C


def compute_log_sizes(C: IntArray) -> FloatArray:
    """Compute ln|S̄_{r,i}| = σ⃗[r, i−1] + ln(C̄_{r,i} − C̄_{r−1,i}) + σ⃖[r, i+1]: Algorithm 1, lines 3 and 4.

    It is −inf where the subset is empty.

    >>> np.exp(compute_log_sizes(np.array([[1, 2], [2, 2], [2, 3], [3, 3]]))).round()
    array([[1., 0.],
           [1., 0.],
           [0., 2.],
           [2., 0.]])
    """
    rows, k = C.shape
    log_choices = np.log(C - np.arange(k))
    forward = np.zeros((rows, k))
    np.cumsum(log_choices[:-1, :-1], axis=1, out=forward[1:, 1:])
    # The corner case C̄_{−1,j} = 0: every position reaches loss 0, so the first to do so is the first.
    forward[0, 1:] = -np.inf
    backward = np.zeros((rows, k))
    backward[:, :-1] = np.cumsum(log_choices[:, :0:-1], axis=1)[:, ::-1]
    with np.errstate(divide="ignore"):
        reaching = np.log(np.diff(C, axis=0, prepend=0))
    return forward + reaching + backward


def sample_subset(log_sizes: FloatArray, epsilon: float, rng: np.random.Generator) -> tuple[int, int]:
    """Draw (r, i) with weight |S̄_{r,i}|·exp(−εr/2) by Gumbel noise (Fact 3.4): Algorithm 1, line 5."""
    rows, k = log_sizes.shape
    noisy = log_sizes - epsilon / 2 * np.arange(rows)[:, None] + rng.gumbel(size=log_sizes.shape)
    r, i = divmod(int(noisy.argmax()), k)
    return r, i


def sample_sequence(groups: Groups, tau: int, r: int, i: int, rng: np.random.Generator) -> IntArray:
    """Draw a uniform sequence of S̄_{r,i}: Algorithm 2."""
    f_h, top, nested = groups.f_h, groups.top, NestedItems(groups, tau)
    s = []
    for count in top[:i]:
        nested.add_items(above=count - r)
        s.append(array_sampler(nested.a, rng))
    if r < tau:
        nested.add_items(above=top[i] - r)
        s.append(nested.sample_next_group(rng))
        for count in top[i + 1 :]:
            nested.add_items(above=count - r - 1)
            s.append(array_sampler(nested.a, rng))
    else:
        s.append(array_sampler([item for count, items in f_h.items() if count <= top[i] - tau for item in items], rng))
        taken = set(s)
        a = [item for item in range(groups.d) if item not in taken]
        s.extend(array_sampler(a, rng) for _ in top[i + 1 :])
    return np.array(s, dtype=np.int64)


def array_sampler(a: list[int], rng: np.random.Generator) -> int:
    """Draw one entry uniformly and remove it, in O(1): Algorithm 3, procedure AS."""
    index = int(rng.integers(len(a)))
    a[index], a[-1] = a[-1], a[index]
    return a.pop()


class NestedItems:
    """The items whose count is above a falling threshold, without those already drawn: Algorithm 3, second procedure.

    The array a grows along I, the counts above h_(k) − τ in falling order; `position` says how far it has grown.
    """

    def __init__(self, groups: Groups, tau: int) -> None:
        self._f_h = groups.f_h
        floor = groups.top[-1] - tau
        self._I: Sequence[int] = sorted((count for count in groups.f_h if count > floor), reverse=True)
        self._position = 0
        self.a: list[int] = []

    def add_items(self, *, above: int) -> None:
        """Add the items whose count is above the threshold: lines 7 to 9 of the loop."""
        while self._position < len(self._I) and self._I[self._position] > above:
            self.a.extend(self._f_h[self._I[self._position]])
            self._position += 1

    def sample_next_group(self, rng: np.random.Generator) -> int:
        """Draw from the first group that is not in a yet (Algorithm 2 between its loops); the rest of it joins a."""
        group = list(self._f_h[self._I[self._position]])
        self._position += 1
        drawn = array_sampler(group, rng)
        self.a.extend(group)
        return drawn
