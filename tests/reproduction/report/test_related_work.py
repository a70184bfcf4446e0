"""The tables on related work count what the definitions say, and compare lists of any length."""

from itertools import permutations

import numpy as np
import pytest

from reproduction.report.related_work import EQUAL, compare_adaptive, count_subsets, write_subsets


@pytest.mark.parametrize("tau", [1, 3, 40])
@pytest.mark.parametrize("counts", [[5, 3, 3, 2, 0], [4, 4, 4, 4], [30, 14, 13, 0], [6, 2]])
def test_subsets_are_those_of_the_partitions(counts, tau):
    """Every sequence is in a counted subset, and merging the subsets one by one leaves as many as are counted."""
    k, d = 2, len(counts)
    joint, joint_pruned, fast, fast_pruned = count_subsets(np.array(counts), k, tau)
    sigma = [next((j for j in range(d) if counts[j] <= counts[i] - tau), d) for i in range(k)]
    theirs = {(i, j) for i in range(k) for j in range(d)}
    merged = {(i, min(j, sigma[i])) for i, j in theirs}
    assert (joint, joint_pruned) == (len(theirs), len(merged))
    ours = {(r, i) for r in range(max(counts) + 1) for i in range(k)}
    pruned = {(r, i) for r in range(tau + 1) for i in range(k)}
    assert (fast, fast_pruned) == (len(ours), len(pruned))
    for s in permutations(range(d), k):
        losses = [counts[i] - counts[item] for i, item in enumerate(s)]
        r, i = max(losses), losses.index(max(losses))
        assert (i, s[i]) in theirs
        assert (i, min(s[i], sigma[i])) in merged
        assert (r, i) in ours
        assert (min(r, tau), i) in pruned


def test_pruning_does_not_help_joint_where_all_counts_are_equal():
    """The counterexample of the paper: as many subsets with pruning as without, and far fewer for FastJoint."""
    joint, joint_pruned, _, fast_pruned = count_subsets(EQUAL, 100, 2_500)
    assert joint == joint_pruned == 100 * len(EQUAL)
    assert joint > 60 * fast_pruned


def test_tables_have_a_row_for_each_histogram(small):
    """Both tables are Markdown, with the counterexample in the first, and mark stand-ins."""
    histograms = [small("games"), small("books", stand_in=False)]
    subsets = [*write_subsets(histograms)]
    assert [row.split(" | ")[0] for row in subsets[2:]] == ["| games (stand-in)", "| books", "| all equal to 100"]
    compared = [*compare_adaptive(histograms, ks=(3, 5), lists=2)]
    assert len({row.count("|") for row in compared}) == 1
    assert len(compared) == 2 + 4
