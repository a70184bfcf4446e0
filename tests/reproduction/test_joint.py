"""Joint has the law and the subsets that its paper states."""

import math
from itertools import permutations

import numpy as np
import pytest

from reproduction.joint import compute_log_sizes, joint, merge_differences, sample_sequence
from shortlist.errors import DataError

SMALL = [
    ([5, 3, 3, 2, 0], 3),
    ([0, 0, 0, 0], 2),
    ([9, 9, 4, 1, 1, 0], 2),
    ([30, 14, 13, 0], 3),
    ([7, 7, 2, 1], 4),
    ([6, 2], 1),
]


@pytest.mark.parametrize(
    ("counts", "k", "epsilon"),
    [
        ([5, 3, 3, 2, 0], 3, 1.5),
        ([1, 4, 4, 0, 2, 0], 2, 1.2),
        ([14, 0, 6, 5], 2, 0.8),
        ([6, 3, 0, 3], 4, 1.0),
    ],
)
def test_law_is_the_stated_one(counts, k, epsilon, assert_law, joint_law):
    """Sampled frequencies match the enumerated law, and miss it when epsilon is 30 % off."""
    assert_law(joint, joint_law, counts, k, epsilon, runs=4000)


@pytest.mark.parametrize(("counts", "k"), SMALL)
def test_subset_sizes_are_those_of_the_subsets(counts, k):
    """Every |U_{i,j}| is the number of sequences that the definition puts there; together they are all."""
    counted = np.zeros((k, len(counts)))
    for sequence in permutations(range(len(counts)), k):
        counted[subset_of(counts, sequence)] += 1
    sizes = np.exp(compute_log_sizes(np.array(counts), k))
    np.testing.assert_allclose(sizes, counted, rtol=1e-9)
    assert sizes.sum() == pytest.approx(math.perm(len(counts), k))


@pytest.mark.parametrize(("counts", "k"), SMALL)
def test_sequences_stay_in_their_subset(counts, k):
    """From each subset come exactly the sequences that belong to it."""
    rng = np.random.default_rng(9)
    members: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for sequence in permutations(range(len(counts)), k):
        members.setdefault(subset_of(counts, sequence), set()).add(sequence)
    for (i, j), expected in members.items():
        runs = 20 * len(expected) + 20
        drawn = {tuple(sample_sequence(np.array(counts), k, i, j, rng).tolist()) for _ in range(runs)}
        assert drawn == expected


def test_running_sizes_stay_accurate_on_many_items():
    """After a hundred thousand updates the running sum still adds up to all sequences."""
    decreasing = np.sort(np.random.default_rng(4).integers(0, 500, size=2000))[::-1]
    log_sizes = compute_log_sizes(decreasing, 50)
    peak = log_sizes.max()
    total = peak + math.log(np.exp(log_sizes - peak).sum())
    assert total == pytest.approx(sum(math.log(2000 - j) for j in range(50)), abs=1e-8)


def test_merged_differences_are_in_order():
    """Differences rise along the order; among equals the later position comes first."""
    decreasing = np.array([9, 7, 7, 4, 0])
    places = [divmod(place, 5) for place in merge_differences(decreasing, 3).tolist()]
    keys = [(decreasing[i] - decreasing[j], -i, j) for i, j in places]
    assert keys == sorted(keys)


def test_refuses_counts_too_far_apart():
    """Counts whose differences do not fit in 64 bits are refused, not sampled wrongly."""
    with pytest.raises(DataError):
        joint([2**62, 0, 1], 2, 1.0, rng=np.random.default_rng(0))


def subset_of(decreasing, sequence):
    """Find (i, j) by the definition of the partition."""
    losses = [decreasing[j] - decreasing[item] for j, item in enumerate(sequence)]
    i = losses.index(max(losses))
    return i, sequence[i]
