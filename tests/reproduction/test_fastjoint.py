"""FastJoint and its bucket variant have the law and the subsets that the paper states."""

import math
from functools import partial
from itertools import permutations

import numpy as np
import pytest

from reproduction.fastjoint import (
    compute_log_sizes,
    compute_tau,
    count_items,
    fastjoint,
    group_by,
    group_items,
    sample_sequence,
)
from reproduction.fastjoint_buckets import Buckets, fastjoint_buckets
from shortlist.errors import DataError

SMALL = [
    ([5, 3, 3, 2, 0], 3),
    ([0, 0, 0, 0], 2),
    ([9, 1, 9, 1, 4, 0], 2),
    ([30, 0, 14, 13], 3),
    ([2, 7, 1, 7], 4),
    ([6, 2], 1),
]
LAWS = [
    ([5, 3, 3, 2, 0], 3, 1.5),
    ([1, 4, 4, 0, 2, 0], 2, 1.2),
    ([14, 0, 6, 5], 2, 0.8),
    ([6, 3, 0, 3], 4, 1.0),
]


@pytest.mark.parametrize("mechanism", [fastjoint, fastjoint_buckets, group_by])
@pytest.mark.parametrize(("counts", "k", "epsilon"), LAWS)
def test_law_is_the_stated_one(mechanism, counts, k, epsilon, assert_law, joint_law):
    """Sampled frequencies match the enumerated law, and miss it when epsilon is 30 % off."""
    assert_law(mechanism, joint_law, counts, k, epsilon, runs=4000)


@pytest.mark.parametrize("mechanism", [fastjoint, fastjoint_buckets])
def test_losses_above_tau_count_as_tau(mechanism, assert_law, joint_law):
    """With a large beta the truncation shows, and the law is the truncated one."""
    counts, k, epsilon, beta = [12, 9, 5, 2, 0], 2, 1.0, 0.9
    tau = compute_tau(len(counts), k, epsilon, beta)
    assert tau < max(counts)
    assert_law(mechanism, partial(joint_law, tau=tau), counts, k, epsilon, runs=5000, beta=beta)


def test_without_pruning_no_loss_is_truncated(assert_law, joint_law):
    """Where FastJoint with a large beta truncates, the sampler without pruning has the law of Joint."""
    assert_law(group_by, joint_law, [12, 9, 5, 2, 0], 2, 1.0, runs=5000)


def test_without_pruning_counts_must_not_lie_far_apart():
    """The sampler without pruning has a row for every loss, so it refuses counts that need too many."""
    with pytest.raises(DataError, match="without pruning"):
        group_by([10**9, 0, 3], 2, 1.0, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("counts", "k"), SMALL)
@pytest.mark.parametrize("tau", [1, 3, 40])
def test_subset_sizes_are_those_of_the_subsets(counts, k, tau):
    """Every |S_{r,i}| is the number of sequences that the definition puts there; together they are all."""
    counted = np.zeros((tau + 1, k))
    for sequence in permutations(range(len(counts)), k):
        counted[subset_of(counts, sequence, tau)] += 1
    sizes = np.exp(compute_log_sizes(count_items(group_items(np.array(counts), k), tau)))
    np.testing.assert_allclose(sizes, counted, rtol=1e-9)
    assert sizes.sum() == pytest.approx(math.perm(len(counts), k))


@pytest.mark.parametrize(("counts", "k"), SMALL)
@pytest.mark.parametrize("tau", [1, 3, 40])
def test_sequences_stay_in_their_subset(counts, k, tau):
    """From each subset, and from no other, come exactly the sequences that belong to it."""
    rng = np.random.default_rng(9)
    groups = group_items(np.array(counts), k)
    members: dict[tuple[int, int], set[tuple[int, ...]]] = {}
    for sequence in permutations(range(len(counts)), k):
        members.setdefault(subset_of(counts, sequence, tau), set()).add(sequence)
    for (r, i), expected in members.items():
        runs = 20 * len(expected) + 20
        drawn = {tuple(sample_sequence(groups, tau, r, i, rng).tolist()) for _ in range(runs)}
        bucketed = {tuple(Buckets(np.array(counts), k, tau).sample_sequence(r, i, rng).tolist()) for _ in range(runs)}
        assert drawn == expected
        assert bucketed == expected


@pytest.mark.parametrize("tau", [1, 2, 7, 60])
def test_buckets_count_what_hashing_counts(tau):
    """Both ways to compute the table of counts agree, below and above the largest count."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        counts, k = rng.integers(0, 40, size=30), int(rng.integers(1, 31))
        hashed = count_items(group_items(counts, k), tau)
        assert np.array_equal(Buckets(counts, k, tau).count_items(), hashed)


def test_tau_is_the_published_one():
    """Tau is the ceiling of (2/ε)·ln(d!/(d−k)!/β)."""
    assert compute_tau(5, 2, 0.5, 0.25) == math.ceil(4 * math.log(20 / 0.25))
    assert compute_tau(1, 1, 50.0, 0.5) == 1


def subset_of(counts, sequence, tau):
    """Find (r, i) by the definition of the partition."""
    top = sorted(counts, reverse=True)
    losses = [min(top[j] - counts[item], tau) for j, item in enumerate(sequence)]
    return max(losses), losses.index(max(losses))
