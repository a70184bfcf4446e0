"""The chi-square test of frequencies. Its p-values are approximations: tests have fixed seeds, so that is enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb

from shortlist.exact.balls import use_precision

_PRECISION = 128
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
    with use_precision(_PRECISION):
        return float((arb(statistic) / 2).gamma_upper(arb(freedom) / 2, regularized=1).mid())
