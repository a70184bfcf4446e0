"""The tests behind the verdicts keep their promise: a true claim is rarely contradicted, a false one is."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, mannwhitneyu

from reproduction.report.comparisons import (
    ALPHA,
    Comparison,
    Holding,
    judge_comparisons,
    rank_test,
    reject,
    sign_test,
)


@pytest.mark.parametrize(("above", "rounds"), [(0, 5), (5, 5), (13, 20), (20, 20)])
def test_the_sign_test_is_exact(above, rounds):
    """It is the binomial tail."""
    assert sign_test(above, rounds) == pytest.approx(binomtest(above, rounds, alternative="greater").pvalue)


def test_the_rank_test_is_mann_whitneys():
    """Also with many ties, in both directions."""
    rng = np.random.default_rng(4)
    for spread in (3, 1000):
        one, other = rng.integers(0, spread, 200), rng.integers(0, spread, 180) + spread // 10
        for first, second in ((one, other), (other, one)):
            expected = mannwhitneyu(first, second, alternative="greater", method="asymptotic").pvalue
            assert rank_test(first, second) == pytest.approx(expected, rel=1e-6)
    assert rank_test(np.zeros(9), np.zeros(9)) == 1.0
    assert rank_test(np.zeros(0), np.zeros(9)) == 1.0


def test_holm_rejects_the_smallest_first():
    """A chance is compared with alpha over the number of hypotheses that are left."""
    assert reject([0.0004, 0.0006, 0.5], alpha=1e-3) == [False, False, False]
    assert reject([0.0003, 0.0004, 0.5], alpha=1e-3) == [True, True, False]
    assert reject([]) == []


@pytest.mark.slow
def test_a_true_claim_is_contradicted_as_rarely_as_stated():
    """2,000 times two equal laws are compared at 20 settings: "holds" but for about 1 in 1,000."""
    rng = np.random.default_rng(7)
    wrong = 0
    for _ in range(2000):
        one, other = rng.integers(0, 30, (20, 60)), rng.integers(0, 30, (20, 60))
        comparisons = [
            Comparison(data="games", at="", if_false=1.0, if_true=rank_test(first, second))
            for first, second in zip(one, other, strict=True)
        ]
        wrong += judge_comparisons(comparisons, "", no_difference=True).holding is not Holding.YES
    # With chance ALPHA each, 12 or more wrong ones have a chance below 1e-5.
    assert wrong < 12
    assert ALPHA == 1e-3


def _comparison(claim):
    return {
        "confirmed": Comparison(data="games", at="a", if_false=1e-9, if_true=1.0),
        "open": Comparison(data="games", at="b", if_false=0.4, if_true=0.6),
        "contradicted": Comparison(data="games", at="c", if_false=1.0, if_true=1e-9),
    }[claim]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("confirmed", Holding.YES),
        ("confirmed open", Holding.YES),
        ("confirmed open open", Holding.OPEN),
        ("open open", Holding.OPEN),
        ("confirmed contradicted open open", Holding.PART),
        ("confirmed contradicted", Holding.PART),
        ("confirmed contradicted contradicted", Holding.NO),
        ("open contradicted", Holding.NO),
        ("", Holding.UNTESTED),
    ],
)
def test_comparisons_become_a_verdict(found, expected):
    """Holds, in part, or not; without enough trials it is not decided."""
    assert judge_comparisons([_comparison(each) for each in found.split()], "").holding is expected


def test_the_verdict_with_each_data_set_counted_once_is_beside():
    """Four comparisons on games contradict a claim that holds on two other data sets; the rule stays as it is."""
    games = [_comparison("contradicted")] * 4
    others = [replace(_comparison("confirmed"), data=name) for name in ("books", "news")]
    found = judge_comparisons([*games, *others], "")
    assert found.holding is Holding.NO
    assert found.measured.endswith(
        "each data set counted once: holds in part (contradicted in 1.0 of 3, confirmed in 2.0)"
    )
    assert "counted once" not in judge_comparisons([games[0], *others], "").measured


def test_claims_of_no_difference_count_data_sets_once_too():
    """A comparison with enough trials supports such a claim where it does not contradict it."""
    same = [replace(_comparison("open"), data="books")] * 3
    found = judge_comparisons([_comparison("contradicted"), *same], "", no_difference=True)
    assert found.holding is Holding.PART
    assert found.measured.endswith("holds in part (contradicted in 1.0 of 2, confirmed in 1.0)")
