"""What every published algorithm owes its caller."""

import inspect
import sys

import numpy as np
import pytest

from reproduction import PUBLISHED
from shortlist.errors import DataError, ParameterError

SHAPES = {
    "one item": ([7], 1),
    "k is 1": ([3, 9, 4], 1),
    "k is d": ([3, 9, 4, 4], 4),
    "all equal": ([5] * 8, 3),
    "all zero": ([0] * 8, 3),
    "one giant": ([0, 10**9, 1, 0, 2], 3),
    "wide gaps": ([10**6, 0, 10**3, 10**8, 1], 5),
}

every_name = pytest.mark.parametrize("name", PUBLISHED)


@every_name
@pytest.mark.parametrize("epsilon", [0.1, 30])
def test_names_k_distinct_items(name, epsilon):
    """A selection names k different items, whatever the counts and the noise."""
    for shape, (counts, k) in SHAPES.items():
        rng = np.random.default_rng(5)
        for _ in range(10):
            chosen = PUBLISHED[name](counts, k, epsilon, rng=rng)
            assert chosen.dtype == np.int64, shape
            assert chosen.shape == (k,), shape
            assert len(set(chosen.tolist())) == k, shape
            assert set(chosen.tolist()) <= set(range(len(counts))), shape


@every_name
def test_finds_the_top_in_order_when_gaps_are_wide(name):
    """With gaps far above the noise the true top k comes back, best first."""
    counts = [10**6, 5 * 10**6, 0, 10**7, 2 * 10**6]
    chosen = PUBLISHED[name](counts, 3, 1.0, rng=np.random.default_rng(3))
    assert chosen.tolist() == [3, 1, 4]


@every_name
def test_leaves_the_counts_as_they_were(name):
    """The caller's array is only read."""
    counts = np.array([4, 1, 3, 3])
    PUBLISHED[name](counts, 2, 1.0, rng=np.random.default_rng(3))
    assert counts.tolist() == [4, 1, 3, 3]


@every_name
def test_same_generator_state_gives_same_items(name):
    """All randomness comes from the generator that was handed in."""
    first, second = (PUBLISHED[name]([5, 4, 3, 2, 1], 3, 0.5, rng=np.random.default_rng(11)) for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize(
    "counts",
    [
        [[1, 2], [3, 4]],
        [],
        1234567,
        [1234567.5, 2.0],
        [True, False],
        [1234567, -7654321],
        np.array([2**63 + 5, 1], dtype=np.uint64),
    ],
)
def test_refuses_counts_that_are_not_a_histogram(counts):
    """Counts are one row of non-negative integers; the error shows none of them."""
    for select in PUBLISHED.values():
        with pytest.raises(DataError) as caught:
            select(counts, 1, 1.0, rng=np.random.default_rng(0))
        assert not any(number in str(caught.value) for number in ("1234567", "7654321"))


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [(0, 1), (4, 1), (-1, 1), (1.0, 1), (True, 1), (2, 0), (2, -1), (2, np.nan), (2, np.inf)],
)
def test_refuses_parameters_out_of_range(k, epsilon):
    """k is from 1 to d, and epsilon is a finite number above 0."""
    for select in PUBLISHED.values():
        with pytest.raises(ParameterError):
            select([3, 2, 1], k, epsilon, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("name", "option"),
    [
        *((name, "beta") for name in ("fastjoint", "fastjoint-buckets", "truncated-peel")),
        *((name, "delta") for name in ("cdp-peel", "adaptive-fastjoint", "adaptive-cdp-peel")),
    ],
)
@pytest.mark.parametrize("value", [0, 1, -0.5, 2])
def test_refuses_probabilities_out_of_range(name, option, value):
    """Beta and delta lie strictly between 0 and 1."""
    with pytest.raises(ParameterError, match=option):
        PUBLISHED[name]([3, 2, 1], 2, 1.0, rng=np.random.default_rng(0), **{option: value})


def test_every_module_says_that_it_is_research():
    """Each algorithm's module says that it cannot make a secure release."""
    for function in PUBLISHED.values():
        document = inspect.getdoc(sys.modules[function.__module__])
        assert "Research: floating point, so it cannot make a secure release." in " ".join(document.split())
