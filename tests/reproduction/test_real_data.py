"""On the paper's own data the errors are of the published size (k = 100, ε = 1)."""

import numpy as np
import pytest

from reproduction import PUBLISHED


@pytest.mark.parametrize(
    ("data", "name", "low", "high", "runs"),
    [
        ("games", "joint", 350, 430, 5),
        ("games", "fastjoint", 350, 430, 25),
        ("games", "fastjoint-buckets", 350, 430, 25),
        ("games", "pnf-peel", 660, 870, 51),
        ("games", "cdp-peel", 190, 245, 101),
        ("books", "fastjoint", 0, 0, 15),
        ("books", "fastjoint-buckets", 0, 0, 15),
        ("books", "pnf-peel", 0, 40, 31),
        ("books", "cdp-peel", 0, 8, 101),
    ],
)
def test_median_error_is_that_of_the_public_code(data, name, low, high, runs, real_counts):
    """On games the median ℓ∞ error is near it, and on books, where gaps are wide, it is next to nothing."""
    assert low <= median_error(name, real_counts(data), runs) <= high


def median_error(name, counts, runs):
    rng = np.random.default_rng(17)
    counts = rng.permutation(counts)
    top = np.sort(counts)[::-1][:100]
    chosen = [PUBLISHED[name](counts, 100, 1.0, rng=rng) for _ in range(runs)]
    return float(np.median([np.abs(top - counts[each]).max() for each in chosen]))
