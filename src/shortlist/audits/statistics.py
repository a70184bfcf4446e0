"""Tests of hypotheses with proven arithmetic: chi-square for a law, Clopper-Pearson for a probability."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import arb

from shortlist.exact.balls import working_precision

_PRECISION = 128
_STEPS = 40
_NEGLIGIBLE = 1e-12
_LEAST_EXPECTED = 5


def p_value(observed: Sequence[int], law: Sequence[float]) -> float:
    """The chi-square p-value of observed frequencies; cells expected fewer than five times are pooled.

    >>> round(p_value([10, 20, 30], [1, 1, 1]), 6)
    0.006738
    """
    counts, expected = np.asarray(observed, dtype=float), np.asarray(law, dtype=float)
    expected = expected / expected.sum() * counts.sum()
    rare = expected < _LEAST_EXPECTED
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] < _LEAST_EXPECTED and len(expected) > 1:
            # Still too rare for the approximation: join the smallest other cell.
            smallest = int(np.argmin(expected[:-1]))
            counts[smallest] += counts[-1]
            expected[smallest] += expected[-1]
            counts, expected = counts[:-1], expected[:-1]
    if len(counts) == 1:
        return 1.0
    return chi_square_tail(float(((counts - expected) ** 2 / expected).sum()), len(counts) - 1)


def chi_square_tail(statistic: float, freedom: int) -> float:
    """P(χ² ≥ statistic) with `freedom` degrees of freedom.

    >>> round(chi_square_tail(3.841458820694124, 1), 12)
    0.05
    """
    with working_precision(_PRECISION):
        return float((arb(statistic) / 2).gamma_upper(arb(freedom) / 2, regularized=1).mid())


def bound_below(successes: int, trials: int, failure: float) -> float:
    """Bound the probability of success from below (Clopper-Pearson); it fails with probability `failure` at most.

    >>> bound_below(0, 10, 0.05), round(bound_below(8, 10, 0.05), 4)
    (0.0, 0.4931)
    """
    # P(at least so many successes) rises with p. Below the bound, it is certainly at most `failure`.
    low, high = 0.0, successes / trials
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if successes and _tail(successes, trials, middle) <= failure else (low, middle)
    return low


def bound_above(successes: int, trials: int, failure: float) -> float:
    """Bound the probability of success from above (Clopper-Pearson); it fails with probability `failure` at most.

    >>> round(bound_above(0, 10, 0.05), 4), round(bound_above(8, 10, 0.05), 4)
    (0.2589, 0.9632)
    """
    return 1.0 - bound_below(trials - successes, trials, failure)


def _tail(successes: int, trials: int, p: float) -> arb:
    """Bound P(at least `successes` of the trials succeed) from above, for p of at most successes / trials.

    The terms of the binomial sum fall ever faster, so what is left is at most a geometric series.
    """
    with working_precision(_PRECISION):
        odds = arb(p) / (1 - arb(p))
        term = arb(math.comb(trials, successes)) * arb(p) ** successes * (1 - arb(p)) ** (trials - successes)
        total = arb(0)
        for place in range(successes, trials + 1):
            total += term
            ratio = odds * (trials - place) / (place + 1)
            term *= ratio
            if term < total * _NEGLIGIBLE:
                total += term / (1 - ratio)
                break
        return total.upper()
