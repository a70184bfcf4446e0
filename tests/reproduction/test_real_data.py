"""On the paper's own data the errors are of the published size (k = 100, ε = 1)."""

import numpy as np
import pytest

from reproduction import PUBLISHED


@pytest.mark.parametrize(
    ("name", "low", "high", "runs"),
    [
        ("joint", 350, 430, 5),
        ("fastjoint", 350, 430, 25),
        ("fastjoint-buckets", 350, 430, 25),
        ("pnf-peel", 660, 870, 51),
        ("cdp-peel", 190, 245, 101),
    ],
)
def test_median_error_on_games(name, low, high, runs, real_counts):
    """The median ℓ∞ error on games is near that of the public code."""
    assert low <= median_error(name, real_counts("games"), runs) <= high


@pytest.mark.parametrize(
    ("name", "low", "high", "runs"),
    [
        ("fastjoint", 0, 0, 15),
        ("fastjoint-buckets", 0, 0, 15),
        ("pnf-peel", 0, 40, 31),
        ("cdp-peel", 0, 8, 101),
    ],
)
def test_median_error_on_books(name, low, high, runs, real_counts):
    """The median ℓ∞ error on books, where gaps are wide, is next to nothing."""
    assert low <= median_error(name, real_counts("books"), runs) <= high


def median_error(name, counts, runs):
    rng = np.random.default_rng(17)
    counts = rng.permutation(counts)
    top = np.sort(counts)[::-1][:100]
    chosen = [PUBLISHED[name](counts, 100, 1.0, rng=rng) for _ in range(runs)]
    return float(np.median([np.abs(top - counts[each]).max() for each in chosen]))
