"""Levels and sequences, counted against brute force."""

import numpy as np
import pytest
from flint import arb, ctx
from laws import losses, random_histograms, small_histograms

from shortlist.mechanisms.joint import sequences
from shortlist.mechanisms.joint.sequences import Sequences
from shortlist.profile import Profile


def test_a_profile_has_the_levels_of_the_counts():
    """Values fall, sizes count, and the top counts are the largest, whether few or many counts are possible."""
    for histogram in [*small_histograms(), *random_histograms(100, 7, seed=1)]:
        counts = np.array(histogram)
        profile = Profile.of(counts)
        values, sizes = np.unique(counts, return_counts=True)
        assert profile.values.tolist() == values[::-1].tolist()
        assert profile.sizes.tolist() == sizes[::-1].tolist()
        assert profile.is_complete
        for k in range(1, len(histogram) + 1):
            assert profile.top(k).tolist() == sorted(histogram, reverse=True)[:k]


def test_positions_become_levels_and_ranks():
    """Positions in falling order of count name every item once."""
    picks = Profile.of(np.array([2, 0, 2, 7])).picks(np.array([0, 1, 2, 3]))
    assert picks.levels.tolist() == [7, 2, 2, 0]
    assert picks.ranks.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("table", [1 << 22, 0], ids=["table", "search"])
def test_numbers_are_those_of_enumeration(table, monkeypatch):
    """N_r counts the sequences of loss at most r, exactly and as floats, by either way of looking up."""
    monkeypatch.setattr(sequences, "_LARGEST_TABLE", table)
    for histogram in [*small_histograms(), *random_histograms(80, 6, seed=2)]:
        for k in range(1, min(3, len(histogram)) + 1):
            check(histogram, k)


def check(histogram, k):
    found = Sequences(Profile.of(np.array(histogram)), k, reach=10**6)
    exact = np.array(losses(histogram, k))
    assert found.widest == exact.max()
    asked = np.unique(np.minimum([0, 1, 2, 3, 5, 8, 9, 40, 41, 300], found.widest))
    numbers = found.compute_numbers(asked)
    with ctx.workprec(200):
        for r, mantissa, exponent in zip(asked.tolist(), numbers.mantissa, numbers.exponent, strict=True):
            assert found.number(r) == (exact <= r).sum()
            error = arb(float(mantissa)) * arb(2) ** int(exponent) / found.number(r) - 1
            assert abs(error) <= arb(numbers.error)
    assert found.number(-1) == 0
    assert found.number(None) == len(exact) == found.compute_number_of_all().align(0)[0]


@pytest.mark.parametrize("floor", [0, 3, 8])
def test_a_profile_that_stops_early_tells_what_a_complete_one_tells(floor):
    """Losses within reach are counted alike, and no loss is taken for the largest."""
    counts = np.array([9, 9, 8, 5, 3, 3, 1, 0, 0])
    whole = Sequences(Profile.of(counts), 3, reach=20)
    reach = 8 - floor
    part = Sequences(Profile.of(counts[counts >= floor], d=len(counts)), 3, reach=reach)
    for r in range(reach + 1):
        assert part.number(r) == whole.number(r)
    assert part.widest == (9 if floor == 0 else 2**63 - 1)
    assert part.compute_numbers(np.arange(reach + 1)).align(0).tolist() == [whole.number(r) for r in range(reach + 1)]
